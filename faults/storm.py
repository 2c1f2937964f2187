"""The storm: workers killed at random moments, and replaced at once, until all trials are done."""

import random
import time
from collections.abc import Iterator
from typing import Any

import priorband as pb
from faults.audit import Audit, whole
from faults.crew import Crew, crew
from faults.findings import Figure, Finding, finished, found, none_of
from faults.scene import Scene, Setting, scene
from faults.training import Training
from faults.work import Post, left, new_mark
from priorband.workers.trial_runner import WorkerOptions

ENOUGH = 1_000_000  # lost attempts that a trial has where it is never given up


def run(setting: Setting, *, kills: int, fresh: int, workers: int) -> Iterator[Finding]:
    """Three storms: trials never given up, given up after three losses, in fresh processes."""
    yield from _storm(setting, "storm", kills, workers, ENOUGH)
    yield from _storm(setting, "storm, 3 lost", max(kills // 2, 1), workers, 3)
    if fresh:
        yield from _storm(setting, "storm, fresh", fresh, min(workers, 4), ENOUGH, fresh=True)


def _storm(  # noqa: PLR0913  # the sizes of a storm
    setting: Setting, name: str, kills: int, workers: int, lost: int, fresh: bool = False
) -> Iterator[Finding]:
    often = 1 if lost < ENOUGH else 3  # trials for each kill: the fewer, the more are given up
    budget = pb.Budget(trials=kills * often + 2 * workers)
    with scene(setting) as here:
        mark = new_mark()
        began = time.monotonic()
        training = Training(here.diary, 0.5 if fresh else 0.1, fresh, plant=setting.plant)
        opening = here.opening(retries={"lost": lost})
        options = WorkerOptions(fresh_process=fresh)
        post = Post(opening, training, here.diary, options, budget, setting.plant)
        with crew(post, workers) as made:
            killed = _rage(
                made, kills, budget.trials or 0, random.Random(setting.seed), lost < ENOUGH
            )
            ended = made.wait()
        took = time.monotonic() - began
        done = f"{killed} kills, {workers} workers, {took:.0f} s"
        figures = _figures(here, made, budget, lost) | {
            "kills": Figure(f"{killed} kills", f">= {kills}", killed >= kills, timed=killed > 0),
            "finish": finished(ended),
            "children": none_of(left(mark), "processes left behind"),
        }
    yield from found(name, setting.storage, done, figures.values())


def _rage(made: Crew, kills: int, trials: int, dice: random.Random, hunt: bool) -> int:
    """Kill workers as the study goes on, so that the last kill comes shortly before its end."""
    killed, progress, at_work = 0, 0, dict[int, int]()
    while killed < kills and made.look():
        for entry in made.post.diary.new():
            progress += entry.what == "acknowledged"
            if entry.what == "claimed":
                at_work[entry.pid] = entry.attempt
        if killed < kills * progress / (0.9 * trials) + 1:
            time.sleep(dice.random() * 0.03)
            made.kill(_victim(made, dice, at_work if hunt else {}))
            killed += 1
            made.fill()
        else:
            time.sleep(0.002)
    return killed


def _victim(made: Crew, dice: random.Random, at_work: dict[int, int]) -> int:
    """Anybody; on a hunt, half of the time one whose trial was lost most often before."""
    anybody = dice.randrange(len(made.members))
    if not at_work or dice.random() < 0.5:
        return anybody
    tried = [at_work.get(member.pid or 0, 0) for member in made.members]
    return tried.index(max(tried)) if max(tried) > 1 else anybody


def _figures(here: Scene, made: Crew, budget: pb.Budget, lost: int) -> dict[str, Any]:
    with here.study(read_only=True) as study:
        audit = Audit(here.diary, study)
    return {
        **whole(audit, made.codes),
        "undead": audit.undead(),
        "delays": audit.delays(2.0),
        "wrongly": audit.wrongly(),
        "given up": audit.given_up(lost),
        "overshoot": audit.overshoot(budget),
    }
