"""The server that forks the trials of a worker, and a trial's process, as seen from the worker.

A `WarmServer` starts the process in which `serve` runs (warm_server.py). It is asked for a trial's
process even while it is importing: the request waits in a socket. If the server cannot fork trials,
or dies before it does, the `WarmProcess` is `refused`, and the trial starts from nothing instead.
"""

import json
import multiprocessing
import os
import signal
import socket
import sys
from contextlib import suppress
from multiprocessing import spawn, util
from multiprocessing.connection import wait
from typing import Any, final

from priorband.values import frozen
from priorband.workers.guarded_process import HAS_GUARDS, GuardedProcess
from priorband.workers.module_files import Stamp, changed
from priorband.workers.objective_results import Objective
from priorband.workers.warm_request import FORK, LEARN, LOAD, Request

if HAS_GUARDS:
    from priorband.workers.process_guard import FINISH, OUTER_STUCK, TERMINATE
    from priorband.workers.warm_server import serve

CAN_BE_WARM = HAS_GUARDS and hasattr(os, "memfd_create")
_GUARDS = 3  # above the server, which is one more for each trial
_NAME = "a trial server of priorband"


@final
@frozen
class Surroundings:
    """What a new process takes over from the worker."""

    folder: str
    path: tuple[str, ...]
    words: tuple[str, ...]
    environment: dict[str, str]

    @staticmethod
    def now() -> "Surroundings":
        """Those of this process."""
        folder = ""
        with suppress(OSError):  # it was removed
            folder = os.getcwd()
        return Surroundings(folder, tuple(sys.path), tuple(sys.argv), dict(os.environ))


@final
class WarmServer:
    """A process that forks trials."""

    def __init__(self, objective: Objective, trial_name: str) -> None:
        self.objective = objective
        self.surroundings = Surroundings.now()
        self.forked = 0
        """How many trials it was asked to fork."""
        self.unfit = ""
        """Why it cannot fork trials; empty if it can, or if that is not known yet."""
        self.files: dict[str, Stamp] | None = None
        """The files of the modules that it has imported; None until it has."""
        self._is_learning = False
        self._guards: list[int] = []
        self._statuses: list[int] = []
        self._channel, theirs = multiprocessing.Pipe()
        self._process = GuardedProcess(target=serve, args=(theirs,), name=_NAME)
        self._process.imports_main = False  # it does so itself, and says what went wrong
        self._process.guards = _GUARDS
        load = Request(LOAD)
        try:
            load.add(spawn.get_preparation_data(trial_name))
            load.add(objective)
            self._process.start()
            self._socket = socket.socket(fileno=os.dup(self._channel.fileno()))
            load.send(self._socket)
        except BaseException:
            self._channel.close()
            raise
        finally:
            load.close()
            theirs.close()
        self._at_exit = util.Finalize(self, self._process.end_all, exitpriority=0)

    @property
    def is_alive(self) -> bool:
        """Whether it runs; it may be importing."""
        return self._process.is_alive()

    @property
    def is_outdated(self) -> bool:
        """Whether a new process would not be as those that it forks."""
        self._read()
        is_other = self.surroundings != Surroundings.now()
        return is_other or (self.files is not None and changed(self.files))

    @property
    def is_learning(self) -> bool:
        """Whether it imports libraries, or has ended before it had imported them."""
        self._read()
        return self._is_learning

    def learn(self, names: list[str]) -> None:
        """Let it import libraries before it forks again."""
        request = Request(LEARN)
        try:
            request.add(names)
            request.send(self._socket)
        finally:
            request.close()
        self._is_learning = True

    def request_fork(self, trial_process: GuardedProcess, sentinel: int, alive: int) -> int:
        """Ask for a trial's process; which of those that were asked for this is."""
        request = Request(FORK, sentinel, alive)
        try:
            request.add(trial_process, self.objective)
            request.send(self._socket)
        finally:
            request.close()
        self.forked += 1
        return self.forked - 1

    def guard(self, number: int) -> int | None:
        """The pid of the guard of a process that was asked for; None if it was not forked yet."""
        self._read()
        return self._guards[number] if number < len(self._guards) else None

    def exit_code(self, number: int) -> int | None:
        """How a process has ended that was asked for; None if it has not, or the server has died.

        All that the process had started has ended, too.
        """
        self._read()
        return self._statuses[number] if number < len(self._statuses) else None

    def end(self) -> None:
        """End the server and all that it has forked, and wait until this is done."""
        self._process.end_all()

    def close(self) -> None:
        """End the server, and release resources."""
        self.end()
        self._at_exit.cancel()
        self._channel.close()
        self._socket.close()
        self._process.close()

    def _read(self) -> None:
        """Read what the server has said."""
        with suppress(EOFError, OSError):
            while self._channel.poll():
                self._take_in(json.loads(self._channel.recv_bytes()))

    def _take_in(self, message: dict[str, Any]) -> None:
        if "pid" in message:
            self._guards.append(message["pid"])
        elif "status" in message:
            self._statuses.append(message["status"])
        elif "unfit" in message:
            self.unfit = message["unfit"]
        else:
            self._is_learning = self._is_learning and not message["learned"]
            self.files = {path: (when, size) for path, (when, size) in message["files"].items()}


@final
class WarmProcess:
    """A trial's process that a server forks. It is used as a `GuardedProcess` that was started."""

    def __init__(self, server: WarmServer, trial_process: GuardedProcess) -> None:
        self._server = server
        self._code: int | None = None
        pipes: list[int] = []
        try:
            pipes += os.pipe()
            pipes += os.pipe()
            self.sentinel, theirs, alive, self._while_open = pipes
            self._number = server.request_fork(trial_process, theirs, alive)
        except BaseException:
            _close(*pipes[::3])
            raise
        finally:
            _close(*pipes[1:3])

    @property
    def pid(self) -> int | None:
        """The pid of its guard, which is the server; None until it is forked."""
        return self._server.guard(self._number)

    @property
    def refused(self) -> bool:
        """Whether the server has ended without forking it."""
        return not self.is_alive() and self.pid is None

    @property
    def exitcode(self) -> int | None:
        """The exit code, or the negative number of a signal; None while it runs."""
        if self._code is None and not self.is_alive():
            code = self._server.exit_code(self._number)
            self._code = -signal.SIGKILL if code is None else code
        return self._code

    def is_alive(self) -> bool:
        """Whether it runs, or may still be forked."""
        return not wait([self.sentinel], 0)

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended."""
        wait([self.sentinel], timeout)

    def send_sigterm_to_all(self) -> None:
        """Send SIGTERM to the process and everything that it has started."""
        self._signal_guard(TERMINATE)

    def end_all(self) -> None:
        """Kill the process, end everything that it has started, and wait until this is done."""
        if self.pid is not None and self._server.is_alive:
            self._signal_guard(FINISH)
            self.join(OUTER_STUCK)
        if self._server.exit_code(self._number) is None:  # the server's guards take over
            self._server.end()
        self.join()

    def close(self) -> None:
        """Release resources."""
        _close(self.sentinel, self._while_open)

    def _signal_guard(self, number: int) -> None:
        pid = self.pid
        if pid is not None and self.is_alive():
            with suppress(ProcessLookupError):  # the server was killed
                os.kill(pid, number)


def _close(*files: int) -> None:
    for file in files:
        with suppress(OSError):
            os.close(file)
