"""The log: a study's events in order, with indexes that are updated as events are appended.

Only `History` uses it, and holds its lock while it does.
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
    """The trials of one slot: their counts, and the observations of those that have ended."""

    __slots__ = ("_ended", "_sorted", "members")

    def __init__(self) -> None:
        self.members = NO_MEMBERS
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

    def best(self, position: int) -> Observation:
        """The observation that ranks at `position`, the best being at 0."""
        if self._sorted != len(self._ended):
            self._ended.sort(key=_ranking)
            self._sorted = len(self._ended)
        return self._ended[position]


@final
class Log:
    """Events in order, and their indexes."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.events: list[Event] = []
        self.cache = Cache()

        # By trial id: the trial, its outcome, and the first trial with the same configuration.
        self.trials: list[Trial] = []
        self.outcomes: list[Observation | None] = []
        self.first_with_config: list[int] = []
        self.first_by_values: dict[tuple[Any, ...], int] = {}
        self.running: dict[int, Trial] = {}
        self.queue: deque[Queued] = deque()
        self.drawn = 0

        # Trials by slot, base rungs by bracket, the bracket of each event, promotions by rung.
        self.slots: dict[tuple[int, int], SlotTrials] = {}
        self.base_rungs: dict[int, int] = {}
        self.bracket_touches: list[int] = []
        self.promoted: set[int] = set()
        self.promotions_from: dict[int, int] = {}

        # Observations: all, those with a slot by rung, successes and the best one by fidelity.
        self.observations: list[Observation] = []
        self.ended_on: dict[int, list[Observation]] = {}
        self.succeeded_at: dict[float, list[Observation]] = {}
        self.best_at: dict[float, Observation] = {}
        self.best: Observation | None = None
        self.success_count = 0
        self.spent = self.import_resources = 0.0

        # By the first trial with a configuration that was imported: the highest fidelity of our own
        # trials with it, and of imported ones.
        self.import_reach: dict[int, tuple[float, float]] = {}

        # By the first trial with a configuration: its observation at the highest fidelity. The heap
        # holds successes among them, and others that `incumbent` drops when they come first.
        self.furthest: dict[int, Observation] = {}
        self.incumbent_heap: list[tuple[float, int, int]] = []

    def apply(self, event: Event) -> None:
        """Append an event."""
        if isinstance(event, Asked):
            self._ask(event.trial)
        elif isinstance(event, Told):
            self._end(Observation(self.running.pop(event.trial), event.loss))
        elif isinstance(event, Failed):
            self._end(Observation(self.running.pop(event.trial), inf, event.reason))
        else:
            self.queue.append(event)
        self.events.append(event)

    def cost(self, trial: Trial) -> float:
        """The cost of a trial in fidelity units: its fidelity, less that of its parent."""
        parent_fidelity = 0.0 if trial.parent is None else self.trials[trial.parent].fidelity
        return trial.fidelity - parent_fidelity

    def _ask(self, trial: Trial) -> None:
        if trial.id != len(self.trials):
            raise RuntimeError(f"Trial {trial.id} was asked when {len(self.trials)} was next.")
        from_queue = trial.origin == QUEUED and trial.parent is None
        if from_queue and not self.queue:
            raise RuntimeError(f"Trial {trial.id} comes from the queue, but the queue is empty.")
        self.trials.append(trial)
        self.outcomes.append(None)
        self.running[trial.id] = trial
        if trial.parent is not None:
            self._promote(self.trials[trial.parent])
            first = self.first_with_config[trial.parent]
        else:
            first = self.first_by_values.setdefault(tuple(trial.config.values()), trial.id)
            if from_queue:
                self.queue.popleft()
            elif trial.origin != IMPORTED:
                self.drawn += 1
        self.first_with_config.append(first)
        if trial.slot is not None:
            self._start_in(trial.slot)

    def _start_in(self, slot: Slot) -> None:
        self.bracket_touches.append(slot.bracket)
        self.base_rungs.setdefault(slot.bracket, slot.rung)
        trials = self.slots.get(slot)
        if trials is None:
            trials = self.slots[slot] = SlotTrials()
        trials.start()

    def _promote(self, parent: Trial) -> None:
        self.promoted.add(parent.id)
        if parent.slot is not None:
            rung = parent.slot.rung
            self.promotions_from[rung] = self.promotions_from.get(rung, 0) + 1

    def _end(self, ended: Observation) -> None:
        trial = ended.trial
        self.outcomes[trial.id] = ended
        self.observations.append(ended)
        slot = trial.slot
        if slot is not None:
            self.bracket_touches.append(slot.bracket)
            self.slots[slot].end(ended)
            self.ended_on.setdefault(slot.rung, []).append(ended)
        previous = self.furthest.get(self.first_with_config[trial.id])
        if trial.origin != IMPORTED:
            self.spent += self.cost(trial)
        self._count_import(trial, previous.fidelity if previous else 0.0)
        self._update_furthest(ended, previous)
        if not ended.failed:
            self._succeed(ended)

    def _count_import(self, trial: Trial, reached: float) -> None:
        """Count how much further imported results take a configuration than our own trials do."""
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
        fidelity = ended.fidelity
        self.success_count += 1
        lowest = self.best_at.get(fidelity)
        if lowest is None:
            self.succeeded_at[fidelity] = [ended]
        else:
            self.succeeded_at[fidelity].append(ended)
        if lowest is None or ended.ranking < lowest.ranking:
            self.best_at[fidelity] = ended
        if self.best is None or ended.loss < self.best.loss:
            self.best = ended

    def _update_furthest(self, ended: Observation, previous: Observation | None) -> None:
        """Keep each configuration's observation at its highest fidelity, and the better of two.

        A configuration whose observation there is a failure cannot become the incumbent.
        """
        if previous is not None:
            further = ended.fidelity > previous.fidelity
            better = ended.fidelity == previous.fidelity and ended.ranking < previous.ranking
            if not further and not better:
                return
        self.furthest[self.first_with_config[ended.trial.id]] = ended
        if not ended.failed:
            heappush(self.incumbent_heap, (*ended.ranking, ended.trial.id))

    def incumbent(self) -> Observation | None:
        """The best configuration, each taken at the highest fidelity it has finished."""
        while self.incumbent_heap:
            _, _, number = self.incumbent_heap[0]
            furthest = self.furthest[self.first_with_config[number]]
            if furthest.trial.id == number:
                return furthest
            heappop(self.incumbent_heap)  # the configuration was trained further since
        return None
