"""Guarded methods replay exactly: any workers and rungs, failures, and what people add between."""

import warnings

import pytest
from amounts import MODELLED, slow_unless_in

from priorband import Categorical, Fidelity, Float, Space, Study, methods, optimizer
from priorband.errors import SingleRungWarning
from priorband.testing import check_failures, conditional_space, example_space, play
from priorband.testing.states import example_study, import_and_queue

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
    study = example_study(SPACES[space], optimizer(method), seed=workers)
    for trial in play(study, 90, seed=workers, failing=0.2, workers=workers):
        if trial.id in (3, 50):
            import_and_queue(study)
        check_failures(study.state)
    assert study.replay().differing == ()
    outside = [t for t in study.state.history.trials if t.slot is None and t.parent is not None]
    assert all(trial.fidelity == 27 for trial in outside)


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
