"""The rung flow counts each trial once, and calls nothing stopped that is promoted later."""

import numpy as np
import pytest
from amounts import slow_unless_in
from analysed_studies import EPOCHS, SPACE, busy, in_memory, work

import priorband as pb
from priorband.study_analysis import rung_flow, study_data

PARTS = ("running", "failed", "promoted", "open", "stopped", "finished")
METHODS = ("priorband", "asha+esp", "sh", "guardband", "random", "async-hyperband")


@pytest.mark.parametrize("method", slow_unless_in(("priorband", "asha+esp", "guardband"), METHODS))
def test_each_trial_counts_once(method: str) -> None:
    study = busy(in_memory(method), 80)
    flow, history = rung_flow(study_data(study)), study.state.history
    parts = sum(getattr(flow, name) for name in PARTS)
    assert flow.started.tolist() == np.asarray(parts).tolist()
    assert flow.started.sum() + flow.off_ladder == len(history)
    assert flow.running.sum() == len(history.running)
    for rung, fidelity in enumerate(flow.fidelities):
        there = [trial for trial in history.trials if trial.fidelity == fidelity]
        for column, origin in enumerate(flow.origins):
            own = [trial for trial in there if trial.origin == origin]
            assert flow.started[rung, column] == len(own)
            promoted = [trial for trial in own if history.promoted(trial.id)]
            assert flow.promoted[rung, column] == len(promoted)


@pytest.mark.parametrize("method", slow_unless_in(("priorband", "guardband"), METHODS))
def test_a_stopped_trial_is_never_promoted_later(method: str) -> None:
    """The number of trials on a rung that are stopped only grows."""
    study = pb.Study(SPACE, EPOCHS, method)
    before = np.zeros(4, int)
    for _ in work(study, 60, workers=4):
        stopped = rung_flow(study_data(study)).stopped.sum(axis=1)
        assert (np.pad(stopped, (0, 4 - len(stopped))) >= before).all()
        before = stopped
    assert bool(before.sum()) == (method in ("priorband", "guardband", "sh"))


def test_imported_results_below_the_top_can_never_be_promoted() -> None:
    study = pb.Study(pb.Space(x=pb.Float(0, 1)), EPOCHS, "sh")
    study.add({"x": 0.5}, 0.1, 1)
    study.add({"x": 0.6}, 0.1)
    study.add({"x": 0.7}, 0.1, 2)
    flow = rung_flow(study_data(study))
    assert flow.stopped.tolist() == [[1], [0], [0], [0]]
    assert flow.finished.tolist() == [[0], [0], [0], [1]]
    assert flow.off_ladder == 1
