"""Tune in one call: open a durable study, run workers on this machine, return the best result.

`tune` checks its arguments and calls `run_study`, which opens the study and its display and runs
one `Worker` (worker.py) in this process, or several with `run_pool` (pool.py).
"""

import multiprocessing
import os
import shlex
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from priorband.choose_method import Auto, as_auto
from priorband.display.best_trial import best_trial_lines
from priorband.display.displays import Display, Show, checked_show, display
from priorband.durable.budget import Budget, BudgetLike, as_budget
from priorband.durable.open import journal_at
from priorband.durable.study import LEASE, DurableStudy
from priorband.errors import ArgumentError, HaltedError, MethodError, StorageError
from priorband.fidelity import Fidelity
from priorband.keywords import with_proposals
from priorband.numeric import whole
from priorband.optimizers import Optimizer
from priorband.planning.announce import announce
from priorband.space.prior import Prior
from priorband.space.space import Space
from priorband.storage import addresses
from priorband.workers.devices import applied_mask, masks
from priorband.workers.gpus import gpus_found
from priorband.workers.main_script import require_importable_script
from priorband.workers.objective_results import Objective, require_one_argument
from priorband.workers.open_with_retry import open_with_retry, retried
from priorband.workers.outcomes import failure_text, interruption, stop_text, without_success
from priorband.workers.pool import WorkerJob, run_pool
from priorband.workers.quiet import own_warnings_hidden
from priorband.workers.resuming import resuming_text
from priorband.workers.sent_function import sendable
from priorband.workers.trial_runner import GRACE, PATIENCE, Keep, WorkerOptions
from priorband.workers.trial_starter import Start
from priorband.workers.tuned import Tuned, tuned_from
from priorband.workers.worker import Worker, WorkerEnd


@with_proposals
def tune(  # noqa: PLR0913  # one call with every option; all but the first have a default
    objective: Objective,
    space: Space | None = None,
    fidelity: Fidelity | None = None,
    *,
    budget: BudgetLike = None,
    workers: int = 1,
    study: str | Path | None = None,
    method: str | Optimizer | None = None,
    seed: int | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    maximize: bool | None = None,
    gpus_per_trial: int | None = None,
    folder: str | Path | None = None,
    lease: float = LEASE,
    retries: Mapping[str, int] | None = None,
    show: Show | None = None,
    start: Start = "warm",
    trial_seconds: float | None = None,
    step_seconds: float | None = None,
    grace: float = GRACE,
    patience: float = PATIENCE,
    wait: bool = True,
    keep: Keep = "promotable",
    show_output: bool = False,
    fresh_process: bool | None = None,
) -> Tuned:
    """Tune an objective: create or resume a study, and work until its budget is spent.

    Args:
        objective: a function that is given an `Attempt` and returns a loss, or a dict with "loss",
            optionally "cost", and other metrics.
        space: the search space; may be left out for a study that exists.
        fidelity: how long a trial can be trained; None if each trial is a full training.
        budget: a number of full trainings, or a `Budget`; for all workers and restarts together.
        workers: how many trials to run at the same time on this machine.
        study: a folder, or a postgresql:// URL; "runs/" and the objective's name by default.
        method: a name from `methods()`, or an `Optimizer`; "priorband" by default. "auto"
            chooses one for a new study, and takes that of an existing one.
        seed: the seed of all decisions; 0 by default.
        prior: beliefs by parameter name, or a `Prior`; replaces the parameters' own priors.
        maximize: whether higher values are better; the objective then returns such a value. In the
            result, `value` is what the objective returned and `best.loss` its negative.
        gpus_per_trial: how many of the visible devices each worker gets. Those that are listed in
            CUDA_VISIBLE_DEVICES are taken as they are; otherwise they must be on this machine.
        folder: where the checkpoints of a study in a database are kept; all workers must see it.
        lease: for how many seconds a worker on another machine may be silent before its trial
            goes to another one.
        retries: after how many attempts a trial has failed, by kind of failure, such as
            `{"memory": 3}`.
        show: how to show progress: "live", "plain" or "json"; "quiet" prints nothing at all.
            "live" by default on a terminal and "plain" elsewhere.
        start: how a trial starts. "warm": in a process of its own, forked from one that has
            imported the objective's module. "cold": in a new process, which imports it again.
            In both, nothing leaks, and time limits work. "same-process": in the worker's own.
        trial_seconds: a trial that takes longer has failed.
        step_seconds: a trial that reports no step for longer has failed.
        grace: how many seconds a running step gets to finish when the worker is asked to stop.
        patience: how many seconds to wait for storage that is busy, full or not reachable.
        wait: stay while other workers run the last trials, since one may be handed back.
        keep: which checkpoints stay: "promotable" or "all".
        show_output: print what trials print to the terminal instead of to a file.
        fresh_process: not allowed; it was replaced by `start`.

    Returns:
        The best results, the spending, and why tuning ended.

    Raises:
        ArgumentError: if an argument is not allowed, or a new study has no budget.
        SpaceError: if the space, the fidelity or the prior is invalid.
        MethodError: if there is no such method, or the objective cannot be run.
        MismatchError: if the study exists and was created with another problem.
        FormatError: if there is no study and no space was given.
        HaltedError: if the first trials all fail in the same way, or none has succeeded when the
            budget is spent. The message has the last failure, with its place in your code, unless
            the live view has just shown it.
        KeyboardInterrupt: after Ctrl-C, once the running trials are given back; run the same again
            to resume. In a script it is also a `SystemExit` with code 130, so that the script ends
            without a traceback. SIGTERM raises `SystemExit` with code 143.
        StorageError: if the storage is not reachable for too long.

    >>> import tempfile, priorband as pb
    >>> def train(trial):
    ...     return (trial.config["x"] - 0.3) ** 2 + 1 / trial.fidelity
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tuned = pb.tune(train, pb.Space({"x": pb.Float(0, 1)}), pb.Fidelity("epochs", 1, 9),
    ...                     budget=4, study=folder, seed=0, show="quiet", start="same-process")
    >>> tuned.best.fidelity, round(tuned.config["x"], 1)
    (9, 0.3)
    """
    if fresh_process is not None:
        start = "warm" if fresh_process else "same-process"
        raise ArgumentError(f"`fresh_process` was replaced by `start`: write start={start!r}.")
    options = WorkerOptions(
        start=start,
        trial_seconds=trial_seconds,
        step_seconds=step_seconds,
        grace=grace,
        patience=patience,
        wait=wait,
        keep=keep,
        show_output=show_output,
    )
    sent = _checked(objective, workers, options)
    checked_show(show)
    shared = masks(workers, gpus_per_trial, os.environ, gpus_found())
    where = study if study is not None else usual_place(objective)
    opening: dict[str, Any] = {"where": where, "space": space, "fidelity": fidelity}
    opening |= {"method": method, "seed": seed, "prior": prior, "maximize": maximize}
    opening |= {"folder": folder, "lease": lease, "retries": retries}
    jobs = [WorkerJob(opening, sent, options, mask, show == "quiet") for mask in shared]
    return run_study(
        opening, budget, show, lambda opened, shown: _worked(opened, jobs, shown), workers
    )


def run_study(
    opening: dict[str, Any],
    budget: BudgetLike,
    show: Show | None,
    work: Callable[[DurableStudy, Display], list[WorkerEnd]],
    workers: int = 1,
) -> Tuned:
    """Start or resume a study, run `work` on it, and return the result."""
    try:
        tuned, ends, failures = _run_to_the_end(opening, budget, show, work, workers)
    except KeyboardInterrupt:  # before the workers handle it, such as while the study is opened
        if show != "quiet":
            _print_to_stderr(stop_text("SIGINT", addresses.shown(str(opening["where"]))))
        raise interruption() from None
    _raise_if_unfinished(ends, tuned.where, failures)
    return tuned


def _run_to_the_end(
    opening: dict[str, Any],
    budget: BudgetLike,
    show: Show | None,
    work: Callable[[DurableStudy, Display], list[WorkerEnd]],
    workers: int,
) -> tuple[Tuned, list[WorkerEnd], str]:
    """Open a study and run `work` on it; the result, how the workers ended, and the failures."""
    limits = None if budget is None else as_budget(budget)
    if budget is None and opening["space"] is not None and not _exists(opening["where"]):
        raise ArgumentError("A new study needs a `budget`. Write budget=12 for 12 full trainings.")
    quiet = show == "quiet"
    auto = _auto(opening["method"], limits, workers)
    opening = opening if auto is None else opening | {"method": auto}
    with (
        own_warnings_hidden(quiet),
        open_with_retry(opening, lambda text: _print_to_stderr("" if quiet else text)) as opened,
    ):
        if limits is not None:
            retried(lambda: opened.limit(limits), _print_to_stderr)
        if not opened.budget.limits:
            raise ArgumentError(
                f"The study in {opened.where} has no `budget` yet. Write budget=12 for 12 full "
                "trainings."
            )
        announce(opened, workers, show, auto)
        with display(opened, show) as shown:
            if resuming := resuming_text(opened):
                shown.say(resuming)
            ends = work(opened, shown)
            opened.refresh()
            ends = [*ends, *without_success(opened, ends)]
            tuned = _tuned(opened, ends, opening)
            shown.finish(tuned.reason, best_trial_lines(opened))
            failures = failure_text(opened, show) if tuned.best is None else ""
    return tuned, ends, failures


def _auto(method: Any, limits: Budget | None, workers: int) -> Auto | None:
    """What is known for the choice of a method; None if a method was given."""
    known = {} if limits is None else limits.limits
    meant = as_auto(method, Auto(known.get("trainings"), known.get("trials"), workers))
    return meant if isinstance(meant, Auto) else None


def _worked(opened: DurableStudy, jobs: list[WorkerJob], shown: Display) -> list[WorkerEnd]:
    """Run the worker of each job: a single one in this process, several in a pool."""
    if len(jobs) > 1:
        return run_pool(jobs, shown.say, shown.tick)
    [job] = jobs
    with applied_mask(job.mask):
        return [Worker(opened, job.objective, job.options, shown.say, shown.tick).run()]


def _checked(objective: Objective, workers: int, options: WorkerOptions) -> Objective:
    """The objective in a form that can be sent to the processes that call it."""
    if not callable(objective):
        raise MethodError(
            "`objective` must be a function that is given a trial and returns its loss, got "
            f"{addresses.shown(repr(objective))}. It comes first, and is not called: "
            "tune(train, space, fidelity)."
        )
    require_one_argument(objective)
    if not whole(workers) or workers < 1:
        raise ArgumentError(f"`workers` must be a whole number of at least 1, got {workers!r}.")
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise MethodError(
            "`tune` was called while a worker process was importing this script. Put the call "
            "under `if __name__ == '__main__':`."
        )
    if options.start == "same-process" and workers == 1:
        return objective
    require_importable_script()
    return sendable(objective)


def _print_to_stderr(text: str) -> None:
    """Show a message while there is no display yet."""
    if sys.stderr and text:
        print(text, file=sys.stderr, flush=True)


def _exists(where: str | Path) -> bool:
    journal = journal_at(where, read_only=True)
    try:
        return retried(journal.exists, _print_to_stderr)
    finally:
        journal.close()


def usual_place(objective: Objective) -> Path:
    """The default folder of a study, named after its objective."""
    name = getattr(objective, "__name__", type(objective).__name__)
    letters = (letter if letter.isalnum() or letter == "_" else "-" for letter in name)
    return Path("runs", "".join(letters))


def _tuned(study: DurableStudy, ends: list[WorkerEnd], opening: Mapping[str, Any]) -> Tuned:
    worst_first = ("storage", "method", "halted", "stopped", "done")
    worst = min(ends, key=lambda end: worst_first.index(end.status))
    reason = worst.reason
    if worst.status == "stopped":
        reason = stop_text(worst.reason, study.where)
    return tuned_from(study, reason, opening)


def _raise_if_unfinished(ends: list[WorkerEnd], where: str, failures: str) -> None:
    """Raise if the study was stopped, or if no worker could finish it."""
    reasons = {end.status: end.reason for end in reversed(ends)}  # the first, as `_tuned` says
    if "stopped" in reasons:
        if reasons["stopped"] == "SIGINT":
            raise interruption()
        sys.exit(128 + getattr(signal, reasons["stopped"], signal.SIGTERM))
    if "halted" in reasons:
        raise HaltedError(f"{reasons['halted']}{failures}")
    if "method" in reasons:
        raise MethodError(reasons["method"])
    if "storage" in reasons and "done" not in reasons:
        raise StorageError(
            f"{reasons['storage']} All results so far are saved in {shlex.quote(where)}."
        )
