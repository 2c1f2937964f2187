"""A script as a child process: its output line by line, asking it to stop, and ending it."""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import final

from priorband.workers.guarded_process import HAS_GUARDS

if HAS_GUARDS:
    from priorband.workers.process_guard import FINISH, OUTER_STUCK, TERMINATE, is_guarded

_LONGEST_LINE = 100_000
_AFTER_EXIT = 1.0  # seconds to read on for, if another process holds the output open
_OUT, _ERR = 1, 2
_GUARDED = """\
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import process_guard
parent, failed = int(sys.argv[2]), int(sys.argv[3])
process_guard.split(parent, os.dup(0), guards=2)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.set_inheritable(failed, False)
try:
    os.execvp(sys.argv[4], sys.argv[4:])
except OSError as error:
    os.write(failed, b"%d" % error.errno)
os._exit(127)
"""
"""What a new interpreter runs to become a script with guards above it."""


@final
class ScriptProcess:
    """A script that runs. What it prints is passed on to this process's own output.

    With guards (process_guard.py) everything that the script starts is ended with the trial, or if
    this process is killed. A trial's process has them already; then the script gets a process group
    of its own, to which SIGTERM is sent. In a worker's own process, the script gets guards.
    """

    def __init__(
        self, words: Sequence[str], directory: str, environment: Mapping[str, str]
    ) -> None:
        self._own_group = HAS_GUARDS and is_guarded()
        self._has_guards = HAS_GUARDS and not self._own_group
        start = _started_with_guards if self._has_guards else _started
        self.process = start(words, directory, environment, self._own_group)
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
        self._wait_for_end()
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

    def _wait_for_end(self) -> None:
        try:
            self.process.wait(OUTER_STUCK if self._has_guards else None)
        except subprocess.TimeoutExpired:
            self.process.kill()  # the outer guard does not respond; the inner one takes over
            self.process.wait()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            if self._has_guards:
                self.process.send_signal(TERMINATE if number == signal.SIGTERM else FINISH)
            elif self._own_group:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)

    def _lines(self, number: int, data: bytes) -> list[str]:
        """The lines that are complete now; a progress bar's carriage return ends one, too."""
        *complete, rest = (self._rest[number] + data).replace(b"\r", b"\n").split(b"\n")
        self._rest[number] = rest[-_LONGEST_LINE:]
        return [line.decode(errors="replace") for line in complete]


def _started(
    words: Sequence[str],
    directory: str,
    environment: Mapping[str, str],
    own_group: bool = False,
    files: Sequence[int] = (),
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        words,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0 if own_group else None,
        pass_fds=files,
    )


def _started_with_guards(
    words: Sequence[str], directory: str, environment: Mapping[str, str], own_group: bool = False
) -> "subprocess.Popen[bytes]":
    """Start a script with guards above it, and wait until it runs; raise OSError if it does not."""
    del own_group  # the guards are started with a session each
    here = str(Path(__file__).parent)
    failed, theirs = os.pipe()
    try:
        program = [sys.executable, "-S", "-P", "-c", _GUARDED, here, str(os.getpid()), str(theirs)]
        process = _started([*program, *words], directory, environment, files=(theirs,))
    except BaseException:
        os.close(failed)
        raise
    finally:
        os.close(theirs)
    try:
        with open(failed, "rb") as file:
            number = file.read()  # ends when the script runs
    except BaseException:  # a signal handler raised: a script without an owner must not go on
        process.kill()
        process.wait()
        raise
    if not number:
        return process
    with process:  # closes its pipes, and waits
        raise OSError(int(number), os.strerror(int(number)))


def _pass_on(number: int, data: bytes) -> None:
    """Write to standard output or error, which are the log of the trial."""
    with suppress(OSError):
        while data:
            data = data[os.write(number, data) :]
