"""Data-parallel training with two real processes, over gloo."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import slow
from ddp_job import X, Y
from servers import free_port
from waiting import LONGEST, wait_until

import priorband as pb
from priorband.storage.json_text import from_json

pytestmark = [
    slow,
    pytest.mark.skipif(
        importlib.util.find_spec("torch") is None,
        reason="torch is not installed: pip install torch",
    ),
]
SCRIPT = Path(__file__).with_name("ddp_job.py")
DOCS = Path(__file__).parents[2] / "docs" / "ddp.md"


class Job:
    """Two ranks, started as a launcher does."""

    def __init__(self, objective: str, folder: Path, gate: str = "", **options: Any) -> None:
        self.notes = folder / "notes"
        self.notes.mkdir(exist_ok=True)
        self.gate = folder / gate
        arguments = [SCRIPT, objective, folder / "study", self.notes, json.dumps(options)]
        port = str(free_port())
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
        if gate:
            shared["GATE"] = str(self.gate)
        self.ranks = [
            subprocess.Popen(
                [sys.executable, *map(str, arguments)],
                env=os.environ | shared | {"RANK": str(rank), "OMP_NUM_THREADS": "1"},
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]

    def wait(self) -> list[int]:
        """How the ranks ended; one that hangs fails the test."""
        self.said = [rank.communicate(timeout=LONGEST)[1] for rank in self.ranks]
        return [rank.returncode for rank in self.ranks]

    def kill(self) -> None:
        for rank in self.ranks:
            rank.kill()

    def close(self) -> None:
        """End the ranks that still run, and close their pipes."""
        self.kill()
        for rank in self.ranks:
            with rank:
                pass

    def wait_for_notes(self, lines: int) -> None:
        """Wait until both ranks have noted at least this many lines."""
        wait_until(lambda: min(len(notes(self.notes, rank)) for rank in range(2)) >= lines, "notes")

    def signal(self, *ranks: int) -> None:
        """Signal ranks that wait at the gate, and let them go on."""
        for rank in ranks:
            self.ranks[rank].send_signal(signal.SIGTERM)
        self.gate.touch()


@pytest.fixture
def start_job(tmp_path: Path) -> Iterator[Callable[..., Job]]:
    """A function that starts a job in the test's folder; all jobs are ended afterwards."""
    jobs: list[Job] = []

    def start(objective: str, **options: Any) -> Job:
        jobs.append(Job(objective, tmp_path, **options))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


def notes(folder: Path, rank: int) -> list[dict[str, Any]]:
    path = folder / f"rank-{rank}.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def records(folder: Path, *kinds: str) -> list[tuple[int | None, dict[str, Any]]]:
    with pb.open_study(folder / "study") as study:
        assert study.replay().exact
        return [
            (row.trial, from_json(row.body)) for row in study.journal.read(0) if row.kind in kinds
        ]


def descended(rate: float, epochs: int) -> float:
    """The loss of a least-squares fit after some epochs of gradient descent on all points."""
    x, y, w = np.array(X), np.array(Y), np.zeros(2)
    for _ in range(epochs):
        w -= rate * 2 * x.T @ (x @ w - y) / len(y)
    return float(((x @ w - y) ** 2).mean())


def test_all_ranks_train_every_trial_and_rank_0_alone_tells(
    tmp_path: Path, start_job: Callable[..., Job]
) -> None:
    job = start_job("fit")
    assert job.wait() == [0, 0], job.said
    mine, others = notes(job.notes, 0), notes(job.notes, 1)
    assert mine == others and {one["size"] for one in mine} == {2}
    told = records(tmp_path, "told")
    assert [one["id"] for one in mine] == [trial for trial, _ in told]
    with pb.open_study(tmp_path / "study") as study:
        history = study.state.history
        assert len(told) == len(history) == len({trial for trial, _ in told})
        assert [one["config"] for one in mine] == [
            json.loads(json.dumps(trial.config)) for trial in history.trials
        ]
        for trial, (_, result), one in zip(history.trials, told, mine, strict=True):
            assert result["loss"] == pytest.approx(
                descended(trial.config["lr"] / 10, int(trial.fidelity))
            )
            reached = 0 if trial.parent is None else history.trial(trial.parent).fidelity
            missing = list(range(int(reached) + 1, int(trial.fidelity) + 1))
            assert (one["start"], result["metrics"]["ran"]) == (reached, missing)
            assert (one["resume_from"] != "None") == (trial.parent is not None)
            curve = tmp_path / "study" / "trials" / str(trial.id) / "curve-1.jsonl"
            drawn = [json.loads(line)["step"] for line in curve.read_text().splitlines()]
            assert drawn == missing
        assert any(trial.parent is not None for trial in history.trials)


def test_a_signal_hands_the_trial_back_once_and_the_next_run_goes_on(
    tmp_path: Path, start_job: Callable[..., Job]
) -> None:
    first = start_job("waits", gate="first", budget={"trials": 2})
    first.wait_for_notes(2)
    first.signal(0, 1, 1, 0)  # twice, as a launcher does that was signalled, too
    assert first.wait() == [143, 143], first.said
    [(trial, returned)] = records(tmp_path, "returned")
    assert (trial, returned["kind"], returned["reason"]) == (0, "preempted", "SIGTERM")
    kept = list((tmp_path / "study" / "trials" / "0").glob("1.step-*/checkpoint"))[0]
    step = kept.parent.name.split("-")[1]
    assert [(kept / f"piece-{rank}").read_text() for rank in range(2)] == [step, step]

    second = start_job("waits", gate="second", budget={"trials": 2})
    second.wait_for_notes(int(step) + 2)
    second.signal(1)
    assert second.wait() == [143, 143], second.said
    third = start_job("waits", budget={"trials": 2})
    assert third.wait() == [0, 0], third.said

    for rank in range(2):
        epochs = Counter(one["epoch"] for one in notes(first.notes, rank) if one["id"] == 0)
        assert epochs == Counter(range(1, 10))
    assert len(records(tmp_path, "returned")) == len(records(tmp_path, "asked")) == 2
    assert [trial for trial, _ in records(tmp_path, "told")] == [0, 1]


def test_a_failure_on_any_rank_fails_the_trial_on_all_and_the_job_goes_on(
    tmp_path: Path, start_job: Callable[..., Job]
) -> None:
    job = start_job("troubled")
    assert job.wait() == [0, 0], job.said
    assert notes(job.notes, 0) == notes(job.notes, 1)
    failed = {trial: (one["kind"], one["reason"]) for trial, one in records(tmp_path, "failed")}
    different = failed.pop(10)
    assert failed == {
        1: ("raised", "ValueError: on both ranks"),
        2: ("memory", "rank 1: MemoryError: on one rank"),
        3: ("diverged", "rank 1: the loss was nan at step 1"),
        5: ("diverged", "the loss was inf"),
    }
    assert (
        different[0] == "raised"
        and "rank 0 was at the end of a step, rank 1 at its end" in (different[1])
    )


def test_a_rank_that_others_wait_for_ends_the_job_and_the_next_one_goes_on(
    tmp_path: Path, start_job: Callable[..., Job]
) -> None:
    for _ in range(4):
        job = start_job("out_of_step", grace=0.5)
        assert all(job.wait()), job.said
    failed = {trial: (one["kind"], one["reason"]) for trial, one in records(tmp_path, "failed")}
    assert failed == {
        1: ("raised", "rank 1: ValueError: on rank 1"),
        2: ("raised", "ValueError: on rank 0"),
        4: ("raised", "rank 1: ValueError: before a collective that nobody waits for"),
    }
    [(crashed, returned)] = records(tmp_path, "returned")
    assert (crashed, returned["kind"]) == (3, "crashed")


def test_what_befell_another_rank_is_told_by_one_that_never_comes_back(
    tmp_path: Path, start_job: Callable[..., Job]
) -> None:
    job = start_job("stuck", grace=1)
    said = job.ranks[1].communicate(timeout=LONGEST)[1]
    assert job.ranks[0].poll() is None
    job.kill()  # as a launcher does when one rank has ended
    job.wait()
    assert "did not come within 1 s" in said
    [(trial, failed)] = records(tmp_path, "failed")
    assert (trial, failed["reason"]) == (0, "rank 1: ValueError: on rank 1")


def test_groups_of_ranks_train_trials_of_their_own(
    tmp_path: Path, start_job: Callable[..., Job]
) -> None:
    job = start_job("apart")
    assert job.wait() == [0, 0], job.said
    seen: list[Any] = [*notes(job.notes, 0), *notes(job.notes, 1)]
    assert all(one[1:] == [0, 1] for one in seen) and notes(job.notes, 0) and notes(job.notes, 1)
    assert sorted(one[0] for one in seen) == [trial for trial, _ in records(tmp_path, "asked")]


def test_the_examples_of_the_manual_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n# (\w+\.py)\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert [name for name, _ in blocks] == ["train.py", "launch.py"]
    for name, text in blocks:
        assert "budget=12" in text
        trials = {"train.py": 3, "launch.py": 1}[name]
        short = text.replace("budget=12", f"budget=pb.Budget(trials={trials})")
        (tmp_path / name).write_text(short)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "train.py"]
    for study, arguments in (("ddp", torchrun), ("spawned", ["launch.py"])):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=2 * LONGEST,
        )
        assert done.returncode == 0 and "'lr': 0.01" in done.stdout, done.stderr
        with pb.open_study(tmp_path / "runs" / study) as opened:
            assert not opened.state.history.running and opened.best is not None
            trial = tmp_path / "runs" / study / "trials" / "0"
            assert list(trial.glob("1-*/checkpoint/model.pt"))
