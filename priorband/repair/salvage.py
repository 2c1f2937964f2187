"""Salvage: a new study, written from what is intact of a damaged one."""

import os
import re
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import final

from priorband.durable.open import StudyJournal, checkpoint_folder, created_record, journal_at
from priorband.durable.problem_data import differences, problem_data, problem_from_data
from priorband.durable.records import INVALID, CreatedRecord, decode, needed_version, sealed_row
from priorband.errors import DamagedError, FormatError, MethodError, MismatchError
from priorband.problem import Problem
from priorband.repair.check import scan_study, study_id
from priorband.repair.copy_trials import copy_trials
from priorband.repair.rebuild import rebuilt
from priorband.repair.scan import Finding
from priorband.repair.verify import verified
from priorband.storage.folder_owner import FolderOwner, owner_at
from priorband.storage.identity import worker_name
from priorband.storage.journal import FORMAT, Row, refuse_version
from priorband.storage.sqlite import SqliteJournal
from priorband.values import frozen

_NEWER = range(FORMAT + 1, 1000)  # a larger number is damage, not a version


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
    """What is different: results that were imported, trials that are run again."""


def salvage(
    where: str | Path, new: str | Path, problem: Problem | None = None, maximize: bool = False
) -> Salvage:
    """Write a new study from all that is intact in another one, which is not changed.

    Either may be in a folder or in a database. Trials that were running wait to be taken over.

    Args:
        where: the damaged study's folder or URL.
        new: where to write the new study: an empty place.
        problem: what the study is about; only needed if the record of its creation is lost.
        maximize: whether higher values are better; only used together with `problem`.

    Returns:
        Which records were taken over, dropped or changed.

    Raises:
        DamagedError: if the record of the creation is lost and no problem was given.
        MismatchError: if the problem is not that of the study.
        FormatError: if there is no study, or something exists at the new place.
        StorageError: if one of the two cannot be read or written.
    """
    source, target = journal_at(where), journal_at(new)
    with closing(target):
        _check_target(source, target)
        scan = scan_study(source, where)
        if scan.version in _NEWER:
            refuse_version(scan.version, source.where)
        verification = verified(scan)
        owner = _owner(source)
        created, problem, lost = _creation(
            verification.rows, problem, maximize, source.where, owner
        )
        rest = [row for row in verification.rows if row.seq > 1]
        records = rebuilt(created, rest, problem, worker_name())
        target.prepare()
        folders = checkpoint_folder(source), checkpoint_folder(target)
        left = copy_trials(*folders, records.same, owner, study_id([created]))
        with target.transaction(0) as transaction:
            if transaction.rows:
                raise _taken(target)
            for row in records.rows:
                transaction.append(row)
            transaction.set_version(needed_version(_version(created), records.rows))
    kept = records.kept & {row.seq for row in verification.rows} - {1 for _ in lost}
    dropped = _by_number([*verification.lost, *lost, *records.dropped])
    return Salvage(target.where, len(kept), (*dropped, *left), records.changed)


def _creation(
    rows: Iterable[Row],
    given: Problem | None,
    maximize: bool,
    where: str,
    owner: FolderOwner | None,
) -> tuple[Row, Problem, list[Finding]]:
    """The first row and the problem, stored or given; and why the stored row was not usable."""
    lost = list[Finding]()
    for row in [row for row in rows if row.seq == 1]:
        try:
            return row, _stored_problem(row, given, where), lost
        except INVALID as error:
            if isinstance(error, MethodError | MismatchError):
                raise
            lost.append(Finding("record 1", f"is invalid: {error}"))
    if given is None:
        raise DamagedError(
            f"{where} is damaged: the record of its creation cannot be read, which says what the "
            "study is about. Give it again: salvage(where, new, problem=Problem(...))."
        )
    at = min((row.at for row in rows), default=time.time())
    record = created_record(given, maximize, owner.study if owner else None)
    return sealed_row(record, 1, worker_name(), at, 0), given, lost


def _version(created: Row) -> int:
    record = decode(created)
    assert isinstance(record, CreatedRecord), "it was checked before"
    return record.version


def _owner(source: StudyJournal) -> FolderOwner | None:
    """Which study the checkpoints of a damaged one belong to; None if that is not known."""
    try:
        return owner_at(checkpoint_folder(source))
    except (FormatError, OSError):
        return None


def _stored_problem(row: Row, given: Problem | None, where: str) -> Problem:
    record = decode(row)
    if not isinstance(record, CreatedRecord):
        raise FormatError("the study does not begin with its creation")
    if given is None:
        return problem_from_data(record.problem)
    unlike = differences(record.problem, problem_data(given))
    if unlike:
        raise MismatchError(
            f"The study in {where} is about another problem:\n  - " + "\n  - ".join(unlike)
        )
    return problem_from_data(record.problem, prior=given.prior, optimizer=given.optimizer)


def _check_target(source: StudyJournal, target: StudyJournal) -> None:
    """Raise `FormatError` unless the new study has a place of its own, outside the damaged one."""
    folder = checkpoint_folder(target)
    if isinstance(source, SqliteJournal):
        old, inner = source.folder.resolve(), folder.resolve()
        if inner == old or old in inner.parents:
            raise FormatError(
                f"{folder} is inside the damaged study, where nothing is written. "
                "Name a folder that does not exist yet."
            )
    taken = folder / "trials"
    if isinstance(target, SqliteJournal):
        taken = folder if not folder.is_dir() or any(folder.iterdir()) else taken
    elif target.exists():
        raise _taken(target)
    if os.path.lexists(taken):
        raise FormatError(
            f"{taken} exists already, and nothing is ever overwritten. "
            "Name a place that is still empty."
        )


def _taken(target: StudyJournal) -> FormatError:
    return FormatError(
        f"There is a study in {target.where} already, and nothing is ever overwritten. "
        "Name a place that is still empty."
    )


def _by_number(findings: Iterable[Finding]) -> list[Finding]:
    def first(finding: Finding) -> list[int]:
        return [int(number) for number in re.findall(r"-?\d+", finding.where)[:1]]

    return sorted(findings, key=first)
