"""Reading a study in a folder without writing there, also without permission to write.

SQLite reads a database and its write-ahead log with the help of a third file, the index of the log
(`study.db-shm`), which it creates if it is missing. A reader must not create it: it may lack the
permission, and if it has it, the file would be its own, and workers of other users could not write
to it. So there are three ways to read:

- With a log and its index, SQLite reads them together. It sees what workers commit at once. An
  index that it may not write to, it only reads; the index of a worker that was killed, it ignores.
- Without a log, the database is complete. SQLite takes it as a file that nobody changes. A worker
  may open it at any time, so it is looked at before and after each query, and the query is run
  again if it has changed.
- With a log that has no usable index, or with an unfinished transaction that must be rolled back, a
  private copy of the files is read, for as long as they do not change.
"""

import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeVar, final

from priorband.errors import StorageError
from priorband.storage.file_id import FileId, file_id
from priorband.storage.file_state import StudyFiles, settled_files, study_files
from priorband.storage.filesystems import lock_safety
from priorband.storage.permissions import require_readable
from priorband.storage.private_copy import copy_study_files
from priorband.storage.sqlite_file import DATABASE_NAME, connect, has_tables, require_database

T = TypeVar("T")

_ATTEMPTS = 20
_UNUSABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}
"""SQLite's errors for files that it cannot read without writing."""

_Way = Literal["with locks", "unchanged file", "copy"]


@final
class ReadOnlyDatabase:
    """The database of a study in a folder, which is read and never written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._connection: sqlite3.Connection | None = None
        self._way: _Way = "copy"
        self._files: StudyFiles | None = None
        self._file_ids: tuple[FileId | None, ...] = ()

    def run(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """What a query gives, which is called with a connection, perhaps several times."""
        for _ in range(_ATTEMPTS):
            try:
                result = query(self._current_connection())
            except Exception:
                if not self._was_changed():
                    raise
            else:
                if not self._was_changed():
                    return result
        raise StorageError(f"{self.folder} is busy: its files changed while they were read.")

    def close(self) -> None:
        """Close the database. A later query opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _was_changed(self) -> bool:
        """Whether a query has read from a file while that was changed."""
        return self._way == "unchanged file" and study_files(self.folder) != self._files

    def _current_connection(self) -> sqlite3.Connection:
        if self._connection is None or self._is_outdated():
            self.close()
            self._open()
        assert self._connection is not None
        return self._connection

    def _is_outdated(self) -> bool:
        if self._way == "with locks":  # SQLite sees what was written, but not that a file is gone
            return self._present_file_ids() != self._file_ids
        return study_files(self.folder) != self._files

    def _open(self) -> None:
        require_database(self.folder)
        files = self._files = settled_files(self.folder)
        require_readable(self.folder)
        index = self.folder / f"{DATABASE_NAME}-shm"
        if index.exists() if files.log else not self._local:
            self._open_with_locks()
        elif files.log or files.journal:
            self._open_copy()
        else:
            self._open_unchanged()

    def _open_with_locks(self) -> None:
        self._way, self._file_ids = "with locks", self._present_file_ids()
        try:
            self._connect(self.folder, "mode=ro")
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _UNUSABLE:
                raise
            if self._files and (self._files.log or self._files.journal):
                self._open_copy()
            else:
                self._open_unchanged()

    def _open_unchanged(self) -> None:
        self._way = "unchanged file"
        self._connect(self.folder, "mode=ro&immutable=1")

    def _open_copy(self) -> None:
        """Open a copy, which has no name any more, so that nothing is left of it in the end."""
        self._way = "copy"
        with tempfile.TemporaryDirectory(
            prefix="priorband-", ignore_cleanup_errors=True
        ) as temporary:
            copy = Path(temporary)
            copy_study_files(self.folder, copy)
            with closing(connect(copy, "mode=rw")) as connection:
                connection.execute("PRAGMA journal_mode = DELETE")  # copies the log back
            self._connect(copy, "mode=ro&immutable=1")

    def _connect(self, folder: Path, options: str) -> None:
        connection = connect(folder, options)
        try:
            has_tables(connection, str(self.folder))
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _present_file_ids(self) -> tuple[FileId | None, ...]:
        return tuple(file_id(self.folder / f"{DATABASE_NAME}{end}") for end in ("", "-wal", "-shm"))

    @cached_property
    def _local(self) -> bool:
        return lock_safety(self.folder) == "local"
