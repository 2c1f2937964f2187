"""Trials, observations and indexes made of columns, each when it is first needed."""

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.events import Asked, Event, Failed, PriorChanged, Queued, Told
from priorband.log.columns import (
    ASKED,
    CHANGED,
    FAILED,
    LOSS,
    NONE,
    TOLD,
    WISHED,
    Columns,
    from_queue,
    is_origin,
)
from priorband.log.indexes import Indexes, Members, SlotTrials
from priorband.log.lazy_list import LazyList
from priorband.log.prior_change import PriorChange
from priorband.space.config import Config
from priorband.trial import IMPORTED, Observation, Slot, Trial

Array = NDArray[Any]


@final
class Restored:
    """What columns stand for. Lists make their items when they are looked at, and keep them."""

    def __init__(self, columns: Columns) -> None:
        self.columns = the = columns
        kinds = the.kinds
        self._is_end = (kinds == TOLD) | (kinds == FAILED)
        count = len(the.parent)

        # Of each trial: the first trial of its chain, the row of its configuration, and its end.
        self._root = root = _roots(the.parent)
        self._row = (np.cumsum(the.parent == NONE) - 1)[root]
        self._end = np.full(count, NONE)
        self._end[the.ended] = np.arange(len(the.ended))

        # Of each event: how many of its kind came before it.
        self._nth = np.empty(len(kinds), np.int64)
        for of_kind in (kinds == ASKED, self._is_end, kinds == WISHED, kinds == CHANGED):
            self._nth[of_kind] = np.arange(np.count_nonzero(of_kind))
        self._fidelity = np.array(the.fidelities, LOSS)[the.fidelity]

        self.configs: LazyList[Config] = LazyList(len(the.configs), the.configs.configs)
        self.trials: LazyList[Trial] = LazyList(count, self._trials)
        self.observations: LazyList[Observation] = LazyList(len(the.ended), self._observations)
        self.outcomes: LazyList[Observation | None] = LazyList(count, self._outcomes)
        self.wishes: LazyList[Queued] = LazyList(len(the.wishes), self._wishes)
        self.events: LazyList[Event] = LazyList(len(kinds), self._events)

    def _trials(self, ids: list[int]) -> list[Trial]:
        the = self.columns
        columns = (the.fidelity, the.bracket, the.rung, the.parent, the.origin, self._root)
        rows = zip(*(column[ids].tolist() for column in columns), strict=True)
        configs = self.configs.many(self._row[ids].tolist())
        return [
            Trial(
                number,
                config,
                the.fidelities[fidelity],
                None if rung == NONE else Slot(bracket, rung),
                None if parent == NONE else parent,
                the.origins[origin],
                root,
            )
            for number, config, (fidelity, bracket, rung, parent, origin, root) in zip(
                ids, configs, rows, strict=True
            )
        ]

    def _observations(self, indices: list[int]) -> list[Observation]:
        the = self.columns
        trials = self.trials.many(the.ended[indices].tolist())
        rows = zip(trials, the.loss[indices].tolist(), the.reason[indices].tolist(), strict=True)
        reasons = (*the.reasons, "")  # for `NONE`
        return [Observation(trial, loss, reasons[reason]) for trial, loss, reason in rows]

    def _outcomes(self, ids: list[int]) -> list[Observation | None]:
        ends = self._end[ids].tolist()
        self.observations.many([end for end in ends if end != NONE])
        return [None if end == NONE else self.observations[end] for end in ends]

    def _wishes(self, indices: list[int]) -> list[Queued]:
        fidelities = (*self.columns.fidelities, None)  # for `NONE`
        rows = zip(
            self.columns.wishes.configs(indices),
            self.columns.wish_fidelity[indices].tolist(),
            strict=True,
        )
        return [Queued(config, fidelities[fidelity]) for config, fidelity in rows]

    def _events(self, indices: list[int]) -> list[Event]:
        kinds, nth = self.columns.kinds[indices].tolist(), self._nth[indices].tolist()
        for kind, made in ((ASKED, self.trials), (WISHED, self.wishes)):
            made.many([n for k, n in zip(kinds, nth, strict=True) if k == kind])
        return [self._event(kind, n) for kind, n in zip(kinds, nth, strict=True)]

    def _event(self, kind: int, n: int) -> Event:
        the = self.columns
        if kind == ASKED:
            return Asked(self.trials[n])
        if kind == WISHED:
            return self.wishes[n]
        if kind == CHANGED:
            return PriorChanged(the.priors[n])
        ended = int(the.ended[n])
        if kind == TOLD:
            return Told(ended, float(the.loss[n]))
        return Failed(ended, the.reasons[the.reason[n]])

    @property
    def running(self) -> dict[int, Trial]:
        """The trials that have not ended, by id."""
        ids = np.flatnonzero(self._end == NONE).tolist()
        return dict(zip(ids, self.trials.many(ids), strict=True))

    @property
    def queue(self) -> deque[Queued]:
        """The configurations that wait in the queue."""
        taken = np.count_nonzero(from_queue(self.columns))
        return deque(self.wishes[taken:])

    @property
    def drawn(self) -> int:
        """How many configurations a sampler has drawn."""
        added = from_queue(self.columns) | is_origin(self.columns, IMPORTED)
        return int(np.count_nonzero((self.columns.parent == NONE) & ~added))

    @property
    def prior_changes(self) -> list[PriorChange]:
        """The changes of the prior."""
        places = np.flatnonzero(self.columns.kinds == CHANGED).tolist()
        return [
            PriorChange(
                prior,
                int(np.count_nonzero(self.columns.kinds[:place] == ASKED)),
                int(np.count_nonzero(self._is_end[:place])),
            )
            for prior, place in zip(self.columns.priors, places, strict=True)
        ]

    @property
    def success_count(self) -> int:
        """How many trials have succeeded."""
        return int(np.count_nonzero(np.isfinite(self.columns.loss)))

    @property
    def failures(self) -> LazyList[Observation]:
        """The observations of the trials that failed."""
        return self._lazy(np.flatnonzero(np.isinf(self.columns.loss)))

    @property
    def spent(self) -> float:
        """The total cost of all ended trials except imported ones, added up in their order."""
        the = self.columns
        of_parent = np.where(the.parent == NONE, 0.0, self._fidelity[the.parent])
        costs = (self._fidelity - of_parent)[the.ended]
        costs = costs[~is_origin(the, IMPORTED)[the.ended]]
        return float(np.add.accumulate(costs)[-1]) if len(costs) else 0.0  # `sum` rounds otherwise

    @property
    def best(self) -> Observation | None:
        """The first observation with the lowest loss."""
        losses = self.columns.loss
        lowest = int(np.argmin(losses)) if len(losses) else 0
        return self.observations[lowest] if len(losses) and np.isfinite(losses[lowest]) else None

    @property
    def best_at(self) -> dict[float, Observation]:
        """The observation that ranks first at each fidelity, the earliest of several."""
        the, best = self.columns, dict[float, Observation]()
        for fidelity, ends in self._successes():
            losses = the.loss[ends]
            lowest = ends[losses == losses.min()]
            first = lowest[np.argmin(self._root[the.ended[lowest]])]
            best[fidelity] = self.observations[int(first)]
        return best

    def _successes(self) -> Iterator[tuple[float, Array]]:
        """The ends of the trials that succeeded at each fidelity."""
        the = self.columns
        ends = np.flatnonzero(np.isfinite(the.loss))
        at = self._fidelity[the.ended[ends]]
        for indices in _groups(at):
            first = the.fidelity[the.ended[ends[indices[0]]]]
            yield the.fidelities[first], ends[indices]

    def indexes(self) -> Indexes:
        """The indexes that decisions need."""
        indexes = Indexes(self.trials, self.outcomes)
        self._index_configs(indexes)
        self._index_slots(indexes)
        self._index_promotions(indexes)
        first = np.array(indexes.first_with_config, np.int64)
        self._index_imports(indexes, first)
        self._index_furthest(indexes, first)
        for fidelity, ends in self._successes():
            indexes.succeeded_at[fidelity] = self._lazy(ends)
        return indexes

    def _lazy(self, ends: Array) -> LazyList[Observation]:
        return LazyList(len(ends), lambda at: self.observations.many(ends[at].tolist()))

    def _index_configs(self, indexes: Indexes) -> None:
        roots = np.flatnonzero(self.columns.parent == NONE).tolist()
        add = indexes.first_by_values.setdefault
        pairs = zip(self.columns.configs.values(), roots, strict=True)
        first = np.array([add(values, root) for values, root in pairs], np.int64)
        indexes.first_with_config = first[self._row].tolist()

    def _index_slots(self, indexes: Indexes) -> None:
        the = self.columns
        placed = np.flatnonzero(the.rung != NONE)
        if not len(placed):
            return
        brackets, firsts = np.unique(the.bracket[placed], return_index=True)
        bases = the.rung[placed[firsts]]
        indexes.base_rungs = dict(zip(brackets.tolist(), bases.tolist(), strict=True))

        touched = self._nth.copy()  # the trial of each event that is about one
        touched[self._is_end] = the.ended[self._nth[self._is_end]]
        touched = touched[(the.kinds == ASKED) | self._is_end]
        indexes.bracket_touches = the.bracket[touched[the.rung[touched] != NONE]].tolist()

        width = int(the.rung.max()) + 1
        slot = the.bracket[placed].astype(np.int64) * width + the.rung[placed]
        slots, numbers = np.unique(slot, return_inverse=True)
        slot_of = np.full(len(the.parent), NONE)
        slot_of[placed] = numbers
        ends = np.flatnonzero(slot_of[the.ended] != NONE)
        for at in _groups(the.rung[the.ended[ends]]):
            rung = int(the.rung[the.ended[ends[at[0]]]])
            indexes.ended_on[rung] = self._lazy(ends[at])

        of_end = slot_of[the.ended[ends]]
        in_order = ends[np.argsort(of_end, kind="stable")]
        started = np.bincount(numbers, minlength=len(slots))
        ended = np.bincount(of_end, minlength=len(slots))
        succeeded = np.bincount(of_end[np.isfinite(the.loss[ends])], minlength=len(slots))
        stop = np.cumsum(ended)
        rows = zip(
            *(each.tolist() for each in (slots // width, slots % width)),
            *(each.tolist() for each in (started, ended, succeeded, stop)),
            strict=True,
        )
        for bracket, rung, n_started, n_ended, n_succeeded, n_stop in rows:
            earlier = partial(self._some, in_order, n_stop - n_ended, n_stop)
            members = Members(n_started, n_ended, n_succeeded)
            indexes.slots[bracket, rung] = SlotTrials(members, earlier)

    def _some(self, ends: Array, start: int, stop: int) -> list[Observation]:
        return self.observations.many(ends[start:stop].tolist())

    def _index_promotions(self, indexes: Indexes) -> None:
        parents = self.columns.parent[self.columns.parent != NONE]
        indexes.promoted = set(parents.tolist())
        rungs = self.columns.rung[parents]
        found = np.unique(rungs[rungs != NONE], return_counts=True)
        indexes.promotions_from = dict(zip(*(each.tolist() for each in found), strict=True))

    def _index_imports(self, indexes: Indexes, first: Array) -> None:
        the = self.columns
        imported = is_origin(the, IMPORTED)
        if not imported.any():
            return
        concerned = np.isin(first, first[imported])[the.ended]
        reached: dict[int, float] = {}
        for number in the.ended[concerned].tolist():
            fidelity, config = the.fidelities[the.fidelity[number]], int(first[number])
            before = reached.get(config, 0.0)
            indexes.count_import(config, fidelity, bool(imported[number]), before)
            reached[config] = max(before, fidelity)

    def _index_furthest(self, indexes: Indexes, first: Array) -> None:
        """Find the end of each configuration at its highest fidelity, the best of several."""
        the = self.columns
        config, root, at = (each[the.ended] for each in (first, self._root, self._fidelity))
        order = np.lexsort((root, the.loss, -at, config))
        _, starts = np.unique(config[order], return_index=True)
        best = order[starts]
        numbers = the.ended[best].tolist()
        indexes.furthest = dict(zip(config[best].tolist(), numbers, strict=True))
        best = best[np.isfinite(the.loss[best])]
        best = best[np.lexsort((root[best], the.loss[best]))]  # a sorted list is a heap
        columns = (the.loss[best], root[best], the.ended[best])
        indexes.incumbent_heap = list(zip(*(each.tolist() for each in columns), strict=True))


def _roots(parent: Array) -> Array:
    """The first trial of each chain of promotions."""
    root = np.where(parent == NONE, np.arange(len(parent)), parent)
    while not np.array_equal(further := root[root], root):
        root = further
    return root


def _groups(values: Array) -> Iterator[Array]:
    """The indices of equal values, in order, one array for each value."""
    order = np.argsort(values, kind="stable")
    changes = np.flatnonzero(np.diff(values[order])) + 1
    return iter(np.split(order, changes) if len(order) else ())
