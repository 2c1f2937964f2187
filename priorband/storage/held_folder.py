"""A folder that is held open, and what is done in it and in the folders below.

All operations are relative to the open folder, not to its path. So they go to the same folder if it
is renamed, and if another one is created at its path. Where the system cannot open folders
(Windows), the path is used.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import final

from priorband.errors import FormatError
from priorband.storage.safe_files import open_own, refuse_link

_CAN_HOLD = hasattr(os, "O_DIRECTORY") and os.open in os.supports_dir_fd
_FICLONE = 0x40049409  # Linux: share a file's blocks until one of the two files is changed
_BUFFER = 1 << 20

Place = tuple[int, int]
"""The device and the inode of a folder: no other folder on the machine has both."""


@final
class HeldFolder:
    """An open folder. Close it, or use it in a `with` statement.

    `path` is where it was when it was opened: it is for messages, and for the objective.
    """

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor
        self._place: Place | None = None

    def __enter__(self) -> "HeldFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Release the folder."""
        descriptor, self.descriptor = self.descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    @property
    def place(self) -> Place:
        """Which folder this is. For an open folder that never changes, so it is read once."""
        if self._place is not None:
            return self._place
        status = os.stat(self.path if self.descriptor is None else self.descriptor)
        place = status.st_dev, status.st_ino
        if self.descriptor is not None:
            self._place = place
        return place

    def place_of(self, name: str) -> Place | None:
        """Which folder a name in this folder leads to; None if there is none."""
        try:
            status = os.stat(self._name(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def has(self, name: str) -> bool:
        """Whether there is something of that name."""
        return self.place_of(name) is not None

    def open_file(self, name: str, flags: int) -> int:
        """Open a file with `os.open`; raise `FormatError` for what is neither file nor folder."""
        return open_own(self.path / name, flags, self.descriptor)

    def read(self, name: str, longest: int) -> bytes:
        """What a file holds, up to a number of bytes."""
        with os.fdopen(self.open_file(name, os.O_RDONLY), "rb") as file:
            return file.read(longest)

    def write_new(self, name: str, data: bytes, sync: bool = False) -> None:
        """Write a file that does not exist yet."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(self.open_file(name, flags), "wb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a file, which is created if necessary."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with os.fdopen(self.open_file(name, flags), "ab") as file:
            file.write(data)

    def subfolder(self, name: str, create: bool = False) -> "HeldFolder":
        """Open a folder in this one; raise `FormatError` for a link, or for a file."""
        path = self.path / name
        if create:
            with suppress(FileExistsError):
                os.mkdir(self._name(name), dir_fd=self.descriptor)
        if self.descriptor is None:
            refuse_link(path)
            return HeldFolder(path, None)
        file = self.open_file(name, os.O_RDONLY)
        folder = HeldFolder(path, file)
        if not stat.S_ISDIR(os.fstat(file).st_mode):
            folder.close()
            raise FormatError(f"{path} must be a folder, but is a file. Move or delete it.")
        return folder

    def new_subfolder(self, name: str) -> "HeldFolder":
        """Create and open a folder in place of whatever has that name."""
        self.remove(name)
        os.mkdir(self._name(name), dir_fd=self.descriptor)
        return self.subfolder(name)

    def subfolders(self) -> list[str]:
        """The names of the folders in this one, without links."""
        with self._entries() as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    def is_empty(self) -> bool:
        """Whether nothing is in the folder."""
        with self._entries() as entries:
            return not any(True for _ in entries)

    def rename(self, old: str, new: str) -> None:
        """Give something in this folder another name, atomically."""
        fd = self.descriptor
        os.rename(self._name(old), self._name(new), src_dir_fd=fd, dst_dir_fd=fd)

    def link(self, old: str, new: str) -> None:
        """Give a file a second name; raise `FileExistsError` if it is taken."""
        fd = self.descriptor
        os.link(self._name(old), self._name(new), src_dir_fd=fd, dst_dir_fd=fd)

    def remove(self, name: str) -> None:
        """Remove a file or a whole folder, even if another process removes it at the same time."""
        try:
            status = os.stat(self._name(name), dir_fd=self.descriptor, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                shutil.rmtree(self._name(name), ignore_errors=True, dir_fd=self.descriptor)
            else:
                os.unlink(self._name(name), dir_fd=self.descriptor)
        except FileNotFoundError:
            return

    def sync(self) -> None:
        """Make new, renamed and removed names in this folder survive a power loss."""
        if self.descriptor is not None:
            os.fsync(self.descriptor)

    def sync_tree(self) -> list[str]:
        """Make everything in the folder survive a power loss.

        Return what is neither a file nor a folder nor a link: it is not opened.
        """
        special = []
        for folder, names, others in self._walk():
            special += [str(folder.path / name) for name in others]
            for name in names:
                file = folder.open_file(name, os.O_RDONLY)
                try:
                    os.fsync(file)
                finally:
                    os.close(file)
            folder.sync()
        return special

    def stamp(self) -> tuple[tuple[str, int, int, int], ...]:
        """The path, size, time and inode of each file below: they differ if a file changed."""
        files = []
        for folder, names, _ in self._walk(links=True):
            for name in names:
                status = os.stat(
                    folder._name(name), dir_fd=folder.descriptor, follow_symlinks=False
                )
                about = (status.st_size, status.st_mtime_ns, status.st_ino)
                files.append((str(folder.path / name), *about))
        return tuple(sorted(files))

    def copy_tree(self, target: "HeldFolder") -> list[str]:
        """Copy everything in the folder to another one; links are copied as links.

        Return what is neither a file nor a folder nor a link: it is not copied.
        """
        special = []
        with self._entries() as entries:
            for entry in entries:
                name = entry.name
                if entry.is_symlink():
                    text = os.readlink(self._name(name), dir_fd=self.descriptor)
                    os.symlink(text, target._name(name), dir_fd=target.descriptor)
                elif entry.is_dir(follow_symlinks=False):
                    with self.subfolder(name) as old, target.subfolder(name, create=True) as new:
                        special += old.copy_tree(new)
                        _copy_mode(old.descriptor, new.descriptor, at_least=0o700)
                elif entry.is_file(follow_symlinks=False):
                    self._copy_file(name, target)
                else:
                    special.append(str(self.path / name))
        return special

    def _copy_file(self, name: str, target: "HeldFolder") -> None:
        """Copy a file; where the file system can, share its blocks instead of copying them."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with (
            os.fdopen(self.open_file(name, os.O_RDONLY), "rb") as old,
            os.fdopen(target.open_file(name, flags), "wb") as new,
        ):
            try:
                import fcntl

                fcntl.ioctl(new.fileno(), _FICLONE, old.fileno())
            except (ImportError, OSError):
                shutil.copyfileobj(old, new, _BUFFER)
            _copy_mode(old.fileno(), new.fileno())

    def _walk(self, links: bool = False) -> Iterator[tuple["HeldFolder", list[str], list[str]]]:
        """This folder and all below, each with its files and with what is no file or folder."""
        files, special, folders = [], [], []
        with self._entries() as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False) or (links and entry.is_symlink()):
                    files.append(entry.name)
                elif not entry.is_symlink():
                    special.append(entry.name)
        for name in folders:
            with self.subfolder(name) as folder:
                yield from folder._walk(links)
        yield self, files, special

    def _entries(self) -> "os._ScandirIterator[str]":
        return os.scandir(self.path if self.descriptor is None else self.descriptor)

    def _name(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)


def hold_folder(path: Path) -> HeldFolder:
    """Open a folder by its path, which may itself be a link."""
    if not _CAN_HOLD:
        return HeldFolder(path, None)
    return HeldFolder(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY))


def _copy_mode(old: int | None, new: int | None, at_least: int = 0) -> None:
    """Copy who may read and write a file or a folder."""
    if old is not None and new is not None and hasattr(os, "fchmod"):
        os.fchmod(new, os.fstat(old).st_mode & 0o777 | at_least)
