"""What was drawn lately, and the best so far, as the history says."""

from collections import Counter

import pytest
from analysed_studies import busy, in_memory

from priorband.study_analysis import best_losses, sampled_origins, study_data


@pytest.mark.parametrize("last", [None, 1, 20])
def test_origins_are_those_of_the_last_draws(last: int | None) -> None:
    study = busy(in_memory(), 100)
    history = study.state.history
    drawn = [
        trial.origin
        for trial in history.trials
        if trial.parent is None
        and trial.origin not in ("queued", "imported")
        and history.retry_of(trial.id) is None
    ]
    found = sampled_origins(study_data(study).trials, last)
    assert found == Counter(drawn[-last:] if last else drawn)
    assert [*found.values()] == sorted(found.values(), reverse=True)


def test_the_lowest_loss_after_each_result() -> None:
    study = busy(in_memory(), 60)
    best, expected = float("inf"), list[float]()
    for ended in study.state.history.observations:
        best = min(best, ended.loss)
        expected += [best] if best < float("inf") else []
    assert best_losses(study_data(study).trials).tolist() == expected
    assert study.best is not None and expected[-1] == study.best.loss
    assert len(best_losses(study_data(in_memory()).trials)) == 0
