"""Stop a worker for longer than its lease: it is replaced, and returns with a late result."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, final

import priorband as pb
from faults.audit import Audit
from faults.parallel import fork_process, run_in_parallel
from faults.results import Check, Result, expect_below, expect_finished, results_of
from faults.study_setup import Setting, StudySetup, new_setup, start_shared_server
from faults.training import loss
from faults.worker_log import WorkerLog
from faults.worker_pool import WorkerPool, WorkerTask, running_pool, wait_until
from priorband.workers.trial_runner import WorkerOptions

LEASE = 2.0
SLACK = 3.0  # seconds for a renewal, two checks of the lease, and a busy machine


@final
@dataclass(frozen=True)
class WaitingTraining:
    """A training that lasts until a file says that the attempt may end."""

    log: WorkerLog
    gates: Path
    """The folder of those files, each named by the number of its attempt."""

    def __call__(self, attempt: pb.Attempt) -> float:
        self.log.write("start", attempt.id, attempt.attempt, worker_pid=os.getpid())
        (attempt.checkpoint_dir / "by").write_text(str(attempt.attempt))
        while not (self.gates / str(attempt.attempt)).exists():
            time.sleep(0.02)
        result = loss(attempt) + attempt.attempt
        self.log.write("done", attempt.id, attempt.attempt, loss=result)
        return result


def run(setting: Setting, *, times: int, inside: int) -> Iterator[Result]:
    """The stopped worker returns before the other one has a result; then after it.

    With `inside`, also stop a worker that holds the write lock.
    """
    start_shared_server(setting)
    orders = ("first", "second")
    all_rounds = run_in_parallel(
        [partial(_stopped_in_training, setting, order) for order in orders for _ in range(times)]
    )
    for order, rounds in zip(orders, (all_rounds[:times], all_rounds[times:]), strict=True):
        action = f"{times} times frozen, returns {order}"
        worst = [_worst([checks[name] for checks in rounds]) for name in rounds[0]]
        yield from results_of("frozen", setting.storage, action, worst)
    for _ in range(inside):
        action = "frozen while it held the lock"
        yield from results_of(
            "frozen", setting.storage, action, _stopped_with_lock(setting).values()
        )


def _worst(checks: list[Check]) -> Check:
    failed = [check for check in checks if not check.passed]
    return failed[0] if failed else max(checks, key=lambda check: check.text)


def _stopped_in_training(setting: Setting, order: str) -> dict[str, Check]:
    with new_setup(setting) as setup:
        training = WaitingTraining(setup.log, setup.folder)
        open_arguments = setup.open_arguments(lease=LEASE)
        options = WorkerOptions(start="same-process", keep="all")
        task = WorkerTask(
            open_arguments, training, setup.log, options, pb.Budget(trials=1), setting.plant
        )
        with running_pool(task, 1) as pool:
            wait_until(lambda: _logged(setup, "start", 1), "the first attempt")
            frozen_pid = pool.processes[0].pid or 0
            os.kill(frozen_pid, signal.SIGSTOP)
            stopped = time.monotonic()
            pool.size = 2
            pool.start_missing()
            wait_until(lambda: _logged(setup, "start", 2), "another worker to take over")
            takeover_seconds = time.monotonic() - stopped
            for attempt in (1, 2) if order == "first" else (2, 1):
                if attempt == 1:
                    os.kill(frozen_pid, signal.SIGCONT)
                (setup.folder / str(attempt)).touch()
                wait_until(partial(_logged, setup, "acknowledged", attempt), f"result {attempt}")
            ended = pool.wait()
        return _checks(setup, pool, order, takeover_seconds) | {"finished": expect_finished(ended)}


def _logged(setup: StudySetup, event: str, attempt: int) -> bool:
    return any(e.event == event and e.attempt == attempt for e in setup.log.all_entries())


def _checks(
    setup: StudySetup, pool: WorkerPool, order: str, takeover_seconds: float
) -> dict[str, Check]:
    winner = 1 if order == "first" else 2
    with setup.study(read_only=True) as study:
        audit = Audit(setup.log, study)
        assert study.checkpoints is not None
        left = study.checkpoints.left_by(0, winner)
        saved = (left / "by").read_text() if left else "gone"
    told = [record.body["attempt"] for record in audit.records_of("told")]
    remarks = [r for r in audit.records_of("remark") if r.body["attempt"] == 3 - winner]
    return {
        "lost": audit.lost_results(),
        "repeated": audit.repeated_trials(),
        "errors": audit.worker_errors(pool.exit_codes),
        "replay": audit.replay_exact(),
        "winner": Check(f"result of attempt {told} counts", f"[{winner}]", told == [winner]),
        "remark": Check(f"{len(remarks)} remark about the other", "1", len(remarks) == 1),
        "saved": Check(f"checkpoint by attempt {saved}", str(winner), saved == str(winner)),
        "takeover": expect_below(takeover_seconds, LEASE + SLACK, "taken over after"),
    }


def _stopped_with_lock(setting: Setting) -> dict[str, Check]:
    """Stop a process in the middle of a transaction: the next one must continue, or say why not."""
    with new_setup(setting) as setup:
        with setup.study() as study:
            study.limit(pb.Budget(trials=3))
        pid = fork_process(lambda: _stop_inside(setup))
        os.waitpid(pid, os.WUNTRACED)
        began = time.monotonic()
        for attempt in range(1, 9):
            (setup.folder / str(attempt)).touch()
        training = WaitingTraining(setup.log, setup.folder)
        with running_pool(WorkerTask(setup.open_arguments(), training, setup.log), 1) as pool:
            wait_until(
                lambda: bool(_outcomes(setup)) or not pool.count_alive(),
                "a result or a message",
                90,
            )
            outcome = (
                f"{(_outcomes(setup) or ['nothing'])[0]} after {time.monotonic() - began:.0f} s"
            )
            os.kill(pid, signal.SIGCONT)
            _, status = os.waitpid(pid, 0)
            ended = pool.wait(90)
        with setup.study(read_only=True) as study:
            audit = Audit(setup.log, study)
        return {
            "outcome": Check(outcome, "a result, or a message", "nothing" not in outcome),
            "status": Check(f"the stopped worker ends with status {status}", "0", status == 0),
            "lost": audit.lost_results(),
            "errors": audit.worker_errors(pool.exit_codes),
            "replay": audit.replay_exact(),
            "finished": expect_finished(ended),
        }


def _outcomes(setup: StudySetup) -> list[str]:
    """What the next worker has logged: results and messages."""
    names = {"acknowledged": "a result", "said": "a message"}
    return [names[entry.event] for entry in setup.log.all_entries() if entry.event in names]


def _stop_inside(setup: StudySetup) -> None:
    """Stop this process while it holds the write lock; if its write fails, let it try again."""
    with setup.study() as study:
        dispatcher = study._dispatcher
        assign = dispatcher.assign

        def stop_then_assign(*arguments: Any) -> object:
            vars(dispatcher)["assign"] = assign
            os.kill(os.getpid(), signal.SIGSTOP)
            return assign(*arguments)

        vars(dispatcher)["assign"] = stop_then_assign
        try:
            trial = study.ask()
        except pb.errors.StorageError:
            trial = study.ask()
        study.tell(trial, loss(trial))
