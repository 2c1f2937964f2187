"""What a study of many trials costs to look at: CPU and memory of whole commands.

    python benchmarks/large_study.py [--trials 100000] [--repeats 3] [--keep FOLDER]

The study is made in a folder, with every trial told. Each command then runs in a process of its
own, `--repeats` times; the least CPU is given. CPU is what the command takes beyond `priorband
--version`, which only loads the package. `first ask` opens the study, asks and tells once, and
closes it, as a worker does with its first trial. All of it is measured with the stored snapshot,
and again without one.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import priorband as pb
from priorband.durable.open import journal_at
from priorband.durable.records import AskedRecord, ToldRecord
from priorband.durable.view import StudyView

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
FIRST_ASK = """
import sys, priorband as pb
with pb.open_study(sys.argv[1]) as study:
    study.tell(study.ask(), 0.5)
"""
COMMANDS = {
    "status": ["-m", "priorband", "status", "{}"],
    "best": ["-m", "priorband", "best", "{}"],
    "export": ["-m", "priorband", "export", "{}", "--csv"],
    "why": ["-m", "priorband", "why", "{}", "{late}"],
    "first ask": ["-c", FIRST_ASK, "{}"],
}
GOALS = {
    "status": (0.3, None),
    "best": (0.3, None),
    "export": (3.0, 100),
    "why": (2.0, None),
    "first ask": (0.5, None),
}
"""By command: CPU seconds, and MiB."""


class Cost(NamedTuple):
    """What a command took."""

    cpu: float
    """Seconds."""
    memory: float
    """MiB at the peak."""


def make(where: Path, trials: int, method: str | None = None) -> None:
    """A study in which every trial has been told."""
    pb.open_study(where, SPACE, EPOCHS, method).close()
    journal = journal_at(where)
    with pb.open_study(where) as study:
        view = StudyView(study.problem, str(where), "maker")
    with journal.transaction(0) as transaction:
        view.apply(transaction.rows)
        memory = pb.Study(SPACE, EPOCHS, method)
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
    with pb.open_study(where) as study:  # a long study gets a snapshot when it is closed
        study.tell(study.ask(), 0.5)


MEASURE = """
import os, subprocess, sys
with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL) as process:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
assert process.returncode == 0, sys.argv
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""
"""Runs a command. A small process does it: the peak of a child begins at that of its parent."""


def cost(command: list[str], repeats: int) -> Cost:
    """The least CPU and the peak memory of a command."""
    costs = []
    for _ in range(repeats):
        words = [sys.executable, "-S", "-c", MEASURE, sys.executable, *command]
        measured = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
        costs.append(Cost(float(measured[0]), int(measured[1]) / 1024))
    return Cost(min(each.cpu for each in costs), max(each.memory for each in costs))


def compare(where: Path, repeats: int, trials: int, title: str) -> None:
    """Print what each command takes beyond loading the package; `why` explains a late trial."""
    given = {"{}": str(where), "{late}": str(trials * 49 // 50)}
    bare = cost(["-m", "priorband", "--version"], repeats)
    print(f"{title}; `priorband --version`: {bare.cpu:.2f} s CPU, {bare.memory:.0f} MiB")
    for name, words in COMMANDS.items():
        taken = cost([given.get(word, word) for word in words], repeats)
        seconds, most = GOALS[name]
        memory = f", {most} MiB" if most else ""
        print(
            f"  {name:<10}{taken.cpu - bare.cpu:6.2f} s CPU, {taken.memory:4.0f} MiB "
            f"(goal: {seconds:g} s{memory})",
            flush=True,
        )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", help="make the study in this folder, and leave it there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        where = Path(options.keep or made) / "large"
        make(where, options.trials)
        size = (where / "study.db").stat().st_size / 2**20
        print(f"{options.trials} trials, database {size:.0f} MiB, {os.cpu_count()} cores")
        compare(where, options.repeats, options.trials, "with the snapshot")
        for path in where.glob("study.snapshot*"):
            path.unlink()
        compare(where, options.repeats, options.trials, "first command without a snapshot")


if __name__ == "__main__":
    main()
