"""The database killed: PostgreSQL ended with SIGKILL and started again, in the middle of a run."""

import os
import signal
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, final

import priorband as pb
from faults.audit import Audit, whole
from faults.crew import Crew, crew, until
from faults.findings import Figure, Finding, at_most, finished, found, none_of
from faults.scene import Scene, Setting, new_server, scene
from faults.training import Training
from faults.work import Post
from priorband.storage.spool import VARIABLE
from priorband.workers.trial_runner import WorkerOptions

if TYPE_CHECKING:
    from servers import Server

DOWN = 2.0
GRACE = 1.0


def run(
    setting: Setting, *, kills: int, longest: float, trials: int, workers: int
) -> Iterator[Finding]:
    """Kill the server several times; the last time it stays away for longest."""
    server = new_server()
    try:
        with scene(setting, server) as here:
            os.environ[VARIABLE] = str(here.folder / "spool")
            budget, training = pb.Budget(trials=trials), Training(here.diary, seconds=0.1)
            options = WorkerOptions(fresh_process=False, grace=GRACE)
            post = Post(here.opening(), training, here.diary, options, budget, setting.plant)
            with crew(post, workers) as made:
                outages = Outages(server, made)
                for number in range(kills):
                    outages.progress((number + 1) * trials // (kills + 2))
                    last = number == kills - 1
                    outages.happen(longest if last else min(DOWN, longest), ask=last)
                ended = made.wait()
            figures = outages.figures(here, budget) | {"finish": finished(ended)}
    finally:
        server.close()
    done = f"{kills} kills, {workers} workers, up to {longest:g} s down"
    yield from found("database", setting.storage, done, figures.values())


@final
class Outages:
    """Times in which the server is dead, and what workers make of them."""

    def __init__(self, server: "Server", made: Crew) -> None:
        self.server = server
        self.made = made
        self.asked = 0
        """The worker that was asked to stop while the server was away."""
        self.slowest = 0.0

    def progress(self, trials: int) -> None:
        """Wait until so many results are in."""
        until(lambda: self._results() >= trials, f"{trials} results", 300)

    def happen(self, seconds: float, ask: bool) -> None:
        """Kill the server, ask a worker to stop if need be, and start the server again."""
        self.server.kill()
        down = time.monotonic()
        if ask:
            self._ask()
        time.sleep(max(down + seconds - time.monotonic(), 0))
        self.server.start()
        began = time.monotonic()
        until(lambda: self._results(began) > 0, "the first result after a restart", 120)
        self.slowest = max(self.slowest, time.monotonic() - began)

    def _ask(self) -> None:
        self.asked = self.made.members[0].pid or 0
        until(lambda: self.asked in self._waiting(), "a worker that waits")
        os.kill(self.asked, signal.SIGTERM)
        until(lambda: self.made.look() < self.made.size, "a worker to leave")
        self.made.fill()

    def _waiting(self) -> set[int]:
        said = [e for e in self.made.post.diary.all() if e.what == "said"]
        return {e.pid for e in said if "Waiting for it" in e.more["text"]}

    def _results(self, since: float = 0.0) -> int:
        entries = self.made.post.diary.all()
        return sum(e.what == "acknowledged" and e.at > since for e in entries)

    def figures(self, here: Scene, budget: pb.Budget) -> dict[str, Figure]:
        """What came of it; the one that was asked to stop has said so."""
        with here.study() as study:
            audit = Audit(here.diary, study)
        asked = [e for e in audit.seen("ended") if e.pid == self.asked]
        audit.entries = [e for e in audit.entries if e not in asked]
        left = [str(path) for path in (here.folder / "spool").rglob("*.json")]
        failed = [f"trial {r.trial}: {r.body['reason']}" for r in audit.of("failed")]
        why = [e.more["reason"] for e in asked]
        gave_up = len(why) == 1 and "Gave up" in why[0]
        said = [e for e in audit.seen("said") if "out of reach" in e.more["text"]]
        return whole(audit, self.made.codes) | {
            "resumed": at_most(self.slowest, 15, "first result after a restart"),
            "failed": none_of(failed, "trials failed", budget.trials),
            "message": Figure(f"{len(said)} messages say why", "> 0", bool(said)),
            "asked": Figure(f"SIGTERM meanwhile: {why}"[:90], "gave up after the grace", gave_up),
            "spool": none_of(left, "results left in the spool"),
            "budget": audit.overshoot(budget),
        }
