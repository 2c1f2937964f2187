"""A crew of processes that run cases; they end when whoever called them does."""

import signal
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from multiprocessing import connection, get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import final

from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.catalogue import entry
from priorband.errors import HaltedError
from priorband.experiments.cases import Case
from priorband.experiments.record import Record, run
from priorband.experiments.rules import Centres
from priorband.values import frozen


@final
@frozen
class Done:
    """A run that ended, and the processor time it took."""

    record: Record
    seconds: float


@final
@frozen
class _Wrong:
    case: Case
    reason: str


def worked(
    cases: Sequence[Case], processes: int, data: Path | None, centres: Centres
) -> Iterator[Done]:
    """Run cases in so many processes; what is done comes as it ends."""
    todo = iter(cases)
    crew: dict[Connection, Case] = {}
    context = get_context("spawn")
    members = []
    try:
        for case in islice(todo, processes):
            ours, theirs = context.Pipe()
            member = context.Process(target=_work, args=(theirs, data, centres), daemon=True)
            _start(member)
            theirs.close()
            members.append(member)
            ours.send(case)
            crew[ours] = case
        while crew:
            for ready in connection.wait(list(crew)):
                assert isinstance(ready, Connection)
                yield _received(ready, crew.pop(ready))
                following = next(todo, None)
                if following is None:
                    ready.close()
                else:
                    ready.send(following)
                    crew[ready] = following
    finally:
        for pipe in crew:
            pipe.close()
        for member in members:
            member.terminate()
            member.join()


def _start(member: SpawnProcess) -> None:
    """Start a process that never hears Ctrl-C, not even while it is being made."""
    resource_tracker.ensure_running()  # it unblocks the signal when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        member.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _received(pipe: Connection, case: Case) -> Done:
    try:
        answer = pipe.recv()
    except EOFError:
        answer = _Wrong(case, "its process was killed, perhaps for lack of memory")
    if isinstance(answer, _Wrong):
        raise HaltedError(
            f"The run {answer.case.name} failed: {answer.reason}. What was done is kept; "
            "mend the cause and start again."
        )
    assert isinstance(answer, Done)
    return answer


def _work(pipe: Connection, data: Path | None, centres: Centres) -> None:
    """What a member does: run what comes, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever called decides when to stop
    benchmarks: dict[str, Benchmark] = {}
    while True:
        try:
            case = pipe.recv()
        except (EOFError, OSError):
            return
        start = time.process_time()
        try:
            if case.benchmark not in benchmarks:
                benchmarks[case.benchmark] = entry(case.benchmark).make(data)
            record = run(case, benchmarks[case.benchmark], centres)
            answer: Done | _Wrong = Done(record, time.process_time() - start)
        except Exception as error:
            answer = _Wrong(case, f"{type(error).__name__}: {error}")
        try:
            pipe.send(answer)
        except OSError:
            return
