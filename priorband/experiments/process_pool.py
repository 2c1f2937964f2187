"""Run cases in several processes, which end when the calling process ends."""

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
from priorband.experiments.rules import Centres
from priorband.experiments.run_record import RunRecord, run_case
from priorband.values import frozen


@final
@frozen
class FinishedCase:
    """A finished run and its CPU time."""

    record: RunRecord
    seconds: float


@final
@frozen
class _FailedCase:
    case: Case
    reason: str


def run_in_processes(
    cases: Sequence[Case], processes: int, data: Path | None, centres: Centres
) -> Iterator[FinishedCase]:
    """Run cases in `processes` processes, or in this one if it is 1, and yield them as they end."""
    if processes == 1:
        yield from _run_here(cases, data, centres)
        return
    waiting = iter(cases)
    running: dict[Connection, Case] = {}
    context = get_context("spawn")
    started = []
    try:
        for case in islice(waiting, processes):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, data, centres), daemon=True)
            _start(process)
            theirs.close()
            started.append(process)
            _send(ours, case)
            running[ours] = case
        while running:
            for ready in connection.wait(list(running)):
                assert isinstance(ready, Connection)
                yield _received(ready, running.pop(ready))
                following = next(waiting, None)
                if following is None:
                    ready.close()
                else:
                    _send(ready, following)
                    running[ready] = following
    finally:
        for pipe in running:
            pipe.close()
        for process in started:
            process.terminate()
            process.join()


def _start(process: SpawnProcess) -> None:
    """Start a process that ignores Ctrl-C, even while it is starting."""
    resource_tracker.ensure_running()  # starting it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _received(pipe: Connection, case: Case) -> FinishedCase:
    try:
        answer = pipe.recv()
    except (EOFError, OSError):
        answer = _FailedCase(case, "its process was killed, perhaps because it ran out of memory")
    return _checked(answer)


def _checked(answer: object) -> FinishedCase:
    if isinstance(answer, _FailedCase):
        raise HaltedError(
            f"The run {answer.case.name} failed: {answer.reason}. Finished runs are kept: fix the "
            "cause and start again."
        )
    assert isinstance(answer, FinishedCase)
    return answer


def _send(pipe: Connection, case: Case) -> None:
    """Send a case to a process; if the process is dead, receiving the answer fails."""
    with suppress(OSError):
        pipe.send(case)


def _run_here(cases: Sequence[Case], data: Path | None, centres: Centres) -> Iterator[FinishedCase]:
    """Run cases one after the other in this process."""
    benchmarks: dict[str, Benchmark] = {}
    for case in cases:
        yield _checked(_answer(case, data, centres, benchmarks))


def _work(pipe: Connection, data: Path | None, centres: Centres) -> None:
    """The main function of a process: run the cases that arrive until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the calling process decides when to stop
    benchmarks: dict[str, Benchmark] = {}
    while True:
        try:
            pipe.send(_answer(pipe.recv(), data, centres, benchmarks))
        except (EOFError, OSError):
            return


def _answer(
    case: Case, data: Path | None, centres: Centres, benchmarks: dict[str, Benchmark]
) -> FinishedCase | _FailedCase:
    """Run a case; `benchmarks` caches those that were created before."""
    start = time.process_time()
    try:
        if case.benchmark not in benchmarks:
            benchmarks[case.benchmark] = catalogue_entry(case.benchmark).make(data)
        record = run_case(case, benchmarks[case.benchmark], centres)
    except Exception as error:
        return _FailedCase(case, f"{type(error).__name__}: {error}")
    return FinishedCase(record, time.process_time() - start)
