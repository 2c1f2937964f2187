"""Kill workers at random moments and replace them at once, until all trials are done."""

import random
import time
from collections.abc import Iterator

import priorband as pb
from faults.audit import Audit, common_checks
from faults.leftover_processes import kill_leftovers, mark_new_processes
from faults.results import Check, Result, expect_finished, expect_none, results_of
from faults.study_setup import Setting, StudySetup, new_setup
from faults.training import Training
from faults.worker_pool import WorkerPool, WorkerTask, running_pool
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.trial_starter import Start

NEVER = 1_000_000
"""How many lost attempts a trial may have if it is never given up."""


def run(setting: Setting, *, kills: int, fresh: int, workers: int) -> Iterator[Result]:
    """Never give trials up; give them up after three lost attempts; run them in own processes."""
    yield from _run_storm(setting, "storm", kills, workers, NEVER)
    yield from _run_storm(setting, "storm, 3 lost", max(kills // 2, 1), workers, 3)
    for start in ("warm", "cold") if fresh else ():
        yield from _run_storm(setting, f"storm, {start}", fresh, min(workers, 4), NEVER, start)


def _run_storm(  # noqa: PLR0913  # the sizes of a run
    setting: Setting,
    name: str,
    kills: int,
    workers: int,
    max_lost: int,
    start: Start = "same-process",
) -> Iterator[Result]:
    gives_up, fresh = max_lost < NEVER, start != "same-process"
    trials_per_kill = 1 if gives_up else 3  # with fewer, more trials are given up
    budget = pb.Budget(trials=kills * trials_per_kill + 2 * workers)
    with new_setup(setting) as setup:
        mark = mark_new_processes()
        began = time.monotonic()
        training = Training(setup.log, 0.5 if fresh else 0.1, fresh, plant=setting.plant)
        open_arguments = setup.open_arguments(retries={"lost": max_lost})
        options = WorkerOptions(start)
        task = WorkerTask(open_arguments, training, setup.log, options, budget, setting.plant)
        with running_pool(task, workers) as pool:
            rng = random.Random(setting.seed)
            killed = _kill_workers(pool, kills, budget.trials or 0, rng, gives_up)
            ended = pool.wait()
        took = time.monotonic() - began
        action = f"{killed} kills, {workers} workers, {took:.0f} s"
        checks = _checks(setup, pool, budget, max_lost) | {
            "kills": Check(f"{killed} kills", f">= {kills}", killed >= kills, timed=killed > 0),
            "finished": expect_finished(ended),
            "leftovers": expect_none(kill_leftovers(mark), "processes left behind"),
        }
    yield from results_of(name, setting.storage, action, checks.values())


def _kill_workers(
    pool: WorkerPool, kills: int, trials: int, rng: random.Random, prefer_lost: bool
) -> int:
    """Kill workers throughout the run, so that the last kill comes shortly before its end."""
    killed, progress, attempts = 0, 0, dict[int, int]()  # attempts: by pid of the worker
    while killed < kills and pool.count_alive():
        for entry in pool.task.log.new_entries():
            progress += entry.event == "acknowledged"
            if entry.event == "claimed":
                attempts[entry.pid] = entry.attempt
        if killed < kills * progress / (0.9 * trials) + 1:
            time.sleep(rng.random() * 0.03)
            pool.kill(_victim(pool, rng, attempts if prefer_lost else {}))
            killed += 1
            pool.start_missing()
        else:
            time.sleep(0.002)
    return killed


def _victim(pool: WorkerPool, rng: random.Random, attempts: dict[int, int]) -> int:
    """The index of the worker to kill: a random one.

    If attempts are given, half of the time it is the worker whose trial was lost most often.
    """
    random_index = rng.randrange(len(pool.processes))
    if not attempts or rng.random() < 0.5:
        return random_index
    tried = [attempts.get(process.pid or 0, 0) for process in pool.processes]
    return tried.index(max(tried)) if max(tried) > 1 else random_index


def _checks(
    setup: StudySetup, pool: WorkerPool, budget: pb.Budget, max_lost: int
) -> dict[str, Check]:
    with setup.study(read_only=True) as study:
        audit = Audit(setup.log, study)
    return {
        **common_checks(audit, pool.exit_codes),
        "outliving": audit.outliving_trainings(),
        "delay": audit.takeover_delay(2.0),
        "wrongly lost": audit.wrongly_lost_attempts(),
        "given up": audit.trials_given_up(max_lost),
        "budget": audit.budget_overshoot(budget),
    }
