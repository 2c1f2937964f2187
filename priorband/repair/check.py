"""Checking a study: what is wrong with it, without changing it."""

from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import final

from priorband.durable.ledger import ConfigReader, Ledger
from priorband.durable.open import StudyJournal, journal_at
from priorband.durable.problem_data import problem_from_data
from priorband.durable.records import INVALID, CreatedRecord, decode, needed_version
from priorband.durable.serialize import config_reader, from_data
from priorband.durable.snapshot import packed_snapshot
from priorband.errors import FormatError, MethodError
from priorband.history import History
from priorband.repair.scan import Finding, Scan
from priorband.repair.scan_postgres import scan_database
from priorband.repair.scan_sqlite import scan_folder
from priorband.repair.verify import verified
from priorband.space.config import Config
from priorband.space.space import Space
from priorband.storage.folder_owner import MARKER, TRIALS, owner_at
from priorband.storage.journal import FORMAT, PRIOR_FORMAT, Row
from priorband.storage.snapshot_file import SNAPSHOT_NAME, Snapshot, unpacked
from priorband.storage.sqlite import SqliteJournal
from priorband.values import frozen


@final
@frozen
class CheckResult:
    """What a check of a study has found."""

    where: str
    records: int
    """How many records are intact."""
    trials: int
    findings: tuple[Finding, ...]
    """What is wrong."""
    not_checked: tuple[Finding, ...] = ()
    """What could not be looked at, as permission is missing."""

    @property
    def sound(self) -> bool:
        """Whether everything is as it was written."""
        return not self.findings


def check(where: str | Path) -> CheckResult:
    """Look at every part of a study, without changing it.

    Args:
        where: the study's folder or URL.

    Returns:
        What is wrong with it. Damage is never an error here.

    Raises:
        FormatError: if there is no study.
        StorageError: if it cannot be read.

    >>> import tempfile, priorband as pb
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with pb.open_study(folder, pb.Space({"x": pb.Float(0, 1)}), pb.Fidelity("n", 1, 9)):
    ...         pass
    ...     result = check(folder)
    >>> result.sound, result.records
    (True, 1)
    """
    journal = journal_at(where, read_only=True)
    scan = scan_study(journal, where)
    verification = verified(scan)
    with closing(journal):
        snapshot = journal.snapshot()
    invalid, misleading = _invalid_records(verification.rows, snapshot)
    asked = sum(row.kind == "asked" for row in verification.rows)
    findings = (*scan.findings, *verification.lost, *verification.doubts, *invalid, *misleading)
    findings += tuple(_other_format(scan.version, verification.rows))
    if isinstance(journal, SqliteJournal):
        known = (*findings, *scan.not_checked)
        findings += tuple(_foreign_checkpoints(journal.folder, verification.rows, known))
    intact = len(verification.rows) - len(invalid)
    return CheckResult(journal.where, intact, asked, findings, tuple(scan.not_checked))


def scan_study(journal: StudyJournal, where: str | Path) -> Scan:
    """Read every record that can still be read."""
    if isinstance(journal, SqliteJournal):
        return scan_folder(journal.folder)
    return scan_database(str(where))


def _foreign_checkpoints(
    folder: Path, rows: Iterable[Row], findings: Iterable[Finding]
) -> list[Finding]:
    """A finding if the checkpoints belong to another study than the records."""
    marker = f"{TRIALS}/{MARKER}"
    if any(finding.where in (TRIALS, marker) for finding in findings):
        return []  # it is a link, or not a folder, or cannot be read
    try:
        found = owner_at(folder)
    except (FormatError, OSError) as error:
        return [Finding(marker, f"cannot be read: {error}")]
    study = study_id(rows)
    if found is None or study in ("", found.study):
        return []
    what = f"belongs to {found}, but the records are those of study {study}"
    return [Finding(TRIALS, f"{what}: the files of two studies were mixed up")]


def _other_format(version: int, rows: Iterable[Row]) -> list[Finding]:
    """A finding if the storage says another version of the format than the first record needs."""
    created = _creation(rows)
    if created is None or version == 0 or version > FORMAT:
        return []
    needed = needed_version(created.version, rows)
    if version == needed:
        return []
    if needed != created.version:
        what = "a changed prior" if needed == PRIOR_FORMAT else "a retried trial"
        return [Finding("the format", f"is {version}, but {what} needs {needed}")]
    what = f"has format {created.version}, but the storage says {version}"
    return [Finding("record 1", f"(created) {what}")]


def study_id(rows: Iterable[Row]) -> str:
    """The id in the record of the creation; empty if that is lost, or invalid."""
    created = _creation(rows)
    return created.study if created else ""


def _creation(rows: Iterable[Row]) -> CreatedRecord | None:
    for row in rows:
        if row.seq == 1:
            with suppress(*INVALID):
                record = decode(row)
                return record if isinstance(record, CreatedRecord) else None
    return None


def _invalid_records(
    rows: Iterable[Row], snapshot: Snapshot | None
) -> tuple[list[Finding], list[Finding]]:
    """Which records cannot be, and whether the snapshot says something else than they do.

    After a lost record, neither can be told. A snapshot of other records is ignored by everybody.
    """
    invalid, misleading, ledger, history = list[Finding](), list[Finding](), Ledger(), History()
    space: Space | None = None
    read: ConfigReader = lambda _: Config()  # noqa: E731  # until the first record says more
    for row in rows:
        try:
            record = decode(row)
            if row.seq == ledger.seq + 1 and not invalid:
                event = ledger.apply(row, record, history, read)
                history = history if event is None else history.after(event)
                if row.seq == 1:
                    space = _space_from_problem(ledger)
                    read = config_reader(space)
                if space and snapshot and snapshot[:2] == (row.seq, row.seal):
                    misleading += _misleading(snapshot, packed_snapshot(space, history, ledger))
        except INVALID as error:
            invalid.append(Finding(f"record {row.seq}", f"({row.kind:.20}) is invalid: {error}"))
    return invalid, misleading


def _space_from_problem(ledger: Ledger) -> Space:
    """What the first record says about those that follow."""
    try:
        problem = problem_from_data(ledger.problem)
    except MethodError:  # a method with custom parts
        space: Space = from_data(ledger.problem["space"])
        return space
    ledger.rungs = problem.start().ladder.fidelities
    return problem.space


def _misleading(stored: Snapshot, data: bytes | None) -> list[Finding]:
    computed = unpacked(data) if data is not None else None
    if computed is not None and computed.content == stored.content:
        return []
    return [Finding(SNAPSHOT_NAME, "does not agree with the records: delete it")]
