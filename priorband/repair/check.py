"""Inspection: what is wrong with a study, and a new one made of what is intact."""

import os
import re
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, final

from priorband.durable.ledger import Ledger, Reader
from priorband.durable.open import Place, located
from priorband.durable.problem import Problem, config_reader, described, differences, restored
from priorband.durable.serialize import from_plain
from priorband.errors import DamagedError, FormatError, MethodError, MismatchError
from priorband.history import History
from priorband.repair.copy_trials import copy_trials
from priorband.repair.rebuild import rebuilt
from priorband.repair.record_writer import BROKEN
from priorband.repair.scan import Finding, Scan
from priorband.repair.scan_postgres import scan_database
from priorband.repair.scan_sqlite import scan_folder
from priorband.repair.verify import verified
from priorband.space.config import Config
from priorband.storage.identity import worker_name
from priorband.storage.journal import FORMAT, Row, refuse_version
from priorband.storage.json_text import body, text
from priorband.storage.sqlite import SqliteJournal
from priorband.values import frozen

_NEWER = range(FORMAT + 1, 1000)  # a larger number is no version, but damage


@final
@frozen
class Inspection:
    """What a look at every part of a study has found."""

    where: str
    records: int
    """How many are intact."""
    trials: int
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether everything is as it was written."""
        return not self.findings


@final
@frozen
class Salvage:
    """A new study, and what became of the records of the old one."""

    where: str
    kept: int
    """How many records were taken over."""
    dropped: tuple[Finding, ...]
    """Those that were not, each with its number and the reason."""
    changed: tuple[Finding, ...]
    """What had to be said otherwise: results that are imported, trials that are run again."""


def check(where: str | Path) -> Inspection:
    """Look at every part of a study, without changing it.

    Damage is never an error here: it is found, and named. That there is no study is one.

    >>> import tempfile, priorband as pb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with pb.open_study(folder, pb.Space({"x": pb.Float(0, 1)}), pb.Fidelity("n", 1, 9)):
    ...         pass
    ...     inspected = check(folder)
    >>> inspected.sound, inspected.records
    (True, 1)
    """
    place = located(where)
    remains = _remains(place, where)
    proof = verified(remains)
    odd = _judged(proof.rows)
    asked = sum(row.kind == "asked" for row in proof.rows)
    findings = (*remains.findings, *proof.lost, *proof.doubts, *odd)
    return Inspection(place.where, len(proof.rows) - len(odd), asked, findings)


def salvage(
    where: str | Path, new: str | Path, problem: Problem | None = None, maximize: bool = False
) -> Salvage:
    """Write a new study from all that is intact in another, which is left as it is.

    Either may be in a folder or in a database. Where the record of its creation is lost, what the
    study is about must be given again. Trials that were running wait to be taken over.
    """
    source, target = located(where), located(new)
    with closing(target):
        _refuse_place(source, target)
        remains = _remains(source, where)
        if remains.version in _NEWER:
            refuse_version(remains.version, source.where)
        proof = verified(remains)
        created, about, lost = _creation(proof.rows, problem, maximize, source.where)
        rest = [row for row in proof.rows if row.seq > 1]
        made = rebuilt(created, rest, about, worker_name())
        target.prepare()
        left = copy_trials(_folder(source), _folder(target), made.same)
        with target.transaction(0) as transaction:
            if transaction.rows:
                raise _taken(target)
            for row in made.rows:
                transaction.append(row)
    kept = made.kept & {row.seq for row in proof.rows} - {1 for _ in lost}
    dropped = _by_number([*proof.lost, *lost, *made.dropped])
    return Salvage(target.where, len(kept), (*dropped, *left), made.changed)


def _remains(place: Place, where: str | Path) -> Scan:
    if isinstance(place, SqliteJournal):
        return scan_folder(place.folder)
    return scan_database(str(where))


def _judged(rows: Iterable[Row]) -> list[Finding]:
    """Which records cannot be; the meaning of those after a lost one cannot be told."""
    found, ledger, history = list[Finding](), Ledger(), History()
    read: Reader = lambda _: Config()  # noqa: E731  # until the first record says more
    for row in rows:
        try:
            data = body(row.body)
            if row.seq == ledger.seq + 1 and not found:
                event = ledger.apply(row, data, history, read)
                history = history if event is None else history.after(event)
                read = _learn(ledger) if row.seq == 1 else read
        except BROKEN as error:
            found.append(Finding(f"record {row.seq}", f"({row.kind:.20}) cannot be: {error}"))
    return found


def _learn(ledger: Ledger) -> Reader:
    """What the first record says of those that follow."""
    try:
        problem = restored(ledger.problem)
    except MethodError:  # a method with parts of its user's own
        return config_reader(from_plain(ledger.problem["space"]))
    start = problem.optimizer.start(problem.space, problem.prior, problem.fidelity)
    ledger.rungs = start.ladder.fidelities
    return config_reader(problem.space)


def _creation(
    rows: Iterable[Row], given: Problem | None, maximize: bool, where: str
) -> tuple[Row, Problem, list[Finding]]:
    """The first record and the problem, as found or as given; and why the record was not usable."""
    known = [row for row in rows if row.seq == 1]
    lost = list[Finding]()
    for row in known:
        try:
            return row, _stored(row, given, where), lost
        except BROKEN as error:
            if isinstance(error, MethodError | MismatchError):
                raise
            lost.append(Finding("record 1", f"cannot be: {error}"))
    if given is None:
        raise DamagedError(
            f"{where} is damaged: the record of its creation cannot be read, which says what the "
            "study is about. Give it again: salvage(where, new, problem=Problem(...))."
        )
    about = {"format": FORMAT, "study": os.urandom(8).hex(), "problem": described(given)}
    at = min((row.at for row in rows), default=time.time())
    created = text(about | {"maximize": maximize})
    return Row(1, "created", None, worker_name(), at, created, 0), given, lost


def _stored(row: Row, given: Problem | None, where: str) -> Problem:
    ledger = Ledger()
    ledger.apply(row, body(row.body), History(), lambda _: Config())
    if given is None:
        return restored(ledger.problem)
    unlike = differences(ledger.problem, described(given))
    if unlike:
        raise MismatchError(
            f"The study in {where} is about another problem:\n  - " + "\n  - ".join(unlike)
        )
    return restored(ledger.problem, prior=given.prior, optimizer=given.optimizer)


def _refuse_place(source: Place, target: Place) -> None:
    """A new study needs a place of its own, outside of what is damaged."""
    folder = _folder(target)
    if isinstance(source, SqliteJournal):
        old, inner = source.folder.resolve(), folder.resolve()
        if inner == old or old in inner.parents:
            raise FormatError(
                f"{folder} lies in the study that is to be salvaged, and nothing is written there. "
                "Name a folder that does not exist yet."
            )
    taken = folder / "trials"
    if isinstance(target, SqliteJournal):
        taken = folder if not folder.is_dir() or any(folder.iterdir()) else taken
    elif target.exists():
        raise _taken(target)
    if os.path.lexists(taken):
        raise FormatError(
            f"{taken} exists already, and nothing is ever written over. "
            "Name a place where nothing is yet."
        )


def _taken(target: Place) -> FormatError:
    return FormatError(
        f"There is a study in {target.where} already, and nothing is ever written over. "
        "Name a place where nothing is yet."
    )


def _folder(place: Place) -> Path:
    """Where a study's checkpoints lie, if nobody says otherwise."""
    return place.folder if isinstance(place, SqliteJournal) else Path(f"priorband-{place.name}")


def _by_number(findings: Iterable[Finding]) -> list[Finding]:
    def first(finding: Finding) -> Any:
        return [int(number) for number in re.findall(r"-?\d+", finding.where)[:1]]

    return sorted(findings, key=first)
