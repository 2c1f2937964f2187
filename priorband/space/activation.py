"""Activation: which parameters of a space are active, given the values of others.

A parameter is active if all parameters named in its `when` are active and have allowed values. An
inactive entry of an encoded row is NaN, the mark: no arithmetic may read it.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from priorband.errors import ConfigError, SpaceError, suggestion
from priorband.space.base import Parameter
from priorband.space.choices import Constant
from priorband.space.config import Config
from priorband.space.requirements import Allowed, Array, Cut, Mask, Requirement, allowed, resolved
from priorband.space.when import When, condition_text, when_text
from priorband.space.when import when_from_data as when_from_data
from priorband.space.when import when_to_data as when_to_data
from priorband.values import replaced

Parameters = Mapping[str, Parameter | Constant]
Tests = tuple[tuple[str, Callable[[Any], bool]], ...]

MARK = math.nan
"""What stands in a row for an inactive parameter."""


class _Entry(NamedTuple):
    """One parameter, as it is visited in the order of activation."""

    name: str
    column: int
    """-1 for a constant."""
    parameter: Any
    tests: Tests
    cuts: tuple[Cut, ...]


@final
class Activation:
    """The conditions of a space.

    Args:
        parameters: All parameters by name; their conditions name other parameters among them.

    Raises:
        SpaceError: If a condition names an unknown parameter or a value that cannot occur, if
            conditions form a cycle, or if a parameter can never be active.
    """

    __slots__ = ("_entries", "_masks", "_stored", "_tests", "names", "order", "parameters")

    names: tuple[str, ...]
    """All parameters, parents before their children."""
    order: tuple[int, ...]
    """The columns, parents before their children."""
    parameters: dict[str, Any]
    """The parameters by name; each tuple in a condition is known to be a choice or a list."""

    def __init__(self, parameters: Parameters) -> None:
        _check_parents(parameters)
        self.names = _visiting_order(parameters)
        self.parameters = {name: _resolved(p, parameters) for name, p in parameters.items()}
        searched = [name for name, p in parameters.items() if not isinstance(p, Constant)]
        columns = {name: column for column, name in enumerate(searched)}
        self.order = tuple(columns[name] for name in self.names if name in columns)
        needed = {name: self._requirements(name, columns) for name in self.names}
        _check_contradictions(self.names, needed)
        coded = _coded(self.names, columns, needed)
        self._tests = {c: [(n.column, n.holds_code) for n in needs] for c, needs in coded.items()}
        self._masks = {c: [(n.column, n.mask) for n in needs] for c, needs in coded.items()}
        self._stored = {c: [(n.column, n.stored) for n in needs] for c, needs in coded.items()}
        cuts = _cuts(needed)
        self._entries = [
            _Entry(
                *(name, columns.get(name, -1), self.parameters[name]),
                tuple((need.parent, need.holds) for need in needed[name]),
                tuple(cuts.get(name, ())),
            )
            for name in self.names
        ]

    def _requirements(self, name: str, columns: Mapping[str, int]) -> list[Requirement]:
        needs = []
        for parent, condition in (self.parameters[name].when or {}).items():
            values = allowed(name, parent, self.parameters[parent], condition)
            needs.append(Requirement(parent, columns.get(parent, -1), values))
        return needs

    def mark(self, codes: list[float]) -> list[float]:
        """Mark the inactive entries of one row, in place, and return it."""
        for column, tests in self._tests.items():
            for parent, holds in tests:
                if not holds(codes[parent]):
                    codes[column] = MARK
                    break
        return codes

    def is_active(self, column: int, codes: Sequence[float]) -> bool:
        """Whether a column is active, given the codes of its parents, marked where inactive."""
        for parent, holds in self._tests.get(column, ()):  # noqa: SIM110  # a generator is slower
            if not holds(codes[parent]):
                return False
        return True

    def excluded(self, name: str, value: Any) -> frozenset[str]:
        """The parameters with a condition on this one that the value does not fulfil."""
        return frozenset(
            entry.name
            for entry in self._entries
            for parent, holds in entry.tests
            if parent == name and not holds(value)
        )

    def mask(self, rows: Array) -> Mask:
        """Whether each entry of some rows is active."""
        active = np.ones(rows.shape, bool)
        for column, tests in self._masks.items():
            for parent, holds in tests:
                active[:, column] &= active[:, parent] & holds(rows[:, parent])
        return active

    def mark_rows(self, rows: Array) -> Array:
        """Mark the inactive entries of some rows, in place, and return them."""
        for column, ((parent, holds), *others) in self._masks.items():
            active = holds(rows[:, parent])
            for other, also_holds in others:
                active &= also_holds(rows[:, other])
            rows[:, column] = np.where(active, rows[:, column], MARK)
        return rows

    def stored_mask(self, columns: Sequence[NDArray[Any]]) -> list[Mask]:
        """Whether each entry of columns of values is active; choices are stored as indices."""
        active = [np.ones(len(column), bool) for column in columns]
        for column in self.order:
            for parent, holds in self._stored.get(column, ()):
                active[column] &= active[parent] & holds(columns[parent])
        return active

    def active(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """The active parameters, given the values of others.

        What depends on a parameter without a value counts as inactive.
        """
        seen: dict[str, Any] = {}
        active = []
        for entry in self._entries:
            if _surely_holds(entry.tests, seen):
                active.append(entry.name)
                if entry.column < 0:
                    seen[entry.name] = entry.parameter.value
                elif entry.name in values:
                    seen[entry.name] = values[entry.name]
        return tuple(active)

    def config(self, codes: Sequence[float]) -> Config:
        """Decode one row. Entries of inactive parameters are not read."""
        values: dict[str, Any] = {}
        for name, column, parameter, tests, _ in self._entries:
            if tests and not _holds(tests, values):
                continue
            if column < 0:
                values[name] = parameter.value
                continue
            code = codes[column]
            if code != code:
                raise ConfigError(f"The row has no value for `{name}`, which is active.")
            values[name] = parameter.decode(code)
        return Config(values)

    def completed(self, values: Mapping[str, Any]) -> Config:
        """The values of active parameters, parents first, with the active constants."""
        found: dict[str, Any] = {}
        for name, column, parameter, tests, _ in self._entries:
            if not tests or _holds(tests, found):
                found[name] = parameter.value if column < 0 else values[name]
        return Config(found)

    def changed(self, config: Mapping[str, Any], codes: Mapping[int, float]) -> Config:
        """A configuration with some values decoded from new codes.

        What is inactive now is dropped, and what is active now must have a code.
        """
        values: dict[str, Any] = {}
        for name, column, parameter, tests, _ in self._entries:
            if tests and not _holds(tests, values):
                continue
            if column < 0:
                values[name] = parameter.value
            elif column in codes:
                values[name] = _decoded(name, parameter, codes[column])
            elif name in config:
                values[name] = config[name]
            else:
                raise ConfigError(f"`{name}` is active now and needs a code, too.")
        return Config(values)

    def checked(self, config: Mapping[str, Any]) -> Config:
        """The configuration with plain values, or `ConfigError`."""
        values: dict[str, Any] = {}
        for name, column, parameter, tests, _ in self._entries:
            if tests and not _holds(tests, values):
                continue
            if name not in config:
                self._refuse(config)
            if column < 0:
                values[name] = _checked_constant(name, parameter, config[name])
            else:
                values[name] = _applied(name, parameter.check, config[name])
        if len(values) != len(config):
            self._refuse(config)
        return Config(values)

    def row(self, config: Mapping[str, Any]) -> list[float]:
        """The codes of a configuration, with marks for what is inactive, or `ConfigError`."""
        codes = [MARK] * len(self.order)
        count = 0
        for name, column, parameter, tests, cuts in self._entries:
            if tests and not _holds(tests, config):
                continue
            if name not in config:
                self._refuse(config)
            count += 1
            if column < 0:
                _checked_constant(name, parameter, config[name])
                continue
            code = _applied(name, parameter.encode, config[name])
            for cut in cuts:
                code = cut.moved(config[name], code)
            codes[column] = code
        if count != len(config):
            self._refuse(config)
        return codes

    def _refuse(self, config: Mapping[str, Any]) -> NoReturn:
        """Raise `ConfigError` about all names that are missing, unknown or inactive."""
        active = self.active(config)
        missing = [name for name in active if name not in config]
        unknown = [repr(name) for name in config if name not in self.parameters]
        inactive = [n for n in self.names if n in config and n not in active]
        sentences = []
        if missing or unknown:
            parts = [f"lacks {', '.join(map(self._with_reason, missing))}"] * bool(missing)
            parts += [f"has unknown {', '.join(unknown)}"] * bool(unknown)
            sentences.append(
                f"The configuration {' and '.join(parts)}. With these values it needs: "
                f"{', '.join(active)}."
            )
        for name in inactive:
            sentences += self._reason_inactive(name, config, active)
        raise ConfigError(" ".join(sentences))

    def _with_reason(self, name: str) -> str:
        when = self.parameters[name].when
        return f"{name!r} (used with {when_text(when)})" if when else repr(name)

    def _reason_inactive(
        self, name: str, config: Mapping[str, Any], active: tuple[str, ...]
    ) -> Iterator[str]:
        """A sentence about a parameter that is not active; none if a missing parent decides."""
        when = self.parameters[name].when
        for parent, condition in when.items():
            found = f"{parent} = {config.get(parent)!r}"
            if parent not in active:
                found = f"no {parent}, which is inactive"
            elif parent not in config or self._fulfils(name, parent, config):
                continue
            yield (
                f"`{name}` is only used with {condition_text(parent, condition)}, got {found}. "
                "Remove it."
            )
            return

    def _fulfils(self, name: str, parent: str, config: Mapping[str, Any]) -> bool:
        tests = next(entry.tests for entry in self._entries if entry.name == name)
        return _holds(tuple(test for test in tests if test[0] == parent), config)


def _surely_holds(tests: Tests, values: Mapping[str, Any]) -> bool:
    """As `_holds`, for values that are not checked yet and may be of any type."""
    try:
        return _holds(tests, values)
    except (TypeError, ValueError):
        return False


def _holds(tests: Tests, values: Mapping[str, Any]) -> bool:
    for parent, holds in tests:  # noqa: SIM110  # a generator would take twice as long
        if parent not in values or not holds(values[parent]):
            return False
    return True


def _decoded(name: str, parameter: Parameter, code: float) -> Any:
    if code != code:
        raise ConfigError(f"There is no code for `{name}`, which is active.")
    return parameter.decode(code)


def _applied(name: str, method: Callable[[Any], Any], value: Any) -> Any:
    try:
        return method(value)
    except ConfigError as error:
        raise ConfigError(f"`{name}` {error}.") from None


def _checked_constant(name: str, constant: Constant, value: Any) -> Any:
    if value != constant.value:
        raise ConfigError(f"`{name}` is the constant {constant.value!r}, got {value!r}.")
    return constant.value


def _check_parents(parameters: Parameters) -> None:
    for name, parameter in parameters.items():
        for parent in parameter.when or {}:
            if parent == name:
                raise SpaceError(f"Parameter `{name}` has a condition on itself. Drop it.")
            if parent not in parameters:
                raise SpaceError(
                    f"Parameter `{name}` has a condition on an unknown parameter `{parent}`. "
                    "A condition must name another parameter of the space; the fidelity is "
                    "not one. "
                    + suggestion(parent, [other for other in parameters if other != name])
                )


def _visiting_order(parameters: Parameters) -> tuple[str, ...]:
    """The names, parents before children, otherwise as declared; `SpaceError` for a cycle."""
    done: dict[str, None] = {}
    for start in parameters:
        path = {start: None}
        while path:
            last = next(reversed(path))
            waiting = next((n for n in parameters[last].when or {} if n not in done), None)
            if waiting is None:
                done[path.popitem()[0]] = None
            elif waiting in path:
                names = [*path]
                _refuse_cycle(names[names.index(waiting) :])
            else:
                path[waiting] = None
    return tuple(done)


def _refuse_cycle(names: list[str]) -> NoReturn:
    pairs = zip(names, [*names[1:], names[0]], strict=True)
    steps = ", ".join(f"`{name}` depends on `{parent}`" for name, parent in pairs)
    raise SpaceError(f"Conditions must not form a cycle: {steps}. Drop one of these conditions.")


def _resolved(parameter: Any, parameters: Parameters) -> Any:
    """The parameter with each tuple in its conditions known to be a choice or a list."""
    if parameter.when is None:
        return parameter
    when = When({n: resolved(parameters[n], stated) for n, stated in parameter.when.items()})
    same = all(type(when[n]) is type(parameter.when[n]) for n in when)
    return parameter if same else replaced(parameter, when=when)


def _check_contradictions(names: tuple[str, ...], needed: Mapping[str, list[Requirement]]) -> None:
    """Raise `SpaceError` if what a parameter and its ancestors need cannot hold at once.

    Each condition is on one parameter, and parameters are free otherwise. So all can hold if, for
    each parameter, some value is allowed by all conditions on it.
    """
    all_needs: dict[str, dict[str, Allowed]] = {}
    several = _with_several_conditions(needed)
    for name in names:
        needs: dict[str, Allowed] = {}
        for parent, values in _own_and_inherited(needed[name], all_needs):
            if parent not in several:  # no two conditions on it can need different values
                continue
            needs[parent] = needs[parent] & values if parent in needs else values
            if not needs[parent]:
                raise SpaceError(
                    f"Parameter `{name}` can never be active: its conditions, and those of the "
                    f"parameters that it depends on, need different values of `{parent}`. Change "
                    "one of them."
                )
        all_needs[name] = needs


def _with_several_conditions(needed: Mapping[str, list[Requirement]]) -> set[str]:
    """The parameters on which there are at least two conditions that are not the same."""
    found: dict[str, set[Any]] = {}
    for need in (need for needs in needed.values() for need in needs):
        key = (need.allowed.indices, need.allowed.intervals)
        found.setdefault(need.parent, set()).add(key)
    return {parent for parent, conditions in found.items() if len(conditions) > 1}


def _own_and_inherited(
    own: list[Requirement], inherited: Mapping[str, Mapping[str, Allowed]]
) -> Iterator[tuple[str, Allowed]]:
    for need in own:
        yield need.parent, need.allowed
        yield from inherited[need.parent].items()


def _coded(
    names: tuple[str, ...], columns: Mapping[str, int], needed: Mapping[str, list[Requirement]]
) -> dict[int, list[Requirement]]:
    """What each conditional column needs of others; a constant stands for what it needs itself."""
    found: dict[str, list[Requirement]] = {}
    for name in names:
        parts = [[need] if need.column >= 0 else found[need.parent] for need in needed[name]]
        found[name] = [need for part in parts for need in part]
    return {columns[name]: needs for name, needs in found.items() if needs and name in columns}


def _cuts(needed: Mapping[str, list[Requirement]]) -> dict[str, list[Cut]]:
    """Where the codes of each parent must stay on their side of a bound."""
    cuts: dict[str, list[Cut]] = {}
    for need in (need for needs in needed.values() for need in needs):
        cuts.setdefault(need.parent, []).extend(need.cuts)
    return cuts
