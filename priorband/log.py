"""The log: a study's events, and everything that is looked up in them, kept as they come.

Only a history holds one, and only the newest history of a study sees it grow.
"""

from collections import deque
from heapq import heappop, heappush
from math import inf
from operator import attrgetter
from threading import RLock
from typing import Any, final

from priorband.events import Asked, Event, Failed, Queued, Told
from priorband.trial import IMPORTED, QUEUED, Observation, Slot, Trial

_ranking = attrgetter("ranking")


@final
class Members:
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
        self.cache: dict[Any, Any] = {}

        # What was asked, by trial id: the trial, how it ended, the first with its configuration.
        self.trials: list[Trial] = []
        self.outcomes: list[Observation | None] = []
        self.same: list[int] = []
        self.firsts: dict[tuple[Any, ...], int] = {}
        self.running: dict[int, Trial] = {}
        self.queue: deque[Queued] = deque()
        self.drawn = 0

        # The plan: members by slot, brackets and their base rungs, promotions by trial and by rung.
        self.slots: dict[tuple[int, int], Members] = {}
        self.bases: dict[int, int] = {}
        self.begun: list[int] = []
        self.promoted: set[int] = set()
        self.risen: dict[int, int] = {}

        # What was told: all, by rung of the plan, successes and the best of them by fidelity.
        self.ended: list[Observation] = []
        self.rungs: dict[int, list[Observation]] = {}
        self.at: dict[float, tuple[list[Observation], Observation]] = {}
        self.best: Observation | None = None
        self.finished = 0
        self.spent = self.resources = 0.0

        # Each configuration at its highest fidelity, and a heap of those that succeeded there.
        self.standing: dict[int, Observation] = {}
        self.contenders: list[tuple[float, int, int]] = []

    def apply(self, event: Event) -> None:
        """Append an event."""
        with self.lock:
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

    def cost(self, trial: Trial) -> float:
        """What a trial pays, in fidelity units."""
        paid = 0.0 if trial.parent is None else self.trials[trial.parent].fidelity
        return trial.fidelity - paid

    def _ask(self, trial: Trial) -> None:
        if trial.id != len(self.trials):
            raise RuntimeError(f"Trial {trial.id} was asked when {len(self.trials)} was next.")
        self.trials.append(trial)
        self.outcomes.append(None)
        self.running[trial.id] = trial
        if trial.parent is not None:
            self._rise(self.trials[trial.parent])
            self.same.append(self.same[trial.parent])
        else:
            self.same.append(self.firsts.setdefault(tuple(trial.config.values()), trial.id))
            if trial.origin == QUEUED:
                self.queue.popleft()
            elif trial.origin != IMPORTED:
                self.drawn += 1
        if trial.slot is not None:
            self._place(trial.slot)

    def _place(self, slot: Slot) -> None:
        if slot.bracket not in self.bases:
            self.bases[slot.bracket] = slot.rung
            self.begun.append(slot.bracket)
        members = self.slots.get(slot)
        if members is None:
            members = self.slots[slot] = Members()
        members.started += 1

    def _rise(self, parent: Trial) -> None:
        self.promoted.add(parent.id)
        if parent.slot is not None:
            self.risen[parent.slot.rung] = self.risen.get(parent.slot.rung, 0) + 1

    def _end(self, ended: Observation) -> None:
        trial = ended.trial
        self.outcomes[trial.id] = ended
        self.ended.append(ended)
        slot = trial.slot
        if slot is not None:
            self.slots[slot].add(ended)
            self.rungs.setdefault(slot.rung, []).append(ended)
        if trial.origin != IMPORTED:
            self.spent += self.cost(trial)
        self._stand(ended)
        if not ended.failed:
            self._succeed(ended)

    def _succeed(self, ended: Observation) -> None:
        trial = ended.trial
        self.finished += 1
        losses, lowest = self.at.setdefault(trial.fidelity, ([], ended))
        losses.append(ended)
        if ended.ranking < lowest.ranking:
            self.at[trial.fidelity] = losses, ended
        if self.best is None or ended.loss < self.best.loss:
            self.best = ended

    def _stand(self, ended: Observation) -> None:
        """A configuration stands where it was trained furthest; after a failure there, nowhere."""
        first = self.same[ended.trial.id]
        known = self.standing.get(first)
        reach = known.fidelity if known else 0.0
        self.resources += max(ended.fidelity - reach, 0.0)
        better = known is None or ended.ranking < known.ranking
        if ended.fidelity > reach or (ended.fidelity == reach and better):
            self.standing[first] = ended
            if not ended.failed:
                heappush(self.contenders, (*ended.ranking, ended.trial.id))

    def incumbent(self) -> Observation | None:
        """The best configuration, each taken at the highest fidelity it has finished."""
        while self.contenders:
            _, _, number = self.contenders[0]
            stands = self.standing[self.same[number]]
            if stands.trial.id == number:
                return stands
            heappop(self.contenders)  # trained further since
        return None
