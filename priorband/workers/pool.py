"""Several workers on this machine, each a process, watched by the one that started them."""

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any, final

from priorband.errors import PriorbandError
from priorband.storage.identity import die_with_parent
from priorband.values import frozen
from priorband.workers.devices import apply
from priorband.workers.open_with_retry import open_with_retry
from priorband.workers.stop_signals import StopSignals
from priorband.workers.trial_process import Objective, unpicklable
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker, WorkerEnd

LOOK = 0.25  # seconds between looks
RESTARTS = 5  # of one worker that dies, before it is given up
ECHO = 5.0  # seconds: a batch system's SIGTERM reaches a worker directly and through the pool
RISEN = 300.0  # seconds after which a worker's deaths are forgotten


@final
@frozen
class WorkerJob:
    """What a worker process is told to do."""

    opening: Mapping[str, Any]
    """What `open_study` is called with."""
    objective: Objective
    options: WorkerOptions
    mask: Mapping[str, str]


@final
class WorkerProcess:
    """A worker process, as the pool sees it."""

    def __init__(self, job: WorkerJob) -> None:
        self.job = job
        self.deaths: list[float] = []
        self.ending: WorkerEnd | None = None
        self.begun = False
        self.asked = 0
        """How often it was asked to stop."""
        self.start()

    def start(self) -> None:
        """Start the process, for the first time or again."""
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_main, args=(theirs, self.job, os.getpid()), name="worker"
        )
        try:
            self.process.start()
        except Exception as error:
            self.pipe.close()
            if isinstance(error, OSError):
                raise
            raise unpicklable(self.job.objective, error) from None
        finally:
            theirs.close()

    def listen(self, say: Callable[[str], None]) -> None:
        """Pass on what it says, and note how it ended."""
        with suppress(EOFError, OSError):
            while self.pipe.poll():
                message = json.loads(self.pipe.recv_bytes())
                if "say" in message:
                    say(message["say"])
                elif "hello" in message:
                    self.begun = True
                else:
                    self.ending = WorkerEnd(message["how"], message["reason"])

    @property
    def over(self) -> bool:
        """Whether the process has ended."""
        return not self.process.is_alive()

    def close(self) -> None:
        """Clean up after the process."""
        self.pipe.close()
        self.process.join()

    def ask_to_stop(self, times: int) -> None:
        """Ask it to let its step finish, or, the second time, to stop at once."""
        self.asked = times
        self.signal(signal.SIGTERM if times == 1 else signal.SIGINT)

    def signal(self, number: int) -> None:
        """Pass a signal on."""
        with suppress(ProcessLookupError):
            if self.process.pid is not None and not self.over:
                os.kill(self.process.pid, number)


def run_pool(
    jobs: list[WorkerJob], say: Callable[[str], None], tick: Callable[[], None]
) -> list[WorkerEnd]:
    """Start workers, start those again that die, and wait until all have ended."""
    members: list[WorkerProcess] = []
    stopping = StopSignals(lambda why, times: _pass_on(members, why, times, say))
    with stopping:
        try:
            for job in jobs:  # one by one: those that have started are ended if another fails to
                members.append(WorkerProcess(job))
            while any(not member.over or member.ending is None for member in members):
                waited = [
                    x for m in members if m.ending is None for x in (m.pipe, m.process.sentinel)
                ]
                wait(waited, LOOK)
                for member in members:
                    _attend(member, say, bool(stopping.why))
                    if stopping.why and not member.asked:  # started while the signal came
                        member.ask_to_stop(1)
                tick()
        except KeyboardInterrupt:
            _end(members, asked=True)
        except BaseException:
            _end(members, asked=False)
            raise
        finally:
            for member in members:
                member.listen(say)
                member.close()
    tick()
    return [_ending(member, stopping.why) for member in members]


def _ending(member: WorkerProcess, why: str) -> WorkerEnd:
    """How a worker ended; one that was asked to stop, by what we were asked."""
    ending = member.ending or WorkerEnd("stopped", "it died")
    return WorkerEnd("stopped", why) if why and ending.how == "stopped" else ending


def _attend(member: WorkerProcess, say: Callable[[str], None], stopping: bool) -> None:
    over = member.over  # before listening: its last word comes before its end
    member.listen(say)
    if not over or member.ending is not None:
        return
    now, code = time.monotonic(), member.process.exitcode
    member.deaths = [then for then in member.deaths if now - then < RISEN] + [now]
    member.close()
    if not member.begun and code is not None and code > 0:
        member.ending = WorkerEnd("storage", "A worker could not start; what it said stands above.")
        return
    if stopping or len(member.deaths) > RESTARTS:
        member.ending = WorkerEnd("stopped" if stopping else "storage", f"it died ({code})")
        say(f"A worker died ({_cause(code)}).")
        return
    say(f"A worker died ({_cause(code)}); starting another in its place.")
    member.start()


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"


def _pass_on(
    members: list[WorkerProcess], why: str, times: int, say: Callable[[str], None]
) -> None:
    if times == 1:
        grace = max((member.job.options.grace for member in members), default=0.0)
        say(
            f"{why}: letting the running steps finish, for at most {grace:g} s. "
            "Once more to stop at once."
        )
    for member in members:
        member.ask_to_stop(times)


def _end(members: list[WorkerProcess], asked: bool) -> None:
    """Give workers a moment to hand their trials back, then end them."""
    deadline = time.monotonic() + 10.0
    for member in () if asked else members:
        member.signal(signal.SIGTERM)
    for member in members:
        member.process.join(max(deadline - time.monotonic(), 0.1))
        member.signal(signal.SIGKILL)


def _main(pipe: Connection, job: WorkerJob, parent: int) -> None:
    """A worker process."""
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C is heard by the one that started us, which passes it on
    die_with_parent(signal.SIGTERM, parent)
    apply(job.mask)

    def send(message: dict[str, Any]) -> None:
        with suppress(OSError):  # nobody listens any more
            pipe.send_bytes(json.dumps(message).encode())

    def say(text: str) -> None:
        send({"say": text})

    send({"hello": os.getpid()})
    try:
        with open_with_retry(job.opening, say) as study:
            worker = Worker(study, job.objective, job.options, say, announce=False)
            worker.stopping.echo = ECHO
            ending = worker.run()
    except PriorbandError as error:
        ending = WorkerEnd("storage", str(error))
    send({"how": ending.how, "reason": ending.reason})
