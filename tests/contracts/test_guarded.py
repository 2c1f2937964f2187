"""Guarded methods replay exactly: any workers and rungs, failures, and what people add between."""

import warnings
from pathlib import Path

import pytest
from amounts import MODELLED, slow_unless_in

from priorband import (
    Categorical,
    DurableStudy,
    Fidelity,
    Float,
    Space,
    Study,
    methods,
    open_study,
    optimizer,
)
from priorband.durable import snapshot
from priorband.errors import SingleRungWarning
from priorband.events import Asked, Event, PriorChanged, Queued, Told
from priorband.testing import check_failures, conditional_space, example_space, play
from priorband.testing.states import example_study, import_and_queue
from priorband.trial import IMPORTED, Trial

GUARDED = [name for name in methods() if "guard" in name]
WORKERS = (1, 4, 16)
CASES = [(name, workers) for name in GUARDED for workers in WORKERS]
QUICK = [(name, w) for name, w in CASES if name not in MODELLED or (name, w) == ("guardband+bo", 4)]
SPACES = {"mixed": example_space(), "conditional": conditional_space()}


def test_there_are_guarded_methods_with_and_without_a_model() -> None:
    assert {"guardband", "guardband+bo", "asha+guard", "async-hyperband+guard"} <= set(GUARDED)
    assert "guardband+bo" in MODELLED and "guardband" not in MODELLED


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(("method", "workers"), slow_unless_in(QUICK, CASES))
def test_it_replays_exactly_with_imported_and_queued_results(
    method: str, workers: int, space: str
) -> None:
    study = eventful_study(SPACES[space], method, workers)
    assert study.replay().differing == ()
    outside = [t for t in study.state.history.trials if t.slot is None and t.parent is not None]
    assert all(trial.fidelity == 27 for trial in outside)


def eventful_study(space: Space, method: str, workers: int) -> Study:
    """A study with failures, and with trials that were imported, queued and retried."""
    study = example_study(space, optimizer(method), seed=workers)
    for trial in play(study, 90, seed=workers, failing=0.2, workers=workers):
        if trial.id in (3, 50):
            import_and_queue(study)
        if trial.id % 8 == 7:
            study.retry(retryable(study)[-1:])
        check_failures(study.state)
    history = study.state.history
    assert {"imported", "queued"} <= {t.origin for t in history.trials}
    assert sum(history.retry_of(t.id) is not None for t in history.trials) > 3
    return study


def retryable(study: Study) -> list[int]:
    history = study.state.history
    failed = [o.trial for o in history.observations if o.failed and o.trial.origin != IMPORTED]
    return [trial.id for trial in failed if not history.retried(trial.id)]


STORED = [("guardband", 1), ("guardband", 16), ("guardband+bo", 4), ("asha+guard", 4)]


@pytest.mark.parametrize(("method", "workers"), slow_unless_in(STORED, CASES))
def test_a_stored_study_decides_the_same_after_each_reopening(
    method: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "ON_CLOSE", 5)  # so that it goes on from a snapshot
    memory = eventful_study(SPACES["conditional"], method, workers)
    events = memory.state.history.events
    stored = open_study(tmp_path, memory.space, memory.fidelity, method, seed=workers)
    for number, event in enumerate(events):
        if number in (30, len(events) // 2, len(events) - 20):
            stored.close()
            stored = open_study(tmp_path)
        repeat(stored, event, events[number + 1 : number + 2])
    with stored:
        assert stored.state.history.trials == memory.state.history.trials
        assert stored.replay().differing == ()
    with open_study(tmp_path, read_only=True) as again:
        assert again.replay().exact


def repeat(study: DurableStudy, event: Event, following: tuple[Event, ...]) -> None:
    """Do in a stored study what an event says; what is decided must be the same."""
    if isinstance(event, Asked):
        if event.trial.origin == IMPORTED:
            add(study, event.trial, following[0])
        else:
            assert study.ask() == event.trial
    elif isinstance(event, Queued):
        if event.retry is None:
            study.queue(event.config, event.fidelity)
        else:
            study.retry([event.retry])
    elif isinstance(event, PriorChanged):
        study.set_prior(event.prior)
    elif study.state.history.outcome(event.trial) is None:
        if isinstance(event, Told):
            study.tell(event.trial, event.loss)
        else:
            study.fail(event.trial, event.reason)


def add(study: DurableStudy, trial: Trial, result: Event) -> None:
    loss = result.loss if isinstance(result, Told) else float("nan")
    assert study.add(trial.config, loss, trial.fidelity).trial == trial


@pytest.mark.parametrize("rungs", range(1, 9))
@pytest.mark.parametrize("method", [name for name in GUARDED if name not in MODELLED])
def test_it_runs_on_one_to_eight_rungs(method: str, rungs: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        epochs = Fidelity("epochs", 1, 2 ** (rungs - 1))
        study = Study(example_space(), epochs, optimizer(method, eta=2))
    for trial in play(study, 200, seed=rungs, failing=0.1, workers=4):
        assert trial.fidelity in study.state.ladder.fidelities
    assert study.replay().exact


@pytest.mark.parametrize("method", GUARDED)
def test_a_flat_prior_has_no_opening(method: str) -> None:
    space = Space({"x": Float(0, 1), "c": Categorical(("a", "b", "c"))})
    study = Study(space, Fidelity("epochs", 1, 3), method, seed=1)
    for trial in play(study, 12, seed=1):
        assert trial.origin != "mode"
    assert study.replay().exact
