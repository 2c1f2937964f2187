"""What became of each trial in a table that is read from the journal, with little memory.

The first pass over the journal notes a few numbers per trial. They make a history without
configurations, of which the scheduler is asked what it may still promote: no scheduler that can be
stored compares configurations to answer that. It is asked only about trials for which counting does
not give the answer already.
"""

import math
import re
from array import array
from collections.abc import Iterator
from itertools import repeat
from typing import Any, NamedTuple, final, get_args

import numpy as np
from numpy.typing import NDArray

from priorband.durable.records import INVALID, AskedRecord, ToldRecord
from priorband.events import Asked, Event, Failed, Queued, Told
from priorband.explanations.outcomes import Outcome, continues_mode, end_of_success
from priorband.guard import MODE
from priorband.history import History
from priorband.log.columns import ASKED, FAILED, LOSS, NONE, NUMBER, TOLD, WISHED, Columns
from priorband.schedulers.asynchronous import ASHA, AsyncHyperband
from priorband.schedulers.base import Scheduler, promotable
from priorband.schedulers.synchronous import Hyperband, SuccessiveHalving
from priorband.schedulers.wrapped import base_plan
from priorband.space.config import Config
from priorband.state import State
from priorband.storage.json_text import from_json
from priorband.trial import IMPORTED, Slot, Trial
from priorband.values import replaced

Ints = NDArray[np.int32]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""The words, by the codes that stand for them here."""
_CODE = {word: code for code, word in enumerate(OUTCOMES)}
_ASKED = re.compile(
    r'\{"fidelity":([\d.e+-]{1,30}),"origin":"([^"\\\x00-\x1f]{0,1000})"'
    r'(?:,"slot":\[(\d{1,9}),(\d{1,9})\])?(?:,"parent":(\d{1,9}))?[,}]'
).match
_LOSS = '"loss":'
_CONFIG = Config()


class Schedule(NamedTuple):
    """What tells which trials may still be promoted."""

    scheduler: Scheduler | None
    """None if it is not known, or it does not matter."""
    start: State
    """The state before the first trial."""


@final
class TrialFacts:
    """What is known of the trials of a journal, record by record."""

    def __init__(self, full: float) -> None:
        self._full = full
        self._kinds = bytearray()
        self._about: list[array[int]] = [array("i") for _ in range(5)]
        """By trial: its fidelity, bracket, rung, parent and origin."""
        self._fidelities: dict[float, int] = {}
        self._origins: dict[str, int] = {}
        self._ended, self._losses = array("i"), array("d")
        self._wishes: list[tuple[float | None, int | None]] = []
        self._pending: list[int] = []
        self._retries: dict[int, int] = {}
        """By trial: the failed one whose place it has."""
        self._retried: set[int] = set()

    def ask(self, trial: int, body: str) -> None:
        """Note the record that asked the next trial."""
        match = _ASKED(body)
        if match is not None:
            text, origin, *numbers = match.groups()
            fidelity = float(text)
            bracket, rung, parent = (NONE if each is None else int(each) for each in numbers)
        else:
            record = AskedRecord.decode(trial, from_json(body))
            fidelity, origin = float(record.fidelity), record.origin
            bracket, rung = record.slot or (NONE, NONE)
            parent = NONE if record.parent is None else record.parent
        at = self._fidelities.setdefault(fidelity, len(self._fidelities))
        source = self._origins.setdefault(origin, len(self._origins))
        for column, value in zip(self._about, (at, bracket, rung, parent, source), strict=True):
            column.append(value)
        if self._pending and origin != IMPORTED:
            self._retries[trial] = self._pending.pop(0)
        self._kinds.append(ASKED)

    def end(self, trial: int, told: str | None) -> None:
        """Note the record that ended a trial: its body if the trial succeeded, or else None."""
        self._kinds.append(FAILED if told is None else TOLD)
        self._ended.append(trial)
        self._losses.append(math.inf if told is None else _loss(trial, told))

    def queue(self, fidelity: float | None, retry: int | None) -> None:
        """Note that a configuration was queued, or a failed trial to be tried again."""
        self._kinds.append(WISHED)
        self._wishes.append((fidelity, retry))
        if retry is not None:
            self._pending.append(retry)
            self._retried.add(retry)

    def outcomes(self, schedule: Schedule | None) -> bytes:
        """The code of what became of each trial, by id."""
        fidelity, _, rung, parent, origin = (np.array(each, NUMBER) for each in self._about)
        codes = np.full(len(fidelity), _CODE["running"], np.uint8)
        ended, losses = np.array(self._ended, NUMBER), np.array(self._losses, LOSS)
        failed, fine = ended[np.isinf(losses)], ended[~np.isinf(losses)]
        codes[failed], codes[fine] = _CODE["failed"], _CODE["finished"]
        again = [number for number in self._retried if number < len(codes)]
        codes[again] = _CODE["retried"]
        full = np.array([*self._fidelities, 0.0])[fidelity] >= self._full
        waits = (codes == _CODE["finished"]) & ~full
        in_turn = rung != NONE
        scheduler = schedule.scheduler if schedule else None
        if continues_mode(scheduler):
            in_turn |= origin == self._origins.get(MODE, NONE)
        child = np.flatnonzero(parent != NONE)[::-1]  # of several, the first one counts
        known = child[parent[child] < len(codes)]
        waits[parent[known]] = False
        open_ones = self._open(schedule, np.flatnonzero(waits))
        words = {way: _CODE[end_of_success(False, *way)] for way in _WAYS}
        for number in np.flatnonzero(waits).tolist():
            codes[number] = words[number in open_ones, bool(in_turn[number])]
        gone_on = np.where(rung[known] == NONE, _CODE["continued"], _CODE["promoted"])
        codes[parent[known]] = gone_on
        imported = origin[fine] == self._origins.get(IMPORTED, NONE)
        codes[fine[imported]] = _CODE["imported"]
        return codes.tobytes()

    def _open(self, schedule: Schedule | None, waiting: NDArray[np.int64]) -> set[int]:
        """Those of some successes below a full training that may still be continued."""
        rung = np.array(self._about[2], NUMBER)
        placed = waiting[rung[waiting] != NONE]
        if schedule is None or schedule.scheduler is None:
            return set(placed.tolist())
        sure, plan = set[int](), base_plan(schedule.scheduler)
        try:
            if isinstance(plan, ASHA | AsyncHyperband):
                sure = set(placed.tolist())
                waiting = waiting[rung[waiting] == NONE]
            elif isinstance(plan, Hyperband | SuccessiveHalving):
                waiting = self._with_places(schedule.start, waiting)
            if not len(waiting):
                return sure
            state = replaced(schedule.start, history=self._history())
            return sure | promotable(schedule.scheduler, state, waiting.tolist())
        except INVALID:  # what is recorded cannot be, which the second pass tells
            return sure

    def _with_places(self, start: State, waiting: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of some trials whose bracket still has a place on the next rung.

        Those of the first bracket stay: one of them may be continued for a duel.
        """
        bracket, rung = (np.array(each, NUMBER) for each in self._about[1:3])
        first = np.ones(len(rung), bool)
        first[[*self._retries]] = False
        placed = np.flatnonzero((rung != NONE) & first)
        if not len(placed):
            return waiting
        width = int(rung.max()) + 2
        slots, counts = np.unique(
            bracket[placed].astype(np.int64) * width + rung[placed], return_counts=True
        )
        started = dict(zip(slots.tolist(), counts.tolist(), strict=True))
        brackets, firsts = np.unique(bracket[placed], return_index=True)
        bases = dict(zip(brackets.tolist(), rung[placed[firsts]].tolist(), strict=True))
        sizes, kept = start.ladder.brackets, list[int]()
        for number in waiting.tolist():
            at, its = int(rung[number]), int(bracket[number])
            base = bases.get(its, 0)
            usual = its > 0 and base <= at < start.ladder.top
            if not usual or started.get(its * width + at + 1, 0) < sizes[base][at - base + 1]:
                kept.append(number)
        return np.array(kept, np.int64)

    def _history(self) -> History:
        """The history, without configurations. One with retries has no columns."""
        if self._retried:
            return History.of(self._events())
        columns = self._columns()
        columns.check()
        return History.restored(columns)

    def _columns(self) -> Columns:
        fidelity, bracket, rung, parent, origin = (np.array(each, NUMBER) for each in self._about)
        for at, _ in self._wishes:
            if at is not None:
                self._fidelities.setdefault(float(at), len(self._fidelities))
        wished = [NONE if at is None else self._fidelities[float(at)] for at, _ in self._wishes]
        losses = np.array(self._losses, LOSS)
        configs: Any = _NoConfigs(int(np.count_nonzero(parent == NONE)))
        wishes: Any = _NoConfigs(len(wished))
        return Columns(
            kinds=np.frombuffer(bytes(self._kinds), np.uint8),
            fidelity=fidelity,
            bracket=bracket,
            rung=rung,
            parent=parent,
            origin=origin,
            configs=configs,
            ended=np.array(self._ended, NUMBER),
            loss=losses,
            reason=np.where(np.isinf(losses), 0, NONE).astype(NUMBER),
            wish_fidelity=np.array(wished, NUMBER),
            wishes=wishes,
            fidelities=tuple(self._fidelities),
            origins=tuple(self._origins),
            reasons=("",),
        )

    def _events(self) -> Iterator[Event]:
        fidelities, origins = tuple(self._fidelities), tuple(self._origins)
        rows = enumerate(zip(*self._about, strict=True))
        ends, wishes = zip(self._ended, self._losses, strict=True), iter(self._wishes)
        roots = list[int]()
        for kind in self._kinds:
            if kind == ASKED:
                number, (at, bracket, rung, parent, origin) = next(rows)
                roots.append(number if parent == NONE else roots[parent])
                slot = None if rung == NONE else Slot(bracket, rung)
                start = None if parent == NONE else parent
                about = (fidelities[at], slot, start, origins[origin], roots[-1])
                yield Asked(Trial(number, _CONFIG, *about))
            elif kind == WISHED:
                yield Queued(_CONFIG, *next(wishes))
            else:
                number, loss = next(ends)
                yield Failed(number, "") if kind == FAILED else Told(number, loss)


_WAYS = ((False, False), (False, True), (True, False), (True, True))


def _loss(trial: int, body: str) -> float:
    """The loss in the body of a record: usually the last member."""
    at = body.rfind(_LOSS)
    try:
        return float(body[at + len(_LOSS) : -1])
    except ValueError:
        return ToldRecord.decode(trial, from_json(body)).loss


@final
class _NoConfigs:
    """Stands for configurations that nobody looks at: all are the same."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def valid(self) -> bool:
        """Whether they are what they should be."""
        return True

    def values(self) -> Iterator[tuple[Any, ...]]:
        """The values of each."""
        return repeat((), self._count)

    def configs(self, rows: list[int]) -> list[Config]:
        """The configurations in some rows."""
        return [_CONFIG] * len(rows)
