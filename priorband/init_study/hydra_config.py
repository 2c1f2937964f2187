"""Options of a script that Hydra configures, from the YAML files beside it."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from priorband.init_study.calls import CallArguments, dotted
from priorband.init_study.literals import Names
from priorband.init_study.option import Option, ScriptOptions, kind_of_value
from priorband.init_study.yaml_text import number_of, yaml_mapping

_GLOBAL = re.compile(r"#\s*@package\s+_global_")
_PACKAGE = re.compile(r"#\s*@package\s+([\w.]+)")


def hydra_options(tree: ast.Module, names: Names, script: Path) -> ScriptOptions | None:
    """What the configuration of a Hydra script holds; None if it is no such script."""
    main = _hydra_main(tree, names)
    if main is None:
        return None
    folder = script.parent / (main.text("config_path") or ".")
    name = main.text("config_name")
    path = folder / (name if name.endswith((".yaml", ".yml")) else f"{name}.yaml")
    if not name or not path.is_file():
        what = f"its configuration, {path}, is not a file that can be read"
        return ScriptOptions("Hydra", (), (what,), "overrides")
    unclear = list[str]()
    settings = dict(_settings(path, folder, unclear))
    options = tuple(_option(key, value) for key, value in settings.items())
    return ScriptOptions(
        f"the Hydra configuration {path.name}", options, tuple(unclear), "overrides"
    )


def _hydra_main(tree: ast.Module, names: Names) -> CallArguments | None:
    """The call of `@hydra.main(...)`."""
    for node in ast.walk(tree):
        for decorator in getattr(node, "decorator_list", []):
            if isinstance(decorator, ast.Call) and dotted(decorator.func) in ("hydra.main", "main"):
                call = CallArguments(decorator, names)
                if call.has("config_name"):
                    return call
    return None


def _settings(path: Path, folder: Path, unclear: list[str]) -> Iterator[tuple[str, Any]]:
    """The settings of a configuration with those of its `defaults`, by dotted name."""
    data = yaml_mapping(path)
    defaults = data.pop("defaults", [])
    for entry in defaults if isinstance(defaults, list) else []:
        yield from _of_default(entry, path, folder, unclear)
    yield from _flat({key: value for key, value in data.items() if key != "hydra"})


def _of_default(
    entry: Any, path: Path, folder: Path, unclear: list[str]
) -> Iterator[tuple[str, Any]]:
    """The settings of one entry of a `defaults` list, such as `optimizer: adam`."""
    if not isinstance(entry, Mapping):
        if isinstance(entry, str) and entry != "_self_":
            yield from _included(path.parent / f"{entry}.yaml", "", folder, unclear)
        return
    for group, option in entry.items():
        words = str(group).removeprefix("override ").removeprefix("optional ").split("@")
        if words[0].startswith("hydra/") or option is None:
            continue
        package = words[1] if len(words) > 1 else words[0].strip("/").replace("/", ".")
        start = folder if words[0].startswith("/") else path.parent
        for name in option if isinstance(option, list) else [option]:
            file = start / words[0].strip("/") / f"{name}.yaml"
            yield from _included(file, package, folder, unclear)


def _included(
    file: Path, package: str, folder: Path, unclear: list[str]
) -> Iterator[tuple[str, Any]]:
    if not file.is_file():
        unclear.append(f"{file.name} of its defaults is not beside the configuration")
        return
    head = file.read_text(encoding="utf-8", errors="replace")[:400]
    named = _PACKAGE.search(head)
    if _GLOBAL.search(head):
        package = ""
    elif named is not None:
        package = named[1]
    for key, value in _settings(file, folder, unclear):
        yield (f"{package}.{key}" if package else key), value


def _flat(data: Mapping[Any, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif not str(key).startswith("_"):  # such as _target_
            yield name, value


def _option(name: str, value: Any) -> Option:
    """A setting; `???` must be given, and `${...}` follows another one."""
    if value == "???":
        return Option(name, kind="text", required=True)
    if isinstance(value, str) and "${" in value:
        return Option(name, kind="unknown", help=value)
    number = number_of(value)
    kind = kind_of_value(number)
    return Option(name, kind="text" if kind == "unknown" else kind, default=number)
