"""What a worker sends to the server that forks its trials: objects, and files that go with them.

A request is one byte on a socket, with the descriptors of open files. The first of these is a file
in memory with the pickled objects, so that sending does not wait for a server that is still busy
importing. The objects may hold connections, whose files are sent after it. As everything between
the processes of `multiprocessing`, this stays within one user's processes and is never stored.
"""

import os
import pickle
import socket
from contextlib import suppress
from multiprocessing import context
from multiprocessing.reduction import ForkingPickler
from typing import Any, final

LOAD, LEARN, FORK = b"l", b"i", b"f"
"""Load the objective; import libraries that a trial has imported; fork a trial's process, and say
how it ended."""

_MOST_FILES = 200  # in one request; the kernel's limit is 253


@final
class Request:
    """Objects that are sent to a server, each with a pickle of its own."""

    def __init__(self, kind: bytes, *files: int) -> None:
        self._kind = kind
        self._files = [*files]
        self._data = os.memfd_create("priorband")

    def add(self, value: object, objective: object = None) -> None:
        """Add an object. If it holds the objective, the server puts its own copy there."""
        popen: Any = self  # what is pickled asks it where to put files
        context.set_spawning_popen(popen)
        try:
            with open(self._data, "wb", closefd=False) as file:
                _Pickler(file, objective).dump(value)
        finally:
            context.set_spawning_popen(None)

    def send(self, to: socket.socket) -> None:
        """Send it; nothing happens if the server has ended."""
        with suppress(ConnectionError):
            socket.send_fds(to, [self._kind], [self._data, *self._files])

    def close(self) -> None:
        """Release the file in memory."""
        os.close(self._data)

    def duplicate_for_child(self, file: int) -> int:
        """Send a file, too; its place among the files. `multiprocessing` calls this."""
        self._files.append(file)
        return len(self._files)

    def DupFd(self, place: int) -> "_SentFile":  # noqa: N802  # as `multiprocessing` calls it
        """What stands for a file in a pickle."""
        return _SentFile(place)


@final
class ReceivedObjects:
    """Reads the objects of a request, in the order in which they were added."""

    def __init__(self, files: list[int], objective: Any = None) -> None:
        self._file = open(files[0], "rb", closefd=False)  # noqa: SIM115  # closed by the method close
        self._file.seek(0)
        self._unpickler = _Unpickler(self._file, files, objective)

    def next(self) -> Any:
        """The next object."""
        return self._unpickler.load()

    def close(self) -> None:
        """Release the file in memory."""
        self._file.close()


def receive(source: socket.socket) -> tuple[bytes, list[int]]:
    """The kind of the next request, and its files; no bytes if there will be none."""
    try:
        kind, files, _, _ = socket.recv_fds(source, 1, _MOST_FILES)
    except ConnectionError:
        return b"", []
    for file in files:
        os.set_inheritable(file, False)
    return kind, files


@final
class _SentFile:
    """A file that is sent with a request."""

    def __init__(self, place: int) -> None:
        self.place = place


@final
class _ReceivedFile:
    """A file that was received with a request, as `multiprocessing` asks for it."""

    def __init__(self, file: int) -> None:
        self._file = file

    def detach(self) -> int:
        """The descriptor, which the caller has to close."""
        return self._file


@final
class _Pickler(ForkingPickler):
    def __init__(self, file: Any, objective: object) -> None:
        super().__init__(file)
        self._objective = objective

    def persistent_id(self, value: Any) -> object:
        """Leave out files, which are sent beside the pickle, and the objective."""
        if isinstance(value, _SentFile):
            return value.place
        return "objective" if self._objective is not None and value is self._objective else None


@final
class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, files: list[int], objective: Any) -> None:
        super().__init__(file)
        self._files = files
        self._objective = objective

    def persistent_load(self, place: Any) -> Any:
        """A file that was sent, or the objective."""
        return self._objective if place == "objective" else _ReceivedFile(self._files[place])
