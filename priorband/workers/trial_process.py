"""A child process that evaluates one trial, so that leaks and crashes end with it.

`TrialStarter` (trial_starter.py) creates a `TrialProcess`, which starts the child: from nothing, or
as a fork of a server that has imported what it needs (warm_process.py). In the child, `_main` makes
an `Attempt` from the task and passes it to `evaluate` (objective_results.py), which calls the
user's objective. Progress and the result come back through a pipe, as JSON. Everything that the
objective starts is ended with it: see guarded_process.py.
"""

import faulthandler
import json
import multiprocessing
import os
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, final

from priorband.errors import FormatError, MismatchError
from priorband.workers.attempt import Attempt, TrialTask, task_checkpoints
from priorband.workers.guarded_process import GuardedProcess, start_session
from priorband.workers.lazy_imports import new_libraries
from priorband.workers.objective_results import Objective, evaluate
from priorband.workers.sent_function import pickling_error
from priorband.workers.stop_signals import handle_in_this_process
from priorband.workers.warm_process import WarmProcess, WarmServer

NAME = "a trial of priorband"
AFTER_TERM = 5.0  # seconds between SIGTERM and SIGKILL
DUMP_STACK = getattr(signal, "SIGUSR2", signal.SIGTERM)
"""The signal on which a trial writes into its log where its code is."""


@final
class TrialProcess:
    """The process of one trial, as seen from its worker.

    It is forked from a server, or starts from nothing if there is none, or if it cannot fork.
    """

    def __init__(
        self,
        objective: Objective,
        task: TrialTask,
        show_output: bool,
        server: WarmServer | None = None,
    ) -> None:
        self._objective = objective
        self._arguments = task, show_output
        self.was_refused = False
        """Whether the server has ended without forking it."""
        self.imported: list[str] = []
        """The libraries that the objective has imported, if it was forked and has ended."""
        self._start(server)

    def _start(self, server: WarmServer | None) -> None:
        self._asked_to_stop = False
        self._said_hello = False
        self._pipe, child_pipe = multiprocessing.Pipe()
        arguments = (child_pipe, self._objective, *self._arguments, server is not None)
        process = GuardedProcess(target=_main, args=arguments, name=NAME)
        self.process: GuardedProcess | WarmProcess = process
        try:
            if server is None:
                process.start()
            else:
                self.process = WarmProcess(server, process)
        except Exception as error:
            self._pipe.close()
            if isinstance(error, OSError):
                raise
            raise pickling_error(self._objective, error) from None
        finally:
            child_pipe.close()

    def receive(self, seconds: float) -> list[dict[str, Any]]:
        """Wait up to `seconds` for messages; the exit of the process is {"end": exit code}."""
        wait([self._pipe, self.process.sentinel], seconds)
        has_ended = not self.process.is_alive()  # before reading: all that it sent is in the pipe
        messages = self._read()
        self._said_hello |= bool(messages)
        if messages or not has_ended:
            return messages
        if self._was_not_forked():
            self.process.close()
            self._pipe.close()
            self.was_refused = True
            self._start(None)
            return []
        return [{"end": self.process.exitcode}]

    def _read(self) -> list[dict[str, Any]]:
        """The messages that are in the pipe."""
        messages: list[dict[str, Any]] = []
        try:
            while self._pipe.poll():
                messages.append(json.loads(self._pipe.recv_bytes()))
                self.imported = messages[-1].get("imported", [])
        except (EOFError, OSError):
            self.process.join(AFTER_TERM)
        except ValueError:  # two processes of the objective wrote to the pipe at the same time
            self.kill()
            messages.append({"end": None})
        return messages

    def _was_not_forked(self) -> bool:
        """Whether the server has ended without forking it.

        A server may be killed after it has forked a trial, and before it has said so. The objective
        is called only once the trial has sent a message, so one that has sent none may start again.
        """
        return (
            isinstance(self.process, WarmProcess) and self.process.refused and not self._said_hello
        )

    def ask_to_stop(self, reason: str) -> None:
        """Ask the objective to stop after its current step."""
        if not self._asked_to_stop:
            self._asked_to_stop = True
            with suppress(OSError):  # the process has exited
                self._pipe.send_bytes(reason.encode())

    def dump_stack(self, pid: int | None) -> None:
        """Let the process write into its log where its code is; `pid` is as it has said itself."""
        with suppress(OSError):
            if pid is not None and self.process.is_alive():
                os.kill(pid, DUMP_STACK)

    def kill(self, patience: float | None = None) -> None:
        """End the process and everything it has started: SIGTERM, and SIGKILL after `patience`."""
        self.process.send_sigterm_to_all()
        self.process.join(AFTER_TERM if patience is None else patience)
        self.process.end_all()

    def close(self) -> None:
        """End the process if it still runs, and any it left behind, and release resources."""
        self.process.end_all()
        self._pipe.close()
        self.process.close()


def kill_stray_processes() -> None:
    """End trial processes that a signal left without an owner, by interrupting their start."""
    for process in multiprocessing.active_children():
        if isinstance(process, GuardedProcess):
            process.end_all()


def could_not_start(code: int) -> str:
    """What is said of a process that ended before it ran any of our code."""
    return (
        f"could not start (exit code {code}): its own message is printed above. If importing your "
        "script raised it, put what starts tuning under `if __name__ == '__main__':`."
    )


def _main(
    pipe: Connection, objective: Objective, task: TrialTask, show_output: bool, forked: bool
) -> None:
    """Run in the child: evaluate the task and send the result to the worker."""
    before = frozenset(sys.modules)
    start_session()
    _open_log(task, show_output)
    stop_reasons: list[str] = []

    def handle(number: int, frame: object) -> None:
        del frame
        stop_reasons.append(signal.Signals(number).name)

    handle_in_this_process(handle)  # batch systems send signals to every process of a job

    pipe_lock = threading.Lock()  # an objective may report from several threads

    def stop_reason() -> str:
        with pipe_lock:
            while pipe.poll():
                stop_reasons.append(pipe.recv_bytes().decode())
        return stop_reasons[-1] if stop_reasons else ""

    def send(message: dict[str, Any]) -> None:
        with pipe_lock:
            pipe.send_bytes(json.dumps(message).encode())

    send({"hello": os.getpid()})
    result = evaluate(objective, Attempt(task, send, stop_reason), task.maximize)
    send({"done": result, "imported": new_libraries(before) if forked else []})
    sys.stdout.flush()
    sys.stderr.flush()


def _open_log(task: TrialTask, show_output: bool) -> None:
    """Send what the objective prints, and tracebacks of crashes, to a file of the trial."""
    try:
        log = task_checkpoints(task).open_log(task.trial, task.attempt)
    except (OSError, FormatError, MismatchError) as error:
        with suppress(OSError):
            print(f"The trial has no log: {error}", file=sys.stderr, flush=True)
        return
    if not show_output:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(log, 1)
        os.dup2(log, 2)
    faulthandler.enable(log)
    if hasattr(faulthandler, "register"):
        faulthandler.register(DUMP_STACK, log)
