"""Signals to a worker at work: it hands its trial back, and another goes on from the checkpoint."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

import priorband as pb
from faults.audit import Audit
from faults.crew import PATIENCE, Crew, crew, until
from faults.diary import Diary, Entry
from faults.findings import Figure, Finding, at_most, found, none_of
from faults.scene import ROOT, Scene, Setting, ready, scene
from faults.together import together
from faults.training import loss
from faults.work import Post, left, new_mark
from priorband.workers.trial_runner import WorkerOptions

INT, TERM = signal.SIGINT, signal.SIGTERM
GRACE = 10.0


@final
@dataclass(frozen=True)
class Stepping:
    """A training that saves each of its steps, and notes where it began."""

    diary: Diary
    seconds: float
    """Of a step."""

    def __call__(self, attempt: pb.Attempt) -> float:
        saved = attempt.resume_from and (attempt.resume_from / "step").read_text()
        begun = {"start": attempt.start, "saved": saved}
        self.diary.note("start", attempt.id, attempt.attempt, of=os.getppid(), **begun)
        for step in attempt.steps():
            (attempt.checkpoint_dir / "step").write_text(str(int(step)))
            time.sleep(self.seconds)
            self.diary.note("step", attempt.id, attempt.attempt, step=step)
        result = loss(attempt)
        self.diary.note("done", attempt.id, attempt.attempt, loss=result)
        return result


@final
@dataclass(frozen=True)
class Case:
    """Which signals come when, and what must come of them."""

    what: str
    numbers: Sequence[int]
    step: float
    """Seconds of a step of the training."""
    steps: int
    """How many of them are done before the signals come."""
    busy: bool = False
    """Whether the storage is held by somebody, so that the result cannot be told yet."""
    seconds: float = GRACE
    """Within which the worker has left."""


CASES = (
    Case("Ctrl-C during training", (INT,), 0.3, 2),
    Case("Ctrl-C twice during a long step", (INT, INT), 20.0, 0, seconds=4.0),
    Case("SIGTERM during training", (TERM,), 0.3, 2),
    Case("SIGTERM while it tells", (TERM,), 0.1, 9, busy=True),
    Case("Ctrl-C twice while it tells", (INT, INT), 0.1, 9, busy=True),
)


def run(setting: Setting, *, cases: int, tune: int) -> Iterator[Finding]:
    """One worker with a child at a time; then `tune` with two workers."""
    ready(setting)
    acts = {case.what: partial(_tried, setting, case) for case in CASES[:cases]}
    for number in (INT, TERM)[:tune]:
        what = f"{signal.Signals(number).name} to tune with two workers"
        acts[what] = partial(_tuned, setting, number)
    for what, figures in zip(acts, together([*acts.values()]), strict=True):
        yield from found("signals", setting.storage, what, figures.values())


def _tried(setting: Setting, case: Case) -> dict[str, Figure]:
    with scene(setting) as here:
        return _signalled(here, case)


def _tuned(setting: Setting, number: int) -> dict[str, Figure]:
    with scene(setting) as here:
        return _stopped(here, number)


def _signalled(here: Scene, case: Case) -> dict[str, Figure]:
    mark = new_mark()
    with here.study() as study:
        study.limit(pb.Budget(trials=1))
    training, options = Stepping(here.diary, case.step), WorkerOptions(grace=GRACE)
    post = Post(here.opening(), training, here.diary, options, plant=here.setting.plant)
    with crew(post, 1) as made:
        took = _sent(here, case, made)
    figures = _ended(here, case, took, left(mark))
    with crew(post, 1) as after:
        if not _finished(here):
            until(lambda: bool(_seen(here, "start", 2)) or not after.look(), "the next attempt")
        figures |= _resumed(here, case)
    return figures


def _sent(here: Scene, case: Case, made: Crew) -> float:
    """How long a worker stays after it was sent the signals of a case."""
    until(lambda: _ready(here, case), "the moment for the signals")
    over = threading.Event()
    holder = threading.Thread(target=_hold, args=(here, over))
    if case.busy:
        holder.start()
        until(lambda: bool(_seen(here, "done")), "the end of the training")
    sent = time.monotonic()
    for number in case.numbers:
        time.sleep(0.4)
        made.signal(number)
    if case.busy:
        time.sleep(0.6)
        over.set()
        holder.join()
    made.wait()
    return time.monotonic() - sent


def _ready(here: Scene, case: Case) -> bool:
    if case.busy:
        return bool(_seen(here, "start"))
    return bool(_seen(here, "start")) and len(_seen(here, "step")) >= case.steps


def _hold(here: Scene, over: threading.Event) -> None:
    """Keep everybody else from writing for a while."""
    with here.study() as study, study.journal.transaction(0):
        over.wait(20)


def _seen(here: Scene, what: str, attempt: int = 1) -> list[Entry]:
    return [e for e in here.diary.all() if e.what == what and e.attempt in (attempt, -1)]


def _finished(here: Scene) -> bool:
    with here.study() as study:
        return bool(study.state.history.observations)


def _ended(here: Scene, case: Case, took: float, alone: list[str]) -> dict[str, Figure]:
    name = signal.Signals(case.numbers[0]).name
    with here.study() as study:
        audit = Audit(here.diary, study)
    ends = [f"{e.more['how']} by {e.more['reason']}" for e in audit.seen("ended")]
    rows = [r.body.get("kind") or r.kind for r in audit.of("told", "failed", "returned")]
    wanted = "told" if case.busy else "preempted"
    broke = [e.more["trace"].strip().splitlines()[-1] for e in audit.seen("broke")]
    return {
        "ending": Figure(f"{ends}", f"stopped by {name}", ends == [f"stopped by {name}"]),
        "record": Figure(f"the trial was {rows}", wanted, rows == [wanted]),
        "broke": none_of(broke, "exceptions"),
        "lost": audit.lost(),
        "took": at_most(took, case.seconds, "left after"),
        "alone": none_of(alone, "processes left"),
    }


def _resumed(here: Scene, case: Case) -> dict[str, Figure]:
    """Where the next attempt began, against the steps that the first had done."""
    if case.busy:
        return {}
    done, begun = len(_seen(here, "step")), _seen(here, "start", 2)
    if not begun:
        return {"resumed": Figure("nobody went on", f"from step {done}", False)}
    start, saved = int(begun[0].more["start"]), begun[0].more["saved"]
    fine = start == done and saved == (str(start) if start else None)
    return {"resumed": Figure(f"went on from step {start}", f"{done}", fine)}


def _stopped(here: Scene, number: int) -> dict[str, Figure]:
    mark = new_mark()
    command = [sys.executable, "-m", "faults.tuned", here.where, str(here.folder)]
    pipe, both = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=both, text=True) as tuning:
        until(lambda: len(_seen(here, "step")) >= 2, "the first steps")
        began = time.monotonic()
        tuning.send_signal(number)
        said = tuning.communicate(timeout=PATIENCE)[0]
        took = time.monotonic() - began
    alone = left(mark)
    with here.study() as study:
        records = Audit(here.diary, study).of("failed", "returned")
    kinds = {record.body["kind"] for record in records}
    told = "Run the same again to resume" in said
    code = -number if number == INT else 128 + number
    return {
        "code": Figure(f"exit code {tuning.returncode}", f"{code}", tuning.returncode == code),
        "said": Figure("how to resume is said" if told else said[-99:], "is said", told),
        "kinds": Figure(f"trials were {sorted(kinds)}", "preempted", kinds == {"preempted"}),
        "took": at_most(took, GRACE, "left after"),
        "alone": none_of(alone, "processes left"),
    }
