"""The agreement of rungs compares the same configurations, and says when they are too few."""

import math

import pytest
from analysed_studies import busy, in_memory

import priorband as pb
from priorband.study_analysis import rung_agreement, study_data
from priorband.study_analysis.rank_correlation import kendall_tau, tau_interval

SPACE = pb.Space(x=pb.Float(0, 1))
EPOCHS = pb.Fidelity("epochs", 1, 9)


def add(study: pb.Study, config: float, fidelity: float, loss: float) -> None:
    study.add({"x": config}, loss, fidelity)


def test_by_hand() -> None:
    """Eight configurations on two rungs, of ten on the lower one; two neighbours change places."""
    study = pb.Study(SPACE, EPOCHS, "sh")
    for number in range(10):
        add(study, number / 10, 1, number)
    for number in range(8):
        add(study, number / 10, 3, {3: 4, 4: 3}.get(number, number) / 2)
    add(study, 0.0, 3, 99.0)  # a second result on a rung does not count
    found = rung_agreement(study_data(study))
    assert [*zip(found.low.tolist(), found.high.tolist(), strict=True)] == [(0, 1), (0, 2), (1, 2)]
    assert found.count.tolist() == [8, 0, 0]
    assert found.enough.tolist() == [True, False, False]
    assert found.tau[0] == pytest.approx(26 / 28)
    assert (found.lower[0], found.upper[0]) == pytest.approx(tau_interval(26 / 28, 8))
    assert math.isnan(found.tau[1]) and math.isnan(found.lower[2])
    assert found.kept.tolist() == [0.8, 0, 0]
    fewer = rung_agreement(study_data(study), least=9)
    assert not fewer.enough.any() and fewer.least == 9


@pytest.mark.parametrize("maximize", [False, True])
def test_it_is_that_of_the_losses_of_promoted_chains(maximize: bool) -> None:
    study = busy(in_memory("asha+esp", maximize=maximize), 200)
    history, found = study.state.history, rung_agreement(study_data(study), least=2)
    rungs = study.state.ladder.fidelities
    for entry in range(len(found.low)):
        low, high = rungs[found.low[entry]], rungs[found.high[entry]]
        losses = [dict[object, float](), dict[object, float]()]
        for trial in history.trials:
            ended = history.outcome(trial.id)
            if ended and not ended.failed and trial.fidelity in (low, high):
                by_config = losses[trial.fidelity == high]
                by_config.setdefault(tuple(trial.config.items()), ended.loss)
        both = [config for config in losses[0] if config in losses[1]]
        assert found.count[entry] == len(both)
        if len(both) >= 2:
            import numpy as np

            x, y = (np.array([each[config] for config in both]) for each in losses)
            assert found.tau[entry] == pytest.approx(kendall_tau(x, y), nan_ok=True)
    assert found.count[0] >= 8


def test_one_rung_has_nothing_to_compare() -> None:
    study = pb.Study(SPACE, method="random")
    study.tell(study.ask(), 0.5)
    assert len(rung_agreement(study_data(study)).low) == 0
