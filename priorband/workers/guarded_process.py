"""A child process that is ended together with everything that it has started.

On Linux the process gets guards (process_guard.py), two if it does not say how many.
`GuardedProcess.pid` is that of the outer guard, and the exit code is that of the process itself. On
other systems there are no guards: what the child has started is ended only if it has stayed in the
child's process group.
"""

import io
import os
import signal
import sys
from contextlib import suppress
from multiprocessing import context, process, resource_tracker, spawn, util
from multiprocessing.reduction import dump
from pathlib import Path
from typing import Any, final

HAS_GUARDS = sys.platform == "linux" and not getattr(sys, "frozen", False)
GUARDS = 2

if HAS_GUARDS:
    from multiprocessing.popen_spawn_posix import Popen

    from priorband.workers.process_guard import FINISH, OUTER_STUCK, TERMINATE

START_GUARDS = (
    "import sys; sys.path.insert(0, {folder!r}); import process_guard as guard; del sys.path[0]; "
    "sys.modules['priorband.workers.process_guard'] = sys.modules.pop('process_guard'); "
    "guard.split({parent}, {sentinel}, {guards}); "
)
"""What a new interpreter runs first. It goes on in the process below the guards."""


@final
class GuardedProcess(context.SpawnProcess):
    """A spawned process with guards above it. It has to call `start_session` first."""

    imports_main = True
    """Whether the script that runs here is imported before the target is called."""
    guards = GUARDS
    """How many guards it has."""

    if HAS_GUARDS:

        @staticmethod
        def _Popen(process_obj: process.BaseProcess) -> "Popen":  # noqa: N802  # as it is called
            return _GuardedPopen(process_obj)

    def send_sigterm_to_all(self) -> None:
        """Send SIGTERM to the process and everything that it has started."""
        if HAS_GUARDS:
            self._signal_guard(TERMINATE)
        else:
            self._signal_group(signal.SIGTERM)

    def end_all(self) -> None:
        """Kill the process, end everything that it has started, and wait until this is done."""
        if HAS_GUARDS:
            self._signal_guard(FINISH)
            self.join(OUTER_STUCK)
            self._signal_guard(signal.SIGKILL)  # it does not respond; the inner guard takes over
        else:
            self._signal_group(signal.SIGKILL)
        self.join()

    def _signal_guard(self, number: int) -> None:
        if self.pid is not None and self.is_alive():
            os.kill(self.pid, number)

    def _signal_group(self, number: int) -> None:
        assert self.pid is not None
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            if self.is_alive():  # it has not created its process group yet
                os.kill(self.pid, number)


def start_session() -> None:
    """In the child: leave the session of the parent, which handles Ctrl-C for both."""
    if not HAS_GUARDS and hasattr(os, "setsid"):  # the guards are started with a session each
        os.setsid()


if HAS_GUARDS:

    @final
    class _GuardedPopen(Popen):
        """Starts a process as `multiprocessing` does, but runs `START_GUARDS` first."""

        _fds: list[int]

        def _launch(self, process_obj: Any) -> None:
            tracker = resource_tracker.getfd()
            assert tracker is not None
            data = io.BytesIO()
            context.set_spawning_popen(self)  # what is pickled may add files to `_fds`
            try:
                dump(_preparation(process_obj), data)
                dump(process_obj, data)
            finally:
                context.set_spawning_popen(None)
            pipes: list[int] = []
            try:
                pipes += os.pipe()
                pipes += os.pipe()
                self.sentinel, guard_end, child_end, to_child = pipes
                command = _guarded_command(
                    guard_end, process_obj.guards, tracker_fd=tracker, pipe_handle=child_end
                )
                files = [*self._fds, tracker, guard_end, child_end]
                self.pid = util.spawnv_passfds(os.fsencode(command[0]), command, files)
                with open(to_child, "wb", closefd=False) as file:
                    file.write(data.getbuffer())
            finally:
                ours, theirs = pipes[::3], pipes[1:3]
                self.finalizer = util.Finalize(self, _close, ours)
                _close(*theirs)


def _preparation(process_obj: Any) -> dict[str, Any]:
    """What a new interpreter sets up before it loads what to run."""
    data: dict[str, Any] = spawn.get_preparation_data(process_obj.name)
    main = () if process_obj.imports_main else ("init_main_from_name", "init_main_from_path")
    return {name: data[name] for name in data if name not in main}


def _guarded_command(sentinel: int, guards: int, **options: int) -> list[str]:
    """The command that starts a process with guards."""
    command = spawn.get_command_line(**options)
    folder = str(Path(__file__).parent)
    program = START_GUARDS.format(
        folder=folder, parent=os.getpid(), sentinel=sentinel, guards=guards
    )
    place = command.index("-c") + 1
    command[place] = program + command[place]
    return command


def _close(*files: int) -> None:
    for file in files:
        with suppress(OSError):
            os.close(file)
