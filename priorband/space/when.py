"""When a parameter is active: the conditions of its argument `when`, as they are stated.

A condition is on one other parameter, its parent: a value, several values, or an order such as
`at_least(3)`. `priorband.space.activation` resolves conditions against the parents of a space.
"""

from collections.abc import Mapping, Set
from typing import Any, final

import numpy as np

from priorband.errors import SpaceError, suggestion
from priorband.space.config import ReadOnlyDict
from priorband.values import frozen


@final
@frozen
class Bounds:
    """Values of an ordered parent from `low` to `high`, both included; None is no bound."""

    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        if self.low is None and self.high is None:
            raise SpaceError("A condition needs a bound: use at_least(3), for example.")

    def __repr__(self) -> str:
        if self.high is None:
            return f"at_least({self.low!r})"
        if self.low is None:
            return f"at_most({self.high!r})"
        return f"between({self.low!r}, {self.high!r})"


@final
class Values(tuple[Any, ...]):
    """Several allowed values of a parent, printed as a list."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(list(self))


@final
class When(ReadOnlyDict):
    """The conditions of one parameter, by the names of its parents. All must hold."""

    __slots__ = ()


def at_least(value: Any) -> Bounds:
    """A condition for `when`: the other parameter has this value or a higher one.

    Args:
        value: A number for a Float or an Integer, a choice for an Ordinal.

    Returns:
        The condition.

    Raises:
        SpaceError: If the value is not hashable, or None.

    Example:
        >>> from priorband import Float, Integer, Space
        >>> space = Space({"layers": Integer(1, 8),
        ...                "skip": Float(0, 1, when={"layers": at_least(3)})})
        >>> space.check({"layers": 2})
        {'layers': 2}
    """
    return Bounds(low=_bound("at_least", value))


def at_most(value: Any) -> Bounds:
    """A condition for `when`: the other parameter has this value or a lower one.

    Args:
        value: A number for a Float or an Integer, a choice for an Ordinal.

    Returns:
        The condition.

    Raises:
        SpaceError: If the value is not hashable, or None.

    Example:
        >>> from priorband import Float, Space
        >>> space = Space({"dropout": Float(0, 1),
        ...                "noise": Float(0, 1, when={"dropout": at_most(0.5)})})
        >>> space.check({"dropout": 0.75})
        {'dropout': 0.75}
    """
    return Bounds(high=_bound("at_most", value))


def between(low: Any, high: Any) -> Bounds:
    """A condition for `when`: the other parameter has a value from `low` to `high`.

    Args:
        low: The lowest allowed value.
        high: The highest allowed value. It is allowed, too.

    Returns:
        The condition.

    Raises:
        SpaceError: If a value is not hashable, or None.

    Example:
        >>> from priorband import Float, Ordinal, Space
        >>> space = Space({"size": Ordinal(["S", "M", "L", "XL"]),
        ...                "drop": Float(0, 1, when={"size": between("M", "L")})})
        >>> space.check({"size": "XL"})
        {'size': 'XL'}
    """
    return Bounds(_bound("between", low), _bound("between", high))


def _bound(name: str, value: Any) -> Any:
    plain = plain_value(value)
    if plain is None or not _is_value(plain):
        raise SpaceError(f"`{name}` needs a number or a choice, got {value!r}.")
    return plain


def plain_value(value: Any) -> Any:
    """Return a numpy scalar as the Python value that JSON would give back, others unchanged."""
    return value.item() if isinstance(value, np.generic) else value


def _is_value(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return bool(value == value)


def checked_when(when: Any) -> When | None:
    """Return the conditions of a parameter in one form, or raise `SpaceError`."""
    if when is None or type(when) is When:
        return when
    if not isinstance(when, Mapping):
        raise SpaceError(
            f"`when` must be a dict of conditions by parameter, such as {{'optimizer': 'sgd'}}, "
            f"got {when!r}."
        )
    if not when:
        raise SpaceError("`when` is empty. Drop it, or name a parameter and its values.")
    for name in when:
        if not isinstance(name, str):
            raise SpaceError(f"`when` must name other parameters, got {name!r}.")
    return When({name: _checked_condition(name, stated) for name, stated in when.items()})


def _checked_condition(name: str, stated: Any) -> Any:
    if isinstance(stated, Bounds):
        return stated
    if isinstance(stated, tuple) and type(stated) is not Values and _is_value(stated):
        if not stated:
            raise _no_values(name)
        return tuple(map(plain_value, stated))  # a choice, or several: the space knows
    if isinstance(stated, list | Values):
        return _several(name, stated)
    plain = plain_value(stated)
    if isinstance(plain, Set | Mapping) or not _is_value(plain):
        raise SpaceError(
            f"The condition on `{name}` must be a value, a list of values, or one of at_least, "
            f"at_most and between, got {stated!r}."
        )
    return plain


def _several(name: str, stated: list[Any] | Values) -> Any:
    values = [plain_value(value) for value in stated]
    if not values:
        raise _no_values(name)
    for value in values:
        if isinstance(value, Bounds):
            raise SpaceError(
                f"The condition on `{name}` must be a list of values or one range, got {stated!r}."
            )
        if not _is_value(value):
            raise SpaceError(
                f"The condition on `{name}` has a value that no parameter can "
                f"have, got {value!r}. Use hashable values."
            )
    different = Values(dict.fromkeys(values))
    one = len(different) == 1 and not isinstance(different[0], tuple)
    return different[0] if one else different


def _no_values(name: str) -> SpaceError:
    return SpaceError(f"The condition on `{name}` lists no values. Give at least one.")


def condition_text(name: str, condition: Any) -> str:
    """A condition as a person would write it.

    >>> condition_text("layers", at_least(3)), condition_text("act", Values(("relu", "gelu")))
    ('layers >= 3', "act = 'relu' or 'gelu'")
    """
    if isinstance(condition, Bounds):
        if condition.high is None:
            return f"{name} >= {condition.low!r}"
        if condition.low is None:
            return f"{name} <= {condition.high!r}"
        return f"{name} from {condition.low!r} to {condition.high!r}"
    values = condition if isinstance(condition, Values) else (condition,)
    return f"{name} = {' or '.join(map(repr, values))}"


def when_text(when: Mapping[str, Any]) -> str:
    """All conditions of a parameter as a person would write them.

    >>> when_text({"optimizer": "sgd", "layers": at_least(3)})
    "optimizer = 'sgd' and layers >= 3"
    """
    return " and ".join(condition_text(name, condition) for name, condition in when.items())


def when_to_data(when: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions as plain data: values as they are, several as a list, bounds as a dict.

    >>> when_to_data({"optimizer": Values(("sgd", "adam")), "layers": between(3, 5)})
    {'optimizer': ['sgd', 'adam'], 'layers': {'at_least': 3, 'at_most': 5}}
    """
    return {name: _condition_data(condition) for name, condition in when.items()}


def _condition_data(condition: Any) -> Any:
    if isinstance(condition, Bounds):
        ends = {"at_least": condition.low, "at_most": condition.high}
        return {name: end for name, end in ends.items() if end is not None}
    return list(condition) if isinstance(condition, Values) else condition


_KEYS = ("at_least", "at_most", "between")


def when_from_data(data: Any) -> When:
    """The conditions that plain data stands for, or a `SpaceError`.

    >>> when_from_data({"optimizer": ["sgd", "adam"], "layers": {"at_least": 3}})
    {'optimizer': ['sgd', 'adam'], 'layers': at_least(3)}
    """
    if not isinstance(data, Mapping):
        raise SpaceError(f"`when` must be a dict of conditions by parameter, got {data!r}.")
    when = checked_when({name: _condition_from_data(name, item) for name, item in data.items()})
    assert when is not None  # it is for no `when` only
    return when


def _between_from_data(name: str, data: Mapping[str, Any]) -> Bounds:
    ends = data["between"]
    if len(data) > 1 or not isinstance(ends, list | tuple) or len(ends) != 2:
        raise SpaceError(
            f"The condition on `{name}` must have two values, such as {{'between': [3, 5]}}, "
            f"got {dict(data)!r}."
        )
    return between(*ends)


def _condition_from_data(name: str, data: Any) -> Any:
    if not isinstance(data, Mapping):
        return data
    for key in data:
        if key not in _KEYS:
            known = suggestion(str(key), _KEYS)
            raise SpaceError(f"The condition on `{name}` has an unknown key {key!r}. {known}")
    if "between" in data:
        return _between_from_data(name, data)
    ends = {"low": data.get("at_least"), "high": data.get("at_most")}
    return Bounds(**{end: _bound("at_least", v) for end, v in ends.items() if v is not None})
