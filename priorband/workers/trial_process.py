"""A trial in a process of its own: nothing that it leaks, hogs or breaks outlives it."""

import faulthandler
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, final

from priorband.errors import MethodError
from priorband.storage.identity import die_with_parent
from priorband.workers.attempt import Attempt, Diverged, Interrupted, TrialTask
from priorband.workers.objective_results import failed, raised, returned
from priorband.workers.stop_signals import SIGNALS

Objective = Callable[[Attempt], Any]
_NAME = "a trial of priorband"
AFTER_TERM = 5.0  # seconds between asking a process to end and ending it


@final
class TrialProcess:
    """A process that evaluates one trial, as its worker sees it."""

    def __init__(self, objective: Objective, task: TrialTask, shown: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_main, args=(theirs, objective, task, os.getpid(), shown), name=_NAME
        )
        try:
            self.process.start()
        except Exception as error:
            if isinstance(error, OSError):
                raise
            self._pipe.close()
            theirs.close()
            raise unpicklable(objective, error) from None
        theirs.close()
        self._asked_to_stop = False

    def messages(self, seconds: float) -> list[dict[str, Any]]:
        """What it says within some seconds; its end comes as {"end": exit code}."""
        wait([self._pipe, self.process.sentinel], seconds)
        heard: list[dict[str, Any]] = []
        try:
            while self._pipe.poll():
                heard.append(json.loads(self._pipe.recv_bytes()))
        except (EOFError, OSError):
            self.process.join(AFTER_TERM)
        except ValueError:  # two processes of the objective have reported at once
            self.kill()
            heard.append({"end": None})
        if not heard and not self.process.is_alive():
            heard.append({"end": self.process.exitcode})
        return heard

    def ask_to_stop(self, why: str) -> None:
        """Let it end at its next step."""
        if not self._asked_to_stop:
            self._asked_to_stop = True
            with suppress(OSError):  # it has ended
                self._pipe.send_bytes(why.encode())

    def kill(self, patience: float = AFTER_TERM) -> None:
        """End it and all processes that it has started."""
        self._signal(signal.SIGTERM)
        self.process.join(patience)
        self._signal(signal.SIGKILL)
        self.process.join()

    def close(self) -> None:
        """Clean up after its end: processes that it left behind are ended, too."""
        self._signal(signal.SIGKILL)
        self.process.join()
        self._pipe.close()
        self.process.close()

    def _signal(self, number: int) -> None:
        pid = self.process.pid
        assert pid is not None
        try:
            os.killpg(pid, number)
        except (ProcessLookupError, PermissionError):
            if self.process.is_alive():  # it has not made its own group yet
                os.kill(pid, number)


def end_strays() -> None:
    """End trials' processes that nobody attends: a signal came while one was being started."""
    for process in multiprocessing.active_children():
        if process.name == _NAME and process.pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)
            process.join(AFTER_TERM)


def unpicklable(objective: Objective, error: Exception) -> MethodError:
    """Why an objective cannot be handed to another process, and what to do."""
    return MethodError(
        f"{objective!r} cannot be handed to another process ({type(error).__name__}: {error}). "
        "Define it at the top level of a module, or run it in this very process: workers=1, "
        "fresh_process=False."
    )


def _main(
    pipe: Connection, objective: Objective, task: TrialTask, parent: int, shown: bool
) -> None:
    """The child's side."""
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C is the worker's to hear, and all that we start can be ended at once
    die_with_parent(signal.SIGKILL, parent)
    _keep_log(task, shown)
    word: list[str] = []

    def heard(number: int, frame: object) -> None:
        del frame
        word.append(signal.Signals(number).name)

    for number in SIGNALS:  # a batch system sends them to all processes of a job
        signal.signal(number, heard)

    one_at_a_time = threading.Lock()  # an objective may report from several threads

    def stopping() -> str:
        with one_at_a_time:
            while pipe.poll():
                word.append(pipe.recv_bytes().decode())
        return word[-1] if word else ""

    def send(message: dict[str, Any]) -> None:
        with one_at_a_time:
            pipe.send_bytes(json.dumps(message).encode())

    send({"hello": os.getpid()})
    send({"done": evaluated(objective, Attempt(task, send, stopping), task.maximize)})
    sys.stdout.flush()
    sys.stderr.flush()


def evaluated(objective: Objective, attempt: Attempt, maximize: bool) -> dict[str, Any]:
    """What comes of an attempt."""
    began = time.monotonic()
    try:
        result = returned(objective(attempt), maximize)
    except Interrupted as why:
        return {"interrupted": str(why)}
    except Diverged as why:
        result = failed("diverged", str(why))
    except Exception as error:
        result = raised(error)
    except SystemExit as error:
        result = failed("crashed", f"the objective called sys.exit({error.code!r})")
    result["details"]["seconds"] = time.monotonic() - began
    return result


def _keep_log(task: TrialTask, shown: bool) -> None:
    """Send what the objective prints to a file beside its checkpoints."""
    path = task.root / "trials" / str(task.trial) / f"log-{task.attempt}.txt"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    try:
        log = os.open(path, flags, 0o666)
    except OSError:
        return
    if not shown:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(log, 1)
        os.dup2(log, 2)
    faulthandler.enable(log)
