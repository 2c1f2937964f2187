"""Elsewhere: workers on other machines, a reboot, a number that another has, a clock that jumps.

The other machine is made up: a worker takes a lease in its name, and dies.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import final

import priorband as pb
from faults.audit import Audit
from faults.crew import until
from faults.findings import Figure, Finding, found
from faults.plants import sow
from faults.scene import Scene, Setting, ready, scene
from faults.together import forked, together
from faults.training import loss
from priorband.durable import dispatch
from priorband.durable.messages import Assignment, Report
from priorband.storage.identity import Owner, me
from priorband.storage.sqlite import SqliteJournal
from priorband.values import replaced

SLACK = 1.5  # a look, and a machine that others use
PATIENCE = 60.0  # after which nobody will take a trial over any more


@final
@dataclass(frozen=True)
class Stranger:
    """Somebody whose lease is found."""

    what: str
    owner: Callable[[Owner], Owner]
    """What a process that wants to be taken for it says of itself."""
    at_once: bool
    """Whether it can be told that it is dead, so that nobody waits for its lease."""


STRANGERS = (
    Stranger("another machine", lambda o: replaced(o, machine="other", place="other/1"), False),
    Stranger("another container", lambda o: replaced(o, place=f"{o.place}0"), False),
    Stranger("before a reboot", lambda o: replaced(o, place="before/1"), True),
    Stranger("a number reused", lambda o: replaced(o, pid=os.getppid(), started="1"), True),
)


def run(setting: Setting, *, lease: float) -> Iterator[Finding]:
    """Leases of strangers, then living workers under a clock that jumps."""
    ready(setting)
    sow(setting.plant)
    figures = together([partial(_taken, setting, stranger, lease) for stranger in STRANGERS])
    for stranger, figure in zip(STRANGERS, figures, strict=True):
        done = f"lease of {lease:g} s, {stranger.what}"
        yield from found("elsewhere", setting.storage, done, [figure])
    jumps = (0.0, 3600.0) if setting.storage == "sqlite" else (0.0,)  # there it is the server's
    figures = together([partial(_living, setting, lease, jump) for jump in jumps])
    for jump, figure in zip(jumps, figures, strict=True):
        done = f"at work for 3 leases of {lease:g} s, clock {jump:+g} s"
        yield from found("elsewhere", setting.storage, done, [figure])


def _taken(setting: Setting, stranger: Stranger, lease: float) -> Figure:
    with scene(setting) as here:
        return _taken_at(here, stranger, lease)


def _taken_at(here: Scene, stranger: Stranger, lease: float) -> Figure:
    with here.study(lease=lease) as study:
        study.limit(pb.Budget(trials=1))

    def die() -> None:
        owner = stranger.owner(me())
        vars(dispatch)["me"] = lambda: owner
        here.study(lease=lease).turn(None, "stranger")
        os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(forked(die), 0)
    died = time.monotonic()
    claim = _claimed(here, lease, died + 3 * lease + PATIENCE)
    took = time.monotonic() - died
    low, high = (0.0, 2.0) if stranger.at_once else (0.9 * lease, 1.25 * lease + SLACK)
    right = claim is not None and claim.attempt == 2 and low <= took
    goal = f"{low:g} to {high:g} s"
    return Figure(f"taken over after {took:.2f} s", goal, right and took < high, timed=right)


def _claimed(here: Scene, lease: float, deadline: float) -> Assignment | None:
    """The trial, asked for again and again; its result is handed in."""
    with here.study(lease=lease) as study:
        while time.monotonic() < deadline:
            claim = study.turn(None, "next")
            if isinstance(claim, Assignment):
                study.turn(Report(claim.trial.id, claim.attempt, loss(claim.trial)), "")
                return claim
            time.sleep(0.1)
    return None


def _living(setting: Setting, lease: float, jump: float) -> Figure:
    """Somebody at work, and another who would take the trial over, if it could."""
    with scene(setting) as here:
        return _living_at(here, lease, jump)


def _living_at(here: Scene, lease: float, jump: float) -> Figure:
    with here.study(lease=lease) as study:
        study.limit(pb.Budget(trials=1))
    worker = forked(lambda: _work(here, lease))
    until(lambda: bool(here.diary.new()), "somebody at work")
    coveter = forked(lambda: _covet(here, lease, jump))
    codes = [os.waitpid(pid, 0)[1] for pid in (coveter, worker)]
    with here.study(read_only=True) as study:
        audit = Audit(here.diary, study)
    stolen = len(audit.seen("stolen"))
    fine = not stolen and codes == [0, 0] and audit.lost().good and audit.exact
    return Figure(f"{stolen} times taken from a living worker", "0", fine)


def _work(here: Scene, lease: float) -> None:
    with here.study(lease=lease) as study:
        trial = study.ask()
        here.diary.note("start", trial.id, 1, of=os.getpid())
        time.sleep(3 * lease)
        study.tell(trial, loss(trial))
        here.diary.note("acknowledged", trial.id, 1, loss=loss(trial), kind=None)


def _covet(here: Scene, lease: float, jump: float) -> None:
    """Ask again and again, by a clock that is ahead."""
    real = SqliteJournal.now
    SqliteJournal.now = lambda self: real(self) + jump  # type: ignore[method-assign]  # a jump
    with here.study(lease=lease) as study:
        for number in range(1_000_000):
            if study.state.history.observations:
                return
            if isinstance(study.turn(None, f"covet.{number}"), Assignment):
                here.diary.note("stolen")
            time.sleep(0.001)
