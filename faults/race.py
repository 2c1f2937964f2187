"""Let many workers create a study at once, and take trials from one queue at once."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import priorband as pb
from faults.audit import Audit, common_checks
from faults.planted_bugs import plant_bug
from faults.results import Check, Result, expect_finished, expect_none, results_of
from faults.study_setup import Setting, new_setup
from faults.training import Training
from faults.worker_log import WorkerLog
from faults.worker_pool import WorkerTask, running_pool


@final
@dataclass(frozen=True)
class InstantTraining:
    """A training that takes no time, and logs which configuration it was given."""

    log: WorkerLog

    def __call__(self, attempt: pb.Attempt) -> float:
        self.log.write("given", attempt.id, attempt.attempt, x=attempt.config["x"])
        return Training(self.log, seconds=0.0, checkpoints=False)(attempt)


def run(setting: Setting, *, queue: int, births: int, workers: int) -> Iterator[Result]:
    """First create studies, then work on a queue of configurations."""
    action = f"{births} studies, each created by {workers} at once"
    yield from results_of("race", setting.storage, action, [_creations(setting, births, workers)])
    yield from _work_on_queue(setting, queue, workers)


def _creations(setting: Setting, studies: int, workers: int) -> Check:
    problems = []
    for _ in range(studies):
        with new_setup(setting) as setup:
            task = WorkerTask(setup.open_arguments(), InstantTraining(setup.log), setup.log)
            with running_pool(task, workers, open_and_close) as pool:
                pool.wait()
            problems += [e.details["trace"] for e in setup.log.all_entries() if e.event == "broke"]
            with setup.study() as study:
                created = [row for row in study.journal.read(0) if row.kind == "created"]
            problems += [f"{len(created)} times created"] if len(created) != 1 else []
    return expect_none(problems, "wrong", f"{studies * workers} creations")


def open_and_close(task: WorkerTask, parent: int) -> None:
    """Open a study, creating it if it does not exist, and close it."""
    plant_bug(task.plant)
    try:
        pb.open_study(**task.open_arguments).close()
    except BaseException as error:
        task.log.write("broke", trace=f"{type(error).__name__}: {error}")
        raise


def _work_on_queue(setting: Setting, queue: int, workers: int) -> Iterator[Result]:
    with new_setup(setting) as setup:
        open_arguments = setup.open_arguments(method="random")
        wanted = [(number + 0.5) / queue for number in range(queue)]
        with setup.study(method="random") as study:
            for x in wanted:
                study.queue({"x": x, "y": 0.01})
        budget = pb.Budget(trials=queue)
        began = time.monotonic()
        task = WorkerTask(
            open_arguments,
            InstantTraining(setup.log),
            setup.log,
            budget=budget,
            plant=setting.plant,
        )
        with running_pool(task, workers) as pool:
            ended = pool.wait()
        took = time.monotonic() - began
        with setup.study(method="random", read_only=True) as study:
            audit = Audit(setup.log, study)
        given = Counter(entry.details["x"] for entry in audit.entries_of("given"))
        wrong = [f"{x} begun {given[x]} times" for x in wanted if given[x] != 1]
        wrong += [f"{x} was not queued" for x in given.keys() - set(wanted)]
        checks = common_checks(audit, pool.exit_codes) | {
            "once": expect_none(wrong, "queued configurations not begun exactly once", queue),
            "budget": audit.budget_overshoot(budget),
            "finished": expect_finished(ended),
        }
        action = f"queue of {queue}, {workers} workers, {took:.0f} s"
    yield from results_of("race", setting.storage, action, checks.values())
