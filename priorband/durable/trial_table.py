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
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn, final

from priorband.durable.problem_data import changed_prior
from priorband.durable.records import (
    INVALID,
    AdoptedRecord,
    CreatedRecord,
    PriorRecord,
    QueuedRecord,
    ReturnedRecord,
    decode,
)
from priorband.durable.serialize import config_reader
from priorband.durable.table_cells import (
    AskedCells,
    AskedReader,
    EndCells,
    EndReader,
    TableFormat,
)
from priorband.durable.table_outcomes import OUTCOMES, Schedule, TrialFacts
from priorband.errors import DamagedError, FormatError
from priorband.results.trial_records import COLUMNS as COLUMNS
from priorband.space.space import Space
from priorband.storage.high_water import salvage_hint
from priorband.storage.journal import Journal, Row, sealed
from priorband.storage.json_text import from_json
from priorband.trial import IMPORTED, QUEUED

TRIALS_AT_ONCE = 250
"""For how many trials the second pass fetches records at a time."""


class TrialRow(NamedTuple):
    """One trial in a table."""

    cells: list[str]
    """A cell for each of `COLUMNS`, and then for each setting."""
    metrics: Mapping[str, Any]


@final
class TrialTable:
    """The rows of all trials in the order in which they were asked, as of one record.

    Args:
        journal: where the records are stored.
        created: the record of the study's creation.
        space: the search space.
        schedule: the scheduler and the state before the first trial; None if the method is not
            known.
        form: how values are written.
        find_metrics: whether to find the names of all metrics, which takes longer.

    Raises:
        DamagedError: if the records are not what was written.
    """

    def __init__(  # noqa: PLR0913  # what the study is about, and how to write it
        self,
        journal: Journal,
        created: CreatedRecord,
        space: Space,
        schedule: Schedule | None,
        form: TableFormat,
        find_metrics: bool = False,
    ) -> None:
        self._journal = journal
        self._problem = created.problem
        self._full = created.full
        self._rungs = schedule.start.ladder.fidelities if schedule else ()
        self._facts = TrialFacts(created.full)
        self._read_config = config_reader(space)
        self._form = form
        self._worker_cell = lru_cache(1000)(form.text)
        self._status = {name: form.text(name) for name in _STATUS}
        self._outcome_cell = {name: form.text(name) for name in OUTCOMES}
        self._asked_reader = AskedReader(space, form)
        self._end_reader = EndReader(form, created.maximize)
        # By trial: the number of the record that asked it, and of the one that ended it, or 0.
        self._asked, self._ended, self._succeeded = array("q"), array("q"), bytearray()
        # By trial: the records of attempts after the first. Few trials have any.
        self._adopted: dict[int, list[int]] = {}
        self._waiting: set[int] = set()
        self._queued = array("q")
        # By metric: the first trial that has it, and its position among the metrics there.
        self._metrics: dict[str, tuple[int, int]] | None = {} if find_metrics else None
        self._scan()
        self._outcomes = self._facts.outcomes(schedule)
        del self._facts  # it is large

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
        number, kind, trial, _, _, body, _ = row
        if kind == "asked":
            if trial != len(self._asked):
                raise FormatError(f"trial {trial} was asked when {len(self._asked)} was next")
            self._asked.append(number)
            self._ended.append(0)
            self._succeeded.append(0)
            self._facts.ask(trial, body)
        elif kind in ("told", "failed"):
            if trial is None or not self._running(trial):
                raise FormatError(f"trial {trial} is not running")
            self._ended[trial] = number
            self._succeeded[trial] = kind == "told"
            self._waiting.discard(trial)
            self._facts.end(trial, body if kind == "told" else None)
            if self._metrics is not None and ('"metrics"' in body or "\\u" in body):
                self._note_metrics(trial, from_json(body).get("metrics"))
        elif (number == 1) != (kind == "created"):
            raise FormatError("the study does not begin with its creation")
        else:
            self._note_other(row)

    def _note_other(self, row: Row) -> None:
        match decode(row):
            case QueuedRecord() as queued:
                self._read_config(queued.config)
                self._check_fidelity(queued.fidelity or 0)
                self._queued.append(row.seq)
                self._facts.queue(queued.fidelity, queued.retry)
            case PriorRecord() as changed:
                self._facts.change_prior(changed_prior(changed.prior, self._problem))
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
        asked = [self._read_asked(found[self._asked[trial]], ancestry) for trial in trials]
        configs = dict(enumerate((about.config for about in asked), first))
        roots = {ancestry.roots[trial] for trial in trials} - configs.keys()
        earlier = self._fetch(self._asked[root] for root in roots)
        for root in roots:
            configs[root] = self._asked_reader.read(root, earlier[self._asked[root]].body).config
        for trial, about in zip(trials, asked, strict=True):
            yield self._row(trial, about, configs[ancestry.roots[trial]] or [], found)

    def _fetch(self, numbers: Iterable[int]) -> dict[int, Row]:
        """Records by their numbers; none has the number 0."""
        wanted = {*numbers} - {0}
        found = {row.seq: row for row in self._journal.read_numbered([*wanted])}
        if len(found) < len(wanted):
            self._damaged(f"record {min(wanted - found.keys())} is missing")
        return found

    def _read_asked(self, row: Row, ancestry: "_Ancestry") -> AskedCells:
        """Read a record that asked a trial, and add the trial to the ancestry."""
        trial = len(ancestry.roots)
        try:
            asked = self._asked_reader.read(trial, row.body)
            ancestry.roots.append(self._root(trial, asked, ancestry))
        except INVALID as error:
            self._invalid(row, error)
        ancestry.fidelities.append(asked.fidelity)
        ancestry.origins.append(sys.intern(asked.origin))
        return asked

    def _root(self, trial: int, asked: AskedCells, ancestry: "_Ancestry") -> int:
        """The root of a trial; raise `FormatError` if the trial cannot follow those before it."""
        parent, slot, rungs, fidelity = asked.parent, asked.slot, self._rungs, asked.fidelity
        self._check_fidelity(fidelity)
        if rungs and slot and (slot.rung >= len(rungs) or rungs[slot.rung] != fidelity):
            raise FormatError(f"its fidelity {fidelity!r:.40} is not that of {slot}")
        if asked.origin == IMPORTED and (trial in self._waiting or trial in self._adopted):
            raise FormatError(f"trial {trial} was imported, so it has no attempts")
        if parent is None:
            ancestry.from_queue += asked.origin == QUEUED
            if ancestry.from_queue > bisect(self._queued, self._asked[trial]):
                raise FormatError(f"trial {trial} comes from the queue, but the queue is empty")
            return trial
        ended = self._ended[parent] if 0 <= parent < trial and self._succeeded[parent] else 0
        if not 0 < ended < self._asked[trial]:
            raise FormatError(f"trial {trial} continues {parent}, which has not succeeded")
        if ancestry.fidelities[parent] >= fidelity or ancestry.origins[parent] != asked.origin:
            raise FormatError(f"trial {trial} does not go on where {parent} ended")
        return ancestry.roots[parent]

    def _check_fidelity(self, fidelity: float) -> None:
        if fidelity > self._full:
            raise FormatError(f"its fidelity is {fidelity!r:.40}, the highest is {self._full!r}")

    def _row(
        self, trial: int, asked: AskedCells, config: list[str], found: Mapping[int, Row]
    ) -> TrialRow:
        form, null = self._form, self._form.null
        first = begun = found[self._asked[trial]]
        attempts, metrics = self._attempts(trial), _NO_METRICS
        status = "waiting" if trial in self._waiting else "running"
        kind = reason = value = loss = cost = seconds = ended = null
        which = attempts
        if self._ended[trial]:
            row = found[self._ended[trial]]
            end = self._read_end(trial, row, asked, attempts)
            which, kind, reason, value, loss, cost, taken, metrics = end
            status = "succeeded" if self._succeeded[trial] else "failed"
            ended = form.time(row.at)
        outcome = "waiting" if status == "waiting" else OUTCOMES[self._outcomes[trial]]
        if which > 1:
            begun = found[self._adopted[trial][which - 2]]
        if self._ended[trial]:
            seconds = form.text(row.at - begun.at) if taken is None else taken
        slot, parent = asked.slot, asked.parent
        cells = [
            str(trial),
            null if parent is None else str(parent),
            null if slot is None else str(slot.bracket),
            null if slot is None else str(slot.rung),
            asked.origin_cell,
            asked.fidelity_cell,
            self._status[status],
            self._outcome_cell[outcome],
            kind,
            reason,
            value,
            loss,
            cost,
            seconds,
            str(attempts),
            self._worker_cell(begun.worker),
            form.time(first.at),
            ended,
            *config,
        ]
        return TrialRow(cells, metrics)

    def _read_end(self, trial: int, row: Row, asked: AskedCells, attempts: int) -> EndCells:
        """Read the record that ended a trial."""
        reader = self._end_reader
        try:
            end = (reader.told if self._succeeded[trial] else reader.failed)(trial, row.body)
            imported = asked.origin == IMPORTED
            if not (end.attempt == 0 if imported else 1 <= end.attempt <= attempts):
                raise FormatError(f"trial {trial} has no attempt {end.attempt}")
        except INVALID as error:
            self._invalid(row, error)
        return end

    def _invalid(self, row: Row, error: Exception) -> NoReturn:
        self._damaged(f"record {row.seq} ({row.kind:.20}) is invalid: {error}")

    def _damaged(self, what: str) -> NoReturn:
        where = self._journal.where
        raise DamagedError(f"{where} is damaged: {what}. {salvage_hint(where)}")


_STATUS = ("succeeded", "failed", "running", "waiting")
_NO_METRICS: Mapping[str, Any] = {}


@final
class _Ancestry:
    """What the second pass remembers of each trial, for those that continue it."""

    def __init__(self) -> None:
        self.roots, self.fidelities = array("q"), array("d")
        self.origins: list[str] = []
        self.from_queue = 0
        """How many trials were taken from the queue."""
