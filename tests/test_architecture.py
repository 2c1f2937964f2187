"""`docs/architecture.md` says what the code does: its table of imports, its links, its lists."""

import re
from pathlib import Path

import pytest
from test_layers import LAYERS, MODULES, TREES, ours

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
TEXT = PAGE.read_text()

GROUPS = {
    "foundation": "errors failures keywords numeric streams values notebook attribute_hints "
    "toml_text",
    "state": "fidelity ladder trial events log cache history state guard brackets proof conditions",
    "methods": "optimizers named_methods method_names choose_method",
    "study": "replay arguments problem study",
}
"""What the page calls the modules that are in no package of their own."""


def group(module: str) -> str:
    """What the page calls the package of a module."""
    top = module.split(".")[0]
    return next((name for name, modules in GROUPS.items() if top in modules.split()), top)


def real_imports() -> dict[str, set[str]]:
    """Which packages import which, in the code."""
    imports: dict[str, set[str]] = {}
    for module, tree in TREES.items():
        if module not in ("__init__", "__main__"):
            imported = imports.setdefault(group(module), set())
            imported |= {group(other) for other in ours(tree)}
    return {name: others - {name, "priorband"} for name, others in imports.items()}


def order() -> list[str]:
    """The packages from the top to the bottom."""
    groups = [group(name) for name in [*LAYERS, "cli"]]
    return list(dict.fromkeys(reversed(groups)))


def table() -> str:
    """The table of the page, as the code is."""
    imports, below = real_imports(), order()
    lines = []
    for name in below:
        others = sorted(imports[name], key=below.index)
        lines.append(f"| {name} | {', '.join(others)} |")
    return "\n".join(lines)


def test_the_table_is_what_the_code_imports() -> None:
    rows = re.findall(r"^\| (?!package|---).*\|$", TEXT, flags=re.M)
    assert "\n".join(rows) == table()


def test_no_package_imports_one_above_it() -> None:
    below = order()
    for name, others in real_imports().items():
        above = [other for other in others if below.index(other) < below.index(name)]
        assert not above, f"{name} imports {above}"


def test_every_package_is_in_the_drawing() -> None:
    drawing = TEXT.split("```")[1]
    missing = [name for name in real_imports() if name not in drawing]
    assert not missing


@pytest.mark.parametrize(
    "page", [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"], ids=str
)
def test_every_link_in_the_docs_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_reading_lists_have_the_length_that_they_promise() -> None:
    deciding, keeping = TEXT.split("## Reading lists")[1].split("**Keeping**")
    without_asides = re.sub(r"\(with\s+\[[^)]*\)\)", "", deciding)
    assert len(re.findall(r"\]\(", without_asides)) == 12
    assert len(re.findall(r"\]\([^)]*priorband/", keeping)) == 8


def test_few_modules_are_in_no_package() -> None:
    loose = [name for name in MODULES if "." not in name and not name.startswith("__")]
    assert len(loose) <= 28, loose
