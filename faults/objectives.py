"""Objectives that misbehave: each must fail in its own way, and harm nobody but itself."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, final

import numpy as np

import priorband as pb
from faults.audit import Audit, Record
from faults.crew import crew
from faults.findings import Figure, Finding, found, none_of
from faults.scene import Setting, scene
from faults.together import together
from faults.work import Post, left, new_mark
from priorband.workers.trial_runner import WorkerOptions

GIGABYTE = 1 << 30


def raises(attempt: pb.Attempt) -> float:
    """A plain mistake."""
    raise ValueError(f"no such thing as {attempt.config['x']:.1f}")


def hangs(attempt: pb.Attempt) -> float:
    """For ever, without giving up the interpreter."""
    ctypes.PyDLL(None).sleep(600)
    return 0.0


def hangs_in_a_step(attempt: pb.Attempt) -> float:
    """After the first of its steps, deaf to requests to end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for step in attempt.steps():
        time.sleep(600 if step > 1 else 0)
    return 0.0


def exits(attempt: pb.Attempt) -> float:
    """Without a word."""
    os._exit(3)


def segfaults(attempt: pb.Attempt) -> float:
    """As a broken extension does."""
    return float(ctypes.string_at(0)[0])


def hogs(attempt: pb.Attempt) -> float:
    """More memory than it may have."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * GIGABYTE, 2 * GIGABYTE))
    return float(len(bytearray(4 * GIGABYTE)))


def is_killed(attempt: pb.Attempt) -> float:
    """As the kernel does when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def prints(attempt: pb.Attempt) -> float:
    """Twenty megabytes."""
    for _ in range(200):
        print("x" * 100_000)
        print("y" * 1_000, file=sys.stderr)
    return 0.5


def leaves_children(attempt: pb.Attempt) -> float:
    """One that was forked, and one that was started."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    if not os.fork():
        time.sleep(600)
    return 0.5


def leaves_children_and_exits(attempt: pb.Attempt) -> float:
    """They hold all that it had open."""
    leaves_children(attempt)
    os._exit(3)


def closes_everything(attempt: pb.Attempt) -> float:
    """The way to its worker, too."""
    os.closerange(3, 1000)
    return 0.5


def returns_much(attempt: pb.Attempt) -> dict[str, Any]:
    """More than a record holds."""
    return {"loss": 0.5, "all": np.ones(2_000_000)} | {f"m{n}": n for n in range(300_000)}


@final
@dataclass(frozen=True)
class Case:
    """An objective, and what must come of it."""

    objective: Callable[[pb.Attempt], Any]
    kind: str
    """The kind of failure; empty for a loss of 0.5."""
    said: str = ""
    attempts: int = 1
    options: Mapping[str, float] = field(default_factory=dict)


CASES = (
    Case(raises, "raised", "ValueError: no such thing"),
    Case(hangs, "timeout", "longer than 1 s", options={"trial_seconds": 1.0}),
    Case(hangs_in_a_step, "timeout", "no step", options={"step_seconds": 2.0}),
    Case(exits, "crashed", "ended with 3", 2),
    Case(segfaults, "crashed", "SIGSEGV", 2),
    Case(hogs, "memory", "MemoryError", 2),
    Case(is_killed, "memory", "killed, probably because memory ran out", 2),
    Case(prints, ""),
    Case(leaves_children, ""),
    Case(leaves_children_and_exits, "crashed", "ended with 3", 2),
    Case(closes_everything, "crashed", "ended with 1", 2),
    Case(returns_much, ""),
)

RETURNS: tuple[tuple[object, str], ...] = (
    (0.5, ""),
    (np.float32(0.5), ""),
    (np.array(0.5), ""),
    ({"loss": 0.5, "note": object()}, ""),
    (1, "told"),
    (np.int64(1), "told"),
    (float("nan"), "diverged"),
    (float("inf"), "diverged"),
    (-float("inf"), "diverged"),
    (np.float64("nan"), "diverged"),
    (10**400, "diverged"),
    (True, "invalid"),
    (None, "invalid"),
    ("0.5", "invalid"),
    (0.5j, "invalid"),
    (np.array([0.5]), "invalid"),
    (np.ones(2), "invalid"),
    ([0.5], "invalid"),
    ({}, "invalid"),
    ({"accuracy": 0.5}, "invalid"),
    (b"0.5", "invalid"),
)


@final
@dataclass(frozen=True)
class Returns:
    """An objective that returns one thing after another."""

    def __call__(self, attempt: pb.Attempt) -> object:
        return RETURNS[attempt.id][0]


def run(setting: Setting, *, cases: int) -> Iterator[Finding]:
    """Each objective in a fresh process of one worker; then all returns in the worker's own."""
    chosen = CASES[:cases]
    figures = together([partial(_tried, setting, case) for case in chosen])
    for case, pair in zip(chosen, figures, strict=True):
        done = f"the objective {case.objective.__name__.replace('_', ' ')}"
        yield from found("objectives", setting.storage, done, pair)
    done = f"{len(RETURNS)} kinds of return values"
    yield from found("objectives", setting.storage, done, [_returned(setting)])


def _tried(setting: Setting, case: Case) -> list[Figure]:
    options = WorkerOptions(**dict(case.options))  # type: ignore[arg-type]  # time limits only
    with scene(setting) as here:
        mark = new_mark()
        budget = pb.Budget(trials=1)
        post = Post(here.opening(), case.objective, here.diary, options, budget, setting.plant)
        with crew(post, 1) as made:
            ended = made.wait(120)
        with here.study() as study:
            audit = Audit(here.diary, study)
        kind = _kind(case, audit.of("told", "failed"), ended)
        bad = audit.broken(made.codes)
        problems = [*([] if bad.good else [bad.shown]), *left(mark)]
        return [kind, none_of(problems, "workers ended, or processes left")]


def _kind(case: Case, records: list[Record], ended: bool) -> Figure:
    """How the trial ended, against how it should have."""
    came = [(r.body.get("kind", ""), r.key[1], r.body.get("reason", "")) for r in records]
    kind, attempt, reason = came[-1] if came else ("nothing", 0, "")
    right = (kind, attempt) == (case.kind, case.attempts) and case.said in reason
    shown = f"{kind or 'a loss'} at attempt {attempt}{'' if right else f': {reason:.80}'}"
    return Figure(shown, f"{case.kind or 'a loss'} at {case.attempts}", right and ended)


def _returned(setting: Setting) -> Figure:
    with scene(setting) as here:
        budget = pb.Budget(trials=len(RETURNS))
        opening, plant = here.opening(method="random"), setting.plant
        post = Post(opening, Returns(), here.diary, budget=budget, plant=plant)
        with crew(post, 1) as made:
            made.wait(120)
        with here.study(method="random") as study:
            audit = Audit(here.diary, study)
    came = {r.trial: r.body.get("kind") or r.body["loss"] for r in audit.of("told", "failed")}
    wanted = {"": 0.5, "told": 1.0}
    wrong = [
        f"{given!r:.40} gave {came.get(number)}"
        for number, (given, kind) in enumerate(RETURNS)
        if came.get(number) != wanted.get(kind, kind)
    ]
    wrong += [] if audit.broken(made.codes).good else [audit.broken(made.codes).shown]
    return none_of(wrong, "taken for something else", len(RETURNS))
