"""Kill a process before each system call that changes a file, one after another.

A process changes files only by system calls, so these are all the states in which its death can
leave a study. For PostgreSQL they are the calls that communicate with the server.
"""

import os
import shutil
import signal
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import final

import priorband as pb
from faults.planted_bugs import plant_bug
from faults.results import Check, MissingRequirement, Result, expect_below, expect_none, results_of
from faults.study_setup import Setting, StudySetup, new_setup
from faults.training import loss
from priorband.storage.checkpoints import Checkpoints

CREATING = ("openat", "mkdir", "mkdirat", "link", "symlink", "mmap", "munmap")
WRITING = ("write", "writev", "pwrite64", "pwritev", "ftruncate", "truncate", "fallocate")
SYNCING = ("fsync", "fdatasync", "fcntl", "flock")
REMOVING = ("unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2")
FILE_CALLS = CREATING + WRITING + SYNCING + REMOVING
NETWORK_CALLS = ("socket", "connect", "sendto", "recvfrom", "poll", "ppoll", "write")
Victim = Callable[[Callable[[], None]], object]
"""A function for a process to run. It is given another function, to call when it is ready."""
PHASES = ("create", "open", "ask", "tell", "checkpoint", "close")


def run(setting: Setting, *, stride: int) -> Iterator[Result]:
    """Kill a process in each phase of a study, at every `stride`-th call of each kind."""
    if shutil.which("strace") is None:
        raise MissingRequirement(
            "strace is not installed: `scripts/install dev` as root installs it"
        )
    for phase in PHASES:
        if setting.storage == "postgres" and phase == "checkpoint":
            continue
        with new_setup(setting) as setup:
            kill_points = KillPoints(setup, phase, stride)
            kill_points.try_all()
        action = f"{phase}: {kill_points.tried} points"
        yield from results_of("calls", setting.storage, action, kill_points.checks())


@final
class KillPoints:
    """The points of one phase at which a process is killed, and the state of the study after."""

    def __init__(self, setup: StudySetup, phase: str, stride: int) -> None:
        self.setup = setup
        self.phase = phase
        self.stride = stride
        self.tried = 0
        self.slowest = 0.0
        self.problems: list[str] = []
        self._acknowledged: dict[int, float] = {}

    def try_all(self) -> None:
        """Kill a process at one call after another, until it completes the phase."""
        if self.phase == "create":
            self.setup = _without_study(self.setup)
        names = FILE_CALLS if self.setup.setting.storage == "sqlite" else NETWORK_CALLS
        for number, name in enumerate(
            _calls_made(self._victim, names, self.setup.folder / "trace")
        ):
            point = 1 + number % self.stride
            while self._kill_at(name, point):
                point += self.stride

    def checks(self) -> Iterator[Check]:
        """Whether the study was intact each time."""
        yield expect_none(self.problems, "points after which something was wrong", self.tried)
        yield expect_below(self.slowest, 5.0, "next worker's open, ask and tell took at most")

    def _kill_at(self, name: str, point: int) -> bool:
        """Kill a process at a point, and check the study; False if it did not reach the point."""
        if self.phase == "create":
            self.setup = _without_study(self.setup)
            self._acknowledged = {}
        killed = _run_and_kill(self._victim, name, point)
        self.tried += killed
        for entry in self.setup.log.new_entries():
            self._acknowledged[entry.trial] = entry.details["loss"]
        began = time.monotonic()
        try:
            self._continue_study()
        except Exception as error:
            self.problems.append(f"{name} {point}: {type(error).__name__}: {error}")
            self.setup, self._acknowledged = _without_study(self.setup), {}
        self.slowest = max(self.slowest, time.monotonic() - began)
        return killed

    def _victim(self, ready: Callable[[], None]) -> None:
        """Prepare the phase, call `ready`, and go through the phase."""
        plant_bug(self.setup.setting.plant)
        if self.phase in ("create", "open"):
            ready()
            self.setup.study()
            return
        study = self.setup.study()
        if self.phase == "ask":
            ready()
            study.ask()
        elif self.phase == "tell":
            trial = study.ask()
            ready()
            study.tell(trial, loss(trial))
            self.setup.log.write("told", trial.id, loss=loss(trial))
        elif self.phase == "checkpoint":
            _save_two_steps(_checkpoints(study, self.setup.where), ready)
        else:
            trial = study.ask()
            study.tell(trial, loss(trial))
            self.setup.log.write("told", trial.id, loss=loss(trial))
            ready()
            study.close()

    def _continue_study(self) -> None:
        """Do what the next worker would do: finish all trials, and check that none is lost."""
        with self.setup.study() as study:
            while True:
                trial = study.ask()
                study.tell(trial, loss(trial))
                self._acknowledged[trial.id] = loss(trial)
                if not study.state.history.running:
                    break
            for number, told in self._acknowledged.items():
                outcome = study.state.history.outcome(number)
                if outcome is None or outcome.loss != told:
                    raise AssertionError(f"trial {number} is lost: {outcome}")
            if not study.replay().exact:
                raise AssertionError("replay differs")
            if self.phase == "checkpoint":
                _check_checkpoint(_checkpoints(study, self.setup.where))


def _without_study(setup: StudySetup) -> StudySetup:
    """A setup in another place, where there is no study yet."""
    mark = os.urandom(6).hex()
    base, named, _ = setup.where.partition("#")
    where = f"{base}#study-{mark}" if named else str(setup.folder / mark)
    return StudySetup(setup.folder, where, setup.setting)


def _checkpoints(study: pb.DurableStudy, where: str) -> Checkpoints:
    return Checkpoints(Path(where), study.ledger.study, lambda trial: "a configuration")


def _save_two_steps(checkpoints: Checkpoints, ready: Callable[[], None]) -> None:
    """Save two steps of a trial; the second replaces the first."""
    folder = checkpoints.workplace(0, 1)
    for step in (1, 2):
        for name in "ab":
            (folder / name).write_text(str(step))
        if step == 2:
            ready()
        checkpoints.seal(0, 1, step)


def _check_checkpoint(checkpoints: Checkpoints) -> None:
    """Raise an error unless the first or the second step is there, and complete."""
    taken = checkpoints.take_over(0, 2)
    if taken is None:
        raise AssertionError("no checkpoint was left")
    folder, step = taken
    contents = [(folder / name).read_text() for name in "ab"]
    if contents != [str(int(step))] * 2:
        raise AssertionError(f"the checkpoint of step {step} is incomplete: {contents}")
    checkpoints.remove(0)


def _calls_made(victim: Victim, names: Sequence[str], trace: Path) -> list[str]:
    """Which of some system calls a process makes."""
    _run_traced(victim, ["-o", str(trace), "-e", f"trace={','.join(names)}"])
    text = trace.read_text()
    return [name for name in names if f" {name}(" in text]


def _run_and_kill(victim: Victim, name: str, point: int) -> bool:
    """Kill a process at its `point`-th call of a name; False if it makes fewer."""
    kill = f"inject={name}:signal=KILL:when={point}"
    status = _run_traced(victim, ["-o", "/dev/null", "-e", f"trace={name}", "-e", kill])
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if status:
        raise RuntimeError(f"the victim ended with status {status} at {name} {point}")
    return False


def _run_traced(victim: Victim, options: list[str]) -> int:
    """Run a function in a process under strace; the status with which the process ended."""
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        _run_victim(victim, ready[1], go[0])
    for end in (ready[1], go[0]):
        os.close(end)
    try:
        os.read(ready[0], 1)
        command = ["strace", "-f", "-qq", *options, "-p", str(pid)]
        with subprocess.Popen(command) as tracer:
            _wait_until_traced(pid)
            os.write(go[1], b"!")
            _, status = os.waitpid(pid, 0)
            tracer.wait()
    finally:
        os.close(ready[0])
        os.close(go[1])
    return status


def _run_victim(victim: Victim, ready: int, go: int) -> None:
    """Run a function in the forked process, and end the process."""

    def wait() -> None:
        os.write(ready, b"!")
        os.read(go, 1)

    code = 1
    try:
        victim(wait)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _wait_until_traced(pid: int) -> None:
    """Wait until every thread of a process is traced, or has ended."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with suppress(OSError):
            threads = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
            if all("TracerPid:\t0\n" not in text or "State:\tZ" in text for text in threads):
                return
        time.sleep(0.002)
    raise TimeoutError("strace did not attach within 30 s")
