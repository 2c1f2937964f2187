"""A crew of processes that run cases; they end when whoever called them does."""

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from multiprocessing import connection, get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import final

from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.catalogue import catalogue_entry
from priorband.errors import HaltedError
from priorband.experiments.cases import Case
from priorband.experiments.record import Record, run
from priorband.experiments.rules import Centres
from priorband.values import frozen


@final
@frozen
class FinishedCase:
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
) -> Iterator[FinishedCase]:
    """Run cases in so many processes, a single one being this; what is done comes as it ends."""
    if processes == 1:
        yield from _alone(cases, data, centres)
        return
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
            _sent(ours, case)
            crew[ours] = case
        while crew:
            for ready in connection.wait(list(crew)):
                assert isinstance(ready, Connection)
                yield _received(ready, crew.pop(ready))
                following = next(todo, None)
                if following is None:
                    ready.close()
                else:
                    _sent(ready, following)
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


def _received(pipe: Connection, case: Case) -> FinishedCase:
    try:
        answer = pipe.recv()
    except (EOFError, OSError):
        answer = _Wrong(case, "its process was killed, perhaps for lack of memory")
    return _answered(answer)


def _answered(answer: object) -> FinishedCase:
    if isinstance(answer, _Wrong):
        raise HaltedError(
            f"The run {answer.case.name} failed: {answer.reason}. What was done is kept; "
            "mend the cause and start again."
        )
    assert isinstance(answer, FinishedCase)
    return answer


def _sent(pipe: Connection, case: Case) -> None:
    """Send a case to a member; one that is dead is found out when its answer is awaited."""
    with suppress(OSError):
        pipe.send(case)


def _alone(cases: Sequence[Case], data: Path | None, centres: Centres) -> Iterator[FinishedCase]:
    """Run cases one after the other in this process."""
    benchmarks: dict[str, Benchmark] = {}
    for case in cases:
        yield _answered(_answer(case, data, centres, benchmarks))


def _work(pipe: Connection, data: Path | None, centres: Centres) -> None:
    """What a member does: run what comes, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever called decides when to stop
    benchmarks: dict[str, Benchmark] = {}
    while True:
        try:
            pipe.send(_answer(pipe.recv(), data, centres, benchmarks))
        except (EOFError, OSError):
            return


def _answer(
    case: Case, data: Path | None, centres: Centres, benchmarks: dict[str, Benchmark]
) -> FinishedCase | _Wrong:
    """A run, or what went wrong with it; benchmarks are made once."""
    start = time.process_time()
    try:
        if case.benchmark not in benchmarks:
            benchmarks[case.benchmark] = catalogue_entry(case.benchmark).make(data)
        record = run(case, benchmarks[case.benchmark], centres)
    except Exception as error:
        return _Wrong(case, f"{type(error).__name__}: {error}")
    return FinishedCase(record, time.process_time() - start)
