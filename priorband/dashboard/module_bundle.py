r"""Puts the page's ES modules into one script, for a report that is a single file.

A browser does not load modules from `file://`, so each module becomes a function, called once in
the order of the imports. What a module exports is an object; an import takes it apart:

    import { html as h } from "./preact.js";      const { html: h } = modules[3];
    import uPlot from "../vendor/uPlot.js";       const { default: uPlot } = modules[5];
    export function start() {}                    function start() {}  and  return { start };

This is no parser. It reads the forms above, each statement beginning on a line of its own, and
those that minified modules end with (`export{a as html}`). The README of the modules states this
rule, and what is not understood is an error. Bindings are not live, so modules must not import each
other in a circle, and an exported variable must not change.
"""

import re
from collections.abc import Callable, Iterator
from posixpath import dirname, join, normpath

from priorband.errors import FormatError

Read = Callable[[str], str]
"""From the name of a module, such as `views/curves.js`, to its text."""

_IMPORT = re.compile(
    r"^import\s+(?:(?P<default>[\w$]+)\s+from|\{(?P<names>[^}]*)\}\s*from)"
    r'\s*"(?P<from>[^"]+)";?[ \t]*$',
    re.MULTILINE,
)
_REEXPORT = re.compile(r'^export\s*\{(?P<names>[^}]*)\}\s*from\s*"(?P<from>[^"]+)";?[ \t]*$', re.M)
_DECLARED = re.compile(
    r"^export\s+(?P<what>(?:async\s+)?function\*?|class|const|let)\s+(?P<name>[\w$]+)", re.MULTILINE
)
_LIST = re.compile(r"(?:^|(?<=[;}]))export\s*\{(?P<names>[^}]*)\};?\s*$", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*/\*.*?\*/", re.MULTILINE | re.DOTALL)
"""A comment that begins a line; it may hold code, with exports."""
_LEFT = re.compile(r"^\s*(import\b(?!\s*:)|export\b)|\bimport\.meta\b|\bimport\(", re.MULTILINE)


def bundled(entry: str, read: Read) -> str:
    r"""One script that does what a module and all that it imports do.

    Raises:
        FormatError: if a module has an import or export that is not understood, or if modules
            import each other in a circle.

    >>> files = {"a.js": 'import { b } from "./b.js";\nb();', "b.js": "export function b() {}"}
    >>> print(bundled("a.js", files.__getitem__))
    "use strict";
    (() => {
    const modules = [];
    // b.js
    modules[0] = (() => {
    function b() {}
    return { b };
    })();
    // a.js
    modules[1] = (() => {
    const { b } = modules[0];
    b();
    return {};
    })();
    })();
    """
    texts = dict[str, str]()

    def without_comments(name: str) -> str:
        if name not in texts:
            texts[name] = _COMMENT.sub("", read(name))
        return texts[name]

    order = list(_in_order(entry, without_comments, []))
    place = {name: number for number, name in enumerate(order)}
    parts = [_function(name, texts[name], place) for name in order]
    return "\n".join(['"use strict";', "(() => {", "const modules = [];", *parts, "})();"])


def _in_order(
    name: str, read: Read, above: list[str], seen: set[str] | None = None
) -> Iterator[str]:
    """The names of a module and of all that it imports, those first."""
    seen = set() if seen is None else seen
    if name in above:
        raise FormatError(f"Modules import each other in a circle: {' -> '.join([*above, name])}.")
    if name in seen:
        return
    for other in _imported(name, read(name)):
        yield from _in_order(other, read, [*above, name], seen)
    seen.add(name)
    yield name


def _imported(name: str, text: str) -> list[str]:
    found = [*_IMPORT.finditer(text), *_REEXPORT.finditer(text)]
    return [_path(name, match["from"]) for match in sorted(found, key=lambda one: one.start())]


def _path(name: str, imported: str) -> str:
    if not imported.startswith("."):
        raise FormatError(f"{name} imports {imported}: only relative imports can be bundled.")
    return normpath(join(dirname(name), imported))


def _function(name: str, text: str, place: dict[str, int]) -> str:
    """A module as a call of a function that returns what it exports."""
    exports = list[str]()

    def taken(match: re.Match[str]) -> str:
        source = f"modules[{place[_path(name, match['from'])]}]"
        names = match["names"]
        pattern = f"default: {match['default']}" if names is None else _pattern(names)
        return f"const {{ {pattern} }} = {source};"

    def passed_on(match: re.Match[str]) -> str:
        source = f"modules[{place[_path(name, match['from'])]}]"
        exports.extend(f"{new}: {source}.{old}" for old, new in _pairs(match["names"]))
        return ""

    def declared(match: re.Match[str]) -> str:
        exports.append(match["name"])
        return f"{match['what']} {match['name']}"

    def listed(match: re.Match[str]) -> str:
        exports.extend(f"{new}: {old}" for old, new in _pairs(match["names"]))
        return ""

    text = _REEXPORT.sub(passed_on, _IMPORT.sub(taken, text))
    text = _LIST.sub(listed, _DECLARED.sub(declared, text))
    if left := _LEFT.search(text):
        line = text[left.start() :].lstrip().splitlines()[0]
        raise FormatError(f"{name} has a statement that cannot be bundled: {line[:80]}")
    given = f"{{ {', '.join(exports)} }}" if exports else "{}"
    return f"// {name}\nmodules[{place[name]}] = (() => {{\n{text.strip()}\nreturn {given};\n}})();"


def _pairs(names: str) -> Iterator[tuple[str, str]]:
    """The names within braces: what each is called there, and what it becomes."""
    for part in names.split(","):
        words = part.split()
        if words:
            yield words[0], words[-1]


def _pattern(names: str) -> str:
    return ", ".join(old if old == new else f"{old}: {new}" for old, new in _pairs(names))
