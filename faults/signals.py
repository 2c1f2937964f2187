"""Send signals to a worker: it hands its trial back, and the next one resumes the training."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import final

import priorband as pb
from faults.audit import Audit
from faults.leftover_processes import kill_leftovers, mark_new_processes
from faults.parallel import run_in_parallel
from faults.results import Check, Result, expect_below, expect_none, results_of
from faults.study_setup import ROOT, Setting, StudySetup, new_setup, start_shared_server
from faults.training import loss, worker_pid
from faults.worker_log import LogEntry, WorkerLog
from faults.worker_pool import TIMEOUT, WorkerPool, WorkerTask, running_pool, wait_until
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.trial_starter import Start

INT, TERM = signal.SIGINT, signal.SIGTERM
GRACE = 10.0


@final
@dataclass(frozen=True)
class SteppedTraining:
    """A training that saves each of its steps, and logs where it began."""

    log: WorkerLog
    seconds: float
    """How long a step takes."""

    def __call__(self, attempt: pb.Attempt) -> float:
        saved = attempt.resume_from and (attempt.resume_from / "step").read_text()
        resumed = {"start": attempt.start, "saved": saved}
        worker = worker_pid()
        self.log.write("start", attempt.id, attempt.attempt, worker_pid=worker, **resumed)
        for step in attempt.steps():
            (attempt.checkpoint_dir / "step").write_text(str(int(step)))
            time.sleep(self.seconds)
            self.log.write("step", attempt.id, attempt.attempt, step=step)
        result = loss(attempt)
        self.log.write("done", attempt.id, attempt.attempt, loss=result)
        return result


@final
@dataclass(frozen=True)
class SignalCase:
    """Which signals are sent to a worker, and when."""

    description: str
    signals: Sequence[int]
    step_seconds: float
    """How long a step of the training takes."""
    steps: int
    """How many steps are done before the signals are sent."""
    busy: bool = False
    """Whether another process holds the write lock, so that the worker must wait to tell."""
    exit_seconds: float = GRACE
    """How long the worker may take to exit."""
    start: Start = "warm"


CASES = (
    SignalCase("Ctrl-C during training", (INT,), 0.3, 2),
    SignalCase("Ctrl-C twice during a long step", (INT, INT), 20.0, 0, exit_seconds=4.0),
    SignalCase("SIGTERM during training", (TERM,), 0.3, 2),
    SignalCase("SIGTERM while it tells", (TERM,), 0.1, 9, busy=True),
    SignalCase("Ctrl-C twice while it tells", (INT, INT), 0.1, 9, busy=True),
)


def run(setting: Setting, *, cases: int, cold: int, tune: int) -> Iterator[Result]:
    """Send signals to a worker that trains in a child process; then to `tune` with two workers."""
    start_shared_server(setting)
    cold_cases = [
        replace(case, description=f"{case.description}, cold start", start="cold") for case in CASES
    ]
    chosen = (*CASES[:cases], *cold_cases[:cold])
    functions = {case.description: partial(_worker, setting, case) for case in chosen}
    for number in (INT, TERM)[:tune]:
        action = f"{signal.Signals(number).name} to tune with two workers"
        functions[action] = partial(_tuning_program, setting, number)
    for action, checks in zip(functions, run_in_parallel([*functions.values()]), strict=True):
        yield from results_of("signals", setting.storage, action, checks.values())


def _worker(setting: Setting, case: SignalCase) -> dict[str, Check]:
    with new_setup(setting) as setup:
        return _check_worker(setup, case)


def _tuning_program(setting: Setting, number: int) -> dict[str, Check]:
    with new_setup(setting) as setup:
        return _check_tuning_program(setup, number)


def _check_worker(setup: StudySetup, case: SignalCase) -> dict[str, Check]:
    """Send the signals of a case to a worker, then let another worker continue."""
    mark = mark_new_processes()
    with setup.study() as study:
        study.limit(pb.Budget(trials=1))
    training = SteppedTraining(setup.log, case.step_seconds)
    options = WorkerOptions(case.start, grace=GRACE)
    task = WorkerTask(
        setup.open_arguments(), training, setup.log, options, plant=setup.setting.plant
    )
    with running_pool(task, 1) as pool:
        seconds = _send_signals(setup, case, pool)
    checks = _exit_checks(setup, case, seconds, kill_leftovers(mark))
    with running_pool(task, 1) as next_pool:
        if not _finished(setup):
            wait_until(
                lambda: bool(_logged(setup, "start", 2)) or not next_pool.count_alive(),
                "the next attempt",
            )
        checks |= _resume_check(setup, case)
    return checks


def _send_signals(setup: StudySetup, case: SignalCase, pool: WorkerPool) -> float:
    """Send the signals of a case; how many seconds the worker takes to exit."""
    wait_until(lambda: _has_reached(setup, case), "the moment for the signals")
    released = threading.Event()
    lock_holder = threading.Thread(target=_hold_lock, args=(setup, released))
    if case.busy:
        lock_holder.start()
        wait_until(lambda: bool(_logged(setup, "done")), "the end of the training")
    sent = time.monotonic()
    for number in case.signals:
        time.sleep(0.4)
        pool.signal(number)
    if case.busy:
        time.sleep(0.6)
        released.set()
        lock_holder.join()
    pool.wait()
    return time.monotonic() - sent


def _has_reached(setup: StudySetup, case: SignalCase) -> bool:
    if case.busy:
        return bool(_logged(setup, "start"))
    return bool(_logged(setup, "start")) and len(_logged(setup, "step")) >= case.steps


def _hold_lock(setup: StudySetup, released: threading.Event) -> None:
    """Hold the write lock until the event is set."""
    with setup.study() as study, study.journal.transaction(0):
        released.wait(20)


def _logged(setup: StudySetup, event: str, attempt: int = 1) -> list[LogEntry]:
    entries = setup.log.all_entries()
    return [e for e in entries if e.event == event and e.attempt in (attempt, -1)]


def _finished(setup: StudySetup) -> bool:
    with setup.study() as study:
        return bool(study.state.history.observations)


def _exit_checks(
    setup: StudySetup, case: SignalCase, seconds: float, leftovers: list[str]
) -> dict[str, Check]:
    name = signal.Signals(case.signals[0]).name
    with setup.study() as study:
        audit = Audit(setup.log, study)
    endings = [f"{e.details['how']} by {e.details['reason']}" for e in audit.entries_of("ended")]
    kinds = [r.body.get("kind") or r.kind for r in audit.records_of("told", "failed", "returned")]
    wanted = "told" if case.busy else "preempted"
    errors = [e.details["trace"].strip().splitlines()[-1] for e in audit.entries_of("broke")]
    return {
        "ending": Check(f"{endings}", f"stopped by {name}", endings == [f"stopped by {name}"]),
        "record": Check(f"the trial was {kinds}", wanted, kinds == [wanted]),
        "errors": expect_none(errors, "exceptions"),
        "lost": audit.lost_results(),
        "seconds": expect_below(seconds, case.exit_seconds, "exited after"),
        "leftovers": expect_none(leftovers, "processes left"),
    }


def _resume_check(setup: StudySetup, case: SignalCase) -> dict[str, Check]:
    """Whether the next attempt began after the steps that the first had done."""
    if case.busy:
        return {}
    steps_done, starts = len(_logged(setup, "step")), _logged(setup, "start", 2)
    if not starts:
        return {"resumed": Check("not resumed", f"from step {steps_done}", False)}
    start, saved = int(starts[0].details["start"]), starts[0].details["saved"]
    passed = start == steps_done and saved == (str(start) if start else None)
    return {"resumed": Check(f"resumed from step {start}", f"{steps_done}", passed)}


def _check_tuning_program(setup: StudySetup, number: int) -> dict[str, Check]:
    """Send a signal to a program that tunes with two workers."""
    mark = mark_new_processes()
    command = [sys.executable, "-m", "faults.tuning_program", str(setup.folder)]
    environment = os.environ | {"STUDY": setup.where}  # anyone can see the words of a command
    pipe, both = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=pipe, stderr=both, text=True
    ) as tuning:
        wait_until(lambda: len(_logged(setup, "step")) >= 2, "the first steps")
        began = time.monotonic()
        tuning.send_signal(number)
        output = tuning.communicate(timeout=TIMEOUT)[0]
        seconds = time.monotonic() - began
    leftovers = kill_leftovers(mark)
    with setup.study() as study:
        records = Audit(setup.log, study).records_of("failed", "returned")
    kinds = {record.body["kind"] for record in records}
    explains = "Run the same again to resume" in output
    code = 128 + number
    return {
        "code": Check(f"exit code {tuning.returncode}", f"{code}", tuning.returncode == code),
        "output": Check(
            "says how to resume" if explains else output[-99:], "says how to resume", explains
        ),
        "kinds": Check(f"trials were {sorted(kinds)}", "preempted", kinds == {"preempted"}),
        "seconds": expect_below(seconds, GRACE, "exited after"),
        "leftovers": expect_none(leftovers, "processes left"),
    }
