"""The log: a study's events, and everything that is looked up in them, kept as they come.

Only a history holds one, and only the newest history of a study sees it grow.
"""

from collections import deque
from heapq import heappop, heappush
from math import inf
from operator import attrgetter
from threading import RLock
from typing import Any, NamedTuple, final

from priorband.cache import Cache
from priorband.events import Asked, Event, Failed, Queued, Told
from priorband.trial import IMPORTED, QUEUED, Observation, Slot, Trial

_ranking = attrgetter("ranking")


class Members(NamedTuple):
    """How many trials of a slot were started, have ended, and have succeeded."""

    started: int
    ended: int
    succeeded: int


NO_MEMBERS = Members(0, 0, 0)


@final
class SlotTrials:
    """The trials of one slot: how many were started, how they ended."""

    __slots__ = ("_sorted", "ended", "started", "succeeded")

    def __init__(self) -> None:
        self.started = 0
        self.succeeded = 0
        self.ended: list[Observation] = []
        self._sorted = 0

    def add(self, member: Observation) -> None:
        """Note that a member has ended."""
        self.ended.append(member)
        self.succeeded += not member.failed

    def best(self, position: int) -> Observation:
        """The member with that rank, from 0."""
        if self._sorted != len(self.ended):
            self.ended.sort(key=_ranking)
            self._sorted = len(self.ended)
        return self.ended[position]


@final
class Log:
    """Events in order, and their indexes."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.events: list[Event] = []
        self.cache = Cache()

        # What was asked, by trial id: the trial, how it ended, the first with its configuration.
        self.trials: list[Trial] = []
        self.outcomes: list[Observation | None] = []
        self.first_with_config: list[int] = []
        self.first_by_values: dict[tuple[Any, ...], int] = {}
        self.running: dict[int, Trial] = {}
        self.queue: deque[Queued] = deque()
        self.drawn = 0

        # The plan: members by slot, base rungs by bracket, the bracket of each event, promotions.
        self.slots: dict[tuple[int, int], SlotTrials] = {}
        self.base_rungs: dict[int, int] = {}
        self.bracket_touches: list[int] = []
        self.promoted: set[int] = set()
        self.promotions_from: dict[int, int] = {}

        # What was told: all, by rung of the plan, successes and the best of them by fidelity.
        self.observations: list[Observation] = []
        self.ended_on: dict[int, list[Observation]] = {}
        self.succeeded_at: dict[float, list[Observation]] = {}
        self.best_at: dict[float, Observation] = {}
        self.best: Observation | None = None
        self.success_count = 0
        self.spent = self.import_resources = 0.0
        self.import_reach: dict[int, tuple[float, float]] = {}

        # Each configuration at its highest fidelity, and a heap of those that succeeded there.
        self.furthest: dict[int, Observation] = {}
        self.incumbent_heap: list[tuple[float, int, int]] = []

    def apply(self, event: Event) -> None:
        """Append an event."""
        match event:
            case Asked(trial):
                self._ask(trial)
            case Told(number, loss):
                self._end(Observation(self.running.pop(number), loss))
            case Failed(number, reason):
                self._end(Observation(self.running.pop(number), inf, reason))
            case Queued():
                self.queue.append(event)
        self.events.append(event)

    def members(self, slot: tuple[int, int]) -> Members:
        """How many trials of a slot were started, have ended, and have succeeded."""
        trials = self.slots.get(slot)
        if trials is None:
            return NO_MEMBERS
        return Members(trials.started, len(trials.ended), trials.succeeded)

    def cost(self, trial: Trial) -> float:
        """What a trial pays, in fidelity units."""
        paid = 0.0 if trial.parent is None else self.trials[trial.parent].fidelity
        return trial.fidelity - paid

    def _ask(self, trial: Trial) -> None:
        if trial.id != len(self.trials):
            raise RuntimeError(f"Trial {trial.id} was asked when {len(self.trials)} was next.")
        wished = trial.origin == QUEUED and trial.parent is None
        if wished and not self.queue:
            raise RuntimeError(f"Trial {trial.id} was queued by nobody.")
        self.trials.append(trial)
        self.outcomes.append(None)
        self.running[trial.id] = trial
        if trial.parent is not None:
            self._rise(self.trials[trial.parent])
            self.first_with_config.append(self.first_with_config[trial.parent])
        else:
            self.first_with_config.append(
                self.first_by_values.setdefault(tuple(trial.config.values()), trial.id)
            )
            if wished:
                self.queue.popleft()
            elif trial.origin != IMPORTED:
                self.drawn += 1
        if trial.slot is not None:
            self._place(trial.slot)

    def _place(self, slot: Slot) -> None:
        self.bracket_touches.append(slot.bracket)
        self.base_rungs.setdefault(slot.bracket, slot.rung)
        members = self.slots.get(slot)
        if members is None:
            members = self.slots[slot] = SlotTrials()
        members.started += 1

    def _rise(self, parent: Trial) -> None:
        self.promoted.add(parent.id)
        if parent.slot is not None:
            self.promotions_from[parent.slot.rung] = (
                self.promotions_from.get(parent.slot.rung, 0) + 1
            )

    def _end(self, ended: Observation) -> None:
        trial = ended.trial
        self.outcomes[trial.id] = ended
        self.observations.append(ended)
        slot = trial.slot
        if slot is not None:
            self.bracket_touches.append(slot.bracket)
            self.slots[slot].add(ended)
            self.ended_on.setdefault(slot.rung, []).append(ended)
        known = self.furthest.get(self.first_with_config[trial.id])
        if trial.origin != IMPORTED:
            self.spent += self.cost(trial)
        self._credit(trial, known.fidelity if known else 0.0)
        self._stand(ended, known)
        if not ended.failed:
            self._succeed(ended)

    def _credit(self, trial: Trial, reached: float) -> None:
        """Count what imported results of a configuration add to how far our own trials took it."""
        first = self.first_with_config[trial.id]
        if trial.origin == IMPORTED:
            own, imported = self.import_reach.get(first, (reached, 0.0))
            after = own, max(imported, trial.fidelity)
        elif first in self.import_reach:
            own, imported = self.import_reach[first]
            after = max(own, trial.fidelity), imported
        else:
            return
        self.import_resources += max(after[1] - after[0], 0.0) - max(imported - own, 0.0)
        self.import_reach[first] = after

    def _succeed(self, ended: Observation) -> None:
        trial = ended.trial
        self.success_count += 1
        lowest = self.best_at.get(trial.fidelity)
        if lowest is None:
            self.succeeded_at[trial.fidelity] = [ended]
        else:
            self.succeeded_at[trial.fidelity].append(ended)
        if lowest is None or ended.ranking < lowest.ranking:
            self.best_at[trial.fidelity] = ended
        if self.best is None or ended.loss < self.best.loss:
            self.best = ended

    def _stand(self, ended: Observation, known: Observation | None) -> None:
        """A configuration stands where it was trained furthest; after a failure there, nowhere."""
        here = (ended.fidelity, known.ranking) if known else ()
        if known is None or here > (known.fidelity, ended.ranking):  # further up, or better there
            self.furthest[self.first_with_config[ended.trial.id]] = ended
            if not ended.failed:
                heappush(self.incumbent_heap, (*ended.ranking, ended.trial.id))

    def incumbent(self) -> Observation | None:
        """The best configuration, each taken at the highest fidelity it has finished."""
        while self.incumbent_heap:
            _, _, number = self.incumbent_heap[0]
            stands = self.furthest[self.first_with_config[number]]
            if stands.trial.id == number:
                return stands
            heappop(self.incumbent_heap)  # trained further since
        return None
