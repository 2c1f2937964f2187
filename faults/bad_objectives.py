"""Run objectives that misbehave: each must fail in the right way, and do no other harm."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

import numpy as np

import priorband as pb
from faults.audit import Audit, Record
from faults.leftover_processes import kill_leftovers, mark_new_processes
from faults.parallel import run_in_parallel
from faults.results import Check, Result, expect_none, results_of
from faults.study_setup import Setting, new_setup
from faults.worker_pool import WorkerTask, running_pool
from priorband.workers.trial_runner import WorkerOptions

GIGABYTE = 1 << 30


def raises(attempt: pb.Attempt) -> float:
    """Raise an ordinary exception."""
    raise ValueError(f"no such thing as {attempt.config['x']:.1f}")


def hangs(attempt: pb.Attempt) -> float:
    """Hang forever, holding the interpreter lock."""
    ctypes.PyDLL(None).sleep(600)
    return 0.0


def hangs_in_a_step(attempt: pb.Attempt) -> float:
    """Hang after the first step, and ignore SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for step in attempt.steps():
        time.sleep(600 if step > 1 else 0)
    return 0.0


def exits(attempt: pb.Attempt) -> float:
    """Exit without a result."""
    os._exit(3)


def segfaults(attempt: pb.Attempt) -> float:
    """Crash as a broken extension module does."""
    return float(ctypes.string_at(0)[0])


def hogs(attempt: pb.Attempt) -> float:
    """Allocate more memory than allowed."""
    resource.setrlimit(resource.RLIMIT_AS, (2 * GIGABYTE, 2 * GIGABYTE))
    return float(len(bytearray(4 * GIGABYTE)))


def is_killed(attempt: pb.Attempt) -> float:
    """Be killed as the kernel does it when memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def prints(attempt: pb.Attempt) -> float:
    """Print twenty megabytes."""
    for _ in range(200):
        print("x" * 100_000)
        print("y" * 1_000, file=sys.stderr)
    return 0.5


def leaves_children(attempt: pb.Attempt) -> float:
    """Leave two child processes running, one forked and one started."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    if not os.fork():
        time.sleep(600)
    return 0.5


def leaves_children_and_exits(attempt: pb.Attempt) -> float:
    """Leave child processes that hold its open files, and exit."""
    leaves_children(attempt)
    os._exit(3)


def closes_everything(attempt: pb.Attempt) -> float:
    """Close all open files, including the connection to the worker."""
    os.closerange(3, 1000)
    return 0.5


def returns_much(attempt: pb.Attempt) -> dict[str, Any]:
    """Return more than a record can hold."""
    return {"loss": 0.5, "all": np.ones(2_000_000)} | {f"m{n}": n for n in range(300_000)}


@final
@dataclass(frozen=True)
class ObjectiveCase:
    """An objective, and how its trial must end."""

    objective: Callable[[pb.Attempt], Any]
    kind: str
    """The kind of failure; empty for a loss of 0.5."""
    reason: str = ""
    """A part of the reason that is recorded."""
    attempts: int = 1
    """How many attempts are made."""
    options: Mapping[str, Any] = field(default_factory=dict)


CASES = (
    ObjectiveCase(raises, "raised", "ValueError: no such thing"),
    ObjectiveCase(hangs, "timeout", "longer than 1 s", options={"trial_seconds": 1.0}),
    ObjectiveCase(hangs_in_a_step, "timeout", "no step", options={"step_seconds": 2.0}),
    ObjectiveCase(exits, "crashed", "ended with 3", 2),
    ObjectiveCase(segfaults, "crashed", "SIGSEGV", 2),
    ObjectiveCase(hogs, "memory", "MemoryError", 2),
    ObjectiveCase(is_killed, "memory", "killed, probably because memory ran out", 2),
    ObjectiveCase(prints, ""),
    ObjectiveCase(leaves_children, ""),
    ObjectiveCase(leaves_children_and_exits, "crashed", "ended with 3", 2),
    ObjectiveCase(closes_everything, "crashed", "ended with 1", 2),
    ObjectiveCase(returns_much, ""),
)

RETURN_VALUES: tuple[tuple[object, str], ...] = (
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
class ReturnsEachValue:
    """An objective that returns the values of `RETURN_VALUES`, one for each trial."""

    def __call__(self, attempt: pb.Attempt) -> object:
        return RETURN_VALUES[attempt.id][0]


def run(setting: Setting, *, cases: int, cold: int) -> Iterator[Result]:
    """Run each objective in a process of its own; then return each value in the worker's own."""
    warm = [replace(case, options={**case.options, "start": "warm"}) for case in CASES[:cases]]
    from_nothing = [replace(case, options={**case.options, "start": "cold"}) for case in CASES]
    chosen = [*warm, *from_nothing[:cold]]
    checks = run_in_parallel([partial(_run_case, setting, case) for case in chosen])
    for case, case_checks in zip(chosen, checks, strict=True):
        name = case.objective.__name__.replace("_", " ")
        action = f"the objective {name}, {case.options['start']} start"
        yield from results_of("objectives", setting.storage, action, case_checks)
    action = f"{len(RETURN_VALUES)} kinds of return values"
    yield from results_of("objectives", setting.storage, action, [_run_return_values(setting)])


def _run_case(setting: Setting, case: ObjectiveCase) -> list[Check]:
    options = WorkerOptions(**case.options)
    with new_setup(setting) as setup:
        mark = mark_new_processes()
        budget = pb.Budget(trials=1)
        task = WorkerTask(
            setup.open_arguments(), case.objective, setup.log, options, budget, setting.plant
        )
        with running_pool(task, 1) as pool:
            ended = pool.wait(120)
        with setup.study() as study:
            audit = Audit(setup.log, study)
        ending = _ending_check(case, audit.records_of("told", "failed"), ended)
        errors = audit.worker_errors(pool.exit_codes)
        problems = [*([] if errors.passed else [errors.text]), *kill_leftovers(mark)]
        return [ending, expect_none(problems, "workers ended, or processes left")]


def _ending_check(case: ObjectiveCase, records: list[Record], ended: bool) -> Check:
    """Whether the trial ended as it should."""
    endings = [(r.body.get("kind", ""), r.key[1], r.body.get("reason", "")) for r in records]
    kind, attempt, reason = endings[-1] if endings else ("nothing", 0, "")
    passed = (kind, attempt) == (case.kind, case.attempts) and case.reason in reason
    text = f"{kind or 'a loss'} at attempt {attempt}{'' if passed else f': {reason:.80}'}"
    return Check(text, f"{case.kind or 'a loss'} at {case.attempts}", passed and ended)


def _run_return_values(setting: Setting) -> Check:
    with new_setup(setting) as setup:
        budget = pb.Budget(trials=len(RETURN_VALUES))
        open_arguments, plant = setup.open_arguments(method="random"), setting.plant
        task = WorkerTask(open_arguments, ReturnsEachValue(), setup.log, budget=budget, plant=plant)
        with running_pool(task, 1) as pool:
            pool.wait(120)
        with setup.study(method="random") as study:
            audit = Audit(setup.log, study)
    endings = {
        r.trial: r.body.get("kind") or r.body["loss"] for r in audit.records_of("told", "failed")
    }
    wanted = {"": 0.5, "told": 1.0}
    wrong = [
        f"{value!r:.40} gave {endings.get(number)}"
        for number, (value, kind) in enumerate(RETURN_VALUES)
        if endings.get(number) != wanted.get(kind, kind)
    ]
    errors = audit.worker_errors(pool.exit_codes)
    wrong += [] if errors.passed else [errors.text]
    return expect_none(wrong, "taken for something else", len(RETURN_VALUES))
