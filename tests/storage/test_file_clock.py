"""The clock of a study in a folder is that of its file system, not that of a process."""

import os
import time
from pathlib import Path

import pytest

from priorband.storage import file_clock
from priorband.storage.file_clock import FileClock
from priorband.storage.sqlite import SqliteJournal

HOURS = 7200.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "study.lock").touch()
    return tmp_path


def be_ahead(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock of this process, but not that of its kernel."""
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + seconds)


def touched(folder: Path) -> float:
    """The time of a file that is written now."""
    (folder / "new").write_text("")
    return (folder / "new").stat().st_mtime


@pytest.mark.parametrize("seconds", [HOURS, -HOURS])
def test_the_clock_of_a_process_does_not_matter(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    be_ahead(monkeypatch, seconds)
    before = touched(folder)
    now = FileClock(folder).now()
    assert before <= now <= touched(folder)


def test_records_and_leases_of_a_journal_have_the_time_of_the_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_ahead(monkeypatch, HOURS)
    journal = SqliteJournal(tmp_path)
    journal.prepare()
    before = touched(tmp_path)
    with journal.transaction(0) as transaction:
        assert before <= transaction.now <= touched(tmp_path)
    assert transaction.now <= journal.now() <= touched(tmp_path)
    journal.close()


def test_a_file_that_cannot_be_touched_leaves_the_own_clock_corrected(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_ahead(monkeypatch, HOURS)
    clock = FileClock(folder)
    before = clock.now()
    (folder / "study.lock").unlink()
    assert before - 1 < clock.now() < before + HOURS / 2
    assert FileClock(folder).now() > before + HOURS / 2  # it has never seen the file


def test_a_file_system_that_does_not_keep_times_is_not_believed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(folder / "study.lock", (1000.0, 1000.0))
    monkeypatch.setattr(os, "utime", lambda *args, **options: None)
    monkeypatch.setattr(file_clock, "_FOLLOW", True)
    monkeypatch.setattr(file_clock, "STANDSTILL", -1.0)
    clock, begin = FileClock(folder), time.time()
    assert clock.now() == 1000.0
    be_ahead(monkeypatch, HOURS)  # as after two hours
    assert clock.now() >= 1000.0 + HOURS - 1 and time.time() >= begin + HOURS


def test_who_only_reads_touches_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FileClock(folder, read_only=True)
    before = (folder / "study.lock").stat()
    assert clock.now() >= before.st_mtime
    be_ahead(monkeypatch, -HOURS)
    assert clock.now() == before.st_mtime  # the last that is known
    assert (folder / "study.lock").stat().st_mtime_ns == before.st_mtime_ns
    (folder / "study.lock").unlink()
    assert clock.now() < before.st_mtime
