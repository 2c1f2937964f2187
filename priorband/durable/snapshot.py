"""What a snapshot of a study holds: its history as columns, and its ledger.

The content is a length, a JSON object, and arrays of little-endian numbers. Nothing in it is ever
executed, and everything in it is checked. It is computed from the records alone: the same records
always give the same bytes, no matter which process wrote them down.
"""

import json
import math
from collections.abc import Iterator
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.durable.ledger import Ledger
from priorband.durable.problem_data import changed_prior, changed_prior_data
from priorband.durable.records import INVALID, decode, member
from priorband.durable.view import StudyView
from priorband.errors import DamagedError, FormatError
from priorband.history import History
from priorband.log.columns import KIND, LOSS, NONE, NUMBER, Columns
from priorband.space.config_columns import ConfigColumns, column_type
from priorband.space.space import Space
from priorband.storage.journal import Journal, Row, StaleError, sealed
from priorband.storage.snapshot_file import Snapshot, packed
from priorband.values import replaced

Array = NDArray[Any]

EVERY = 4_000
"""How many records are written between two snapshots; more in a very long study."""
ON_CLOSE = 1_000
"""How many records must be new for a snapshot when a study is closed."""
LONG = 250_000  # records

_ALIGNMENT = 8
_TRIALS = ("fidelity", "bracket", "rung", "parent", "origin")


@final
class Snapshots:
    """Keeps the view of a study up to date, and its snapshot, if it is long enough to need one."""

    def __init__(self, view: StudyView, journal: Journal) -> None:
        self._view = view
        self._journal = journal
        self._saved = 0
        """The last record of the stored snapshot, as far as this process knows."""
        self._found_invalid = False
        self._used = False

    def catch_up(self) -> None:
        """Take in what others have written; begin with the snapshot if nothing is known yet."""
        if self._view.ledger.seq or not self._restore():
            try:
                rows = self._journal.read(self._view.ledger.seq)
            except StaleError:
                self._view.forget()
                rows = self._journal.read(0)
            self._view.apply(rows)

    def read_all_records(self) -> None:
        """Make a view that began with a snapshot again, from the records alone."""
        if self._used:
            self._view.forget()
            self._view.apply(self._journal.read(0))
            self._used = False

    def _restore(self) -> bool:
        """Begin with the snapshot, if it stands for records of this study; return whether it did.

        Its last record is read together with those that follow, and must have the same seal.
        """
        view, journal = self._view, self._journal
        snapshot, first = journal.snapshot(), journal.first()
        if snapshot is None or first is None:
            self._found_invalid = journal.snapshot_seq() > 0
            return False
        try:
            rows = journal.read(snapshot.seq - 1)
            if (rows[0].seq, rows[0].seal) != (snapshot.seq, snapshot.seal):
                raise FormatError("it stands for other records")
            restore(view, first, snapshot)
            view.apply(rows[1:])
        except (*INVALID, DamagedError):  # all records are read, which shows what is damaged
            view.forget()
            self._found_invalid = True
            return False
        self._saved, self._used = snapshot.seq, True
        return True

    def write_if_due(self, appended: list[Row]) -> None:
        """Write a snapshot every few thousand records: not too often, and not in every process.

        The process that has just appended the record which completes the number does it. Others do
        it if that one did not.
        """
        step = EVERY << (self._view.ledger.seq // LONG).bit_length()
        completes = appended and (appended[0].seq - 1) // step != appended[-1].seq // step
        if completes or self._is_behind(2 * step):
            self._write()

    def write_at_close(self) -> None:
        """Write a snapshot if the study is long, and much is new."""
        if self._view.ledger.seq >= EVERY and self._is_behind(ON_CLOSE):
            self._write()

    def _is_behind(self, most: int) -> bool:
        seq = self._view.ledger.seq
        if seq - self._saved >= most and not self._found_invalid:
            self._saved = max(self._saved, self._journal.snapshot_seq())
        return seq - self._saved >= most

    def _write(self) -> None:
        view = self._view
        self._saved = view.ledger.seq  # also if it fails: it is tried again later
        if self._journal.read_only:
            return
        data = packed_snapshot(view.problem.space, view.state.history, view.ledger)
        if data is not None:
            self._journal.write_snapshot(data, self._found_invalid)
            self._found_invalid = False


def packed_snapshot(space: Space, history: History, ledger: Ledger) -> bytes | None:
    """The snapshot of a study as it is stored; None if something in it does not fit."""
    try:
        columns = history.columns(space)
    except OverflowError:
        return None
    header = {
        "study": ledger.study,
        "ledger": ledger.to_data(),
        "events": len(columns),
        "trials": len(columns.parent),
        "ends": len(columns.ended),
        "fidelities": columns.fidelities,
        "origins": columns.origins,
        "reasons": columns.reasons,
    }
    if columns.priors:
        priors = [changed_prior_data(prior, ledger.problem) for prior in columns.priors]
        header["priors"] = priors
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    parts = [len(text).to_bytes(_ALIGNMENT, "little")]
    for part in (text, *(array.tobytes() for array in _arrays(columns))):
        parts += [part, bytes(-len(part) % _ALIGNMENT)]
    return packed(ledger.seq, ledger.seal, parts)


def restore(view: StudyView, first: Row, snapshot: Snapshot) -> None:
    """Make a view what a snapshot says; raise one of `INVALID` if the snapshot is not valid."""
    header, columns = _read(snapshot.content, view.problem.space)
    ledger, record = view.new_ledger(), decode(first)
    if first.seal != sealed(0, first):
        raise FormatError("the first record is not what was written")
    ledger.apply(first, record, History(), view.read_config)
    stored = member(header, "priors", list) if "priors" in header else []
    priors = tuple(changed_prior(data, ledger.problem) for data in stored)
    columns = replaced(columns, priors=priors)
    columns.check()
    history = History.restored(columns)
    ledger.restore(member(header, "ledger", dict), history)
    if header["study"] != ledger.study or (ledger.seq, ledger.seal) != snapshot[:2]:
        raise FormatError("it is that of another study")
    _check_fidelities(columns, ledger.full, ledger.rungs)
    view.begin_with(history, ledger)


def _check_fidelities(columns: Columns, full: float, rungs: tuple[float, ...]) -> None:
    """Raise `FormatError` unless each trial with a slot has the fidelity of its rung."""
    values = np.array(columns.fidelities, LOSS)
    placed = columns.rung != NONE
    on = columns.rung[placed]
    fits = not len(on) or int(on.max()) < len(rungs)
    if fits and len(on):
        fits = bool(np.all(np.array(rungs)[on] == values[columns.fidelity[placed]]))
    if not fits or max(columns.fidelities, default=0) > full:
        raise FormatError("a trial has a fidelity that it cannot have")


def _arrays(columns: Columns) -> Iterator[Array]:
    yield columns.kinds
    yield from (getattr(columns, name) for name in _TRIALS)
    yield from (columns.ended, columns.loss, columns.reason)
    yield columns.wish_fidelity
    yield from (*columns.configs.columns, *columns.wishes.columns)


@final
class _ArrayReader:
    """Reads arrays from the content of a snapshot, one after another."""

    def __init__(self, content: memoryview, start: int) -> None:
        self._content, self._position = content, start

    def read(self, kind: "np.dtype[Any]", count: int) -> Array:
        start = self._position + -self._position % _ALIGNMENT
        self._position = start + count * kind.itemsize
        if count < 0 or self._position > len(self._content):
            raise FormatError("it is too short")
        return np.frombuffer(self._content[start : self._position], kind)

    def end(self) -> None:
        if self._position + -self._position % _ALIGNMENT != len(self._content):
            raise FormatError("it is too long")


def _read(content: memoryview, space: Space) -> tuple[dict[str, Any], Columns]:
    length = int.from_bytes(content[:_ALIGNMENT], "little")
    header = json.loads(bytes(content[_ALIGNMENT : _ALIGNMENT + length]), parse_constant=_refuse)
    reader = _ArrayReader(content, _ALIGNMENT + length)
    events, trials, ends = (_count(header[name]) for name in ("events", "trials", "ends"))
    fidelities, origins, reasons = (
        tuple(member(header, name, list)) for name in ("fidelities", "origins", "reasons")
    )
    kinds = reader.read(KIND, events)
    by_trial = {name: reader.read(NUMBER, trials) for name in _TRIALS}
    ended, loss, reason = (reader.read(kind, ends) for kind in (NUMBER, LOSS, NUMBER))
    wishes = events - trials - ends - len(header.get("priors", ()))
    wish_fidelity = reader.read(NUMBER, wishes)
    roots = int(np.count_nonzero(by_trial["parent"] == NONE))
    configs, wished = (
        ConfigColumns(space, [reader.read(column_type(p), n) for p in space.searched.values()])
        for n in (roots, wishes)
    )
    reader.end()
    columns = Columns(
        kinds=kinds,
        **by_trial,
        configs=configs,
        ended=ended,
        loss=loss,
        reason=reason,
        wish_fidelity=wish_fidelity,
        wishes=wished,
        fidelities=fidelities,
        origins=origins,
        reasons=reasons,
        priors=(),
    )
    return header, columns


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < math.inf:
        raise FormatError("it has no such length")
    return value


def _refuse(name: str) -> float:
    raise FormatError(f"{name} is not allowed")
