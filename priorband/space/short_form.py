"""The short form of conditions: a categorical given as a dict of what each choice brings along.

    Categorical({"sgd": {"momentum": Float(0, 0.99)}, "adam": {"beta_1": Float(0.5, 0.999)}})

is the categorical of "sgd" and "adam", followed by `momentum` with `when={"optimizer": "sgd"}` and
`beta_1` with `when={"optimizer": "adam"}`, if its name is `optimizer`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from priorband.errors import SpaceError
from priorband.space.choices import Branches, Categorical
from priorband.space.when import When, condition_text
from priorband.values import replaced


class _Declared(NamedTuple):
    name: Any
    parameter: Any
    where: tuple[str, Any] | None
    """The categorical and its choice that it was declared under; None if under none."""


def expanded(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with those of all choices after their categorical, at any depth.

    Raises:
        SpaceError: If two parameters have one name, or a parameter that is declared under a choice
            has another condition on the same categorical.
    """
    found: dict[str, _Declared] = {}
    for declared in _declared(parameters):
        if declared.name in found:
            raise _same_name_error(found[declared.name], declared)
        found[declared.name] = declared
    return {name: declared.parameter for name, declared in found.items()}


def _declared(parameters: Mapping[str, Any]) -> Iterator[_Declared]:
    for name, parameter in parameters.items():
        yield from _with_children(_Declared(name, parameter, None))


def _with_children(declared: _Declared) -> Iterator[_Declared]:
    name, parameter, _ = declared
    if not isinstance(parameter, Categorical) or not isinstance(parameter.choices, Branches):
        yield declared
        return
    yield declared._replace(parameter=replaced(parameter, choices=tuple(parameter.choices)))
    for choice, children in parameter.choices.children.items():
        for child_name, child in children.items():
            conditional = _under(name, choice, child_name, child)
            yield from _with_children(_Declared(child_name, conditional, (name, choice)))


def _under(name: str, choice: Any, child_name: Any, child: Any) -> Any:
    """A parameter with the condition that it gets from its place."""
    if not hasattr(child, "when"):
        return child  # not a parameter, which the space refuses
    if name in (child.when or {}):
        raise SpaceError(
            f"Parameter `{child_name}` is declared under {condition_text(name, choice)} and has "
            f"another condition on `{name}` in its `when`. Drop that one."
        )
    return replaced(child, when=When({name: choice, **(child.when or {})}))


def _same_name_error(one: _Declared, other: _Declared) -> SpaceError:
    places = [place and condition_text(*place) for place in (one.where, other.where)]
    shown = [f"under {place}" if place else "under no choice" for place in places]
    way_out = ""
    if one.where and other.where and one.where[0] == other.where[0]:
        parent, choices = one.where[0], [one.where[1], other.where[1]]
        way_out = (
            f"If they are the same, declare one beside `{parent}` with "
            f"when={{{parent!r}: {choices!r}}}. Otherwise rename one of them."
        )
    return SpaceError(
        f"Two parameters are called `{one.name}`: one {shown[0]} and one {shown[1]}. "
        + (way_out or "Rename one of them.")
    )
