"""The events of a history as arrays, from which a history can be restored quickly.

Columns hold the events and nothing that follows from them: two histories have the same columns if
and only if they have the same events. `priorband/log/restored.py` makes trials and indexes of them.
"""

import math
import sys
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from priorband.events import Asked, Event, Failed, PriorChanged, Told
from priorband.space.config import Config
from priorband.space.config_columns import ConfigColumns
from priorband.space.prior import Prior
from priorband.space.space import Space
from priorband.trial import QUEUED
from priorband.values import frozen

Ints = NDArray[np.int32]
T = TypeVar("T")

ASKED, TOLD, FAILED, WISHED, CHANGED = range(5)
NONE = -1
EXACT = 2**53  # integers up to here are exact as floats
MOST = 2**31 - 1

KIND, NUMBER, LOSS = np.dtype("u1"), np.dtype("<i4"), np.dtype("<f8")


@final
@frozen
class Columns:
    """Events in order. A number of `NONE` (-1) stands for None."""

    kinds: NDArray[np.uint8]
    """Of each event, from 0 to 4: `Asked`, `Told`, `Failed`, `Queued` or `PriorChanged`."""

    fidelity: Ints
    """Of each trial, by id: its fidelity, as an index into `fidelities`."""
    bracket: Ints
    rung: Ints
    parent: Ints
    origin: Ints
    """As an index into `origins`."""
    configs: ConfigColumns
    """The configurations of the trials without a parent, in order."""

    ended: Ints
    """Of each `Told` or `Failed`, in order: the id of the trial."""
    loss: NDArray[np.float64]
    """Infinite for `Failed`."""
    reason: Ints
    """As an index into `reasons`; `NONE` for `Told`."""

    wish_fidelity: Ints
    """Of each `Queued`, in order: its fidelity, as an index into `fidelities`."""
    wishes: ConfigColumns
    """Its configuration."""

    fidelities: tuple[float, ...]
    """All fidelities in the order in which they came up; 1 and 1.0 are not the same here."""
    origins: tuple[str, ...]
    reasons: tuple[str, ...]
    priors: tuple[Prior, ...] = ()
    """Of each `PriorChanged`, in order: the new prior."""

    @staticmethod
    def empty(space: Space) -> "Columns":
        """The columns of a history without events."""
        none, table = np.empty(0, NUMBER), ConfigColumns.empty(space)
        return Columns(
            *(np.empty(0, KIND), none, none, none, none, none, table),
            *(none, np.empty(0, LOSS), none, none, table),
            *((), (), ()),
        )

    def __len__(self) -> int:
        """The number of events."""
        return len(self.kinds)

    @property
    def space(self) -> Space:
        """The space of the configurations."""
        return self.configs.space

    def extended(self, events: Iterable[Event]) -> "Columns":
        """The columns of these events and some more that follow them.

        Raise `OverflowError` for a number that does not fit, or a retried trial: such a history has
        no columns.
        """
        writer = _ColumnWriter(self)
        for event in events:
            writer.add(event)
        return writer.columns(self)

    def first(self, length: int) -> "Columns":
        """The columns of the first events only."""
        kinds = self.kinds[:length]
        asked, told, failed, wished, changed = np.bincount(kinds, minlength=5).tolist()
        ended, roots = told + failed, np.count_nonzero(self.parent[:asked] == NONE)
        return Columns(
            kinds=kinds,
            fidelity=self.fidelity[:asked],
            bracket=self.bracket[:asked],
            rung=self.rung[:asked],
            parent=self.parent[:asked],
            origin=self.origin[:asked],
            configs=self.configs.first(int(roots)),
            ended=self.ended[:ended],
            loss=self.loss[:ended],
            reason=self.reason[:ended],
            wish_fidelity=self.wish_fidelity[:wished],
            wishes=self.wishes.first(wished),
            fidelities=self.fidelities,
            origins=self.origins,
            reasons=self.reasons,
            priors=self.priors[:changed],
        )

    def check(self) -> None:
        """Raise `ValueError` unless these columns can be those of a history."""
        if not all(test(self) for test in _TESTS):
            raise ValueError("These columns are not those of a history.")


@final
class _ValueTable:
    """Values by their index, each value once."""

    def __init__(self, values: Iterable[Any], key: Callable[[Any], Any] = lambda value: value):
        self.values = [*values]
        self._key = key
        self._index = {key(value): index for index, value in enumerate(self.values)}

    def index(self, value: Any) -> int:
        """The index of a value, which is added if it is new."""
        found = self._index.setdefault(self._key(value), len(self.values))
        if found == len(self.values):
            self.values.append(value)
        return found


def _kind_and_value(number: float) -> tuple[bool, float]:
    return isinstance(number, float), number


@final
class _ColumnWriter:
    """Events that are added to columns."""

    def __init__(self, before: Columns) -> None:
        self.kinds = bytearray()
        self.trials: list[tuple[int, ...]] = []
        self.configs: list[Config] = []
        self.ends: list[tuple[int, float, int]] = []
        self.wish_fidelities: list[int] = []
        self.wishes: list[Config] = []
        self.fidelities = _ValueTable(before.fidelities, _kind_and_value)
        self.origins, self.reasons = _ValueTable(before.origins), _ValueTable(before.reasons)
        self.priors: list[Prior] = []

    def add(self, event: Event) -> None:
        if isinstance(event, Asked):
            self.kinds.append(ASKED)
            trial = event.trial
            bracket, rung = (NONE, NONE) if trial.slot is None else trial.slot
            parent = NONE if trial.parent is None else trial.parent
            origin = self.origins.index(trial.origin)
            self.trials.append((self._fidelity(trial.fidelity), bracket, rung, parent, origin))
            if trial.parent is None:
                self.configs.append(trial.config)
        elif isinstance(event, Told):
            self.kinds.append(TOLD)
            self.ends.append((event.trial, event.loss, NONE))
        elif isinstance(event, Failed):
            self.kinds.append(FAILED)
            self.ends.append((event.trial, math.inf, self.reasons.index(event.reason)))
        elif isinstance(event, PriorChanged):
            self.kinds.append(CHANGED)
            self.priors.append(event.prior)
        else:
            if event.retry is not None:
                raise OverflowError("There is no column for retried trials.")
            self.kinds.append(WISHED)
            at = event.fidelity
            self.wish_fidelities.append(NONE if at is None else self._fidelity(at))
            self.wishes.append(event.config)

    def _fidelity(self, fidelity: float) -> int:
        number = float(fidelity) if isinstance(fidelity, float) else int(fidelity)
        if abs(number) > EXACT and isinstance(number, int):
            raise OverflowError(f"The fidelity {number} is not exact as a float.")
        return self.fidelities.index(number)

    def columns(self, before: Columns) -> Columns:
        fidelity, bracket, rung, parent, origin = _transposed(self.trials, 5)
        ended, losses, reason = _transposed(self.ends, 3)
        return Columns(
            kinds=np.concatenate((before.kinds, np.frombuffer(bytes(self.kinds), KIND))),
            fidelity=_longer(before.fidelity, fidelity),
            bracket=_longer(before.bracket, bracket),
            rung=_longer(before.rung, rung),
            parent=_longer(before.parent, parent),
            origin=_longer(before.origin, origin),
            configs=before.configs.extended(self.configs),
            ended=_longer(before.ended, ended),
            loss=np.concatenate((before.loss, np.array(losses, LOSS))),
            reason=_longer(before.reason, reason),
            wish_fidelity=_longer(before.wish_fidelity, self.wish_fidelities),
            wishes=before.wishes.extended(self.wishes),
            fidelities=tuple(self.fidelities.values),
            origins=tuple(self.origins.values),
            reasons=tuple(self.reasons.values),
            priors=(*before.priors, *self.priors),
        )


def _transposed(rows: Sequence[tuple[Any, ...]], width: int) -> list[Sequence[Any]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width


def _longer(column: Ints, values: Sequence[int]) -> Ints:
    new = np.array(values, np.int64)
    if len(new) and new.max() > MOST:
        raise OverflowError(f"{new.max()} is too large a number for a column.")
    return np.concatenate((column, new.astype(NUMBER)))


def _lengths_fit(the: Columns) -> bool:
    if len(the.kinds) and the.kinds.max() > CHANGED:
        return False
    asked, told, failed, wished, changed = np.bincount(the.kinds, minlength=5).tolist()
    trials: list[Sized] = [the.fidelity, the.bracket, the.rung, the.parent, the.origin]
    ends: list[Sized] = [the.ended, the.loss, the.reason]
    wishes: list[Sized] = [the.wish_fidelity, the.wishes]
    lengths = {*map(len, trials)}, {*map(len, ends)}, {*map(len, wishes)}
    roots = np.count_nonzero(the.parent == NONE)
    fit = lengths == ({asked}, {told + failed}, {wished}) and len(the.configs) == roots
    return fit and len(the.priors) == changed


def _tables_fit(the: Columns) -> bool:
    most = {int: EXACT, float: sys.float_info.max}
    numbers = all(type(f) in most and 0 < f <= most[type(f)] for f in the.fidelities)
    return numbers and all(type(text) is str for text in (*the.origins, *the.reasons))


def _indices_fit(the: Columns) -> bool:
    failed = the.kinds[(the.kinds == TOLD) | (the.kinds == FAILED)] == FAILED
    return (
        _within(the.fidelity, 0, len(the.fidelities))
        and _within(the.origin, 0, len(the.origins))
        and _within(the.wish_fidelity, NONE, len(the.fidelities))
        and _within(the.reason[failed], 0, len(the.reasons))
        and _within(the.reason[~failed], NONE, 0)
        and bool(np.all(the.loss[failed] == math.inf))
        and bool(np.all(np.isfinite(the.loss[~failed])))
        and _within(the.ended, 0, len(the.parent))
        and _within(the.bracket, NONE, MOST)
        and _within(the.rung, NONE, MOST)
        and _within(the.parent, NONE, len(the.parent))
        and bool(np.all((the.bracket == NONE) == (the.rung == NONE)))
    )


def _within(column: Ints, low: int, high: int) -> bool:
    return bool(np.all((column >= low) & (column < high)))


def _configs_fit(the: Columns) -> bool:
    return the.configs.valid() and the.wishes.valid()


def _order_fits(the: Columns) -> bool:
    """Whether trials end once, after they were asked, and continue trials that succeeded before."""
    never = len(the.kinds)
    asked_at = np.flatnonzero(the.kinds == ASKED)
    told_at = np.flatnonzero((the.kinds == TOLD) | (the.kinds == FAILED))
    ended_at, losses = np.full(len(asked_at), never), np.full(len(asked_at), math.inf)
    ended_at[the.ended], losses[the.ended] = told_at, the.loss
    once = np.count_nonzero(ended_at < never) == len(told_at)
    child = np.flatnonzero(the.parent != NONE)
    parent = the.parent[child]
    fidelity = np.array(the.fidelities, LOSS)[the.fidelity]
    return (
        once
        and bool(np.all(asked_at[the.ended] < told_at))
        and bool(np.all(ended_at[parent] < asked_at[child]))
        and bool(np.all(losses[parent] < math.inf))
        and bool(np.all(fidelity[parent] < fidelity[child]))
        and bool(np.all(the.origin[parent] == the.origin[child]))
    )


def _queue_fits(the: Columns) -> bool:
    """Whether a configuration was queued before each trial that takes one from the queue."""
    change = np.where(the.kinds == WISHED, 1, 0)
    taken = from_queue(the)
    change[np.flatnonzero(the.kinds == ASKED)[taken]] = -1
    return bool(np.all(np.cumsum(change) >= 0))


def from_queue(the: Columns) -> NDArray[np.bool_]:
    """Of each trial: whether it took its configuration from the queue."""
    taken: NDArray[np.bool_] = (the.parent == NONE) & is_origin(the, QUEUED)
    return taken


def is_origin(the: Columns, origin: str) -> NDArray[np.bool_]:
    """Of each trial: whether it has this origin."""
    indices = [index for index, name in enumerate(the.origins) if name == origin]
    return np.isin(the.origin, indices)


_TESTS = (_tables_fit, _lengths_fit, _indices_fit, _configs_fit, _order_fits, _queue_fits)
