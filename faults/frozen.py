"""The frozen worker: stopped for longer than its lease, replaced, and back with a late result."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, final

import priorband as pb
from faults.audit import Audit
from faults.crew import Crew, crew, until
from faults.diary import Diary
from faults.findings import Figure, Finding, at_most, finished, found
from faults.scene import Scene, Setting, ready, scene
from faults.together import forked, together
from faults.training import loss
from faults.work import Post
from priorband.workers.trial_runner import WorkerOptions

LEASE = 2.0
SLACK = 3.0  # a beat, two looks, and a machine that others use


@final
@dataclass(frozen=True)
class Waiting:
    """A training that lasts until a file says that the attempt may end."""

    diary: Diary
    gate: Path
    """The folder of those files, which are called as the attempts are numbered."""

    def __call__(self, attempt: pb.Attempt) -> float:
        self.diary.note("start", attempt.id, attempt.attempt, of=os.getpid())
        (attempt.checkpoint_dir / "by").write_text(str(attempt.attempt))
        while not (self.gate / str(attempt.attempt)).exists():
            time.sleep(0.02)
        result = loss(attempt) + attempt.attempt
        self.diary.note("done", attempt.id, attempt.attempt, loss=result)
        return result


def run(setting: Setting, *, times: int, inside: int) -> Iterator[Finding]:
    """The frozen one returns first, while the other works; then second, when the other is done."""
    ready(setting)
    orders = ("first", "second")
    every = together([partial(_round, setting, order) for order in orders for _ in range(times)])
    for order, rounds in zip(orders, (every[:times], every[times:]), strict=True):
        done = f"{times} times frozen, returns {order}"
        worst = [_worst([one[name] for one in rounds]) for name in rounds[0]]
        yield from found("frozen", setting.storage, done, worst)
    for _ in range(inside):
        done = "frozen while it held the lock"
        yield from found("frozen", setting.storage, done, _inside(setting).values())


def _worst(figures: list[Figure]) -> Figure:
    bad = [figure for figure in figures if not figure.good]
    return bad[0] if bad else max(figures, key=lambda figure: figure.shown)


def _round(setting: Setting, order: str) -> dict[str, Figure]:
    with scene(setting) as here:
        training = Waiting(here.diary, here.folder)
        opening = here.opening(lease=LEASE)
        options = WorkerOptions(fresh_process=False, keep="all")
        post = Post(opening, training, here.diary, options, pb.Budget(trials=1), setting.plant)
        with crew(post, 1) as made:
            until(lambda: _seen(here, "start", 1), "the first attempt")
            frozen = made.members[0].pid or 0
            os.kill(frozen, signal.SIGSTOP)
            stopped = time.monotonic()
            made.size = 2
            made.fill()
            until(lambda: _seen(here, "start", 2), "the take-over")
            taken = time.monotonic() - stopped
            attempts = (1, 2) if order == "first" else (2, 1)
            for attempt in attempts:
                if attempt == 1:
                    os.kill(frozen, signal.SIGCONT)
                (here.folder / str(attempt)).touch()
                until(partial(_seen, here, "acknowledged", attempt), f"result {attempt}")
            ended = made.wait()
        return _figures(here, made, order, taken) | {"finish": finished(ended)}


def _seen(here: Scene, what: str, attempt: int) -> bool:
    return any(e.what == what and e.attempt == attempt for e in here.diary.all())


def _figures(here: Scene, made: Crew, order: str, taken: float) -> dict[str, Figure]:
    winner = 1 if order == "first" else 2
    with here.study(read_only=True) as study:
        audit = Audit(here.diary, study)
        assert study.checkpoints is not None
        left = study.checkpoints.left_by(0, winner)
        saved = (left / "by").read_text() if left else "gone"
    told = [record.body["attempt"] for record in audit.of("told")]
    remarks = [r for r in audit.of("remark") if r.body["attempt"] == 3 - winner]
    return {
        "lost": audit.lost(),
        "twice": audit.twice(),
        "broken": audit.broken(made.codes),
        "replay": audit.replay(),
        "winner": Figure(f"result of attempt {told} counts", f"[{winner}]", told == [winner]),
        "remark": Figure(f"{len(remarks)} remark on the other", "1", len(remarks) == 1),
        "saved": Figure(f"checkpoint by attempt {saved}", str(winner), saved == str(winner)),
        "taken": at_most(taken, LEASE + SLACK, "taken over after"),
    }


def _inside(setting: Setting) -> dict[str, Figure]:
    """A process stopped in the middle of a transaction; the next must get on, or say why not."""
    with scene(setting) as here:
        with here.study() as study:
            study.limit(pb.Budget(trials=3))
        pid = forked(lambda: _stop_inside(here))
        os.waitpid(pid, os.WUNTRACED)
        began = time.monotonic()
        for attempt in range(1, 9):
            (here.folder / str(attempt)).touch()
        training = Waiting(here.diary, here.folder)
        with crew(Post(here.opening(), training, here.diary), 1) as made:
            until(lambda: bool(_news(here)) or not made.look(), "a result or a message", 90)
            news = f"{(_news(here) or ['nothing'])[0]} after {time.monotonic() - began:.0f} s"
            os.kill(pid, signal.SIGCONT)
            _, status = os.waitpid(pid, 0)
            ended = made.wait(90)
        with here.study(read_only=True) as study:
            audit = Audit(here.diary, study)
        return {
            "news": Figure(news, "a result, or a message", "nothing" not in news),
            "status": Figure(f"the frozen one ends with {status}", "0", status == 0),
            "lost": audit.lost(),
            "broken": audit.broken(made.codes),
            "replay": audit.replay(),
            "finish": finished(ended),
        }


def _news(here: Scene) -> list[str]:
    """What the next worker has come to."""
    names = {"acknowledged": "a result", "said": "a message"}
    return [names[entry.what] for entry in here.diary.all() if entry.what in names]


def _stop_inside(here: Scene) -> None:
    """Stop this process while it writes, then let it try again."""
    with here.study() as study:
        deal = study._dealer
        real = deal.claim

        def stopped(*given: Any) -> object:
            vars(deal)["claim"] = real
            os.kill(os.getpid(), signal.SIGSTOP)
            return real(*given)

        vars(deal)["claim"] = stopped
        try:
            trial = study.ask()
        except pb.StorageError:
            trial = study.ask()
        study.tell(trial, loss(trial))
