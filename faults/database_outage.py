"""Kill the PostgreSQL server with SIGKILL in the middle of a run, and start it again."""

import os
import signal
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, final

import priorband as pb
from faults.audit import Audit, common_checks
from faults.results import Check, Result, expect_below, expect_finished, expect_none, results_of
from faults.study_setup import Setting, StudySetup, new_server, new_setup
from faults.training import Training
from faults.worker_pool import WorkerPool, WorkerTask, running_pool, wait_until
from priorband.storage.spool import VARIABLE
from priorband.workers.trial_runner import WorkerOptions

if TYPE_CHECKING:
    from servers import Server

SHORT_OUTAGE = 2.0  # seconds
GRACE = 1.0


def run(
    setting: Setting, *, kills: int, longest: float, trials: int, workers: int
) -> Iterator[Result]:
    """Kill the server several times; the last outage is the longest."""
    server = new_server()
    try:
        with new_setup(setting, server) as setup:
            os.environ[VARIABLE] = str(setup.folder / "spool")
            budget, training = pb.Budget(trials=trials), Training(setup.log, seconds=0.1)
            options = WorkerOptions(start="same-process", grace=GRACE)
            task = WorkerTask(
                setup.open_arguments(), training, setup.log, options, budget, setting.plant
            )
            with running_pool(task, workers) as pool:
                outages = ServerOutages(server, pool)
                for number in range(kills):
                    outages.wait_for_results((number + 1) * trials // (kills + 2))
                    last = number == kills - 1
                    outages.kill_and_restart(
                        longest if last else min(SHORT_OUTAGE, longest), stop_worker=last
                    )
                ended = pool.wait()
            checks = outages.checks(setup, budget) | {"finished": expect_finished(ended)}
    finally:
        server.close()
    action = f"{kills} kills, {workers} workers, up to {longest:g} s down"
    yield from results_of("database", setting.storage, action, checks.values())


@final
class ServerOutages:
    """Outages of a server, and what the workers do meanwhile."""

    def __init__(self, server: "Server", pool: WorkerPool) -> None:
        self.server = server
        self.pool = pool
        self.stopped_pid = 0
        """The worker that was asked to stop during an outage."""
        self.slowest = 0.0

    def wait_for_results(self, count: int) -> None:
        """Wait until workers have told a number of results."""
        wait_until(lambda: self._results() >= count, f"{count} results", 300)

    def kill_and_restart(self, seconds: float, stop_worker: bool) -> None:
        """Kill the server and start it again some seconds later.

        With `stop_worker`, a worker is asked to stop in between.
        """
        self.server.kill()
        down = time.monotonic()
        if stop_worker:
            self._stop_worker()
        time.sleep(max(down + seconds - time.monotonic(), 0))
        self.server.start()
        began = time.monotonic()
        wait_until(lambda: self._results(began) > 0, "the first result after a restart", 120)
        self.slowest = max(self.slowest, time.monotonic() - began)

    def _stop_worker(self) -> None:
        self.stopped_pid = self.pool.processes[0].pid or 0
        wait_until(lambda: self.stopped_pid in self._waiting(), "a worker to wait for the server")
        os.kill(self.stopped_pid, signal.SIGTERM)
        wait_until(lambda: self.pool.count_alive() < self.pool.size, "a worker to leave")
        self.pool.start_missing()

    def _waiting(self) -> set[int]:
        said = [e for e in self.pool.task.log.all_entries() if e.event == "said"]
        return {e.pid for e in said if "Waiting for it" in e.details["text"]}

    def _results(self, since: float = 0.0) -> int:
        entries = self.pool.task.log.all_entries()
        return sum(e.event == "acknowledged" and e.at > since for e in entries)

    def checks(self, setup: StudySetup, budget: pb.Budget) -> dict[str, Check]:
        """Whether all workers continued, except for the one that was asked to stop."""
        with setup.study() as study:
            audit = Audit(setup.log, study)
        stopped = [e for e in audit.entries_of("ended") if e.pid == self.stopped_pid]
        audit.entries = [e for e in audit.entries if e not in stopped]
        audit.departures = {e.pid: e.at for e in stopped}
        left = [str(path) for path in (setup.folder / "spool").rglob("*.json")]
        failed = [f"trial {r.trial}: {r.body['reason']}" for r in audit.records_of("failed")]
        reasons = [e.details["reason"] for e in stopped]
        gave_up = len(reasons) == 1 and "Gave up" in reasons[0]
        explained = [
            e for e in audit.entries_of("said") if "cannot be reached" in e.details["text"]
        ]
        return common_checks(audit, self.pool.exit_codes) | {
            "resumed": expect_below(self.slowest, 15, "first result after a restart"),
            "failed": expect_none(failed, "trials failed", budget.trials),
            "message": Check(f"{len(explained)} messages say why", "> 0", bool(explained)),
            "stopped": Check(
                f"SIGTERM meanwhile: {reasons}"[:90], "gave up after the grace period", gave_up
            ),
            "spool": expect_none(left, "results left in the spool"),
            "budget": audit.budget_overshoot(budget),
        }
