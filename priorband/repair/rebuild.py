"""Mending: a study's records made anew from those that are intact.

Up to the first record that is lost everything stays as it is. After it, a trial keeps its place in
the plan if it would be decided on again, so that what is made anew can be replayed. A result that
has lost its place comes in as an imported one; a running trial is queued, and waits to be taken
over under its id. A trial whose own record is lost is decided on again, so that later ids stay.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, final

from priorband.durable.ledger import FAILURE_KINDS
from priorband.durable.problem import Problem
from priorband.errors import FormatError
from priorband.events import Queued
from priorband.repair.record_writer import BROKEN, RecordWriter
from priorband.repair.scan import Finding
from priorband.space.config import Config
from priorband.storage.journal import Row
from priorband.storage.json_text import body, member, number
from priorband.trial import IMPORTED, QUEUED, Trial
from priorband.values import frozen

_MOST = 10_000  # trials to decide on again: each must be evaluated once more
_LOST = "the records of this attempt are lost"


@final
@frozen
class Rebuilt:
    """The new records, and what became of the old ones."""

    rows: tuple[Row, ...]
    kept: frozenset[int]
    """The numbers of the old records that stand among the new ones."""
    dropped: tuple[Finding, ...]
    changed: tuple[Finding, ...]
    same: frozenset[int]
    """Trials that have the id, the configuration and the fidelity that they had."""


def rebuilt(created: Row, rows: Sequence[Row], problem: Problem, worker: str) -> Rebuilt:
    """What can be made of the intact records that follow `created`, which is found or made."""
    mender = _Mender(RecordWriter(problem, worker), rows, frozenset())
    held = mender.run(created)
    if held:
        mender = _Mender(RecordWriter(problem, worker), rows, held)
        mender.run(created)
    new = mender.new
    same = frozenset(then for then, now in mender.ids.items() if then == now)
    dropped, changed = tuple(mender.dropped), tuple(mender.changed)
    return Rebuilt(tuple(new.rows), frozenset(new.kept), dropped, changed, same)


class _Wish(NamedTuple):
    """A configuration that a person wants tried, and the record that says so, if it is left."""

    queued: Queued
    row: Row | None


class _Was(NamedTuple):
    """What an old record says of the trial that it hands out."""

    id: int
    config: Config
    fidelity: float
    parent: int | None
    origin: str
    planned: bool


@final
class _Mender:
    """Takes in old records in order.

    After a loss it cannot be told which wishes are fulfilled. So those that are pending then are
    `held`, and written down when a trial calls for them, or at the end.
    """

    def __init__(self, new: RecordWriter, rows: Sequence[Row], held: frozenset[int]) -> None:
        self.new, self.old, self.held = new, rows, held
        self.dropped: list[Finding] = []
        self.changed: list[Finding] = []
        self.ids: dict[int, int] = {}  # a trial's id then, and now
        self.imported: set[int] = set()
        self.ended = {row.trial for row in rows if _ends(row)}
        self.wishes: list[_Wish] = []
        self.pending: deque[int] = deque()  # records of wishes that the new history holds
        self.lost = False
        self.missing = 0  # lost records that nothing has made up for

    def run(self, created: Row) -> frozenset[int]:
        """Make all records; or stop at the first loss, with the wishes to hold back."""
        self.new.keep(created, "created", None, body(created.body))
        last = 1
        for row in self.old:
            self.missing += row.seq - last - 1
            self.lost = self.lost or row.seq != last + 1
            last = row.seq
            try:
                self._take(row)
            except BROKEN as error:
                self._drop(row, f"cannot be: {error}")
                self.lost, self.missing = True, self.missing + 1
            if self.lost and self.pending and self._asks_from(row.seq):
                return frozenset(self.pending)
        self._end(created)
        return frozenset()

    def _asks_from(self, seq: int) -> bool:
        return any(row.kind == "asked" and row.seq >= seq for row in self.old)

    def _take(self, row: Row) -> None:
        data = body(row.body)
        if row.kind == "queued" and (self.lost or row.seq in self.held):
            at = None if data.get("fidelity") is None else number(data, "fidelity", least=1e-300)
            self.wishes.append(_Wish(Queued(self.new.read(data.get("config")), at), row))
        elif row.kind == "asked" and self.lost:
            self._ask_anew(row, data)
        elif row.trial is not None and self.lost:
            self._follow(row, row.trial, data)
        else:
            self.new.keep(row, row.kind, row.trial, data)
            self._note(row, data)

    def _note(self, row: Row, data: dict[str, Any]) -> None:
        """Remember what the records before the first loss say."""
        if row.kind == "queued":
            self.pending.append(row.seq)
        if row.kind == "asked" and row.trial is not None:
            self.ids[row.trial] = row.trial
            if data["origin"] == IMPORTED:
                self.imported.add(row.trial)
            if data["origin"] == QUEUED and data.get("parent") is None:
                self.pending.popleft()

    def _follow(self, row: Row, then: int, data: dict[str, Any]) -> None:
        """Take in a record about a trial."""
        now = self.ids.get(then)
        if now is None:
            loss = f"; it had a loss of {data['loss']!r:.40}" if "loss" in data else ""
            self._drop(row, f"is about trial {then}, whose own record is lost{loss}")
        elif row.kind == "remark":
            self.new.keep(row, row.kind, now, data)
        elif then not in self.imported:
            self._catch_up(row, now, data)
            self.new.keep(row, row.kind, now, data)
        elif row.kind in ("told", "failed"):
            self.new.keep(row, row.kind, now, data | {"attempt": 0})
        else:
            self._drop(row, f"is about an attempt at trial {then}, of which the result is imported")

    def _catch_up(self, row: Row, trial: int, data: dict[str, Any]) -> None:
        """Make up for lost records that say how a trial went from one attempt to another."""
        opened, target = self.new.ledger.running.get(trial), member(data, "attempt", int)
        while opened and self.missing > 0 and opened.attempt < target:
            if opened.held:
                lost = {"attempt": opened.attempt, "kind": "lost", "reason": _LOST}
                self.new.add(row, "returned", trial, lost)
            elif row.kind == "adopted" and opened.attempt == target - 1:
                return
            else:
                again = {"attempt": opened.attempt + 1, "claim": "", "start": opened.start}
                self.new.add(row, "adopted", trial, again)
            self.missing -= 1

    def _ask_anew(self, row: Row, data: dict[str, Any]) -> None:
        """Take in a record that hands out a trial."""
        was = self._was(row, data)
        if was.id in self.ids:
            raise FormatError(f"trial {was.id} was asked before")
        self._fill(was.id, row)
        now = len(self.new.state.history)
        self._place(row, data, was, now)
        self.ids[was.id] = now

    def _was(self, row: Row, data: dict[str, Any]) -> _Was:
        fidelity, origin = number(data, "fidelity", least=1e-300), member(data, "origin", str)
        parent = data.get("parent")
        if row.trial is None or row.trial < 0:
            raise FormatError("it names no trial")
        if parent is None:
            config = self.new.read(data.get("config"))
        elif type(parent) is int and parent in self.ids:
            config = self.new.state.history.trial(self.ids[parent]).config
        else:
            raise FormatError(f"trial {row.trial} continues {parent!r:.40}, whose record is lost")
        return _Was(row.trial, config, fidelity, parent, origin, data.get("slot") is not None)

    def _fill(self, until: int, row: Row) -> None:
        """Decide again on trials whose records are lost, unless they are too many."""
        hole = until - max(self.ids, default=-1) - 1
        if not 0 < hole <= min(self.missing, _MOST):
            return
        for lost in range(until - hole, until):
            trial = self.new.decided()
            if trial is None:
                return
            self.new.add(row, "asked", trial.id, self.new.about(trial, {}))
            self._change(f"trial {lost}", f"is lost: trial {trial.id} is decided on again")
            self.missing -= 1

    def _place(self, row: Row, data: dict[str, Any], was: _Was, now: int) -> None:
        """Hand out a trial in its old place, as an imported result, or from the queue."""
        where = f"record {row.seq}"
        if was.origin == IMPORTED:
            self.new.keep(row, "asked", now, data)
            self.imported.add(was.id)
            return
        wish = self._wish(was) if was.origin == QUEUED and was.parent is None else None
        again = self.new.decided(wish.queued if wish else None)
        if again is not None and self._alike(again, was):
            self._grant(row, wish)
            self.new.keep(row, "asked", now, self.new.about(again, data))
        elif was.id in self.ended:
            self._deny(wish)
            trial = Trial(now, was.config, was.fidelity, None, None, IMPORTED, now)
            self.new.keep(row, "asked", now, self.new.about(trial, {}))
            self.imported.add(was.id)
            self._change(where, f"has lost its place in the plan: trial {was.id} is imported")
        else:
            self._grant(row, _Wish(Queued(was.config, was.fidelity), wish.row if wish else None))
            trial = Trial(now, was.config, was.fidelity, None, None, QUEUED, now)
            about = self.new.about(trial, {"claim": data.get("claim", "")})
            self.new.keep(row, "asked", now, about)
            self._change(where, f"has lost its place in the plan: trial {was.id} is queued to run")

    def _wish(self, was: _Was) -> _Wish:
        """The wish that a trial has fulfilled; a lost one follows from the trial."""
        for wish in self.wishes:
            planned = wish.queued.fidelity is None
            if wish.queued.config == was.config and planned == was.planned:
                return wish
        return _Wish(Queued(was.config, None if was.planned else was.fidelity), None)

    def _alike(self, again: Trial, was: _Was) -> bool:
        parent = None if was.parent is None else self.ids[was.parent]
        then = (was.config, was.fidelity, was.origin, parent)
        return (again.config, again.fidelity, again.origin, again.parent) == then

    def _grant(self, row: Row, wish: _Wish | None) -> None:
        """Write down a wish, right before the trial that fulfils it."""
        if wish is None:
            return
        wanted = {
            "config": self.new.write(wish.queued.config),
            "fidelity": wish.queued.fidelity,
        }
        if wish.row is None:
            self.new.add(row, "queued", None, wanted)
        else:
            self.new.keep(wish.row, "queued", None, wanted)
            self.wishes = [one for one in self.wishes if one.row is not wish.row]

    def _deny(self, wish: _Wish | None) -> None:
        if wish is not None and wish.row is not None:
            self.wishes.remove(wish)
            self._drop(wish.row, "is fulfilled by a result that is imported")

    def _end(self, created: Row) -> None:
        for wish in tuple(self.wishes):
            self._grant(created, wish)
        for trial in self.new.state.history.running:
            if trial.id not in self.new.ledger.running:  # imported, and nobody will tell it
                failed = {"attempt": 0, "kind": "lost", "reason": "its result is lost"}
                self.new.add(self.new.rows[-1], "failed", trial.id, failed)
                self._change(f"trial {trial.id}", "has lost its result")

    def _drop(self, row: Row, why: str) -> None:
        self.dropped.append(Finding(f"record {row.seq}", why))

    def _change(self, where: str, how: str) -> None:
        self.changed.append(Finding(where, how))


def _ends(row: Row) -> bool:
    """Whether a record ends its trial in a way that can be told again."""
    try:
        data = body(row.body) if row.kind in ("told", "failed") else {}
        if row.kind == "failed":
            return member(data, "kind", str) in FAILURE_KINDS and type(data.get("reason")) is str
        return row.kind == "told" and number(data, "loss") is not None
    except FormatError:
        return False
