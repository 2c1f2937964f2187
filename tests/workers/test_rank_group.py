"""Ranks that make an attempt together, here as threads: what they agree on, without torch."""

import errno
import importlib.util
import json
import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from objectives import EPOCHS, SPACE, value
from waiting import LONGEST

import priorband as pb
from priorband.errors import RankError
from priorband.space.config import Config
from priorband.storage.checkpoints import Checkpoints
from priorband.workers.attempt import Attempt, TrialTask
from priorband.workers.distributed import tune_in_group
from priorband.workers.objective_results import DISK_FULL
from priorband.workers.rank_channel import Message, RankChannel, RankTimeout
from priorband.workers.rank_group import RankGroup, task_from_data, task_to_data

Objective = Callable[[Attempt], Any]


class ThreadGroup:
    """What threads have said to each other, in place of a process group."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.said: dict[int, dict[int, Message]] = {}
        self.left: dict[str, Message] = {}


class ThreadChannel:
    """One thread's way to the other, as `RankChannel` is a rank's."""

    size = 2

    def __init__(self, group: ThreadGroup, rank: int, begun: int = 0) -> None:
        self.group, self.rank, self.begun, self.meetings = group, rank, begun, 0

    def collectives(self) -> int:
        return self.begun

    def all_gather(self, message: Message, patience: float | None = None) -> list[Message]:
        self.meetings += 1
        with self.group.changed:
            here = self.group.said.setdefault(self.meetings, {})
            here[self.rank] = json.loads(json.dumps(message))
            self.group.changed.notify_all()
            if not self.group.changed.wait_for(lambda: len(here) == self.size, patience or LONGEST):
                raise RankTimeout("the other one did not come")
            return [here[rank] for rank in range(self.size)]

    def post_failure(self, key: str, message: Message) -> None:
        self.group.left.setdefault(key, message)

    def posted_failure(self, key: str) -> Message | None:
        return self.group.left.get(key)

    def delete_failure(self, key: str) -> None:
        self.group.left.pop(key, None)


def task(root: Path, fidelity: int = 3) -> TrialTask:
    return TrialTask(7, 1, Config(x=0.5), fidelity, True, 0, None, root, 1)


def together(
    objective: Objective,
    root: Path,
    begun: tuple[int, int] = (0, 0),
    grace: float = 5.0,
    asked: Callable[[int], str] = lambda rank: "",
    ended: tuple[threading.Event, threading.Event] | None = None,
) -> tuple[list[RankGroup], list[Any]]:
    """What two ranks say came of an attempt."""
    group, ready = ThreadGroup(), threading.Barrier(2)
    ranks = [
        RankGroup(cast(RankChannel, ThreadChannel(group, rank, begun[rank])), grace)
        for rank in range(2)
    ]
    results: list[Any] = [None, None]
    ended = ended or (threading.Event(), threading.Event())

    def run(rank_group: RankGroup) -> None:
        if rank_group.rank:
            ready.wait()
        attempt = Attempt(task(root), stopping=lambda: asked(rank_group.rank), ranks=rank_group)
        if not rank_group.rank:
            ready.wait()
        try:
            results[rank_group.rank] = rank_group.run_attempt(objective, attempt, lambda: "")
        except RankError as error:
            results[rank_group.rank] = error
        finally:
            ended[rank_group.rank].set()

    threads = [threading.Thread(target=run, args=(rank_group,)) for rank_group in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ranks, results


def stepping(act: Callable[[Attempt, float], None]) -> Objective:
    def objective(trial: Attempt) -> float | None:
        for step in trial.steps():
            act(trial, step)
        return None if trial.rank else 0.25

    return objective


def test_what_rank_0_returns_counts(tmp_path: Path) -> None:
    ranks, results = together(stepping(lambda trial, step: None), tmp_path)
    assert results[0]["loss"] == 0.25 and not any(rank_group.broken for rank_group in ranks)


def test_all_save_before_a_step_is_kept_and_rank_0_alone_reports(tmp_path: Path) -> None:
    kept: list[list[str]] = []

    def save(trial: Attempt, step: float) -> None:
        if trial.rank == 0 and step > 1:
            [copy] = (tmp_path / "trials" / "7").glob(f"1.step-{step - 1}-*/checkpoint")
            kept.append([(copy / str(rank)).read_text() for rank in range(2)])
        (trial.checkpoint_dir / str(trial.rank)).write_text(str(step))
        trial.report(step, loss=1.0)

    together(stepping(save), tmp_path)
    assert kept == [["1", "1"], ["2", "2"]]
    assert len((tmp_path / "trials" / "7" / "curve-1.jsonl").read_text().splitlines()) == 3


def test_a_checkpoint_is_made_of_what_all_ranks_save(tmp_path: Path) -> None:
    def save(trial: Attempt, step: float) -> None:
        with trial.checkpoint(step) as folder:
            (folder / str(trial.rank)).write_text(str(step))

    _, results = together(stepping(save), tmp_path)
    assert results[0]["loss"] == 0.25
    left = Checkpoints(tmp_path, "", lambda trial: "").left_by(7, 1)
    assert left is not None and sorted(path.name for path in left.iterdir()) == ["0", "1"]
    assert left.parent.name.startswith("1.step-3-")


def test_all_ranks_stop_when_one_is_asked_to(tmp_path: Path) -> None:
    steps: dict[int, list[float]] = {0: [], 1: []}

    def asked(rank: int) -> str:
        return "SIGTERM" if rank == 1 and len(steps[1]) == 2 else ""

    ranks, results = together(
        stepping(lambda trial, step: steps[trial.rank].append(step)), tmp_path, asked=asked
    )
    assert results == [{"interrupted": "SIGTERM"}] * 2 and steps == {0: [1, 2], 1: [1, 2]}
    assert not any(rank_group.broken for rank_group in ranks)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("step", [1, 3])
def test_a_loss_that_is_not_finite_ends_all_ranks_where_they_meet(
    tmp_path: Path, rank: int, step: int
) -> None:
    def report(trial: Attempt, at: float) -> None:
        trial.report(at, loss=float("nan") if (trial.rank, at) == (rank, step) else 1.0)

    ranks, results = together(stepping(report), tmp_path, (1, 2))
    which = "rank 1: " if rank else ""
    for result in results:
        assert (result["kind"], result["reason"]) == (
            "diverged",
            f"{which}the loss was nan at step {step}",
        )
    assert not any(rank_group.broken for rank_group in ranks)


@pytest.mark.parametrize("begun", [(4, 4), (5, 4)])
def test_a_failure_is_known_to_all_and_ends_the_job_if_collectives_would_mix(
    tmp_path: Path, begun: tuple[int, int]
) -> None:
    def fail(trial: Attempt, step: float) -> None:
        if trial.rank == 1 and step == 2:
            raise ValueError("no")

    ranks, results = together(stepping(fail), tmp_path, begun)
    assert {result["reason"] for result in results} == {"rank 1: ValueError: no"}
    assert [bool(rank_group.broken) for rank_group in ranks] == [begun[0] != begun[1]] * 2


def test_ranks_that_go_different_ways_are_told_so(tmp_path: Path) -> None:
    def asks(trial: Attempt, step: float) -> None:
        assert trial.rank or not trial.should_stop

    _, results = together(stepping(asks), tmp_path)
    assert "rank 0 was at `should_stop`, rank 1 at the end of a step" in results[0]["reason"]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_nobody_comes_to_ends_and_its_word_is_left(tmp_path: Path, rank: int) -> None:
    ended = (threading.Event(), threading.Event())

    def fail(trial: Attempt) -> float:
        if trial.rank == rank:
            raise ValueError("no")
        assert ended[rank].wait(LONGEST)  # by then the other has waited for this rank in vain
        raise RuntimeError("gloo: connection closed")

    ranks, results = together(fail, tmp_path, grace=0.1, ended=ended)
    assert all(rank_group.broken for rank_group in ranks)
    which = "rank 1: " if rank else ""
    assert (results[0]["kind"], results[0]["reason"]) == ("raised", f"{which}ValueError: no")
    with pytest.raises(RankError, match="start the job again"):
        raise results[1]


def test_a_rank_that_dies_without_a_word_is_a_crash(tmp_path: Path) -> None:
    def fail(trial: Attempt) -> float:
        raise RuntimeError("gloo: connection closed")

    _, results = together(fail, tmp_path)
    assert results[0]["kind"] == "crashed"


def test_a_task_is_the_same_in_another_process() -> None:
    config = Config(shape=(8, (1, 2)), none=None, big=2**40, lr=0.1 + 0.2, off=False)
    for start, resume_from in ((0, None), (2.5, Path("runs/x/trials/3/1"))):
        about = (start, resume_from, Path("runs/x"), 11, True, "study", "config", (1, 2, 3, 4))
        made = TrialTask(3, 2, config, 9, True, *about)
        assert task_from_data(json.loads(json.dumps(task_to_data(made)))) == made
        assert pickle.loads(pickle.dumps(made)) == made
        assert Attempt(made).task is made


def test_without_torch_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "torch.distributed", None)
    with pytest.raises(pb.errors.ExtraError, match="pip install torch"):
        tune_in_group(value, SPACE, EPOCHS, budget=2, study="nowhere")


@pytest.mark.parametrize("option", ["workers", "start", "trial_seconds", "gpus_per_trial"])
def test_options_of_other_workers_are_refused(option: str) -> None:
    given: dict[str, Any] = {option: 2}
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
        tune_in_group(value, SPACE, EPOCHS, budget=2, study="nowhere", **given)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_without_a_launcher_the_error_says_how_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(pb.errors.ArgumentError, match="RANK.*torchrun --nproc-per-node 2"):
        tune_in_group(value, SPACE, EPOCHS, budget=2, study="nowhere")


@pytest.mark.parametrize("rank", [0, 1])
def test_a_disk_that_is_full_for_one_rank_hands_the_trial_back(tmp_path: Path, rank: int) -> None:
    def act(trial: Attempt, step: float) -> None:
        if trial.rank == rank and step == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    ranks, results = together(stepping(act), tmp_path)
    for result in results:
        assert result["kind"] == "preempted" and "No space left" in result["reason"]
        assert result["details"][DISK_FULL]
