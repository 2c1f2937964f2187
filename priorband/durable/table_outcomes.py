"""What became of each trial in a table that is read from the journal, with little memory.

The first pass over the journal notes a few numbers per trial. They make a history without
configurations, of which the scheduler is asked what it may still continue: no scheduler that can be
stored compares configurations to answer that. For promotions within brackets, which are nearly all,
the same rules are followed here, so that a history is needed only for what a method does besides.
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
from priorband.events import Asked, Event, Failed, PriorChanged, Queued, Told
from priorband.explanations.outcomes import (
    Outcome,
    continues_mode,
    end_of_success,
    has_duels,
)
from priorband.guard import MODE
from priorband.history import History
from priorband.log.columns import ASKED, CHANGED, FAILED, LOSS, NONE, NUMBER, TOLD, WISHED, Columns
from priorband.schedulers.asynchronous import ASHA, AsyncHyperband
from priorband.schedulers.base import Scheduler, promotable
from priorband.schedulers.synchronous import Hyperband, SuccessiveHalving
from priorband.schedulers.wrapped import base_plan
from priorband.space.config import Config
from priorband.space.prior import Prior
from priorband.state import State
from priorband.storage.json_text import from_json
from priorband.trial import IMPORTED, Slot, Trial

Ids = NDArray[np.int64]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""The words, by the codes that stand for them here."""
_CODE = {word: code for code, word in enumerate(OUTCOMES)}
_ASKED = re.compile(
    r'\{"fidelity":([\d.e+-]{1,30}),"origin":"([^"\\\x00-\x1f]{0,1000})"'
    r'(?:,"slot":\[(\d{1,9}),(\d{1,9})\])?(?:,"parent":(\d{1,9}))?[,}]'
).match
_LOSS = '"loss":'
_WIDTH = 1000  # more than there are rungs
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
        self._priors: list[Prior] = []
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

    def change_prior(self, prior: Prior) -> None:
        """Note that the prior was changed."""
        self._kinds.append(CHANGED)
        self._priors.append(prior)

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

    def _open(self, schedule: Schedule | None, waiting: Ids) -> set[int]:
        """Those of some successes below a full training that may still be continued."""
        bracket, rung = (np.array(each, NUMBER) for each in self._about[1:3])
        placed = waiting[rung[waiting] != NONE]
        if schedule is None or schedule.scheduler is None:
            return set(placed.tolist())
        scheduler, sure = schedule.scheduler, set[int]()
        plan = base_plan(scheduler)
        try:
            if isinstance(plan, ASHA | AsyncHyperband):
                sure = set(placed.tolist())
            elif isinstance(plan, Hyperband | SuccessiveHalving):
                sure = self._winners(schedule.start, placed)
            outside = waiting[rung[waiting] == NONE] if continues_mode(scheduler) else placed[:0]
            first = placed[bracket[placed] == 0] if has_duels(scheduler) else placed[:0]
            asked = [*outside.tolist(), *first.tolist()]
            if not asked:
                return sure
            state = schedule.start.with_history(self._history())
            return sure | promotable(scheduler, state, asked)
        except INVALID:  # what is recorded cannot be, which the second pass tells
            return sure

    def _winners(self, start: State, placed: Ids) -> set[int]:
        """Those that a synchronous scheduler promotes if all further results are worse.

        These are the first of a rung in a bracket, as many as the next rung has places, as long as
        one of these is free.
        """
        bracket, rung = (np.array(each, NUMBER) for each in self._about[1:3])
        slot = bracket.astype(np.int64) * _WIDTH + rung
        first = rung != NONE
        first[[*self._retries]] = False
        slots, counts = np.unique(slot[first], return_counts=True)
        started = dict(zip(slots.tolist(), counts.tolist(), strict=True))
        brackets, firsts = np.unique(bracket[first], return_index=True)
        bases = dict(zip(brackets.tolist(), rung[first][firsts].tolist(), strict=True))
        ranked: dict[int, list[int]] = {}
        found = set[int]()
        for number in placed.tolist():
            its, at, base = int(slot[number]), int(rung[number]), bases[int(bracket[number])]
            places = start.ladder.brackets[base][at - base + 1]
            if started.get(its + 1, 0) < places:
                if its not in ranked:
                    ranked[its] = self._ranked(np.flatnonzero(slot == its))
                if number in ranked[its][:places]:
                    found.add(number)
        return found

    def _ranked(self, trials: Ids) -> list[int]:
        """Those of some trials that succeeded, best first."""
        ended, losses = np.array(self._ended, NUMBER), np.array(self._losses, LOSS)
        here = np.isin(ended, trials) & np.isfinite(losses)
        ids = ended[here]
        root = ids.copy()
        parent = np.array(self._about[3], NUMBER)
        while np.any(parent[root] != NONE):
            root = np.where(parent[root] == NONE, root, parent[root])
        order: list[int] = ids[np.lexsort((root, losses[here]))].tolist()
        return order

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
            priors=tuple(self._priors),
        )

    def _events(self) -> Iterator[Event]:
        fidelities, origins = tuple(self._fidelities), tuple(self._origins)
        rows = enumerate(zip(*self._about, strict=True))
        ends, wishes = zip(self._ended, self._losses, strict=True), iter(self._wishes)
        roots, priors = list[int](), iter(self._priors)
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
            elif kind == CHANGED:
                yield PriorChanged(next(priors))
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
