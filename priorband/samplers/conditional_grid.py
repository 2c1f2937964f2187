"""The grid of a space with conditions: the configurations that can be reached, each once.

Parameters are visited parents first. How many ways there are to go on depends only on which of the
parameters ahead are already excluded, so all configurations are counted without listing them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, final

from priorband.space.activation import Activation
from priorband.space.choices import Constant
from priorband.space.config import Config
from priorband.space.space import Space

Names = frozenset[str]


class _ValueGroup(NamedTuple):
    """Values of a parameter that exclude the same children."""

    excluded: Names
    values: list[Any]


@final
class ConditionalGrid:
    """All configurations of a grid.

    Args:
        space: A space with conditions.
        axes: The values of each searched parameter, by name.

    Example:
        >>> from priorband import Categorical, Float
        >>> space = Space({"kind": Categorical({"a": {"x": Float(0, 1)}, "b": {}})})
        >>> grid = ConditionalGrid(space, {"kind": ["a", "b"], "x": [0.0, 0.5, 1.0]})
        >>> grid.size, grid.config([0.3, 0.3])
        (4, {'kind': 'a', 'x': 0.0})
    """

    __slots__ = ("_children", "_columns", "_count", "_groups", "_order", "_space", "size")

    size: int
    """The number of configurations."""

    def __init__(self, space: Space, axes: Mapping[str, list[Any]]) -> None:
        assert space.activation is not None, "the space has conditions"
        self._space = space
        self._children = _children(space)
        self._order = _depth_first(space, self._children)
        self._columns = {name: column for column, name in enumerate(space.names)}
        self._groups = {
            name: _grouped(space.activation, name, _values(parameter, name, axes))
            for name, parameter in space.parameters.items()
        }
        self._count = cache(self._counted)
        self.size = self._count(0, frozenset())

    def config(self, numbers: Sequence[float]) -> Config:
        """Turn a uniform number for each column into a configuration, all equally likely."""
        values: dict[str, Any] = {}
        excluded: Names = frozenset()
        for place, name in enumerate(self._order):
            if name in excluded:
                excluded = self._after_inactive(name, excluded)
                continue
            u = numbers[self._columns[name]] if name in self._columns else 0.0
            values[name], excluded = self._chosen(place, excluded, u)
        return self._space.complete(values)

    def _chosen(self, place: int, excluded: Names, u: float) -> tuple[Any, Names]:
        """Choose a value in proportion to the configurations that have it."""
        index = int(u * 2**53) * self._count(place, excluded) >> 53  # exact for any count
        for group, after in self._ways(place, excluded):
            each = self._count(place + 1, after)
            if index < each * len(group.values):
                return group.values[index // each], after
            index -= each * len(group.values)
        raise AssertionError("the index is below the count")

    def configs(self) -> Iterator[Config]:
        """Yield each configuration once."""
        return map(self._space.complete, self._below(0, frozenset(), {}))

    def _below(
        self, place: int, excluded: Names, values: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        if place == len(self._order):
            yield values
            return
        name = self._order[place]
        if name in excluded:
            yield from self._below(place + 1, self._after_inactive(name, excluded), values)
            return
        for group, after in self._ways(place, excluded):
            for value in group.values:
                yield from self._below(place + 1, after, {**values, name: value})

    def _counted(self, place: int, excluded: Names) -> int:
        """How many configurations there are from a place in the order on."""
        if place == len(self._order):
            return 1
        name = self._order[place]
        if name in excluded:
            return self._count(place + 1, self._after_inactive(name, excluded))
        ways = self._ways(place, excluded)
        return sum(len(group.values) * self._count(place + 1, after) for group, after in ways)

    def _ways(self, place: int, excluded: Names) -> Iterator[tuple[_ValueGroup, Names]]:
        """The groups of values of an active parameter, and what is excluded after each."""
        for group in self._groups[self._order[place]]:
            yield group, excluded | group.excluded

    def _after_inactive(self, name: str, excluded: Names) -> Names:
        return excluded - {name} | self._children[name]


def _values(parameter: Any, name: str, axes: Mapping[str, list[Any]]) -> list[Any]:
    return [parameter.value] if isinstance(parameter, Constant) else axes[name]


def _grouped(activation: Activation, name: str, values: list[Any]) -> list[_ValueGroup]:
    groups: dict[Names, list[Any]] = {}
    for value in values:
        groups.setdefault(activation.excluded(name, value), []).append(value)
    return [_ValueGroup(excluded, values) for excluded, values in groups.items()]


def _children(space: Space) -> dict[str, Names]:
    whens = {name: parameter.when or {} for name, parameter in space.parameters.items()}
    return {name: frozenset(n for n, when in whens.items() if name in when) for name in whens}


def _depth_first(space: Space, children: Mapping[str, Names]) -> list[str]:
    """The names, children as soon as possible after their parents: then few are excluded ahead."""
    declared = list(space.parameters)
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        for parent in space.parameters[name].when or {}:
            if parent not in order:
                visit(parent)
        if name not in order:  # a parent may have led to it
            order[name] = None
            for child in sorted(children[name], key=declared.index):
                visit(child)

    for name in declared:
        visit(name)
    return list(order)
