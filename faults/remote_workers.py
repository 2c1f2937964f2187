"""Leases of dead workers on other machines, before a reboot or with a reused pid; clock jumps.

There is no other machine: a worker on this one takes a lease that names another owner, and dies.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import priorband as pb
from faults.audit import Audit
from faults.parallel import fork_process, run_in_parallel
from faults.planted_bugs import plant_bug
from faults.results import Check, Result, results_of
from faults.study_setup import Setting, StudySetup, new_setup, start_shared_server
from faults.training import loss
from faults.worker_pool import wait_until
from priorband.durable import clients
from priorband.durable.messages import Assignment, Report
from priorband.storage.identity import Owner, this_process
from priorband.storage.sqlite import SqliteJournal
from priorband.values import replaced

SLACK = 1.5  # seconds for a check of the lease, and a busy machine
TRIALS = 4  # of which the first one takes as long as the others try to take it over
TIMEOUT = 60.0  # seconds after which no worker will take a trial over


@final
@dataclass(frozen=True)
class DeadWorker:
    """A dead worker that has left a lease."""

    description: str
    owner: Callable[[Owner], Owner]
    """The owner that its lease names, made from that of this process."""
    at_once: bool
    """Whether others can tell that it is dead before its lease expires."""


DEAD_WORKERS = (
    DeadWorker("another machine", lambda o: replaced(o, machine="other", place="other/1"), False),
    DeadWorker("another container", lambda o: replaced(o, place=f"{o.place}0"), False),
    DeadWorker("before a reboot", lambda o: replaced(o, place="before/1"), True),
    DeadWorker("a reused pid", lambda o: replaced(o, pid=os.getppid(), started="1"), True),
)


@final
@dataclass(frozen=True)
class WrongClock:
    """By how many seconds a process's clock is ahead, and whether it takes it for the storage's."""

    seconds: float
    for_storage: bool = False

    @property
    def description(self) -> str:
        """The clock in a few words."""
        return f"clock of the {'storage' if self.for_storage else 'process'} {self.seconds:+g} s"

    def set(self) -> None:
        """Use this clock in this process from now on."""
        right, now = time.time, SqliteJournal.now
        if self.for_storage:  # as in versions that had no clock of the storage
            ahead: Any = lambda journal: now(journal) + self.seconds  # noqa: E731  # untyped
            SqliteJournal.now = ahead  # type: ignore[method-assign]  # a wrong clock
        else:
            vars(time)["time"] = lambda: right() + self.seconds


WRONG_CLOCKS = (WrongClock(0), WrongClock(7200), WrongClock(-7200), WrongClock(3600, True))


def run(setting: Setting, *, lease: float) -> Iterator[Result]:
    """Take over the leases of dead workers; then try that with a living worker."""
    start_shared_server(setting)
    plant_bug(setting.plant)
    functions = [partial(_dead_worker, setting, dead, lease) for dead in DEAD_WORKERS]
    checks = run_in_parallel(functions)
    for dead, check in zip(DEAD_WORKERS, checks, strict=True):
        action = f"lease of {lease:g} s, {dead.description}"
        yield from results_of("elsewhere", setting.storage, action, [check])
    clocks = WRONG_CLOCKS if setting.storage == "sqlite" else WRONG_CLOCKS[:3]
    attempts = [partial(_living_worker, setting, lease, clock) for clock in clocks]
    for clock, done in zip(clocks, run_in_parallel(attempts), strict=True):
        action = f"working for 3 leases of {lease:g} s, {clock.description}"
        yield from results_of("elsewhere", setting.storage, action, done)


def _dead_worker(setting: Setting, dead_worker: DeadWorker, lease: float) -> Check:
    with new_setup(setting) as setup:
        return _check_dead_worker(setup, dead_worker, lease)


def _check_dead_worker(setup: StudySetup, dead_worker: DeadWorker, lease: float) -> Check:
    """Take a lease in another name and die; measure how long it takes to be taken over."""
    with setup.study(lease=lease) as study:
        study.limit(pb.Budget(trials=1))

    def take_lease_and_die() -> None:
        owner = dead_worker.owner(this_process())
        vars(clients)["this_process"] = lambda: owner
        setup.study(lease=lease).turn(None, "dead")
        os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(fork_process(take_lease_and_die), 0)
    died = time.monotonic()
    assignment = _taken_over(setup, lease, died + 3 * lease + TIMEOUT)
    seconds = time.monotonic() - died
    low, high = (0.0, 2.0) if dead_worker.at_once else (0.9 * lease, 1.25 * lease + SLACK)
    right = assignment is not None and assignment.attempt == 2 and low <= seconds
    goal, passed = f"{low:g} to {high:g} s", right and seconds < high
    return Check(f"taken over after {seconds:.2f} s", goal, passed, timed=right)


def _taken_over(setup: StudySetup, lease: float, deadline: float) -> Assignment | None:
    """Ask for the trial until it is handed out, and tell its result."""
    with setup.study(lease=lease) as study:
        while time.monotonic() < deadline:
            answer = study.turn(None, "next")
            if isinstance(answer, Assignment):
                study.turn(Report(answer.trial.id, answer.attempt, loss(answer.trial)), "")
                return answer
            time.sleep(0.1)
    return None


def _living_worker(setting: Setting, lease: float, clock: WrongClock) -> list[Check]:
    with new_setup(setting) as setup:
        return list(_check_living_worker(setup, lease, clock))


def _check_living_worker(setup: StudySetup, lease: float, clock: WrongClock) -> Iterator[Check]:
    """Let a second worker try to take a trial over while the first one works on it."""
    with setup.study(lease=lease) as study:
        study.limit(pb.Budget(trials=TRIALS, hours=1))
    worker = fork_process(lambda: _work(setup, lease))
    wait_until(lambda: bool(setup.log.new_entries()), "a worker with a trial")
    second = fork_process(lambda: _try_to_take_over(setup, lease, clock))
    codes = [os.waitpid(pid, 0)[1] for pid in (second, worker)]
    with setup.study(read_only=True) as study:
        audit, hours = Audit(setup.log, study), study.spending().hours
        asked = len(study.state.history)
    stolen = len(audit.entries_of("stolen"))
    passed = not stolen and codes == [0, 0] and audit.lost_results().passed and audit.exact
    yield Check(f"{stolen} times taken from a living worker", "0", passed)
    said, all_asked = f"{hours:.2f} hours used after {asked} trials", asked == TRIALS
    yield Check(said, f"below 0.5, and {TRIALS} trials", 0 <= hours < 0.5 and all_asked)


def _work(setup: StudySetup, lease: float) -> None:
    with setup.study(lease=lease) as study:
        trial = study.ask()
        setup.log.write("start", trial.id, 1, worker_pid=os.getpid())
        time.sleep(3 * lease)
        study.tell(trial, loss(trial))
        setup.log.write("acknowledged", trial.id, 1, loss=loss(trial), kind=None)


def _try_to_take_over(setup: StudySetup, lease: float, clock: WrongClock) -> None:
    """Ask for a trial again and again, with a clock that is wrong, and run those that are free."""
    clock.set()
    with setup.study(lease=lease) as study:
        for number in range(1_000_000):
            if study.state.history.outcome(0) is not None:
                return
            answer = study.turn(None, f"second.{number}")
            if isinstance(answer, Assignment) and answer.trial.id == 0:
                setup.log.write("stolen")
            elif isinstance(answer, Assignment):
                study.turn(Report(answer.trial.id, answer.attempt, loss(answer.trial)), "")
            time.sleep(0.001)
