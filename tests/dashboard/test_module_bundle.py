"""The bundler: modules become one script that does the same, and what it cannot do it refuses."""

import re

import pytest

from priorband.dashboard.module_bundle import bundled
from priorband.dashboard.static_files import FOLDER
from priorband.errors import FormatError


def bundle(**files: str) -> str:
    return bundled("main.js", {f"{name}.js": text for name, text in files.items()}.__getitem__)


def test_modules_come_after_what_they_import_and_once() -> None:
    text = bundle(
        main='import { a } from "./a.js";\nimport { b } from "./b.js";\na(b);',
        a='import { b } from "./b.js";\nexport function a() { return b; }',
        b="export const b = 1;",
    )
    assert re.findall(r"^// (\w+)\.js$", text, re.MULTILINE) == ["b", "a", "main"]
    assert "const { a } = modules[1];\nconst { b } = modules[0];" in text
    assert "return { a };" in text and "return { b };" in text


@pytest.mark.parametrize(
    ("statement", "taken", "returned"),
    [
        ('import x from "./b.js";', "const { default: x } = modules[0];", "{}"),
        ('import { b as x, c } from "./b.js";', "const { b: x, c } = modules[0];", "{}"),
        ('export { b, c as x } from "./b.js";', "", "{ b: modules[0].b, x: modules[0].c }"),
        ("const q = 1;\nexport { q as default };", "const q = 1;", "{ default: q }"),
        ("export async function q() {}", "async function q() {}", "{ q }"),
        ("export class Q {}", "class Q {}", "{ Q }"),
        ("var q;export{q as html,q as x};", "var q;", "{ html: q, x: q }"),
        ("/*\nexport function old() {}\n*/\nexport const q = 2;", "const q = 2;", "{ q }"),
    ],
)
def test_forms_of_import_and_export(statement: str, taken: str, returned: str) -> None:
    text = bundle(
        main='import { b } from "./b.js";\nimport { a } from "./a.js";',
        a=statement,
        b="export const b = 1;\nexport const c = 2;",
    )
    start = text.index("// a.js")
    own = text[start : text.index("})();", start)]
    assert taken in own and f"return {returned};" in own


@pytest.mark.parametrize(
    "statement",
    [
        'import * as all from "./b.js";',
        'import "./b.js";',
        "export default 3;",
        'const later = import("./b.js");',
        "const here = import.meta.url;",
        "  export const q = 2;",
    ],
)
def test_what_is_not_understood_is_refused(statement: str) -> None:
    with pytest.raises(FormatError, match=r"main\.js has a statement that cannot be bundled"):
        bundle(main=statement, b="export const b = 1;")


def test_circles_and_foreign_modules_are_refused() -> None:
    with pytest.raises(FormatError, match=r"in a circle: main\.js -> a\.js -> main\.js"):
        bundle(main='import { a } from "./a.js";', a='import { b } from "./main.js";')
    with pytest.raises(FormatError, match="only relative imports"):
        bundle(main='import { a } from "preact";')


def test_the_pages_own_modules_can_be_bundled() -> None:
    def read(name: str) -> str:
        return (FOLDER / name).read_text("utf-8")

    for entry in ("main.js", "report-main.js"):
        text = bundled(entry, read)
        assert f"// {entry}" in text and "// views/parallel.js" in text
        assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
        assert "</script" not in text.lower()
    assert "EventSource" not in text and "fetch(" not in text  # a report asks for nothing
