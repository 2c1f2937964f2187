"""The claim race: many workers on one queue, each configuration of which must be begun once."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import priorband as pb
from faults.audit import Audit, whole
from faults.crew import crew
from faults.diary import Diary
from faults.findings import Figure, Finding, finished, found, none_of
from faults.plants import sow
from faults.scene import Setting, scene
from faults.training import Training
from faults.work import Post


@final
@dataclass(frozen=True)
class Quick:
    """A training that takes no time, and notes which configuration it was given."""

    diary: Diary

    def __call__(self, attempt: pb.Attempt) -> float:
        self.diary.note("given", attempt.id, attempt.attempt, x=attempt.config["x"])
        return Training(self.diary, seconds=0.0, checkpoints=False)(attempt)


def run(setting: Setting, *, queue: int, births: int, workers: int) -> Iterator[Finding]:
    """Many create one study at once; then they are let loose on a queue."""
    done = f"{births} studies, each created by {workers} at once"
    yield from found("race", setting.storage, done, [_births(setting, births, workers)])
    yield from _claims(setting, queue, workers)


def _births(setting: Setting, births: int, workers: int) -> Figure:
    problems = []
    for _ in range(births):
        with scene(setting) as here:
            with crew(Post(here.opening(), Quick(here.diary), here.diary), workers, born) as made:
                made.wait()
            problems += [e.more["trace"] for e in here.diary.all() if e.what == "broke"]
            with here.study() as study:
                created = [row for row in study.journal.read(0) if row.kind == "created"]
            problems += [f"{len(created)} times created"] if len(created) != 1 else []
    return none_of(problems, "wrong", f"{births * workers} creations")


def born(post: Post, parent: int) -> None:
    """Open a study that may not exist, and leave."""
    sow(post.plant)
    try:
        pb.open_study(**post.opening).close()
    except BaseException as error:
        post.diary.note("broke", trace=f"{type(error).__name__}: {error}")
        raise


def _claims(setting: Setting, queue: int, workers: int) -> Iterator[Finding]:
    with scene(setting) as here:
        opening = here.opening(method="random")
        wanted = [(number + 0.5) / queue for number in range(queue)]
        with here.study(method="random") as study:
            for x in wanted:
                study.queue({"x": x, "y": 0.01})
        budget = pb.Budget(trials=queue)
        began = time.monotonic()
        post = Post(opening, Quick(here.diary), here.diary, budget=budget, plant=setting.plant)
        with crew(post, workers) as made:
            ended = made.wait()
        took = time.monotonic() - began
        with here.study(method="random", read_only=True) as study:
            audit = Audit(here.diary, study)
        given = Counter(entry.more["x"] for entry in audit.seen("given"))
        wrong = [f"{x} begun {given[x]} times" for x in wanted if given[x] != 1]
        wrong += [f"{x} was not queued" for x in given.keys() - set(wanted)]
        figures = whole(audit, made.codes) | {
            "once": none_of(wrong, "queued configurations not begun exactly once", queue),
            "budget": audit.overshoot(budget),
            "finish": finished(ended),
        }
        done = f"queue of {queue}, {workers} workers, {took:.0f} s"
    yield from found("race", setting.storage, done, figures.values())
