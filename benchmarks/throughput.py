"""Durable trials per second, next to a bare loop of two durable transactions in the same run.

    python benchmarks/throughput.py [--seconds 4] [--rounds 3] [--workers 1,64] [--postgres URL]
                                    [--storage sqlite]

Trials are trivially cheap, so this is the cost of keeping them. The objective runs in the worker's
own process; the usual fresh process a trial is reported apart. The bare loop does on the same disk,
or on the same server, what a trial cannot do without: one durable transaction to hand it out, one
to take its result. Disks and machines are shared and noisy: reference and study take turns within
the run, and the median of the rounds' ratios is given.

The longest wait is that of one `turn` of one worker. CPU is counted apart for the workers and for
the server (of a private one): where "cores" comes close to the number of cores of the machine, it
is they that limit the rate.
"""

import argparse
import multiprocessing
import os
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import priorband as pb
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker

SPACE = pb.Space(
    {
        "lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
        "dropout": pb.Float(0.0, 0.9, prior=0.2),
        "batch": pb.Integer(16, 512, log=True, prior=64),
        "optimizer": pb.Categorical(["sgd", "adam", "rmsprop"], prior="adam"),
        "depth": pb.Ordinal([2, 4, 8, 16], prior=4),
        "momentum": pb.Float(0.8, 0.999),
        "layers": pb.Integer(1, 12, prior=6),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 81)
GOALS = {"one worker": 0.6, "four workers": 0.9, "64 on PostgreSQL": 0.8, "wait": 1.0}
TURNS_EACH = 12  # trials for each worker, at least


def objective(trial: pb.Attempt) -> float:
    """Cheap: better near the middle of the range, and with more training."""
    return abs(float(trial.config["dropout"]) - 0.4) + 1.0 / trial.fidelity


def bare_sqlite(folder: Path, seconds: float) -> float:
    """Pairs of durable transactions per second."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS bare (seq INTEGER PRIMARY KEY, body TEXT)")
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for _ in range(2):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO bare (body) VALUES (?)", ("x" * 150,))
            connection.execute("COMMIT")
        done += 1
    rate = done / (time.perf_counter() - start)
    connection.close()
    return rate


def bare_postgres(url: str, seconds: float) -> float:
    """Pairs of commits per second."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bare (seq BIGSERIAL, body TEXT)")
        done, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            for _ in range(2):
                connection.execute("INSERT INTO bare (body) VALUES (%s)", ("x" * 150,))
            done += 1
        return done / (time.perf_counter() - start)


class Rate(NamedTuple):
    """What a number of workers did."""

    trials: float
    """Trials per second of all workers together."""
    wait: float
    """The longest turn, in seconds."""
    cpu: float
    """CPU milliseconds of the workers for each trial."""
    server_cpu: float
    """CPU milliseconds of the server for each trial."""

    @property
    def cores(self) -> float:
        """How many cores were busy for the study, on average."""
        return self.trials * (self.cpu + self.server_cpu) / 1e3


def work(where: str, folder: str, options: WorkerOptions, barrier: Any, answers: Any) -> None:
    """One worker process: waits for the others, works, and says what it cost."""
    with pb.open_study(where, folder=folder if "://" in where else None) as study:
        waits, turn = [0.0], study.turn

        def timed_turn(report: Any, request: str) -> Any:
            began = time.perf_counter()
            answer = turn(report, request)
            waits[0] = max(waits[0], time.perf_counter() - began)
            return answer

        vars(study)["turn"] = timed_turn
        worker = Worker(study, objective, options)
        barrier.wait()
        before = resource.getrusage(resource.RUSAGE_SELF)
        ending = worker.run()
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        answers.put((cpu, waits[0], ending.status))


def study_rate(
    where: str,
    folder: Path,
    workers: int,
    trials: int,
    options: WorkerOptions,
    server_cpu: Callable[[], float] = lambda: 0.0,
) -> Rate:
    """Run workers on a new study, and return what they did."""
    shared = folder / where.partition("#")[2] if "://" in where else None  # of this study alone
    with pb.open_study(where, SPACE, EPOCHS, folder=shared) as study:
        study.limit(pb.Budget(trials=study.ledger.trials + trials))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["priorband", "psycopg", __name__])
    barrier, answers = context.Barrier(workers + 1), context.Queue()
    arguments = (where, str(shared), options, barrier, answers)
    processes = [context.Process(target=work, args=arguments) for _ in range(workers)]
    for process in processes:
        process.start()
    barrier.wait()
    before = server_cpu()
    said = [answers.get() for _ in processes]
    used = server_cpu() - before
    for process in processes:
        process.join()
    cpus, waits, ends = zip(*said, strict=True)
    assert {*ends} == {"done"}, ends
    with pb.open_study(where, folder=shared, read_only=True) as study:
        rows = study.journal.read(0)
    asked = [row.at for row in rows if row.kind == "asked"]
    lost = sum(row.kind == "adopted" for row in rows)
    if lost:
        print(f"{lost} trials were given to a second worker")
    rate = len(asked) / (max(asked) - min(asked))
    return Rate(rate, max(waits), sum(cpus) / trials * 1e3, used / trials * 1e3)


def compare(
    name: str,
    place: str,
    folder: Path,
    options: argparse.Namespace,
    server_cpu: Callable[[], float] = lambda: 0.0,
) -> None:
    """Print the rates of several numbers of workers beside the bare loop's."""
    here = WorkerOptions(start="same-process")
    rates: dict[int, list[tuple[Rate, float]]] = {number: [] for number in options.workers}
    for round_ in range(options.rounds):
        for workers in rates:
            bare = _bare(place, folder, options.seconds / 2)
            where = (
                f"{place}#r{round_}w{workers}" if "://" in place else f"{place}-{round_}-{workers}"
            )
            trials = max(200, TURNS_EACH * workers, int(bare * options.seconds))
            rate = study_rate(where, folder, workers, trials, here, server_cpu)
            bare = (bare + _bare(place, folder, options.seconds / 2)) / 2
            rates[workers].append((rate, rate.trials / bare))
    one = statistics.median(rate.trials for rate, _ in next(iter(rates.values())))
    for workers, found in rates.items():
        ratio = statistics.median(ratio for _, ratio in found)
        rate = Rate(*(statistics.median(column) for column in zip(*(r for r, _ in found))))  # noqa: B905
        longest = max(rate.wait for rate, _ in found)
        print(
            f"{name:<11}{workers:>3} workers: {rate.trials:6.0f} trials/s, {ratio:5.2f} of the "
            f"bare loop, {rate.trials / one:5.2f} of one worker, longest wait {longest:6.3f} s, "
            f"CPU a trial {rate.cpu:5.2f} + {rate.server_cpu:5.2f} ms, {rate.cores:4.2f} cores",
            flush=True,
        )
    fresh = study_rate(
        f"{place}{'#' if '://' in place else '-'}fresh", folder, 1, 12, WorkerOptions()
    )
    print(f"{name:<11}1 worker, a fresh process a trial: {fresh.trials:6.1f} trials/s")


def _bare(place: str, folder: Path, seconds: float) -> float:
    return bare_postgres(place, seconds) if "://" in place else bare_sqlite(folder, seconds)


@contextmanager
def server(url: str | None) -> Iterator[tuple[str, Callable[[], float]] | None]:
    """A PostgreSQL server: the one that was named, or a private one; and its CPU seconds so far."""
    if url:
        yield url, lambda: 0.0
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from servers import Server, lacking

    missing = lacking()
    if missing:
        print(f"postgresql is left out: {missing}")
        yield None
        return
    private = Server(max_connections=200, shared_buffers="128MB")
    private.start()
    try:
        yield private.url(), private.cpu_seconds
    finally:
        private.close()


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=_numbers, default=[1, 4, 8, 16, 64], help="such as 1,4,8")
    parser.add_argument("--storage", choices=("sqlite", "postgresql"), help="only this one")
    parser.add_argument("--postgres", help="a server's URL; by default a private one is started")
    parser.add_argument("--folder", help="where to write (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder = Path(made)
        print(f"goals: {GOALS}; {os.cpu_count()} cores")
        if options.storage != "postgresql":
            compare("sqlite", str(folder / "study"), folder, options)
        if options.storage != "sqlite":
            with server(options.postgres) as found:
                if found:
                    url, cpu_seconds = found
                    compare("postgresql", url, folder, options, cpu_seconds)


if __name__ == "__main__":
    main()
