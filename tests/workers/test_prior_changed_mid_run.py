"""The prior is changed by another process while workers run, of which some are killed."""

from pathlib import Path
from typing import Any

import prior_change_run as run
import pytest
from amounts import MODELLED, slow_unless_in
from servers import fresh_url
from waiting import wait_until

import priorband as pb
from priorband.events import PriorChanged
from priorband.repair.check import check

CASES = [(method, storage) for method in pb.methods() for storage in ("sqlite", "postgres")]
EVERYDAY = [("guardband", "sqlite")]
WORKERS = 4
IGNORE_THE_PRIOR = (
    *("random", "grid", "sh", "hyperband", "asha", "async-hyperband"),
    *("bo", "bohb", "mobster", "mobster(joint)"),
)


@pytest.mark.parametrize(("method", "storage"), slow_unless_in(EVERYDAY, CASES))
def test_replay_is_exact_after_a_change_and_killed_workers(
    method: str, storage: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    where, folder = str(tmp_path / "study"), tmp_path / "study"
    options: dict[str, Any] = {}
    if storage == "postgres":
        where, options = fresh_url(request.getfixturevalue("postgres")), {"folder": folder}
    trials = 36 if method in MODELLED else 60
    with pb.open_study(where, run.SPACE, run.EPOCHS, method, seed=4, **options) as study:
        workers = [run.started(run.work, where, str(folder), trials) for _ in range(WORKERS)]
        try:
            _run_with_a_change(study, workers, where, trials)
        finally:
            for worker in workers:
                worker.kill()
                worker.join()
        _check_study(study, method, trials)
    assert check(where).sound


def _run_with_a_change(study: pb.DurableStudy, workers: list[Any], where: str, trials: int) -> None:
    """Twice: kill two workers that hold a trial, change the prior, and start two others."""
    assert study.checkpoints is not None
    folder = Path(study.checkpoints.root)
    changes = (["x={ normal = 0.8, sigma = 0.05 }", "kind=b"], ["y=0.9", "--queue-mode"])
    for gate, words in zip(run.GATES, changes, strict=True):
        wait_until(lambda least=gate: _all_wait(study, least), "each worker to hold a trial")  # type: ignore[misc]  # mypy does not see the default
        for _ in range(2):
            run.killed(workers.pop(0))
        changing = run.started(run.change, where, words)
        changing.join()
        assert changing.exitcode == 0
        workers += [run.started(run.work, where, str(folder), trials) for _ in range(2)]
        run.open_gate(folder, gate)
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0


def _all_wait(study: pb.DurableStudy, gate: int) -> bool:
    study.refresh()
    held = [opened for opened in study.ledger.running.values() if opened.held]
    return len({o.worker for o in held}) == WORKERS and all(o.trial.id >= gate for o in held)


def _check_study(study: pb.DurableStudy, method: str, trials: int) -> None:
    history = study.refresh().history
    assert len(history) == trials == history.observation_count
    first, second = history.prior_changes
    assert run.GATES[0] + WORKERS <= first.asked < run.GATES[1] + WORKERS <= second.asked <= trials
    assert (first.prior.mode["x"], second.prior.mode["y"]) == (0.8, 0.9)
    assert sum(number > 1 for number in study.ledger.winners.values()) >= 4, "killed in the middle"
    assert study.replay().differing == ()
    memory = pb.Study(run.SPACE, run.EPOCHS, method, seed=4)
    memory.follow(history.events)
    assert memory.replay().exact
    without = pb.Study(run.SPACE, run.EPOCHS, method, seed=4)
    without.follow(event for event in history.events if not isinstance(event, PriorChanged))
    if method in IGNORE_THE_PRIOR:
        assert without.replay().exact
    elif method in ("priorband", "hyperband+prior", "random+prior", "pibo"):
        assert not without.replay().exact, "later decisions follow from the new prior"
