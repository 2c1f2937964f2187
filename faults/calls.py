"""System calls: a process killed before each call that changes a file, one point after another.

What a process does to the world, it does by system calls; so these are all the states in which its
death can leave a study. For PostgreSQL they are the calls that talk to the server.
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

from faults.findings import Figure, Finding, Lacking, at_most, found, none_of
from faults.plants import sow
from faults.scene import Scene, Setting, scene
from faults.training import loss
from priorband.storage.checkpoints import Checkpoints

MAKE = ("openat", "mkdir", "mkdirat", "link", "symlink", "mmap", "munmap")
WRITE = ("write", "writev", "pwrite64", "pwritev", "ftruncate", "truncate", "fallocate")
SYNC = ("fsync", "fdatasync", "fcntl", "flock")
REMOVE = ("unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2")
FILES = MAKE + WRITE + SYNC + REMOVE
TALK = ("socket", "connect", "sendto", "recvfrom", "poll", "ppoll", "write")
Victim = Callable[[Callable[[], None]], object]
"""Something that a process does, after it has called what it is given to say that it is ready."""
PHASES = ("create", "open", "ask", "tell", "checkpoint", "close")


def run(setting: Setting, *, stride: int) -> Iterator[Finding]:
    """Every phase of a study's life, cut off at every `stride`-th call of each kind."""
    if shutil.which("strace") is None:
        raise Lacking("strace is not installed: `scripts/install dev` as root installs it")
    for phase in PHASES:
        if setting.storage == "postgres" and phase == "checkpoint":
            continue
        with scene(setting) as here:
            point = Points(here, phase, stride)
            point.all()
        done = f"{phase}: {point.tried} points"
        yield from found("calls", setting.storage, done, point.figures())


@final
class Points:
    """The points of one phase at which a process was killed, and what was found afterwards."""

    def __init__(self, here: Scene, phase: str, stride: int) -> None:
        self.here = here
        self.phase = phase
        self.stride = stride
        self.tried = 0
        self.slowest = 0.0
        self.problems: list[str] = []
        self.survived = 0
        self._acknowledged: dict[int, float] = {}

    def all(self) -> None:
        """Kill at one call after another, until the process gets through."""
        if self.phase == "create":
            self.here = _elsewhere(self.here)
        names = FILES if self.here.setting.storage == "sqlite" else TALK
        for number, name in enumerate(_made(self._victim, names, self.here.folder / "trace")):
            point = 1 + number % self.stride
            while self._cut(name, point):
                point += self.stride

    def figures(self) -> Iterator[Figure]:
        """What came of it."""
        yield none_of(self.problems, "points after which something was wrong", self.tried)
        yield at_most(self.slowest, 5.0, "next worker's open, ask and tell took at most")

    def _cut(self, name: str, point: int) -> bool:
        """Whether the process reached the point and was killed there."""
        if self.phase == "create":
            self.here = _elsewhere(self.here)
            self._acknowledged = {}
        killed = _killed(self._victim, name, point)
        self.tried += killed
        self.survived += not killed
        for entry in self.here.diary.new():
            self._acknowledged[entry.trial] = entry.more["loss"]
        began = time.monotonic()
        try:
            self._go_on()
        except Exception as error:
            self.problems.append(f"{name} {point}: {type(error).__name__}: {error}")
            self.here, self._acknowledged = _elsewhere(self.here), {}
        self.slowest = max(self.slowest, time.monotonic() - began)
        return killed

    def _victim(self, ready: Callable[[], None]) -> None:
        """Come to the phase, then go through it."""
        sow(self.here.setting.plant)
        if self.phase in ("create", "open"):
            ready()
            self.here.study()
            return
        study = self.here.study()
        if self.phase == "ask":
            ready()
            study.ask()
        elif self.phase == "tell":
            trial = study.ask()
            ready()
            study.tell(trial, loss(trial))
            self.here.diary.note("told", trial.id, loss=loss(trial))
        elif self.phase == "checkpoint":
            _saving(Checkpoints(Path(self.here.where)), ready)
        else:
            trial = study.ask()
            study.tell(trial, loss(trial))
            self.here.diary.note("told", trial.id, loss=loss(trial))
            ready()
            study.close()

    def _go_on(self) -> None:
        """What the next worker does; all that was begun must be finished by it."""
        with self.here.study() as study:
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
                _whole(Checkpoints(Path(self.here.where)))


def _elsewhere(here: Scene) -> Scene:
    """The same, without a study."""
    mark = os.urandom(6).hex()
    base, named, _ = here.where.partition("#")
    where = f"{base}#study-{mark}" if named else str(here.folder / mark)
    return Scene(here.folder, where, here.setting)


def _saving(checkpoints: Checkpoints, ready: Callable[[], None]) -> None:
    """Save two steps of a trial, the second in place of the first."""
    work = checkpoints.workplace(0, 1)
    for step in (1, 2):
        for name in "ab":
            (work / name).write_text(str(step))
        if step == 2:
            ready()
        checkpoints.seal(0, 1, step)


def _whole(checkpoints: Checkpoints) -> None:
    """The next attempt finds the first step or the second, whole."""
    taken = checkpoints.take_over(0, 2)
    if taken is None:
        raise AssertionError("no checkpoint was left")
    folder, step = taken
    found = [(folder / name).read_text() for name in "ab"]
    if found != [str(int(step))] * 2:
        raise AssertionError(f"a torn checkpoint of step {step}: {found}")
    checkpoints.remove(0)


def _made(victim: Victim, names: Sequence[str], trace: Path) -> list[str]:
    """Those of some calls that a process makes at all."""
    _traced(victim, ["-o", str(trace), "-e", f"trace={','.join(names)}"])
    text = trace.read_text()
    return [name for name in names if f" {name}(" in text]


def _killed(victim: Victim, name: str, point: int) -> bool:
    """Whether a process that does something is killed at its `point`-th call of a name."""
    kill = f"inject={name}:signal=KILL:when={point}"
    status = _traced(victim, ["-o", "/dev/null", "-e", f"trace={name}", "-e", kill])
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if status:
        raise RuntimeError(f"the victim ended with status {status} at {name} {point}")
    return False


def _traced(victim: Victim, options: list[str]) -> int:
    """How a process ended that did something under the eyes of strace."""
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        _act(victim, ready[1], go[0])
    for end in (ready[1], go[0]):
        os.close(end)
    try:
        os.read(ready[0], 1)
        command = ["strace", "-f", "-qq", *options, "-p", str(pid)]
        with subprocess.Popen(command) as tracer:
            _attached(pid)
            os.write(go[1], b"!")
            _, status = os.waitpid(pid, 0)
            tracer.wait()
    finally:
        os.close(ready[0])
        os.close(go[1])
    return status


def _act(victim: Victim, ready: int, go: int) -> None:
    """The victim's side; it never returns."""

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


def _attached(pid: int) -> None:
    """Wait until every thread of a process is traced, or dead of it."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with suppress(OSError):
            threads = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
            if all("TracerPid:\t0\n" not in text or "State:\tZ" in text for text in threads):
                return
        time.sleep(0.002)
    raise TimeoutError("strace does not attach")
