"""Indexes of a log that only decisions need, such as trials by slot and the incumbent.

They are updated as trials are asked and end. A log that was restored builds them when a decision
first needs them: to show a study, they are not needed.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from operator import attrgetter
from typing import Any, NamedTuple, final

from priorband.log.lazy_list import LazyList
from priorband.trial import IMPORTED, Observation, Slot, Trial

Trials = list[Trial] | LazyList[Trial]
Outcomes = list[Observation | None] | LazyList[Observation | None]
Observations = list[Observation] | LazyList[Observation]

_ranking = attrgetter("ranking")


class Members(NamedTuple):
    """How many trials of a slot were started, have ended, and have succeeded."""

    started: int
    ended: int
    succeeded: int


NO_MEMBERS = Members(0, 0, 0)


def _none() -> list[Observation]:
    return []


@final
class SlotTrials:
    """The trials of one slot: their counts, and the observations of those that have ended."""

    __slots__ = ("_earlier", "_ended", "_sorted", "members")

    def __init__(
        self, members: Members = NO_MEMBERS, earlier: Callable[[], list[Observation]] = _none
    ) -> None:
        self.members = members
        self._earlier = earlier
        self._ended: list[Observation] = []
        self._sorted = 0

    def start(self) -> None:
        """Count a trial that was started."""
        started, ended, succeeded = self.members
        self.members = Members(started + 1, ended, succeeded)

    def end(self, member: Observation) -> None:
        """Add a trial that has ended."""
        self._ended.append(member)
        started, ended, succeeded = self.members
        self.members = Members(started, ended + 1, succeeded + (not member.failed))

    def reopen(self, failed: int) -> None:
        """Forget a trial that has failed: another has started in its place."""
        self._ended = [o for o in self._earlier() + self._ended if o.trial.id != failed]
        self._earlier, self._sorted = _none, -1
        started, ended, succeeded = self.members
        self.members = Members(started, ended - 1, succeeded)

    def best(self, position: int) -> Observation:
        """The observation that ranks at `position`, the best being at 0."""
        if self._sorted != self.members.ended:
            self._ended = sorted(self._earlier() + self._ended, key=_ranking)
            self._earlier = _none
            self._sorted = len(self._ended)
        return self._ended[position]


@final
class Indexes:
    """Indexes of the trials that were asked and of those that have ended, both in order."""

    def __init__(self, trials: Trials, outcomes: Outcomes) -> None:
        self._trials, self._outcomes = trials, outcomes

        # By trial id: the first trial with the same configuration.
        self.first_with_config: list[int] = []
        self.first_by_values: dict[tuple[Any, ...], int] = {}

        # Trials by slot, base rungs by bracket, the bracket of each event, promotions by rung.
        self.slots: dict[tuple[int, int], SlotTrials] = {}
        self.base_rungs: dict[int, int] = {}
        self.bracket_touches: list[int] = []
        self.promoted: set[int] = set()
        self.promotions_from: dict[int, int] = {}

        # Observations: those with a slot by rung, and successes by fidelity.
        self.ended_on: dict[int, Observations] = {}
        self.succeeded_at: dict[float, Observations] = {}

        # By the first trial with a configuration that was imported: the highest fidelity of our own
        # trials with it, and of imported ones.
        self.import_reach: dict[int, tuple[float, float]] = {}
        self.import_resources = 0.0

        # By the first trial with a configuration: the trial with its observation at the highest
        # fidelity. The heap holds successes among them, and others that `incumbent` drops when they
        # come first.
        self.furthest: dict[int, int] = {}
        self.incumbent_heap: list[tuple[float, int, int]] = []

    def ask(self, trial: Trial, failed: int | None = None) -> None:
        """Add a trial; `failed` is the one whose place it takes, if it is a retry."""
        if trial.parent is not None:
            if failed is None:
                self._promote(self._trials[trial.parent])
            first = self.first_with_config[trial.parent]
        else:
            first = self.first_by_values.setdefault(tuple(trial.config.values()), trial.id)
        self.first_with_config.append(first)
        if trial.slot is not None and failed is None:
            self._start_in(trial.slot)
        elif trial.slot is not None and failed is not None:
            self.bracket_touches.append(trial.slot.bracket)
            self.slots[trial.slot].reopen(failed)

    def _start_in(self, slot: Slot) -> None:
        self.bracket_touches.append(slot.bracket)
        self.base_rungs.setdefault(slot.bracket, slot.rung)
        trials = self.slots.get(slot)
        if trials is None:
            trials = self.slots[slot] = SlotTrials()
        trials.start()

    def next_winner(self, slot: tuple[int, int], promoted: int) -> Observation:
        """The best trial of a slot that is not promoted, if so many are.

        The promoted ones rank before it, unless a trial was retried after they were promoted.
        """
        trials = self.slots[slot]
        for position in range(promoted):
            best = trials.best(position)
            if best.trial.id not in self.promoted:
                return best
        return trials.best(promoted)

    def _promote(self, parent: Trial) -> None:
        self.promoted.add(parent.id)
        if parent.slot is not None:
            rung = parent.slot.rung
            self.promotions_from[rung] = self.promotions_from.get(rung, 0) + 1

    def end(self, ended: Observation) -> None:
        """Add an observation."""
        trial = ended.trial
        slot = trial.slot
        if slot is not None:
            self.bracket_touches.append(slot.bracket)
            self.slots[slot].end(ended)
            self.ended_on.setdefault(slot.rung, []).append(ended)
        first = self.first_with_config[trial.id]
        number = self.furthest.get(first)
        previous = None if number is None else self._outcomes[number]
        reached = previous.fidelity if previous else 0.0
        self.count_import(first, trial.fidelity, trial.origin == IMPORTED, reached)
        self._update_furthest(first, ended, previous)
        if not ended.failed:
            at = self.succeeded_at.get(ended.fidelity)
            if at is None:
                self.succeeded_at[ended.fidelity] = [ended]
            else:
                at.append(ended)

    def count_import(self, first: int, fidelity: float, imported: bool, reached: float) -> None:
        """Count how much further imported results take a configuration than our own trials do.

        `reached` is the highest fidelity of its earlier results.
        """
        if imported:
            own, their = self.import_reach.get(first, (reached, 0.0))
            after = own, max(their, fidelity)
        elif first in self.import_reach:
            own, their = self.import_reach[first]
            after = max(own, fidelity), their
        else:
            return
        self.import_resources += max(after[1] - after[0], 0.0) - max(their - own, 0.0)
        self.import_reach[first] = after

    def _update_furthest(
        self, first: int, ended: Observation, previous: Observation | None
    ) -> None:
        """Keep each configuration's observation at its highest fidelity, and the better of two.

        A configuration whose observation there is a failure cannot become the incumbent.
        """
        if previous is not None:
            further = ended.fidelity > previous.fidelity
            better = ended.fidelity == previous.fidelity and ended.ranking < previous.ranking
            if not further and not better:
                return
        self.furthest[first] = ended.trial.id
        if not ended.failed:
            heappush(self.incumbent_heap, (*ended.ranking, ended.trial.id))

    def incumbent(self) -> Observation | None:
        """The best configuration, each taken at the highest fidelity it has finished."""
        while self.incumbent_heap:
            _, _, number = self.incumbent_heap[0]
            if self.furthest[self.first_with_config[number]] == number:
                return self._outcomes[number]
            heappop(self.incumbent_heap)  # the configuration was trained further since
        return None
