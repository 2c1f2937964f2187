"""Run as many workers as the PostgreSQL server has connections for, and let connections run out."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import priorband as pb
from faults.audit import Audit, common_checks
from faults.results import Check, Result, expect_finished, expect_none, results_of
from faults.study_setup import Setting, StudySetup, new_server, new_setup
from faults.training import Training
from faults.worker_pool import TIMEOUT, WorkerPool, WorkerTask, running_pool, wait_until
from priorband.storage.spool import VARIABLE
from priorband.workers.trial_runner import WorkerOptions

if TYPE_CHECKING:
    from servers import Server

ROLE = "worker"
SECONDS = 0.5  # of the longest trainings
PATIENCE = 60.0  # of the workers


def run(
    setting: Setting, *, workers: int, slots: int, trials: int, lease: float, outage: float
) -> Iterator[Result]:
    """First enough connections for all, then none for a while."""
    server = new_server(max_connections=slots)
    try:
        with _superuser(server) as admin:
            admin.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{server.password}'")
            admin.execute(f"GRANT CREATE ON DATABASE postgres TO {ROLE}")
        for seconds in (0.0, outage):
            with new_setup(setting, server) as setup:
                setup.where = setup.where.replace("//postgres:", f"//{ROLE}:")
                os.environ[VARIABLE] = str(setup.folder / "spool")
                action = f"{workers} workers, {slots} slots"
                action += f", none free for {seconds:g} s" if seconds else ""
                checks = _run_workers(setup, server, workers, trials, lease, seconds)
            yield from results_of("connections", setting.storage, action, checks.values())
    finally:
        server.close()


def _run_workers(
    setup: StudySetup, server: "Server", workers: int, trials: int, lease: float, outage: float
) -> dict[str, Check]:
    budget, training = pb.Budget(trials=trials), Training(setup.log, seconds=SECONDS)
    open_arguments = setup.open_arguments(lease=lease)
    options = WorkerOptions(start="same-process", patience=PATIENCE)
    task = WorkerTask(
        open_arguments, training, setup.log, options, budget, plant=setup.setting.plant
    )
    with setup.study() as study:
        study.limit(budget)
    most = 0
    with running_pool(task, workers) as pool, _superuser(server) as admin:
        _wait_for_results(pool, workers)
        if outage:
            _take_all_connections(server, admin, pool, outage)
        deadline = time.monotonic() + TIMEOUT
        while pool.count_alive() and time.monotonic() < deadline:
            [[used]] = admin.execute(
                f"SELECT count(*) FROM pg_stat_activity WHERE usename = '{ROLE}'"
            ).fetchall()
            most = max(most, used)
            time.sleep(0.1)
        ended = pool.wait(0)
    with setup.study() as study:
        audit = Audit(setup.log, study)
    lost = [f"trial {r.trial}: {r.body['reason']}" for r in audit.records_of("returned", "failed")]
    started = {e.trial for e in audit.entries_of("start")}
    again = len(audit.entries_of("start")) - len(started)
    said = [e.details["text"] for e in audit.entries_of("said")]
    checks = common_checks(audit, pool.exit_codes) | {
        "lapsed": expect_none(lost, "attempts ended before their training", trials),
        "again": Check(f"{again} trials trained twice", "0", not again),
        "budget": audit.budget_overshoot(budget),
        "finished": expect_finished(ended),
        "connections": Check(f"{most} connections", f"<= {workers}", most <= workers),
    }
    if not outage:
        return checks | {"silent": expect_none(said, "messages of trouble")}
    return checks | {
        "advice": _expect_said(said, "max_connections", "what to do"),
        "warning": _expect_said(said, "WARNING: the lease", "that leases are not renewed"),
        "relief": _expect_said(said, "renewed again", "that they are again"),
    }


def _expect_said(said: list[str], words: str, about: str) -> Check:
    found = sum(words in text for text in said)
    return Check(f"{found} messages say {about}", "> 0", found > 0)


def _take_all_connections(server: "Server", admin: Any, pool: WorkerPool, seconds: float) -> None:
    """End the workers' sessions, and use up all connections of the server for some time."""
    admin.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT 0")  # so that none of them comes first
    admin.execute(
        f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = '{ROLE}'"
    )
    psycopg, taken = _driver(), ExitStack()
    with taken:
        began = time.monotonic()
        try:
            while True:
                taken.enter_context(closing(psycopg.connect(server.url())))
        except psycopg.OperationalError:
            admin.execute(f"ALTER ROLE {ROLE} CONNECTION LIMIT -1")
        time.sleep(max(began + seconds - time.monotonic(), 0))
    results = _results(pool)
    wait_until(lambda: _results(pool) > results, "a result after the outage")


def _wait_for_results(pool: WorkerPool, count: int) -> None:
    wait_until(lambda: _results(pool) >= count, f"{count} results")


def _results(pool: WorkerPool) -> int:
    return sum(entry.event == "acknowledged" for entry in pool.task.log.all_entries())


def _superuser(server: "Server") -> Any:
    return _driver().connect(server.url(), autocommit=True)


def _driver() -> Any:
    import psycopg

    return psycopg
