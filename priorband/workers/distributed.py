"""Data-parallel training: the ranks of a job tune together, and only rank 0 talks to the study."""

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
from priorband.workers.attempt import Attempt, TrialTask
from priorband.workers.rank_channel import Lost, RankChannel, Word, distributed
from priorband.workers.rank_group import RankGroup, over, read_task
from priorband.workers.stop_signals import StopSignals
from priorband.workers.trial_process import Objective
from priorband.workers.trial_runner import GRACE, PATIENCE, Keep, Send, WorkerOptions
from priorband.workers.tuning import Tuned, run_study, usual_place
from priorband.workers.worker import Worker, WorkerEnd

ECHO = 5.0  # seconds: a launcher passes on a signal that Slurm has sent to all ranks, too
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
        raise MethodError(f"`objective` must be a function of a trial, got {objective!r}.")
    options = WorkerOptions(False, grace=grace, patience=patience, wait=wait, keep=keep)
    where = study if study is not None else usual_place(objective)
    opening: dict[str, Any] = {"where": where, "space": space, "fidelity": fidelity}
    opening |= {"method": method, "seed": seed, "prior": prior, "maximize": maximize}
    opening |= {"folder": folder, "lease": lease, "retries": retries}
    begun = _begun()
    team = RankGroup(_wire(group), options.grace)
    try:
        if team.rank > 0:
            _follow(team, objective)
            return None
        work = _leading(team, objective, options)
        return _lead(team, lambda: run_study(opening, budget, show, work))
    finally:
        team.wire.close()
        if begun and not team.broken:
            distributed().destroy_process_group()


def rank_attempt(
    task: TrialTask, group: Any = None, stopping: Callable[[], str] = lambda: ""
) -> Attempt:
    """The attempt that ranks make which an objective has started by itself, from its `trial.task`.

    All ranks of the process group call it. The steps are taken together, rank 0 draws the curve and
    keeps the checkpoints, and `stopping` says, on any rank, why to stop.
    """
    team = RankGroup(_wire(group), 0.0)
    attempt = Attempt(task, stopping=stopping, ranks=team)
    team.meet("its beginning")  # the folder to save into is ready
    return attempt


def _begun() -> bool:
    """Begin the process group of the job, unless that is done."""
    dist = distributed()
    if dist.is_initialized():
        return False
    missing = [name for name in FROM_A_LAUNCHER if name not in os.environ]
    if missing:
        raise ArgumentError(
            f"There is no process group, and nothing says how to begin one ({', '.join(missing)} "
            "is not set). Start the script with `torchrun --nproc-per-node 2 script.py`, or call "
            "`torch.distributed.init_process_group` before."
        )
    dist.init_process_group()
    return True


def _wire(group: Any) -> RankChannel:
    if group is not None and distributed().get_rank(group) < 0:
        raise ArgumentError(
            "This rank is not in the `group` that was given. Give each rank a group that it is in, "
            "or do not call this on it."
        )
    return RankChannel(group)


def _lead(team: RankGroup, tuned: Callable[[], Tuned]) -> Tuned:
    """Tune, and let the other ranks go at the end, however it comes."""
    word: Word = {}
    try:
        return tuned()
    except SystemExit as stopped:
        word = {"exit": stopped.code}
        raise
    except KeyboardInterrupt:
        word = {"exit": 130}
        raise
    except BaseException as error:
        word = {"failed": f"{type(error).__name__}: {error}"}
        raise
    finally:
        if not team.broken:
            with suppress(Lost):  # a rank that has ended needs no word
                team.wire.tell(word)


def _leading(
    team: RankGroup, objective: Objective, how: WorkerOptions
) -> Callable[[DurableStudy, Display], list[WorkerEnd]]:
    """The work of rank 0 on a study."""

    def work(study: DurableStudy, shown: Display) -> list[WorkerEnd]:
        worker = Worker(study, objective, how, shown.say, shown.tick)
        worker.stopping.echo = ECHO

        def stop(why: str) -> None:
            worker.stopping.why = worker.stopping.why or why

        def here(
            objective: Objective, task: TrialTask, send: Send, stopping: Callable[[], str]
        ) -> Word:
            result = team.lead(objective, Attempt(task, send, stopping, team), stopping)
            if team.broken:
                stop(BROKEN)
            return result

        worker.evaluation.here = here
        team.heard = stop
        team.hand_in = lambda task, result: _hand_in(study, task, result)
        ending = worker.run()
        if ending.reason == BROKEN:
            raise RankError(over(team))
        return [ending]

    return work


def _hand_in(study: DurableStudy, task: TrialTask, result: Word) -> None:
    what = result["kind"], result["reason"], result["details"]
    with suppress(StorageError):  # then the trial is lost with its worker, and taken over
        study.turn(Report(task.trial, task.attempt, None, *what), "")


def _follow(team: RankGroup, objective: Objective) -> None:
    """Make the attempts that rank 0 begins, until it lets us go."""
    with StopSignals() as stopping:
        stopping.echo = ECHO

        def why() -> str:
            return stopping.why

        while "task" in (word := _told(team)):
            attempt = Attempt(read_task(word["task"]), stopping=why, ranks=team)
            team.attempted(objective, attempt, why)
            if team.broken:
                raise RankError(over(team))
    if "exit" in word:
        sys.exit(word["exit"])
    if "failed" in word:
        raise RankError(f"Rank 0 has ended, and with it the job: {word['failed']}")


def _told(team: RankGroup) -> Word:
    try:
        return team.wire.tell()
    except Lost as error:
        team.broken = f"rank 0 has ended without a word ({error})"
        raise RankError(over(team)) from None
