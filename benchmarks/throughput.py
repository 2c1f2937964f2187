"""Durable trials per second, next to a bare loop of two durable transactions in the same run.

    python benchmarks/throughput.py [--seconds 4] [--rounds 3] [--postgres URL] [--largest 100000]

Trials are trivially cheap, so this is the cost of keeping them. The objective runs in the worker's
own process; the usual fresh process a trial is reported apart. The bare loop does on the same disk,
or on the same server, what a trial cannot do without: one durable transaction to hand it out, one
to take its result. Disks and machines are shared and noisy: reference and study take turns within
the run, and the median of the rounds' ratios is given.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import priorband as pb
from priorband.durable.open import journal_at
from priorband.durable.records import AskedRecord, ToldRecord
from priorband.durable.view import StudyView
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
GOALS = {"one worker": 0.6, "four workers": 0.9, "cpu": 1.0, "fold": 20.0}


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


def work(where: str, folder: str, options: WorkerOptions, barrier: Any, answers: Any) -> None:
    """One worker process: waits for the others, works, and says what it cost."""
    with pb.open_study(where, folder=folder if "://" in where else None) as study:
        worker = Worker(study, objective, options)
        barrier.wait()
        before = resource.getrusage(resource.RUSAGE_SELF)
        worker.run()
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        answers.put(cpu)


def study_rate(
    where: str, folder: Path, workers: int, trials: int, options: WorkerOptions
) -> tuple[float, float]:
    """Trials per second of all workers together, and CPU milliseconds a trial."""
    shared = folder if "://" in where else None
    with pb.open_study(where, SPACE, EPOCHS, folder=shared) as study:
        study.limit(pb.Budget(trials=study.ledger.trials + trials))
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(workers), context.Queue()
    arguments = (where, str(folder), options, barrier, answers)
    processes = [context.Process(target=work, args=arguments) for _ in range(workers)]
    for process in processes:
        process.start()
    said = [answers.get() for _ in processes]
    for process in processes:
        process.join()
    with pb.open_study(where, folder=shared, read_only=True) as study:
        asked = [row.at for row in study.journal.read(0) if row.kind == "asked"]
    return len(asked) / (max(asked) - min(asked)), sum(said) / trials * 1e3


def compare(name: str, place: str, folder: Path, options: argparse.Namespace) -> None:
    """Print the rates of 1, 4 and 8 workers beside the bare loop's."""
    here = WorkerOptions(fresh_process=False)
    rates: dict[int, list[tuple[float, float, float]]] = {1: [], 4: [], 8: []}
    for round_ in range(options.rounds):
        for workers in rates:
            bare = _bare(place, folder, options.seconds / 2)
            where = (
                f"{place}#r{round_}w{workers}" if "://" in place else f"{place}-{round_}-{workers}"
            )
            trials = max(200, int(bare * options.seconds))
            rate, cpu = study_rate(where, folder, workers, trials, here)
            bare = (bare + _bare(place, folder, options.seconds / 2)) / 2
            rates[workers].append((rate, rate / bare, cpu))
    one = statistics.median(rate / 1 for rate, _, _ in rates[1])
    for workers, found in rates.items():
        rate, ratio, cpu = (statistics.median(column) for column in zip(*found, strict=True))
        print(
            f"{name:<11}{workers} workers: {rate:8.0f} trials/s, {ratio:5.2f} of the bare loop, "
            f"{rate / one:5.2f} of one worker, {cpu:5.2f} ms CPU a trial"
        )
    rate, _ = study_rate(
        f"{place}{'#' if '://' in place else '-'}fresh", folder, 1, 12, WorkerOptions()
    )
    print(f"{name:<11}1 worker, a fresh process a trial: {rate:6.1f} trials/s")


def _bare(place: str, folder: Path, seconds: float) -> float:
    return bare_postgres(place, seconds) if "://" in place else bare_sqlite(folder, seconds)


def large(folder: Path, trials: int) -> None:
    """Print what it takes to open a study of many trials, and to ask for one more."""
    where = folder / f"large-{trials}"
    pb.open_study(where, SPACE, EPOCHS).close()
    journal = journal_at(where)
    with pb.open_study(where) as study:
        view = StudyView(study.problem, str(where), "maker")
    with journal.transaction(0) as transaction:
        view.apply(transaction.rows)
        memory = pb.Study(SPACE, EPOCHS)
        for _ in range(trials):
            trial = memory.ask()
            parent = trial.parent
            start = 0 if parent is None else view.state.history.trial(parent).fidelity
            asked = AskedRecord.of(trial, view.write_config, start, "maker")
            view.append(transaction, asked, trial)
            loss = abs(float(trial.config["dropout"]) - 0.4) + 1.0 / trial.fidelity
            memory.tell(trial, loss)
            view.append(transaction, ToldRecord(trial.id, 1, loss))
    journal.close()
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_open, args=(str(where), answers))
    process.start()
    opened, first, fold, megabytes, size = answers.get()
    process.join()
    print(
        f"{trials:>7} trials: open {opened:6.2f} s, first ask {first * 1e3:6.1f} ms, "
        f"fold {fold * 1e6:5.1f} us CPU a record, {megabytes:4.0f} MB, file {size / 1e6:5.1f} MB"
    )


def _open(where: str, answers: Any) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    study = pb.open_study(where)
    opened = time.perf_counter() - start
    start = time.perf_counter()
    study.tell(study.ask(), 0.5)
    asked = time.perf_counter() - start
    rows = study.journal.read(0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    view, cpu = StudyView(study.problem, where, "reader"), time.process_time()
    view.apply(rows)
    fold = (time.process_time() - cpu) / len(rows)
    del before
    answers.put((opened, asked, fold, peak / 1024, os.stat(Path(where, "study.db")).st_size))
    study.close()


@contextmanager
def server(url: str | None) -> Iterator[str | None]:
    """A PostgreSQL server: the one that was named, or a private one of the tests."""
    if url:
        yield url
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from servers import Server, lacking

    missing = lacking()
    if missing:
        print(f"postgresql is left out: {missing}")
        yield None
        return
    private = Server()
    private.start()
    try:
        yield private.url()
    finally:
        private.close()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=100_000, help="trials of the large study")
    parser.add_argument("--postgres", help="a server's URL; by default a private one is started")
    parser.add_argument("--folder", help="where to write (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder = Path(made)
        print(f"goals: {GOALS}")
        compare("sqlite", str(folder / "study"), folder, options)
        with server(options.postgres) as url:
            if url:
                compare("postgresql", url, folder, options)
        size = 1_000
        while size <= options.largest:
            large(folder, size)
            size *= 10


if __name__ == "__main__":
    main()
