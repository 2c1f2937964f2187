"""Getting what a person has named: objects in modules, spaces in files.

Modules are imported because somebody typed their name, never because it is stored in a study.
"""

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from priorband.cli.argument_types import number
from priorband.durable.serialize import TAG, from_plain
from priorband.errors import FormatError, MethodError, SpaceError, suggestion
from priorband.fidelity import Fidelity
from priorband.named_methods import optimizer
from priorband.optimizers import Optimizer
from priorband.space.choices import Categorical, Constant, Ordinal
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space

_KINDS: dict[str, Callable[..., Any]] = {
    "float": Float,
    "integer": Integer,
    "categorical": Categorical,
    "ordinal": Ordinal,
    "constant": Constant,
}


def current_folder_first() -> None:
    """Let modules of the current folder be found, also by processes that this one starts."""
    here = os.getcwd()
    if sys.path[:1] != [here]:
        sys.path.insert(0, here)


def module_of(name: str) -> ModuleType:
    """The module of `module:name`."""
    path = name.partition(":")[0]
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name and f"{path}.".startswith(f"{error.name}."):
            raise MethodError(
                f"There is no module {path!r}, neither in {os.getcwd()} nor installed. Write "
                f"module:name, for something in train.py train:name."
            ) from None
        raise _broken(path, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(path, error) from error


def named(name: str) -> Any:
    """What `module:name` stands for."""
    module, (path, _, attribute) = module_of(name), name.partition(":")
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            known = [other for other in vars(found) if not other.startswith("_")]
            raise MethodError(f"{path!r} has no {attribute!r}. {suggestion(part, known)}")
        found = getattr(found, part)
    return found


def objective_named(name: str) -> Callable[[Any], Any]:
    """An objective, or the word that it is none."""
    found = named(name)
    if not callable(found):
        raise MethodError(
            f"{name} is no function but {type(found).__name__}: an objective is called with a "
            "trial and returns a loss."
        )
    made: Callable[[Any], Any] = found
    return made


def method_named(name: str) -> Optimizer:
    """A method by its name, or one from a module."""
    if ":" not in name:
        return optimizer(name)
    found = named(name)
    if not isinstance(found, Optimizer):
        raise MethodError(f"{name} must be an Optimizer, but is {type(found).__name__}.")
    return found


def space_named(name: str) -> Space:
    """A space from a module or a JSON file."""
    found = space_in(Path(name)) if name.endswith(".json") else named(name)
    if not isinstance(found, Space):
        raise SpaceError(f"{name} must be a Space, but is {type(found).__name__}.")
    return found


def fidelity_named(name: str) -> Fidelity:
    """A fidelity from `name:low:high`, or from a module."""
    parts = name.split(":")
    if len(parts) == 3:
        return Fidelity(parts[0], number(parts[1]), number(parts[2]))
    found = named(name)
    if not isinstance(found, Fidelity):
        raise SpaceError(f"{name} must be a Fidelity, but is {type(found).__name__}.")
    return found


def space_in(path: Path) -> Any:
    """What a JSON file describes, a space if it is right: an object for each parameter, by name.

    `{"lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": true, "prior": 0.001}}`
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except OSError as error:
        raise SpaceError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise SpaceError(f"{path} is not JSON: {error}.") from None
    if not isinstance(data, dict):
        raise SpaceError(f"{path} must hold an object with a parameter for each name.")
    if TAG in data:
        return _restored(data)
    return Space({name: _parameter(name, about) for name, about in data.items()})


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands twice in one object")
    return made


def _parameter(name: str, about: Any) -> Any:
    kind = about.get("type") if isinstance(about, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise SpaceError(
            f"`{name}` needs a type: {', '.join(_KINDS)}. Write it as "
            '{"type": "float", "low": 0, "high": 1}.'
        )
    options = {key: _restored(item) for key, item in about.items() if key != "type"}
    try:
        return _KINDS[kind](**options)
    except TypeError as error:
        raise SpaceError(f"`{name}`: {str(error).replace('__init__() ', '')}.") from None


def _restored(data: Any) -> Any:
    """Plain data, in which beliefs may stand as a study writes them."""
    if not isinstance(data, dict):
        return data
    try:
        return from_plain(data)
    except FormatError as error:
        raise SpaceError(f"{error}") from None


def _broken(path: str, error: BaseException) -> MethodError:
    """A module that does not load, and where."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename and frame.filename != __file__
    ]
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    if isinstance(error, SyntaxError):
        where = f" ({error.filename}, line {error.lineno})"
    what = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
    return MethodError(f"Importing {path!r} failed: {what}{where}. Mend it and run again.")
