"""The files of the page: complete, from here alone, and nothing that the policy would refuse."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from priorband.dashboard.static_files import FOLDER, StaticFiles

ROOT = Path(__file__).parent.parent.parent
OWN = sorted(path for path in FOLDER.rglob("*.js") if "vendor" not in path.parts)
IMPORT = re.compile(
    r"""^(?:import|export)\b[^;"']*?from\s+["']([^"']+)["']|^import\s+["']([^"']+)["']""", re.M
)
ENTRIES = ("main.js", "report-main.js", "theme-early.js")
FORBIDDEN = {
    "innerHTML and its like": r"(inner|outer|Adjacent)HTML|dangerouslySet|document\.write",
    "code from text": r"\beval\(|new Function|setTimeout\(\s*[\"'`]",
    "an import that runs late": r"\bimport\(|import\.meta|^await ",
    "a style in a template": r"\sstyle=(?!\$\{\{)[\"']",
    "another host": r"https?://(?!www\.w3\.org)",
}


def test_vendored_files_have_the_checksums_of_their_manifest() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "vendor.py", "--check"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_a_module_imports_files_that_are_there_and_does_nothing_unsafe(path: Path) -> None:
    text = path.read_text()
    for match in IMPORT.finditer(text):
        name = match[1] or match[2]
        assert name.startswith("."), f"{name} is no relative path"
        assert (path.parent / name).is_file(), f"there is no {name}"
    for what, pattern in FORBIDDEN.items():
        assert not re.search(pattern, text, re.M), what


def test_every_module_is_reached_from_the_page() -> None:
    reached, left = set[Path](), [FOLDER / name for name in ENTRIES]
    while left:
        path = left.pop().resolve()
        if path not in reached:
            reached.add(path)
            left += [path.parent / (m[1] or m[2]) for m in IMPORT.finditer(path.read_text())]
    assert [path for path in OWN if path.resolve() not in reached] == []


def test_the_page_names_files_that_are_there() -> None:
    files, page = StaticFiles(), (FOLDER / "index.html").read_text()
    names = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert names and all(name.startswith("/static/") for name in names)
    assert all(files.get(name.removeprefix("/static/")) for name in names)
    assert not re.search(r"<script>|<style|\son\w+=|\sstyle=", page)


def test_only_files_of_the_page_are_served() -> None:
    names = StaticFiles().names()
    assert {name.rpartition(".")[2] for name in names} <= {"html", "js", "css", "svg"}
