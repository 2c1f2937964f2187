"""Load what is named on the command line: objects in modules, and spaces in JSON files.

Only modules that the user names are imported, never one whose name is stored in a study.
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
from priorband.durable.serialize import TAG, from_data
from priorband.errors import FormatError, MethodError, SpaceError, suggestion
from priorband.fidelity import Fidelity
from priorband.named_methods import AUTO, optimizer
from priorband.optimizers import Optimizer
from priorband.space.activation import when_from_data
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


def add_current_folder_to_path() -> None:
    """Make modules in the current folder importable, here and in child processes."""
    folder = os.getcwd()
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


def load_module(name: str) -> ModuleType:
    """Import the module of `module:name` or of `file.py:name`."""
    path = name.rpartition(":")[0]
    if path.endswith(".py"):
        return _load_file(Path(path))
    return _import(path)


def _load_file(path: Path) -> ModuleType:
    """Import a file as `python file.py` does: modules beside it can be imported, too."""
    file = path.resolve()
    if not file.is_file():
        raise MethodError(f"There is no file {str(path)!r}. Fix the path, or write module:name.")
    if "." in file.stem:
        raise MethodError(
            f"{str(path)!r} cannot be imported, since its name has a dot. Rename the file."
        )
    folder = str(file.parent)
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)  # which processes of trials take over
    module = _import(file.stem)
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != file:
        raise MethodError(
            f"{str(path)!r} cannot be imported, since {file.stem!r} is also the name of another "
            f"module ({found or 'built into Python'}). Rename the file."
        )
    return module


def _import(path: str) -> ModuleType:
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name and f"{path}.".startswith(f"{error.name}."):
            raise MethodError(
                f"There is no module {path!r}, neither in {os.getcwd()} nor installed. Write "
                "module:name, such as train:function, or the file, such as train.py:function."
            ) from None
        raise _import_error(path, error) from error
    except (Exception, SystemExit) as error:
        raise _import_error(path, error) from error


def load_object(name: str) -> Any:
    """The object that `module:name` or `file.py:name` names."""
    loaded: Any = load_module(name)
    path, _, attribute = name.rpartition(":")
    for part in attribute.split("."):
        if not hasattr(loaded, part):
            available = [other for other in vars(loaded) if not other.startswith("_")]
            raise MethodError(f"{path!r} has no {attribute!r}. {suggestion(part, available)}")
        loaded = getattr(loaded, part)
    return loaded


def load_objective(name: str) -> Callable[[Any], Any]:
    """The objective that `module:name` names; raise MethodError if it is not callable."""
    loaded = load_object(name)
    if not callable(loaded):
        raise MethodError(
            f"--objective {name} must be a function that is called with a trial and returns its "
            f"loss, but has the type {type(loaded).__name__}."
        )
    objective: Callable[[Any], Any] = loaded
    return objective


def load_method(name: str) -> str | Optimizer:
    """The built-in method of this name, "auto", or the method that `module:name` names."""
    if name == AUTO:
        return name
    if ":" not in name:
        return optimizer(name)
    loaded = load_object(name)
    if not isinstance(loaded, Optimizer):
        raise MethodError(
            f"--method {name} must be an Optimizer, but has the type {type(loaded).__name__}."
        )
    return loaded


def load_space(name: str) -> Space:
    """The space that `module:name` names, or that a JSON file describes."""
    loaded = read_space(Path(name)) if name.endswith(".json") else load_object(name)
    if not isinstance(loaded, Space):
        raise SpaceError(
            f"--space {name} must be a Space, but has the type {type(loaded).__name__}."
        )
    return loaded


def load_fidelity(name: str) -> Fidelity:
    """The fidelity of `name:low:high`, or the one that `module:name` names."""
    parts = name.split(":")
    if len(parts) == 3:
        return Fidelity(parts[0], number(parts[1]), number(parts[2]))
    loaded = load_object(name)
    if not isinstance(loaded, Fidelity):
        raise SpaceError(
            f"--fidelity {name} must be a Fidelity, but has the type {type(loaded).__name__}."
        )
    return loaded


def read_space(path: Path) -> Any:
    """Read a space from a JSON file, which has one object per parameter, by name.

    A file in the form that studies store may describe something else than a space.

    `{"lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": true, "prior": 0.001}}`

    A condition is a value, a list of values, or bounds: `"when": {"optimizer": "sgd"}`,
    `"when": {"layers": {"at_least": 3}}`. `choices` may be an object of the parameters that come
    with each choice.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_without_duplicates)
    except OSError as error:
        raise SpaceError(
            f"--space {path} cannot be read: {error.strerror}. Give a JSON file, or module:name."
        ) from None
    except (ValueError, RecursionError) as error:
        raise SpaceError(f"{path} is not JSON: {error}.") from None
    if not isinstance(data, dict):
        raise SpaceError(
            f"{path} must contain a JSON object that maps names to parameters, such as "
            '{"x": {"type": "float", "low": 0, "high": 1}}.'
        )
    if TAG in data:
        return _restored(data)
    try:
        return Space({name: _parameter(name, about) for name, about in data.items()})
    except RecursionError:
        raise SpaceError(f"{path} has choices within choices that are nested too deeply.") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {duplicate!r} appears twice in one object")
    return unique


def _parameter(name: str, description: Any) -> Any:
    kind = description.get("type") if isinstance(description, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise _ParameterError(
            f"Parameter `{name}` needs a type, one of {', '.join(_KINDS)}. Write it as "
            '{"type": "float", "low": 0, "high": 1}.'
        )
    try:
        options = {key: _option(key, item) for key, item in description.items()}
        return _KINDS[options.pop("type")](**options)
    except _ParameterError:
        raise
    except SpaceError as error:
        raise _ParameterError(f"Parameter `{name}`: {error}") from None
    except TypeError as error:
        raise _ParameterError(f"`{name}`: {str(error).replace('__init__() ', '')}.") from None


class _ParameterError(SpaceError):
    """An error that names the parameter that it is about."""


def _option(key: str, item: Any) -> Any:
    """The value of an option, in the form that a parameter takes."""
    if not isinstance(item, dict) or TAG in item:
        return _restored(item)
    if key == "when":
        return when_from_data(item)
    return _branches(item) if key == "choices" else _restored(item)


def _branches(choices: dict[str, Any]) -> dict[str, Any]:
    """The parameters that each choice of a categorical brings along."""
    for choice, children in choices.items():
        if not isinstance(children, dict):
            raise SpaceError(
                f"the choice {choice!r} must come with an object of parameters, {{}} for none, got "
                f"{children!r}. For choices alone, give a list."
            )
    return {
        choice: {child: _parameter(child, about) for child, about in children.items()}
        for choice, children in choices.items()
    }


def _restored(data: Any) -> Any:
    """The value of an option: a plain one, or a prior in the form that studies store."""
    if not isinstance(data, dict):
        return data
    try:
        return from_data(data)
    except FormatError as error:
        raise SpaceError(f"{error}") from None


def _import_error(path: str, error: BaseException) -> MethodError:
    """The error for a module whose import fails, with the line that failed."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename and frame.filename != __file__
    ]
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
    if isinstance(error, SyntaxError):
        where = f" ({error.filename}, line {error.lineno})"
    what = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
    return MethodError(f"Importing {path!r} failed: {what}{where}. Fix it and run again.")
