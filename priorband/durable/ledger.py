"""The ledger: the fold of a study's records into what the history does not hold.

The history knows which trials were asked and what came of them. The ledger knows at which attempt
each running trial is and who holds it, why earlier attempts ended, and what of the budget is used.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal, final

from priorband.durable.budget import Budget, Spending
from priorband.errors import FormatError
from priorband.events import Asked, Event, Failed, Queued, Told
from priorband.history import History
from priorband.space.config import Config
from priorband.storage.journal import FORMAT, Row, refuse_version
from priorband.storage.json_text import member, number
from priorband.trial import IMPORTED, Slot, Trial
from priorband.values import frozen

FailureKind = Literal[
    "raised", "diverged", "memory", "timeout", "crashed", "invalid", "lost", "preempted"
]
FAILURE_KINDS: tuple[FailureKind, ...] = FailureKind.__args__  # type: ignore[attr-defined]  # a Literal has them

OWN_FAULTS = ("raised", "invalid", "crashed")
"""Failures that speak of a mistake in the objective rather than of a configuration."""

Reader = Callable[[Any], Config]


@final
@frozen
class AttemptEnd:
    """How an attempt ended that brought no result."""

    attempt: int
    kind: FailureKind
    reason: str
    worker: str


@final
class OpenTrial:
    """A trial that has not ended: at which attempt it is, who holds it, what became of others."""

    __slots__ = ("attempt", "claim", "endings", "held", "since", "start", "trial", "worker")

    def __init__(self, trial: Trial, row: Row, body: dict[str, Any]) -> None:
        self.trial = trial
        self.endings: tuple[AttemptEnd, ...] = ()
        self.attempt = 0
        self.begin(row, body)

    def begin(self, row: Row, body: dict[str, Any]) -> None:
        """Note that an attempt begins."""
        self.attempt += 1
        self.held = True
        self.worker, self.since = row.worker, row.at
        self.claim = body.get("claim", "")
        self.start: float = body.get("start", 0)

    def ended(self, *kinds: FailureKind) -> int:
        """How many attempts ended in one of these ways."""
        return sum(ending.kind in kinds for ending in self.endings)


@final
class Ledger:
    """Attempts and accounts, up to a record; trials of the plan must lie on its `rungs`."""

    def __init__(self, rungs: tuple[float, ...] = ()) -> None:
        self.rungs = rungs
        self.seq = 0
        self.seal = 0
        self.problem: dict[str, Any] = {}
        self.study = ""
        self.maximize = False
        self.budget = Budget()
        self.created = 0.0
        self.top = 1.0
        """The highest fidelity: one full training."""

        self.running: dict[int, OpenTrial] = {}
        self.waiting: dict[int, OpenTrial] = {}
        self.winners: dict[int, int] = {}
        """The attempt that brought a trial's result, where it was not the first."""
        self.failures: Counter[str] = Counter()
        self.trouble = ("", 0, 0)
        """What failed last, how often in a row without a success, and since which record."""

        self.units = 0.0
        self.trials = 0
        self.cost = 0.0
        self.seconds = 0.0
        self.last = 0.0
        self._kinds = {
            "created": self._created,
            "budget": self._budget,
            "queued": self._queued,
            "asked": self._asked,
            "adopted": self._adopted,
            "returned": self._returned,
            "told": self._told,
            "failed": self._failed,
            "remark": self._remark,
        }

    def spending(self, now: float) -> Spending:
        """What is used or handed out by a time of the storage's clock."""
        at_work = max(now - self.last, 0.0) if len(self.running) > len(self.waiting) else 0.0
        hours = (self.seconds + at_work) / 3600
        return Spending(self.units / self.top, self.trials, self.cost, hours)

    def apply(self, row: Row, body: dict[str, Any], history: History, read: Reader) -> Event | None:
        """Take in one more record; the event that it is for the history, if it is one."""
        note = self._kinds.get(row.kind)
        if note is None:
            raise FormatError(f"its kind {row.kind!r:.40} is unknown")
        if (row.seq == 1) != (row.kind == "created"):
            raise FormatError("the study does not begin with its creation")
        event = note(row, body, history, read)
        self._tick(row.at if row.kind != "returned" else min(row.at, body.get("seen", row.at)))
        self.last = row.at  # also when the clock was set back
        self.seq, self.seal = row.seq, row.seal
        return event

    def _tick(self, at: float) -> None:
        """Count the time in which somebody was at work: since the record before."""
        busy, self._was_busy = self._was_busy, len(self.running) > len(self.waiting)
        if busy:
            self.seconds += max(at - self.last, 0.0)

    _was_busy = False

    def _created(self, row: Row, body: dict[str, Any], history: History, read: Reader) -> None:
        del history, read
        version = member(body, "format", int)
        if version > FORMAT:
            refuse_version(version, "The study")
        self.problem = member(body, "problem", dict)
        self.study = member(body, "study", str)
        self.maximize = member(body, "maximize", bool)
        self.created = row.at
        self.top = number(member(self.problem, "fidelity", dict), "high", least=1e-300)

    def _budget(self, row: Row, body: dict[str, Any], history: History, read: Reader) -> None:
        del row, history, read
        if not body.keys() <= {"trainings", "trials", "cost", "hours"}:
            raise FormatError("it limits something unknown")
        try:
            self.budget = Budget(**body)
        except (TypeError, ValueError) as error:
            raise FormatError(str(error)) from None

    def _queued(self, row: Row, body: dict[str, Any], history: History, read: Reader) -> Event:
        del row, history
        fidelity = None if body.get("fidelity") is None else number(body, "fidelity", least=1e-300)
        if fidelity is not None and fidelity > self.top:
            raise FormatError(f"its fidelity is {fidelity!r:.40}, the highest is {self.top!r}")
        return Queued(read(body.get("config")), fidelity)

    def _asked(self, row: Row, body: dict[str, Any], history: History, read: Reader) -> Event:
        trial = _trial(row, body, history, read)
        self._place(trial)
        if trial.origin != IMPORTED:
            start = number(body, "start", least=0)
            self.units += trial.fidelity - start
            self.trials += 1
            self.running[trial.id] = OpenTrial(trial, row, body)
        return Asked(trial)

    def _place(self, trial: Trial) -> None:
        """Refuse a trial that is nowhere on the ladder."""
        if trial.fidelity > self.top:
            raise FormatError(
                f"its fidelity is {trial.fidelity!r:.40}, the highest is {self.top!r}"
            )
        rungs, slot = self.rungs, trial.slot
        if rungs and slot and (slot.rung >= len(rungs) or rungs[slot.rung] != trial.fidelity):
            raise FormatError(f"its fidelity {trial.fidelity!r:.40} is not that of {slot}")

    def _adopted(self, row: Row, body: dict[str, Any], history: History, read: Reader) -> None:
        del history, read
        opened = self.waiting.pop(_id(row), None)
        if opened is None or member(body, "attempt", int) != opened.attempt + 1:
            raise FormatError(f"trial {row.trial} was not free for that attempt")
        opened.begin(row, body)

    def _returned(self, row: Row, body: dict[str, Any], history: History, read: Reader) -> None:
        del history, read
        opened = self.running.get(_id(row))
        if opened is None or not opened.held or member(body, "attempt", int) != opened.attempt:
            raise FormatError(f"trial {row.trial} has no such attempt under way")
        if "seen" in body:
            number(body, "seen")
        opened.endings = (*opened.endings, _ending(opened.attempt, body, opened.worker))
        opened.held = False
        self.waiting[opened.trial.id] = opened

    def _told(self, row: Row, body: dict[str, Any], history: History, read: Reader) -> Event:
        del read
        self._end(row, body, history)
        self.cost += number(body, "cost") if "cost" in body else 0.0
        self.trouble = ("", 0, row.seq)
        loss = float(number(body, "loss"))
        return Told(_id(row), loss)

    def _failed(self, row: Row, body: dict[str, Any], history: History, read: Reader) -> Event:
        del read
        self._end(row, body, history)
        ending = _ending(0, body, "")
        self.failures[ending.kind] += 1
        if ending.kind in OWN_FAULTS:
            what = f"{ending.kind} {body.get('where', '')}"
            known, times, since = self.trouble
            self.trouble = (what, times + 1, since) if what == known else (what, 1, row.seq)
        return Failed(_id(row), f"{ending.kind}: {ending.reason}")

    def _remark(self, row: Row, body: dict[str, Any], history: History, read: Reader) -> None:
        del history, read, row
        member(body, "text", str)

    def _end(self, row: Row, body: dict[str, Any], history: History) -> None:
        trial = _id(row)
        if trial >= len(history) or history.outcome(trial) is not None:
            raise FormatError(f"trial {trial} is not running")
        opened = self.running.pop(trial, None)
        self.waiting.pop(trial, None)
        attempt = member(body, "attempt", int)
        if not (1 <= attempt <= opened.attempt if opened else attempt == 0):
            raise FormatError(f"trial {trial} has no attempt {attempt}")
        if attempt > 1:
            self.winners[trial] = attempt


def _id(row: Row) -> int:
    if row.trial is None or row.trial < 0:
        raise FormatError("it names no trial")
    return row.trial


def _ending(attempt: int, body: dict[str, Any], worker: str) -> AttemptEnd:
    kind = member(body, "kind", str)
    if kind not in FAILURE_KINDS:
        raise FormatError(f"its kind of failure is {kind!r:.40}")
    return AttemptEnd(attempt, kind, member(body, "reason", str), worker)


def _trial(row: Row, body: dict[str, Any], history: History, read: Reader) -> Trial:
    new, fidelity = _id(row), number(body, "fidelity", least=1e-300)
    if new != len(history):
        raise FormatError(f"trial {new} was asked when {len(history)} was next")
    origin, slot = member(body, "origin", str), _slot(body.get("slot"))
    if body.get("parent") is None:
        return Trial(new, read(body.get("config")), fidelity, slot, None, origin, new)
    parent = member(body, "parent", int)
    outcome = history.outcome(parent) if 0 <= parent < new else None
    if outcome is None or outcome.failed or slot is None:
        raise FormatError(f"trial {new} continues {parent}, which has not succeeded")
    before = outcome.trial
    if not before.fidelity < fidelity or before.origin != origin:
        raise FormatError(f"trial {new} does not go on where {parent} ended")
    return Trial(new, before.config, fidelity, slot, parent, origin, before.root)


def _slot(data: Any) -> Slot | None:
    if data is None:
        return None
    if type(data) is not list or [type(part) for part in data] != [int, int] or min(data) < 0:
        raise FormatError(f"`slot` is {data!r:.60}")
    return Slot(*data)
