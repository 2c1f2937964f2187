"""A study that is created by several at once, or by one that is killed while it does so."""

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from stored_studies import EPOCHS, PROBLEM, SPACE

import priorband as pb
from priorband.durable.open import _create, journal_at
from priorband.storage import sqlite
from priorband.storage.journal import Meanwhile, Transaction
from priorband.storage.sqlite_file import create_tables, has_tables


def opens(folder: Path) -> None:
    with pb.open_study(folder, SPACE, EPOCHS) as study:
        study.tell(study.ask(), 0.5)
    with pb.open_study(folder) as study:
        assert study.best is not None and study.best.loss == 0.5


@pytest.mark.parametrize("call", ["pwrite", "fsync", "replace"])
def test_a_witness_that_was_cut_short_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, call, killed)
        pb.open_study(tmp_path, SPACE, EPOCHS)
    opens(tmp_path)


def test_a_change_of_the_journal_mode_that_was_cut_short_is_undone(tmp_path: Path) -> None:
    made, study = tmp_path / "made.db", tmp_path / "study"
    with closing(sqlite3.connect(made, isolation_level=None)) as connection:
        for pragma in ("user_version = 1", "user_version = 0", "cache_size = 1", "cache_spill = 1"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE undone AS SELECT zeroblob(100000)")  # more than is cached
        study.mkdir()
        shutil.copy(made, study / "study.db")
        shutil.copy(f"{made}-journal", study / "study.db-journal")
    journal_at(study)._head.create()  # type: ignore[union-attr]  # a folder's has one
    opens(study)


class Late:
    """A connection that somebody else is quicker than, after its first look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._real = sqlite3.connect(path, isolation_level=None)
        self._real.execute("PRAGMA journal_mode = wal")

    @property
    def in_transaction(self) -> bool:
        return self._real.in_transaction

    def execute(self, text: str) -> Any:
        found = self._real.execute(text)
        if text == "PRAGMA application_id":
            with closing(sqlite3.connect(self._path, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                create_tables(other, "here")
                other.execute("COMMIT")
        return found

    def close(self) -> None:
        self._real.close()


def test_a_study_created_between_two_looks_is_not_taken_for_a_stranger(tmp_path: Path) -> None:
    with closing(Late(tmp_path / "study.db")) as late:
        connection: Any = late
        assert not has_tables(connection, "here")
        assert has_tables(late._real, "here")


def test_a_study_created_while_one_waits_for_the_turn_is_not_created_again(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        rows = study.journal.read(0)
    left: list[Transaction] = []

    class Waited:
        where = "here"

        def prepare(self) -> None:
            pass

        @contextmanager
        def transaction(self, after: int, meanwhile: Meanwhile = list) -> Iterator[Transaction]:
            meanwhile(rows)
            left.append(Transaction(1.0, [], []))
            yield left[0]

    journal: Any = Waited()
    _create(journal, PROBLEM, maximize=False)
    assert not left[0].appended


def test_copying_the_log_back_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[str]()

    class Full:
        def execute(self, text: str) -> None:
            tried.append(text)
            raise sqlite3.OperationalError("database or disk is full")

    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.tell(study.ask(), 0.5)
        monkeypatch.setattr(sqlite, "LONG_LOG", 4096)
        journal: Any = study.journal
        journal._copy_log_back(Full(), journal._write_lock, journal._wal_sync)
        assert tried
        study.tell(study.ask(), 0.5)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_a_folder_may_have_a_name_that_is_no_unicode(tmp_path: Path) -> None:
    with pb.open_study(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"), SPACE, EPOCHS) as study:
        study.tell(study.ask(), 0.5)
