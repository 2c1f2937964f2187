"""Modules beside a script that it imports."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import final

from priorband.values import frozen

_ABOUT_OPTIONS = re.compile(r"arg|opt|pars|param|config|cfg|flag|cli|main|setting|hparam", re.I)
_PARENTS = 3


@final
@frozen
class LocalModule:
    """A module that lies near a script, parsed."""

    path: Path
    tree: ast.Module


def imported_modules(script: Path, tree: ast.Module) -> Iterator[LocalModule]:
    """The modules near a script that it imports, those about options first."""
    names = sorted({*_imported_names(tree)}, key=lambda name: not _ABOUT_OPTIONS.search(name))
    seen = set[Path]()
    for name in names:
        path = _file(script, name)
        if path is not None and path not in seen:
            seen.add(path)
            module = _parsed(path)
            if module is not None:
                yield module


def _imported_names(tree: ast.Module) -> Iterator[str]:
    """The imported modules; a dot in front for each step up from the script's folder."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield base
            joined = base if base.endswith(".") else f"{base}."
            yield from (f"{joined}{alias.name}" for alias in node.names)


def _file(script: Path, name: str) -> Path | None:
    """The file of a module: relative to the script's folder, or to one of those above it."""
    level = len(name) - len(name.lstrip("."))
    parts = name[level:].split(".")
    folder = script.resolve().parent
    folders = [folder, *folder.parents[:_PARENTS]]
    starts = folders[level - 1 : level] if level else folders
    for start in starts:
        place = start.joinpath(*parts)
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if name.strip(".") and path.is_file() and path != script.resolve():
                return path
    return None


def _parsed(path: Path) -> LocalModule | None:
    try:
        with tokenize.open(path) as file:
            return LocalModule(path, ast.parse(file.read()))
    except (OSError, SyntaxError, ValueError):
        return None
