"""Noticing that the files of an open study were removed, renamed or replaced.

A process can go on writing to a file that has lost its name: nobody else will ever find what it
writes, and SQLite does not notice. So before a result is acknowledged, the files at the study's
path are compared with those that are open.
"""

import os
from pathlib import Path
from typing import final

from priorband.errors import StorageError
from priorband.storage.file_id import FileId, file_id
from priorband.storage.sqlite_file import DATABASE_NAME


@final
class OpenFiles:
    """The files that a study's connections have open: the database, its log and the log's index."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / DATABASE_NAME
        # Looked at for every result: a path as text takes a third of the time of a `Path`.
        self._database, self._log, self._index = (
            f"{self.database}{e}" for e in ("", "-wal", "-shm")
        )
        self._database_id: FileId | None = None
        self._log_ids: dict[str, FileId] = {}
        self.last_written = b""
        """The size of the database and when it was written to, as of the last look at it."""

    def remember_database(self) -> None:
        """Note which file is the database, unless it was noted before.

        It stays the same one, even after `close`: what this process knows comes from it.
        """
        if self._database_id is None:
            self._database_id = file_id(self._database)

    def remember_log(self) -> None:
        """Note which files are the log and its index, once a connection has opened them.

        SQLite deletes them when the last connection is closed, and not before.
        """
        ids = {path: file_id(path) for path in (self._log, self._index)}
        self._log_ids = {path: found for path, found in ids.items() if found}
        self._look_at_database()

    def forget_log(self) -> None:
        """Note that all connections are closed."""
        self._log_ids = {}

    def problem(self) -> str:
        """What has become of the files, and what to do; empty if all are where they were."""
        found = self._look_at_database()
        if found is None and self._database_id is not None:
            return (
                f"{self.database} does not exist: it was removed or moved while the study was "
                "open. Move it back to continue."
            )
        if found != self._database_id:
            return (
                f"{self.database} was replaced by another file while the study was open. Move the "
                "old one back to continue, or start again to use the new one."
            )
        lost = self._lost_log_file()
        if lost is None:
            return ""
        return (
            f"{lost} was removed or replaced while the study was open, so nobody would find new "
            "results. Stop all workers of the study, which keep their results, and start them "
            "again. `priorband journal check` shows whether the study is complete."
        )

    def open_folder(self) -> int | None:
        """Open the folder of the database; None where folders cannot be opened (Windows).

        Raise `StorageError` if another folder is at the path: nothing may be written to that.
        """
        if not hasattr(os, "O_DIRECTORY"):
            return None
        try:
            folder = os.open(self.database.parent, os.O_RDONLY | os.O_DIRECTORY)
        except (FileNotFoundError, NotADirectoryError):
            raise StorageError(f"{self.database} does not exist.") from None
        if file_id(Path(self.database.name), folder) != self._database_id:
            os.close(folder)
            raise StorageError(f"{self.database} was removed or replaced while the study was open.")
        return folder

    def _lost_log_file(self) -> str | None:
        for path, known in self._log_ids.items():
            if file_id(path) != known:
                return path
        return None

    @property
    def log_lost(self) -> bool:
        """Whether the log or its index is no longer where it was, although the database is."""
        return self._lost_log_file() is not None and self._look_at_database() == self._database_id

    @property
    def log_replaced(self) -> bool:
        """Whether another process may have begun a new log where the lost one was."""
        return any(
            file_id(path) not in (None, known) and (path == self._index or os.stat(path).st_size)
            for path, known in self._log_ids.items()
        )

    def _look_at_database(self) -> FileId | None:
        if self._database_id is None:
            return None
        try:
            status = os.stat(self._database)
        except (FileNotFoundError, NotADirectoryError):
            return None
        self.last_written = b"%d %d" % (status.st_size, status.st_mtime_ns)
        return status.st_dev, status.st_ino
