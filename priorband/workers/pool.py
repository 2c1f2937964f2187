"""Run several workers on this machine, each in a process, and watch over them.

`tune` (tuning.py) calls `run_pool` with one `WorkerJob` per worker. `run_pool` starts a process for
each, restarts those that die, forwards stop signals and returns how each worker ended. A process
opens the study and runs a `Worker` (worker.py). In full, from the call to the user's code:

    tune -> run_pool -> Worker.run -> TrialRunner -> TrialStarter -> TrialProcess -> evaluate ->
    objective

A result goes the same way back, up to the `Worker`, which records it with `DurableStudy.turn`.
"""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, final

from priorband.errors import PriorbandError
from priorband.storage.identity import die_with_parent
from priorband.values import frozen
from priorband.workers.devices import apply_mask
from priorband.workers.objective_results import Objective
from priorband.workers.open_with_retry import OPEN_PATIENCE, open_with_retry
from priorband.workers.quiet import own_warnings_hidden
from priorband.workers.sent_function import pickling_error
from priorband.workers.stop_signals import StopSignals
from priorband.workers.trial_process import could_not_start
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker, WorkerEnd

LOOK = 0.25  # seconds between checks of the workers
MAX_RESTARTS = 5  # deaths of one worker, within `FORGET_DEATHS`, after which it is not restarted
FORGET_DEATHS = 300.0  # seconds
DUPLICATE_SECONDS = 5.0  # a batch system's SIGTERM reaches a worker directly and through the pool
SHUTDOWN_SECONDS = 10.0  # that workers get to give their trials back


@final
@frozen
class WorkerJob:
    """What a worker process is started with."""

    opening: Mapping[str, Any]
    """The arguments of `open_study`."""
    objective: Objective
    options: WorkerOptions
    mask: Mapping[str, str]
    """Environment variables that say which devices the worker may use."""
    quiet: bool = False
    """Whether to show no warnings."""

    def __repr__(self) -> str:
        return f"WorkerJob({self.objective!r})"  # without the study's address and its password


@final
class WorkerProcess:
    """A worker process, as seen from the pool."""

    def __init__(self, job: WorkerJob) -> None:
        self.job = job
        self.deaths: list[float] = []
        """When it died, and was restarted."""
        self.end: WorkerEnd | None = None
        """How the worker ended; None while it runs."""
        self.running = False
        """Whether it has got as far as running our code."""
        self.stop_requests = 0
        """How often it was asked to stop."""
        self.start()

    def start(self) -> None:
        """Start the process, for the first time or again."""
        context = multiprocessing.get_context("spawn")
        self.pipe, child_pipe = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_main, args=(child_pipe, self.job, os.getpid()), name="worker"
        )
        try:
            self.process.start()
        except Exception as error:
            self.pipe.close()
            if isinstance(error, OSError):
                raise
            raise pickling_error(self.job.objective, error) from None
        finally:
            child_pipe.close()

    def read_messages(self, say: Callable[[str], None]) -> None:
        """Pass on what the worker says, and note how it ended."""
        with suppress(EOFError, OSError):
            while self.pipe.poll():
                message = json.loads(self.pipe.recv_bytes())
                if "say" in message:
                    say(message["say"])
                elif "hello" in message:
                    self.running = True
                else:
                    self.end = WorkerEnd(message["status"], message["reason"])

    @property
    def exited(self) -> bool:
        """Whether the process has exited."""
        return not self.process.is_alive()

    def close(self) -> None:
        """Release the resources of a process that has exited."""
        self.pipe.close()
        self.process.join()

    def ask_to_stop(self, count: int) -> None:
        """Ask the worker to finish its step and stop; from the second time on, to stop now."""
        self.stop_requests = count
        is_first = count == 1 or not self.running  # while it imports, SIGTERM ends it silently
        self.signal(signal.SIGTERM if is_first else signal.SIGINT)

    def signal(self, number: int) -> None:
        """Send the process a signal, unless it has exited."""
        with suppress(ProcessLookupError):
            if self.process.pid is not None and not self.exited:
                os.kill(self.process.pid, number)


def run_pool(
    jobs: list[WorkerJob], say: Callable[[str], None], tick: Callable[[], None]
) -> list[WorkerEnd]:
    """Start workers, restart those that die, and wait until all have ended."""
    workers: list[WorkerProcess] = []
    stop_signals = StopSignals(lambda reason, count: _forward_stop(workers, reason, count, say))
    with stop_signals:
        try:
            for job in jobs:  # one by one, so that those started are ended if another cannot start
                workers.append(WorkerProcess(job))
            while any(not worker.exited or worker.end is None for worker in workers):
                waitables = [
                    waitable
                    for worker in workers
                    if worker.end is None
                    for waitable in (worker.pipe, worker.process.sentinel)
                ]
                wait(waitables, LOOK)
                for worker in workers:
                    _update(worker, say, bool(stop_signals.reason))
                    if stop_signals.reason and not worker.stop_requests:
                        worker.ask_to_stop(1)  # it was being started when the signal came
                tick()
        except KeyboardInterrupt:
            _shut_down(workers, already_asked=True)
        except BaseException:
            _shut_down(workers, already_asked=False)
            raise
        finally:
            for worker in workers:
                worker.read_messages(say)
                worker.close()
    tick()
    return [_final_end(worker, stop_signals.reason) for worker in workers]


def _final_end(worker: WorkerProcess, stop_reason: str) -> WorkerEnd:
    """How a worker ended; for one that was asked to stop, with the pool's own reason."""
    end = worker.end or WorkerEnd("stopped", "it died")
    return WorkerEnd("stopped", stop_reason) if stop_reason and end.status == "stopped" else end


def _update(worker: WorkerProcess, say: Callable[[str], None], stopping: bool) -> None:
    """Read the messages of a worker, and restart it if it has died."""
    exited = worker.exited  # before reading: a process sends its last message before it exits
    worker.read_messages(say)
    if not exited or worker.end is not None:
        return
    now, code = time.monotonic(), worker.process.exitcode
    worker.deaths = [death for death in worker.deaths if now - death < FORGET_DEATHS] + [now]
    worker.close()
    if not worker.running and code is not None and code > 0:
        worker.end = WorkerEnd("method", f"A worker process {could_not_start(code)}")
        return
    if stopping or len(worker.deaths) > MAX_RESTARTS:
        worker.end = WorkerEnd("stopped" if stopping else "storage", f"it died ({code})")
        say(f"A worker died ({_exit_cause(code)}).")
        return
    say(f"A worker died ({_exit_cause(code)}). Starting another in its place.")
    worker.start()


def _exit_cause(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"


def _forward_stop(
    workers: list[WorkerProcess], reason: str, count: int, say: Callable[[str], None]
) -> None:
    if count == 1:
        grace = max((worker.job.options.grace for worker in workers), default=0.0)
        say(
            f"{reason}: waiting up to {grace:g} s for the running steps to finish. "
            "Repeat the signal to stop immediately."
        )
    for worker in workers:
        worker.ask_to_stop(count)


def _shut_down(workers: list[WorkerProcess], already_asked: bool) -> None:
    """Give workers some seconds to give their trials back, then kill them."""
    deadline = time.monotonic() + SHUTDOWN_SECONDS
    for worker in () if already_asked else workers:
        worker.signal(signal.SIGTERM)
    for worker in workers:
        worker.process.join(max(deadline - time.monotonic(), 0.1))
        worker.signal(signal.SIGKILL)


def _main(pipe: Connection, job: WorkerJob, parent: int) -> None:
    """Run in the worker process: open the study, and work on it."""
    if hasattr(os, "setsid"):
        os.setsid()  # the pool handles Ctrl-C, and forwards it
    die_with_parent(signal.SIGTERM, parent)
    apply_mask(job.mask)

    sending = threading.RLock()  # the heartbeat's threads have messages, too

    def send(message: dict[str, Any]) -> None:
        with sending, suppress(OSError):  # the pool has ended
            pipe.send_bytes(json.dumps(message).encode())

    def say(text: str) -> None:
        send({"say": text})

    send({"hello": os.getpid()})
    try:
        patience = max(OPEN_PATIENCE, job.options.patience)
        with (
            own_warnings_hidden(job.quiet),
            open_with_retry(job.opening, say, patience) as study,
        ):
            worker = Worker(study, job.objective, job.options, say, announce=False)
            worker.stop_signals.duplicate_seconds = DUPLICATE_SECONDS
            end = worker.run()
    except PriorbandError as error:
        end = WorkerEnd("storage", str(error))
    except KeyboardInterrupt:  # asked to stop twice while the study is being opened
        end = WorkerEnd("stopped", "SIGINT")
    send({"status": end.status, "reason": end.reason})
