"""The history: everything that happened, as a value that can be asked quickly.

A history never changes; `after` gives a longer one. All histories of a study share one log with its
indexes, which belong to the longest. A shorter one that is asked again makes a log of its own, so
that growing costs the same at the hundred-thousandth trial as at the first, and no value ever
answers differently than it did.
"""

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush
from math import inf
from operator import attrgetter
from typing import Any, final

from priorband.events import Asked, Event, Failed, Queued, Told
from priorband.space.config import Config
from priorband.trial import IMPORTED, QUEUED, Observation, Trial

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


NOBODY = Members()


@final
class History:
    """What was asked and told, in order. Build it with `after`, or `History.of(events)`."""

    __slots__ = ("_length", "_log")

    def __init__(self) -> None:
        self._log = _Log()
        self._length = 0

    @classmethod
    def of(cls, events: Iterable[Event]) -> "History":
        """The fold of events."""
        history = cls()
        for event in events:
            history = history.after(event)
        return history

    def after(self, event: Event) -> "History":
        """This history and one more event."""
        log = self._tip()
        log.apply(event)
        longer = History.__new__(History)
        longer._log = log
        longer._length = len(log.events)
        return longer

    def _tip(self) -> "_Log":
        if len(self._log.events) != self._length:
            self._log = History.of(self._log.events[: self._length])._log
        return self._log

    def __len__(self) -> int:
        """The number of trials: the id of the next."""
        return len(self._tip().trials)

    def __repr__(self) -> str:
        return f"History({len(self)} trials, {len(self.running)} running)"

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order."""
        return tuple(self._log.events[: self._length])

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in the order they were asked; a trial's id is its index."""
        return tuple(self._tip().trials)

    @property
    def running(self) -> tuple[Trial, ...]:
        """Trials asked and not yet told."""
        return tuple(self._tip().running.values())

    @property
    def observations(self) -> tuple[Observation, ...]:
        """Trials that have ended, in the order they were told."""
        return tuple(self._tip().ended)

    @property
    def successes(self) -> tuple[Observation, ...]:
        """Observations with a finite loss, in the order they were told."""
        return tuple(o for o in self._tip().ended if not o.failed)

    def trial(self, number: int) -> Trial:
        """The trial with that id."""
        return self._tip().trials[number]

    def outcome(self, number: int) -> Observation | None:
        """What came of a trial; None while it runs."""
        return self._tip().outcomes[number]

    @property
    def finished(self) -> int:
        """How many trials ended with a finite loss."""
        return self._tip().finished

    @property
    def proposed(self) -> int:
        """How many trials an optimizer invented or continued: neither queued nor imported ones."""
        return self._tip().proposed

    @property
    def queued(self) -> Queued | None:
        """The configuration that a person wants tried next."""
        queue = self._tip().queue
        return queue[0] if queue else None

    @property
    def best(self) -> Observation | None:
        """The reported incumbent: the lowest loss seen at any fidelity."""
        return self._tip().best

    def best_at(self, fidelity: float) -> Observation | None:
        """The lowest loss at one fidelity."""
        ended = self._tip().at.get(fidelity)
        return ended[1] if ended else None

    @property
    def highest(self) -> float:
        """The highest fidelity at which a trial has succeeded; 0 before."""
        return max(self._tip().at, default=0.0)

    @property
    def incumbent(self) -> Observation | None:
        """The best configuration, each taken at the highest fidelity it has finished.

        A lucky low-fidelity loss does not survive a worse one further up. A configuration that is
        being promoted keeps its last finished loss.
        """
        return self._tip().incumbent()

    @property
    def spent(self) -> float:
        """Fidelity units paid for all ended trials; continuing pays only the difference."""
        return self._tip().spent

    @property
    def resources(self) -> float:
        """Fidelity units behind all observations: those spent, and those of imported results."""
        return self._tip().spent + self._tip().imported

    def cost(self, trial: Trial) -> float:
        """What a trial pays, in fidelity units: its fidelity, less its parent's."""
        return self._tip().cost(trial)

    def promoted(self, number: int) -> bool:
        """Whether some later trial continues this one."""
        return number in self._tip().promoted

    def promotions(self, rung: int) -> int:
        """How many trials were promoted from a rung, in all brackets."""
        return self._tip().risen.get(rung, 0)

    def seen(self, config: Config) -> bool:
        """Whether some trial has this configuration."""
        return tuple(config.values()) in self._tip().roots

    def root(self, config: Config) -> int | None:
        """The first trial with this configuration."""
        return self._tip().roots.get(tuple(config.values()))

    def members(self, bracket: int, rung: int) -> Members:
        """The trials of a slot."""
        return self._tip().slots.get((bracket, rung), NOBODY)

    @property
    def brackets(self) -> int:
        """How many brackets have been started."""
        return len(self._tip().bases)

    def base(self, bracket: int) -> int:
        """The rung on which a bracket began."""
        return self._tip().bases[bracket]

    def started(self, first: int) -> list[int]:
        """The brackets in the order they were started, but for so many of the first."""
        return self._tip().begun[first:]

    def ended_on(self, rung: int) -> list[Observation]:
        """The plan's trials that have ended on a rung, in any bracket, in the order they ended."""
        return self._tip().rungs.get(rung, [])

    def succeeded_at(self, fidelity: float) -> list[Observation]:
        """Trials that succeeded at a fidelity, also outside the plan, in the order they ended."""
        ended = self._tip().at.get(fidelity)
        return ended[0] if ended else []

    @property
    def cache(self) -> dict[Any, Any]:
        """A place for what can be derived from this history and only ever grows with it."""
        return self._tip().cache


@final
class _Log:
    """The events of a study and everything that is looked up in them, kept as they come."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.trials: list[Trial] = []
        self.outcomes: list[Observation | None] = []
        self.running: dict[int, Trial] = {}
        self.ended: list[Observation] = []
        self.queue: deque[Queued] = deque()
        self.slots: dict[tuple[int, int], Members] = {}
        self.bases: dict[int, int] = {}
        self.begun: list[int] = []
        self.rungs: dict[int, list[Observation]] = {}
        self.at: dict[float, tuple[list[Observation], Observation]] = {}
        self.promoted: set[int] = set()
        self.risen: dict[int, int] = {}
        self.roots: dict[tuple[Any, ...], int] = {}
        self.standing: dict[int, Observation] = {}
        self.contenders: list[tuple[float, int, int]] = []
        self.best: Observation | None = None
        self.finished = self.proposed = 0
        self.spent = self.imported = 0.0
        self.cache: dict[Any, Any] = {}

    def apply(self, event: Event) -> None:
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
        else:
            self.roots.setdefault(tuple(trial.config.values()), trial.id)
        if trial.origin == QUEUED and trial.parent is None:
            self.queue.popleft()
        elif trial.origin != IMPORTED:
            self.proposed += 1
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
        self._pay(trial)
        if not ended.failed:
            self._succeed(ended)

    def _pay(self, trial: Trial) -> None:
        if trial.origin != IMPORTED:
            self.spent += self.cost(trial)
        else:
            known = self.standing.get(trial.root)
            self.imported += max(trial.fidelity - (known.fidelity if known else 0.0), 0.0)

    def _succeed(self, ended: Observation) -> None:
        trial = ended.trial
        self.finished += 1
        losses, lowest = self.at.setdefault(trial.fidelity, ([], ended))
        losses.append(ended)
        if ended.ranking < lowest.ranking:
            self.at[trial.fidelity] = losses, ended
        if self.best is None or ended.loss < self.best.loss:
            self.best = ended
        known = self.standing.get(trial.root)
        if known is None or trial.fidelity > known.fidelity:
            self.standing[trial.root] = ended
            heappush(self.contenders, (ended.loss, trial.root, trial.id))

    def incumbent(self) -> Observation | None:
        while self.contenders:
            _, root, number = self.contenders[0]
            if self.standing[root].trial.id == number:
                return self.standing[root]
            heappop(self.contenders)  # finished further up since
        return None
