"""Data-parallel training: the ranks of a job tune together, and only rank 0 talks to the study.

Every rank calls `tune_in_group`. Rank 0 runs a `Worker` (worker.py) as `tune` does; its trials go
through a `RankGroup` (rank_group.py) to all ranks. The others wait for tasks in `_follow`.
"""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from priorband.display.displays import Display, Show
from priorband.durable.budget import BudgetLike
from priorband.durable.messages import Report
from priorband.durable.study import LEASE, DurableStudy
from priorband.errors import ArgumentError, MethodError, RankError, StorageError
from priorband.fidelity import Fidelity
from priorband.optimizers import Optimizer
from priorband.space.prior import Prior
from priorband.space.space import Space
from priorband.storage import addresses
from priorband.workers.attempt import Attempt, TrialTask
from priorband.workers.objective_results import AttemptResult, Objective
from priorband.workers.rank_channel import Message, RankChannel, RankLost, distributed
from priorband.workers.rank_group import RankGroup, job_over_message, task_from_data
from priorband.workers.stop_signals import StopSignals
from priorband.workers.trial_runner import GRACE, PATIENCE, Keep, Send, WorkerOptions
from priorband.workers.tuned import Tuned
from priorband.workers.tuning import run_study, usual_place
from priorband.workers.worker import Worker, WorkerEnd

DUPLICATE_SECONDS = 5.0  # Slurm signals all ranks, and a launcher forwards the same signal again
FROM_A_LAUNCHER = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
BROKEN = "a broken group"


def tune_in_group(  # noqa: PLR0913  # as `tune`: all but the first have a default
    objective: Objective,
    space: Space | None = None,
    fidelity: Fidelity | None = None,
    *,
    budget: BudgetLike = None,
    study: str | Path | None = None,
    method: str | Optimizer | None = None,
    seed: int | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    maximize: bool | None = None,
    folder: str | Path | None = None,
    lease: float = LEASE,
    retries: Mapping[str, int] | None = None,
    show: Show | None = None,
    group: Any = None,
    grace: float = GRACE,
    patience: float = PATIENCE,
    wait: bool = True,
    keep: Keep = "promotable",
) -> Tuned | None:
    """Tune with all ranks of a torch.distributed job: each trial is trained by all of them.

    Every rank calls it with the same arguments. Rank 0 does what `tune` does; the others are given
    its trials. The result is what rank 0's objective returns, unless a rank raises.
    `trial.steps()` keeps the ranks together. If there is no process group yet, one is created from
    the environment variables that `torchrun` sets.

    Args:
        objective: a function that is given an `Attempt`, on every rank, and returns a loss.
        space: the search space; may be left out for a study that exists.
        fidelity: how long a trial can be trained; None if each trial is a full training.
        budget: a number of full trainings, or a `Budget`; for all jobs and restarts together.
        study: a folder, or a postgresql:// URL; "runs/" and the objective's name by default.
        method: a name from `methods()`, or an `Optimizer`; "priorband" by default.
        seed: the seed of all decisions; 0 by default.
        prior: beliefs by parameter name, or a `Prior`; replaces the parameters' own priors.
        maximize: whether higher values are better.
        folder: where the checkpoints of a study in a database are kept; all ranks must see it.
        lease: for how many seconds a job may be silent before its trial goes to another one.
        retries: after how many attempts a trial has failed, by kind of failure.
        show: how rank 0 shows progress: "live", "plain", "json" or "quiet".
        group: the process group of the ranks that take part; all ranks by default.
        grace: how many seconds a running step gets to finish when the job is asked to stop, and
            how long a rank that raised waits for the others before the job ends.
        patience: how many seconds to wait for storage that is busy, full or not reachable.
        wait: stay while other jobs run the last trials, since one may be handed back.
        keep: which checkpoints stay: "promotable" or "all".

    Returns:
        On rank 0 what `tune` returns; None on the others.

    Raises:
        ArgumentError: if an argument is not allowed, or there is no way to create a process group.
        RankError: if the ranks cannot go on training together.
        ExtraError: if torch is not installed.
    """
    if not callable(objective):
        raise MethodError(
            f"`objective` must be a function of a trial, got {addresses.shown(repr(objective))}."
        )
    options = WorkerOptions("same-process", grace=grace, patience=patience, wait=wait, keep=keep)
    where = study if study is not None else usual_place(objective)
    opening: dict[str, Any] = {"where": where, "space": space, "fidelity": fidelity}
    opening |= {"method": method, "seed": seed, "prior": prior, "maximize": maximize}
    opening |= {"folder": folder, "lease": lease, "retries": retries}
    begun = _ensure_process_group()
    ranks = RankGroup(_channel(group), options.grace)
    try:
        if ranks.rank > 0:
            _follow(ranks, objective)
            return None
        work = _leading(ranks, objective, options)
        return _lead(ranks, lambda: run_study(opening, budget, show, work))
    finally:
        ranks.channel.close()
        if begun and not ranks.broken:
            distributed().destroy_process_group()


def rank_attempt(
    task: TrialTask, group: Any = None, stopping: Callable[[], str] = lambda: ""
) -> Attempt:
    """Return the `trial` for ranks that an objective has started itself.

    All ranks of the process group must call it. They take their steps together; rank 0 writes the
    curve and the checkpoints.

    Args:
        task: the `trial.task` of the objective that started the ranks.
        group: the process group of the ranks that take part; all ranks by default.
        stopping: returns, on any rank, a reason to stop, or an empty string.

    Returns:
        The attempt, as an objective gets it, for this rank.

    Raises:
        ArgumentError: if this rank is not in the group.
        ExtraError: if torch is not installed.
    """
    ranks = RankGroup(_channel(group), 0.0)
    attempt = Attempt(task, stopping=stopping, ranks=ranks)
    ranks.synchronize("its beginning")  # from here on the folder to save to exists
    return attempt


def _ensure_process_group() -> bool:
    """Create the default process group unless there is one; return whether it was created."""
    dist = distributed()
    if dist.is_initialized():
        return False
    missing = [name for name in FROM_A_LAUNCHER if name not in os.environ]
    if missing:
        raise ArgumentError(
            "There is no process group, and one cannot be created without the environment "
            f"variables {', '.join(missing)}. Start the script with `torchrun --nproc-per-node 2 "
            "script.py`, or call `torch.distributed.init_process_group` first."
        )
    dist.init_process_group()
    return True


def _channel(group: Any) -> RankChannel:
    if group is not None and distributed().get_rank(group) < 0:
        raise ArgumentError(
            "This rank is not a member of the given `group`. Pass a group that it belongs to, or "
            "do not call this function on this rank."
        )
    return RankChannel(group)


def _lead(ranks: RankGroup, tuned: Callable[[], Tuned]) -> Tuned:
    """Tune on rank 0, and release the other ranks at the end, however it ends."""
    message: Message = {}
    try:
        return tuned()
    except SystemExit as stopped:
        message = {"exit": stopped.code}
        raise
    except KeyboardInterrupt:
        message = {"exit": 130}
        raise
    except BaseException as error:
        message = {"failed": f"{type(error).__name__}: {error}"}
        raise
    finally:
        if not ranks.broken:
            with suppress(RankLost):  # a rank that has exited needs no message
                ranks.channel.broadcast(message)


def _leading(
    ranks: RankGroup, objective: Objective, options: WorkerOptions
) -> Callable[[DurableStudy, Display], list[WorkerEnd]]:
    """The work of rank 0 on a study."""

    def work(study: DurableStudy, display: Display) -> list[WorkerEnd]:
        worker = Worker(study, objective, options, display.say, display.tick)
        worker.stop_signals.duplicate_seconds = DUPLICATE_SECONDS

        def stop(reason: str) -> None:
            worker.stop_signals.reason = worker.stop_signals.reason or reason

        def evaluate_on_all_ranks(
            objective: Objective, task: TrialTask, send: Send, stop_reason: Callable[[], str]
        ) -> AttemptResult:
            attempt = Attempt(task, send, stop_reason, ranks)
            result = ranks.run_on_all_ranks(objective, attempt, stop_reason)
            if ranks.broken:
                stop(BROKEN)
            return result

        worker.runner.evaluate_in_process = evaluate_on_all_ranks
        ranks.on_stop_request = stop
        ranks.submit_result = lambda task, result: _submit_failure(study, task, result)
        end = worker.run()
        if end.reason == BROKEN:
            raise RankError(job_over_message(ranks))
        return [end]

    return work


def _submit_failure(study: DurableStudy, task: TrialTask, result: AttemptResult) -> None:
    failure = result["kind"], result["reason"], result["details"]
    with suppress(StorageError):  # the lease will expire, and another worker takes the trial over
        study.turn(Report(task.trial, task.attempt, None, *failure), "")


def _follow(ranks: RankGroup, objective: Objective) -> None:
    """Make this rank's part of the attempts that rank 0 starts, until rank 0 ends the job."""
    with StopSignals() as stop_signals:
        stop_signals.duplicate_seconds = DUPLICATE_SECONDS

        def stop_reason() -> str:
            return stop_signals.reason

        while "task" in (message := _next_message(ranks)):
            attempt = Attempt(task_from_data(message["task"]), stopping=stop_reason, ranks=ranks)
            ranks.run_attempt(objective, attempt, stop_reason)
            if ranks.broken:
                raise RankError(job_over_message(ranks))
    if "exit" in message:
        sys.exit(message["exit"])
    if "failed" in message:
        raise RankError(f"The job ends because rank 0 has failed: {message['failed']}")


def _next_message(ranks: RankGroup) -> Message:
    try:
        return ranks.channel.broadcast()
    except RankLost as error:
        ranks.broken = f"rank 0 has exited without a message ({error})"
        raise RankError(job_over_message(ranks)) from None
