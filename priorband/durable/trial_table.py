"""The table of a study's trials, read from its journal without building the study's history.

The journal is read twice. The first pass verifies all records up to the last one, and notes which
records the row of each trial needs: a few numbers per trial. The second pass fetches these records
again, some hundred trials at a time, and makes the rows. So a long study needs little memory,
damage is noticed before the first row, and workers can continue to write meanwhile.

What may follow what in a study is defined by the `Ledger`. The same rules are checked here.
"""

import sys
from array import array
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, final

from priorband.durable.ledger import ConfigReader
from priorband.durable.records import (
    INVALID,
    AdoptedRecord,
    AskedRecord,
    CreatedRecord,
    FailedRecord,
    QueuedRecord,
    ReturnedRecord,
    ToldRecord,
    TrialEnd,
    decode,
)
from priorband.errors import DamagedError, FormatError
from priorband.failures import FailureKind
from priorband.space.config import Config
from priorband.storage.high_water import salvage_hint
from priorband.storage.journal import Journal, Row, sealed
from priorband.storage.json_text import from_json
from priorband.trial import QUEUED

TRIALS_AT_ONCE = 250
"""For how many trials the second pass fetches records at a time."""


class TrialRow(NamedTuple):
    """What is known about one trial; None for what does not apply, or is not known yet."""

    trial: int
    parent: int | None
    bracket: int | None
    rung: int | None
    origin: str
    fidelity: float
    status: str
    """Whether it has "succeeded" or "failed", is "running", or is "waiting" for a worker."""
    kind: FailureKind | None
    reason: str | None
    value: float | None
    """The loss, or its negative if the study maximises."""
    loss: float | None
    cost: Any
    seconds: Any
    """How long the attempt took that ended the trial."""
    attempts: int
    worker: str
    """Who made the attempt that ended the trial, or else the last one."""
    asked: float
    ended: float | None
    config: Mapping[str, Any]
    metrics: Mapping[str, Any]


@final
class TrialTable:
    """The rows of all trials in the order in which they were asked, as of one record.

    Args:
        journal: where the records are stored.
        created: the record of the study's creation.
        read_config: makes a configuration of its stored form.
        rungs: the fidelity of each rung; empty if the rungs are not known.
        find_metrics: whether to find the names of all metrics, which takes longer.

    Raises:
        DamagedError: if the records are not what was written.
    """

    def __init__(
        self,
        journal: Journal,
        created: CreatedRecord,
        read_config: ConfigReader,
        rungs: Sequence[float] = (),
        find_metrics: bool = False,
    ) -> None:
        self._journal = journal
        self._created = created
        self._read_config = read_config
        self._rungs = rungs
        # By trial: the number of the record that asked it, and of the one that ended it, or 0.
        self._asked, self._ended, self._succeeded = array("q"), array("q"), bytearray()
        # By trial: the records of attempts after the first. Few trials have any.
        self._adopted: dict[int, list[int]] = {}
        self._waiting: set[int] = set()
        self._queued = array("q")
        # By metric: the first trial that has it, and its position among the metrics there.
        self._metrics: dict[str, tuple[int, int]] | None = {} if find_metrics else None
        self._scan()

    def __len__(self) -> int:
        """The number of trials."""
        return len(self._asked)

    @property
    def metric_names(self) -> list[str]:
        """The names of all metrics, in the order in which the rows have them first."""
        first = self._metrics or {}
        return sorted(first, key=first.__getitem__)

    def _scan(self) -> None:
        """Make the first pass."""
        number = seal = 0
        for page in self._journal.read_in_pages():
            for row in page:
                number += 1
                if row.seq != number:
                    self._damaged(f"record {number} is missing")
                seal = sealed(seal, row)
                if row.seal != seal:
                    self._damaged(f"record {number} is not what was written")
                try:
                    self._note(row)
                except INVALID as error:
                    self._invalid(row, error)

    def _note(self, row: Row) -> None:
        """Note which trial a record belongs to. Those of the usual kinds are decoded later."""
        kind, trial = row.kind, row.trial
        if kind == "asked":
            if trial != len(self._asked):
                raise FormatError(f"trial {trial} was asked when {len(self._asked)} was next")
            self._asked.append(row.seq)
            self._ended.append(0)
            self._succeeded.append(0)
        elif kind in ("told", "failed"):
            if trial is None or not self._running(trial):
                raise FormatError(f"trial {trial} is not running")
            self._ended[trial] = row.seq
            self._succeeded[trial] = kind == "told"
            self._waiting.discard(trial)
            if self._metrics is not None and ('"metrics"' in row.body or "\\u" in row.body):
                self._note_metrics(trial, from_json(row.body).get("metrics"))
        elif (row.seq == 1) != (kind == "created"):
            raise FormatError("the study does not begin with its creation")
        else:
            self._note_other(row)

    def _note_other(self, row: Row) -> None:
        match decode(row):
            case QueuedRecord() as queued:
                self._read_config(queued.config)
                self._check_fidelity(queued.fidelity or 0)
                self._queued.append(row.seq)
            case ReturnedRecord() as returned:
                trial = returned.trial
                held = self._running(trial) and trial not in self._waiting
                if not held or returned.attempt != self._attempts(trial):
                    raise FormatError(f"trial {trial} has no such attempt under way")
                self._waiting.add(trial)
            case AdoptedRecord() as adopted:
                trial = adopted.trial
                if trial not in self._waiting or adopted.attempt != self._attempts(trial) + 1:
                    raise FormatError(f"trial {trial} was not free for that attempt")
                self._waiting.remove(trial)
                self._adopted.setdefault(trial, []).append(row.seq)

    def _note_metrics(self, trial: int, metrics: Any) -> None:
        assert self._metrics is not None
        for position, name in enumerate(metrics if isinstance(metrics, dict) else ()):
            if name not in self._metrics or trial < self._metrics[name][0]:
                self._metrics[name] = trial, position

    def _running(self, trial: int) -> bool:
        return 0 <= trial < len(self._ended) and not self._ended[trial]

    def _attempts(self, trial: int) -> int:
        return 1 + len(self._adopted.get(trial, ()))

    def __iter__(self) -> Iterator[TrialRow]:
        """The rows. This is the second pass."""
        ancestry = _Ancestry()
        for first in range(0, len(self), TRIALS_AT_ONCE):
            trials = range(first, min(first + TRIALS_AT_ONCE, len(self)))
            yield from self._rows(trials, ancestry)

    def _rows(self, trials: range, ancestry: "_Ancestry") -> Iterator[TrialRow]:
        """The rows of some trials."""
        first, after = trials.start, trials.stop
        adopted = [number for trial in trials for number in self._adopted.get(trial, ())]
        found = self._fetch([*self._asked[first:after], *self._ended[first:after], *adopted])
        asked: list[AskedRecord] = []
        configs: dict[int, Config] = {}
        for trial in trials:
            row = found[self._asked[trial]]
            try:
                record = AskedRecord.decode(trial, from_json(row.body))
                self._add(record, ancestry)
                if record.parent is None:
                    configs[trial] = self._read_config(record.config)
            except INVALID as error:
                self._invalid(row, error)
            asked.append(record)
        roots = {ancestry.roots[trial] for trial in trials} - configs.keys()
        found |= self._fetch(self._asked[root] for root in roots)
        for root in roots:  # their configurations were checked with earlier trials
            configs[root] = self._read_config(from_json(found[self._asked[root]].body)["config"])
        for record in asked:
            yield self._row(record, configs[ancestry.roots[record.trial]], found)

    def _fetch(self, numbers: Iterable[int]) -> dict[int, Row]:
        """Records by their numbers; none has the number 0."""
        wanted = {*numbers} - {0}
        found = {row.seq: row for row in self._journal.read_numbered([*wanted])}
        if len(found) < len(wanted):
            self._damaged(f"record {min(wanted - found.keys())} is missing")
        return found

    def _add(self, record: AskedRecord, ancestry: "_Ancestry") -> None:
        """Add the next trial to the ancestry; raise `FormatError` if it cannot be the next."""
        trial, parent, slot, fidelity = record.trial, record.parent, record.slot, record.fidelity
        self._check_fidelity(fidelity)
        rungs, root = self._rungs, trial
        if rungs and slot and (slot.rung >= len(rungs) or rungs[slot.rung] != fidelity):
            raise FormatError(f"its fidelity {fidelity!r:.40} is not that of {slot}")
        if parent is not None:
            ended = self._ended[parent] if 0 <= parent < trial and self._succeeded[parent] else 0
            if not 0 < ended < self._asked[trial] or slot is None:
                raise FormatError(f"trial {trial} continues {parent}, which has not succeeded")
            if not ancestry.fidelities[parent] < fidelity or (
                ancestry.origins[parent] != record.origin
            ):
                raise FormatError(f"trial {trial} does not go on where {parent} ended")
            root = ancestry.roots[parent]
        elif record.origin == QUEUED:
            ancestry.from_queue += 1
            if ancestry.from_queue > bisect(self._queued, self._asked[trial]):
                raise FormatError(f"trial {trial} comes from the queue, but the queue is empty")
        if record.imported and (trial in self._waiting or trial in self._adopted):
            raise FormatError(f"trial {trial} was imported, so nobody can work on it")
        ancestry.roots.append(root)
        ancestry.fidelities.append(fidelity)
        ancestry.origins.append(sys.intern(record.origin))

    def _check_fidelity(self, fidelity: float) -> None:
        full = self._created.full
        if fidelity > full:
            raise FormatError(f"its fidelity is {fidelity!r:.40}, the highest is {full!r}")

    def _row(self, record: AskedRecord, config: Config, found: Mapping[int, Row]) -> TrialRow:
        trial = record.trial
        begun = [self._asked[trial], *self._adopted.get(trial, ())]
        status = "waiting" if trial in self._waiting else "running"
        end, ended, which = None, None, len(begun)
        kind = reason = value = loss = cost = seconds = metrics = None
        if self._ended[trial]:
            ended = found[self._ended[trial]]
            end = self._end(ended, record, len(begun))
            cost, which = end.cost, max(end.attempt, 1)
        _, _, _, worker, since, _, _ = found[begun[which - 1]]
        if end is not None and ended is not None:
            seconds = end.details.get("seconds", ended.at - since)
            metrics = end.details.get("metrics")
            if isinstance(end, ToldRecord):
                status, loss = "succeeded", end.loss
                value = -loss if self._created.maximize else loss
            else:
                status, kind, reason = "failed", end.failure, end.reason
        bracket, rung = record.slot or (None, None)
        return TrialRow(
            trial,
            record.parent,
            bracket,
            rung,
            record.origin,
            record.fidelity,
            status,
            kind,
            reason,
            value,
            loss,
            cost,
            seconds,
            len(begun),
            worker,
            found[begun[0]].at,
            ended.at if ended else None,
            config,
            metrics if isinstance(metrics, dict) else {},
        )

    def _end(self, row: Row, record: AskedRecord, attempts: int) -> TrialEnd:
        """The record that ended a trial."""
        try:
            kind = ToldRecord if self._succeeded[record.trial] else FailedRecord
            end = kind.decode(record.trial, from_json(row.body))
            if not (end.attempt == 0 if record.imported else 1 <= end.attempt <= attempts):
                raise FormatError(f"trial {record.trial} has no attempt {end.attempt}")
        except INVALID as error:
            self._invalid(row, error)
        return end

    def _invalid(self, row: Row, error: Exception) -> NoReturn:
        self._damaged(f"record {row.seq} ({row.kind:.20}) is invalid: {error}")

    def _damaged(self, what: str) -> NoReturn:
        where = self._journal.where
        raise DamagedError(f"{where} is damaged: {what}. {salvage_hint(where)}")


@final
class _Ancestry:
    """What is kept of each trial for those that continue it."""

    def __init__(self) -> None:
        self.roots, self.fidelities = array("q"), array("d")
        self.origins: list[str] = []
        self.from_queue = 0
        """How many trials were taken from the queue."""
