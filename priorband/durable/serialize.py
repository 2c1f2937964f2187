"""Serialization: values as data that JSON can hold, and back. Only registered classes are made.

What JSON has no form for becomes an object with a tag, such as `{"@": "tuple", "items": [1, 2]}`.
"""

import math
import re
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import NoneType
from typing import Any

import numpy as np

from priorband.durable.registry import (
    DENSITIES,
    SCALED,
    misplaced,
    registry,
    stored_fields,
    tags,
)
from priorband.errors import (
    ConfigError,
    FormatError,
    MethodError,
    PriorbandError,
    SingleRungWarning,
    SpaceError,
)
from priorband.numeric import real
from priorband.space import densities
from priorband.space.base import Parameter
from priorband.space.choices import Constant
from priorband.space.confidence import SIGMAS, USUAL_CONFIDENCE, WIDEST
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.prior import Independent
from priorband.space.space import Space
from priorband.space.value_grid import ValueGrid
from priorband.space.when import When, when_from_data, when_to_data
from priorband.values import field_names, settle

TAG = "@"
_MOST_BITS = 10_000  # of an integer: Python reads and writes few more
_REFUSALS = (PriorbandError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def to_data(value: Any) -> Any:
    """A value as data that JSON holds without loss.

    >>> to_data((1, float("inf")))
    {'@': 'tuple', 'items': [1, {'@': 'float', 'value': 'inf'}]}
    """
    try:
        return _written(value)
    except RecursionError:  # it holds itself, or is nested without end
        raise _refused(value) from None


def _written(value: Any) -> Any:
    bare = _bare(value)
    if type(bare) in _WRITERS:
        return _WRITERS[type(bare)](bare)
    if type(bare) in tags():
        return _written_fields(bare, tags()[type(bare)])
    raise _refused(bare)


def _bare(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _written_fields(value: Any, tag: str) -> dict[str, Any]:
    data: dict[str, Any] = {TAG: tag}
    for name in stored_fields(value):
        item = _bare(getattr(value, name))
        for part in misplaced(type(value), name, item):
            if type(part) not in SCALARS:
                raise _custom_part_error(part)
            raise MethodError(f"{tag} takes no {name}={part!r}, so it cannot be stored.")
        data[name] = _written(item)
    return data


def _written_scalar(value: Any) -> Any:
    if not survives_json(value) and type(value) is not float:
        raise _refused(value)
    return value if survives_json(value) else {TAG: "float", "value": repr(value)}


def survives_json(value: Any) -> bool:
    """Whether JSON gives a scalar back: no infinity, no lone surrogate, no huge integer."""
    if type(value) is str:
        return value.encode(errors="ignore").decode() == value
    if type(value) is int:
        return value.bit_length() <= _MOST_BITS
    return type(value) is not float or math.isfinite(value)


SCALARS = (NoneType, bool, int, float, str)
_WRITERS: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys(SCALARS, _written_scalar),
    list: lambda v: [_written(item) for item in v],
    tuple: lambda v: {TAG: "tuple", "items": _written([*v])},
    dict: lambda v: {TAG: "dict", "items": _written([*map(list, v.items())])},
    densities.MovedChoices: lambda v: _written(densities.Choices(v.probabilities)),
    Space: lambda v: {TAG: "Space", "parameters": _written([*map(list, v.parameters.items())])},
    When: lambda v: {TAG: "When", "conditions": _written([*map(list, when_to_data(v).items())])},
    Independent: lambda v: {
        **{TAG: "Independent", "space": _written(v.space)},
        **{"densities": _written([*v.densities]), "mode": _written({**v.mode})},
    },
}


def custom_part(value: Any) -> str | None:
    """The full name of the first part that is not from this library; None where all are."""
    kind = type(_bare(value))
    if kind not in _WRITERS and kind not in tags():
        return _name(value)
    fields = field_names(value) if kind in tags() else ("densities",) * (kind is Independent)
    parts = value if kind in (tuple, list) else [getattr(value, name) for name in fields]
    return next(filter(None, map(custom_part, parts)), None)


def short_repr(value: object, most: int = 200) -> str:
    """A short repr of a value, without memory addresses."""
    try:
        text = re.sub(" at 0x[0-9a-fA-F]+", "", repr(value))
    except Exception:  # a user's class may raise anything
        text = f"<{type(value).__qualname__}>"
    return text if len(text) <= most else f"{text[: most // 2 - 2]}...{text[2 - most // 2 :]}"


def _name(value: Any) -> str:
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _custom_part_error(part: Any) -> MethodError:
    return MethodError(
        f"{_name(part)} is not part of this library, so it cannot be stored as data. Use a part of "
        "the library, or pass yours again each time the study is opened in Python."
    )


def _refused(value: Any) -> PriorbandError:
    roles = ("sample", "next", "on", "around", "logpdf")
    if not isinstance(value, type) and any(hasattr(value, role) for role in roles):
        return _custom_part_error(value)
    return SpaceError(
        f"The value {short_repr(value)} cannot be stored: a study holds strings, numbers, "
        "booleans, None and tuples of them. Use a name such as 'relu', and look it up in the "
        "objective."
    )


def from_data(data: Any) -> Any:
    """The value that the data stands for, or a `FormatError`.

    >>> from priorband import Fidelity
    >>> from_data(to_data((1, Fidelity("epochs", 1, 9))))
    (1, Fidelity(name='epochs', low=1, high=9, prior=None))
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", SingleRungWarning)  # its author was warned
            return _read(data)
    except RecursionError:
        raise unreadable("The data is nested too deeply") from None


def unreadable(what: str) -> FormatError:
    """The error to raise for data that this library did not write."""
    return FormatError(
        f"{what}. This version does not write such data: a newer version may have, or the data was "
        "changed. Open it with a newer priorband, or restore it from a copy."
    )


def _read(data: Any) -> Any:
    if type(data) is dict:
        return _read_tagged(data)
    if type(data) is list:
        return [_read(item) for item in data]
    if type(data) in SCALARS and survives_json(data):
        return data
    raise unreadable(f"Expected a plain value, got {short_repr(data)}")


def _read_tagged(data: dict[str, Any]) -> Any:
    tag = data.get(TAG)
    if type(tag) is not str or not (tag in _READERS or tag in registry()):
        raise unreadable(
            f"Expected an object with a known tag {TAG!r}, got the tag {short_repr(tag)}"
        )
    fields = {name: item for name, item in data.items() if name != TAG}
    try:
        if tag in _READERS:
            return _READERS[tag](**fields)
        return _instance(registry()[tag], {name: _read(item) for name, item in fields.items()})
    except _REFUSALS as error:
        what = f"{tag} cannot be made of this data: {str(error)[:200].rstrip('.')}"
        raise (error if isinstance(error, FormatError) else unreadable(what)) from None


def _instance(cls: Any, fields: dict[str, Any]) -> Any:
    for name, item in fields.items():
        if misplaced(cls, name, item):
            raise unreadable(f"{cls.__name__} takes no {name}={short_repr(item)}")
    value = cls(**_without_unused_confidence(fields))
    if cls in _IS_DENSITY and not _IS_DENSITY[cls](value):
        raise unreadable(f"There is no density such as {short_repr(value)}")
    if cls in SCALED and "weights" in fields:
        weights = tuple(fields["weights"])
        if len(weights) != len(value.weights) or not all(map(math.isclose, weights, value.weights)):
            raise unreadable(f"Expected weights that sum to one, got {short_repr(weights)}")
        settle(value, weights=weights)  # to scale them again would be to round them again
    return value


def _without_unused_confidence(fields: dict[str, Any]) -> dict[str, Any]:
    """Earlier versions took a confidence without a prior, and did not use it."""
    if "confidence" not in fields or fields.get("prior", "given") is not None:
        return fields
    confidence = fields["confidence"]
    known = confidence in SIGMAS if isinstance(confidence, str) else (real(confidence) or 0) > 0
    return {**fields, "confidence": USUAL_CONFIDENCE} if known else fields


def _sum_to_one(weights: Sequence[float]) -> bool:
    return all(w >= 0 for w in weights) and math.isclose(sum(weights), 1.0, rel_tol=1e-6)


def _is_steps(steps: densities.Steps) -> bool:
    widths = [b - a for a, b in pairwise(steps.edges)]
    masses = [w * h for w, h in zip(widths, steps.heights, strict=True)]
    ends = steps.edges[:: len(widths)] == (0, 1)
    return ends and min(*widths, *steps.heights) >= 0 and _sum_to_one(masses)


_IS_DENSITY: dict[type, Callable[[Any], bool]] = {
    densities.TruncatedNormal: lambda d: 0 <= d.centre <= 1 and 0 < d.sigma <= WIDEST,
    densities.BetaDensity: lambda d: 1 <= d.a < math.inf and 1 <= d.b < math.inf,
    densities.Steps: _is_steps,
    densities.Blend: lambda d: (
        all(d.weights) and len(d.parts) == len(d.weights) and _sum_to_one(d.weights)
    ),
    densities.Choices: lambda d: _sum_to_one(d.probabilities),
}


def _read_dict(items: Any) -> dict[Any, Any]:
    pairs = dict(map(_read_list, items))
    if type(items) is not list or len(pairs) != len(items):
        raise unreadable(f"Expected pairs, each name once, got {short_repr(items)}")
    return pairs


def _read_list(items: Any) -> list[Any]:
    if type(items) is not list:
        raise unreadable(f"Expected a list, got {short_repr(items)}")
    return [_read(item) for item in items]


def _read_when(conditions: Any) -> When:
    return when_from_data(_read_dict(conditions))


def _read_prior(space: Any, densities: Any, mode: Any) -> Independent:
    its_space, its_densities = _read(space), _read_list(densities)
    for density, size in zip(its_densities, its_space.sizes, strict=True):
        fits = len(getattr(density, "probabilities", ())) == (size or 0)
        if type(density) not in DENSITIES or not fits:
            raise unreadable(f"Expected a density for each parameter, got {short_repr(density)}")
    return Independent(its_space, its_densities, _read(mode))


_READERS: dict[str, Callable[..., Any]] = {
    "float": lambda value: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value],
    "tuple": lambda items: tuple(_read_list(items)),
    "dict": _read_dict,
    "Space": lambda parameters: Space(_read_dict(parameters)),
    "When": _read_when,
    "Independent": _read_prior,
}


def config_reader(space: Space) -> Callable[[Any], Config]:
    """A function that makes a configuration of its stored form, or raises `FormatError`."""
    readers = [(name, _reader(name, p)) for name, p in space.searched.items()]
    if space.conditional:
        return _conditional_reader(space, dict(readers))
    frame = {name: getattr(p, "value", None) for name, p in space.parameters.items()}

    def read(data: Any) -> Config:
        if type(data) is not dict or data.keys() != space.searched.keys():
            raise unreadable(
                f"A configuration needs {', '.join(space.names)}, got {short_repr(data)}"
            )
        return Config({**frame, **{name: reader(data[name]) for name, reader in readers}})

    return read


def _conditional_reader(
    space: Space, readers: dict[str, Callable[[Any], Any]]
) -> Callable[[Any], Config]:
    def read(data: Any) -> Config:
        if type(data) is not dict or not data.keys() <= readers.keys():
            raise unreadable(
                f"A configuration has values of {', '.join(space.names)}, got {short_repr(data)}"
            )
        values = {name: readers[name](item) for name, item in data.items()}
        needed = [name for name in space.active(values) if name in readers]
        if len(needed) != len(values) or not values.keys() >= {*needed}:
            raise unreadable(
                f"This configuration needs {', '.join(needed)}, got {short_repr(data)}"
            )
        return space.complete(values)

    return read


def config_writer(space: Space) -> Callable[[Config], dict[str, Any]]:
    """A function that returns a configuration's stored form; constants are left out."""
    writers = [(name, _writer(p)) for name, p in space.searched.items()]
    if space.conditional:
        return _conditional_writer(space, dict(writers))
    constants = [(name, p.value) for name, p in space.parameters.items() if isinstance(p, Constant)]
    size = len(space.parameters)

    def write(config: Config) -> dict[str, Any]:
        try:
            written = {name: writer(config[name]) for name, writer in writers}
            fits = len(config) == size and all(config[name] == value for name, value in constants)
        except (ConfigError, LookupError, TypeError):
            fits = False
        return written if fits else write(space.check(config))  # which says what does not fit

    return write


def _conditional_writer(
    space: Space, writers: dict[str, Callable[[Any], Any]]
) -> Callable[[Config], dict[str, Any]]:
    def write(config: Config) -> dict[str, Any]:
        try:
            fits = space.complete(config) == config
            written = {name: writers[name](v) for name, v in config.items() if name in writers}
        except (ConfigError, LookupError, TypeError):
            fits = False
        return written if fits else write(space.check(config))  # which says what does not fit

    return write


def _reader(name: str, parameter: Parameter) -> Callable[[Any], Any]:
    fits, listed = number_test(parameter), {_key(f): c for c, f in _forms(parameter).items()}

    def read(data: Any) -> Any:
        if fits(data):
            return data
        if (key := _key(data)) in listed:
            return listed[key]
        raise unreadable(
            f"`{name}` must be a value of {short_repr(parameter)}, got {short_repr(data)}"
        )

    return read


def _writer(parameter: Parameter) -> Callable[[Any], Any]:
    if not isinstance(parameter, Float | Integer):
        return _forms(parameter).__getitem__
    fits = number_test(parameter)
    return lambda value: value if fits(value) else parameter.check(value)


def number_test(parameter: Parameter) -> Callable[[Any], bool]:
    """Whether a value is a number of the parameter's type within its range."""
    if not isinstance(parameter, Float | Integer):
        return lambda value: False
    low, high = parameter.low, parameter.high
    kind = float if isinstance(parameter, Float) else int
    grid = parameter.grid
    if grid is not None:
        return lambda value: type(value) is kind and low <= value <= high and _is_on(grid, value)
    return lambda value: type(value) is kind and low <= value <= high


def _is_on(grid: ValueGrid, value: float) -> bool:
    """Whether a number within the bounds is exactly one of the grid's values."""
    try:
        return grid.value(grid.index(value)) == value
    except ConfigError:
        return False


def _forms(parameter: Parameter) -> dict[Any, Any]:
    """What each choice is stored as: itself where JSON gives it back, else its index."""
    forms = {}
    for index, choice in enumerate(parameter.choices):
        itself = type(choice) in SCALARS and survives_json(choice)
        forms[choice] = choice if itself else {TAG: "choice", "index": index}
    return forms


def _key(data: Any) -> tuple[type, Any]:
    """What tells stored forms apart: their type and value, or the index."""
    if type(data) in SCALARS:
        return type(data), data
    of_choice = type(data) is dict and len(data) == 2 and data.get(TAG) == "choice"
    index = data.get("index") if of_choice else None
    return dict, index if type(index) is int else None
