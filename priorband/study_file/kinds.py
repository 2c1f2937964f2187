"""The kinds of values in a study file: what a value may be, for the reader and for the schema."""

import math
from collections.abc import Callable, Mapping
from typing import Any, final

from priorband.values import frozen


@final
@frozen
class Kind:
    """What a value may be."""

    allowed: str
    """The allowed values, in the words of an error message."""
    schema: Mapping[str, Any]
    """The same as JSON schema."""
    accepts: Callable[[Any], bool]
    converted: Callable[[Any], Any] = lambda value: value


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return type(value) in (int, float) and math.isfinite(value)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, also one that is written with a decimal point."""
    return is_number(value) and value == int(value)


def is_choice(value: Any) -> bool:
    """Whether a value can be a choice: a string, number, boolean, or a list of such."""
    if isinstance(value, list):
        return all(map(is_choice, value))
    return isinstance(value, str | bool) or is_number(value)


def as_choice(value: Any) -> Any:
    """A choice as a value that can be compared and stored; a list becomes a tuple."""
    return tuple(map(as_choice, value)) if isinstance(value, list) else value


def words(*allowed: str) -> Kind:
    """One of several words."""
    listed = ", ".join(f'"{word}"' for word in allowed[:-1]) + f' or "{allowed[-1]}"'
    return Kind(listed, {"enum": [*allowed]}, lambda value: value in allowed)


def list_of(kind: Kind, allowed: str, least: int = 1, most: int | None = None) -> Kind:
    """A list of values of one kind."""
    schema = {"type": "array", "items": kind.schema, "minItems": least}
    schema |= {} if most is None else {"maxItems": most}
    top = math.inf if most is None else most

    def accepts(value: Any) -> bool:
        fits = isinstance(value, list) and least <= len(value) <= top
        return fits and all(map(kind.accepts, value))

    return Kind(allowed, schema, accepts, lambda value: [*map(kind.converted, value)])


def either(allowed: str, *kinds: Kind) -> Kind:
    """A value of one of several kinds."""
    schema = {"anyOf": [dict(kind.schema) for kind in kinds]}

    def converted(value: Any) -> Any:
        return next(kind for kind in kinds if kind.accepts(value)).converted(value)

    return Kind(
        allowed, schema, lambda value: any(kind.accepts(value) for kind in kinds), converted
    )


TEXT = Kind(
    "a string that is not empty",
    {"type": "string", "minLength": 1},
    lambda value: isinstance(value, str) and value != "",
)
ANY_TEXT = Kind("a string", {"type": "string"}, lambda value: isinstance(value, str))
FLAG = Kind("true or false", {"type": "boolean"}, lambda value: isinstance(value, bool))
NUMBER = Kind("a number", {"type": "number"}, is_number)
WHOLE = Kind("a whole number", {"type": "integer"}, is_whole, int)
ABOVE_ZERO = Kind(
    "a number above 0",
    {"type": "number", "exclusiveMinimum": 0},
    lambda value: is_number(value) and value > 0,
)
AT_LEAST_ZERO = Kind(
    "a number of at least 0",
    {"type": "number", "minimum": 0},
    lambda value: is_number(value) and value >= 0,
)
COUNT = Kind(
    "a whole number of at least 1",
    {"type": "integer", "minimum": 1},
    lambda value: is_whole(value) and value >= 1,
    int,
)
COUNT_OR_ZERO = Kind(
    "a whole number of at least 0",
    {"type": "integer", "minimum": 0},
    lambda value: is_whole(value) and value >= 0,
    int,
)
CHOICE = Kind(
    "a string, a number, true, false, or a list of such",
    {"$ref": "#/$defs/choice"},
    is_choice,
    as_choice,
)
