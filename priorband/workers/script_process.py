"""A script as a child process: its output line by line, asking it to stop, and ending it."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import final

from priorband.workers.guarded_process import HAS_GUARDS

_LONGEST_LINE = 100_000
_AFTER_EXIT = 1.0  # seconds to read on for, if another process holds the output open
_OUT, _ERR = 1, 2


@final
class ScriptProcess:
    """A script that runs. What it prints is passed on to this process's own output.

    With guards (process_guard.py) everything that the script starts is ended with the trial, so it
    can have a process group of its own, to which SIGTERM is sent.
    """

    def __init__(
        self, words: Sequence[str], directory: str, environment: Mapping[str, str]
    ) -> None:
        self._own_group = HAS_GUARDS
        self.process = subprocess.Popen(
            words,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0 if self._own_group else None,
        )
        assert self.process.stdout and self.process.stderr
        self._selector = selectors.DefaultSelector()
        self._rest: dict[int, bytes] = {_OUT: b"", _ERR: b""}
        for file, number in ((self.process.stdout, _OUT), (self.process.stderr, _ERR)):
            os.set_blocking(file.fileno(), False)
            self._selector.register(file, selectors.EVENT_READ, number)
        self._exited_at: float | None = None

    def __enter__(self) -> "ScriptProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self.process.wait()
        self._selector.close()
        for file in (self.process.stdout, self.process.stderr):
            if file is not None:
                file.close()

    @property
    def ended(self) -> bool:
        """Whether the script has exited, and all that it has printed was read."""
        if self.process.poll() is None:
            return False
        self._exited_at = self._exited_at or time.monotonic()
        return not self._selector.get_map() or time.monotonic() - self._exited_at > _AFTER_EXIT

    @property
    def code(self) -> int:
        """The exit code of a script that has exited; minus the number of a signal."""
        return self.process.wait()

    def read(self, seconds: float) -> tuple[list[str], list[str]]:
        """Wait up to `seconds`; the lines that were printed to standard output and error."""
        lines: dict[int, list[str]] = {_OUT: [], _ERR: []}
        if not self._selector.get_map():
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
        for key, _ in self._selector.select(seconds) if self._selector.get_map() else ():
            number: int = key.data
            try:
                data = os.read(key.fd, 65536)
            except BlockingIOError:
                continue
            if data:
                _pass_on(number, data)
                lines[number] += self._lines(number, data)
            else:
                self._selector.unregister(key.fileobj)
                lines[number] += self._lines(number, b"\n" if self._rest[number] else b"")
        return lines[_OUT], lines[_ERR]

    def terminate(self) -> None:
        """Ask the script to stop."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End the script now, and what it has started."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if self._own_group:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)

    def _lines(self, number: int, data: bytes) -> list[str]:
        """The lines that are complete now; a progress bar's carriage return ends one, too."""
        *complete, rest = (self._rest[number] + data).replace(b"\r", b"\n").split(b"\n")
        self._rest[number] = rest[-_LONGEST_LINE:]
        return [line.decode(errors="replace") for line in complete]


def _pass_on(number: int, data: bytes) -> None:
    """Write to standard output or error, which are the log of the trial."""
    with suppress(OSError):
        while data:
            data = data[os.write(number, data) :]
