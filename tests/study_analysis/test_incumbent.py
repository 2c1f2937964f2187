"""The incumbent over budget is what the history says at each moment."""

import numpy as np
import pytest
from analysed_studies import EPOCHS, SPACE, busy, in_memory

import priorband as pb
from priorband.events import Asked, Failed, Told
from priorband.study_analysis import incumbent_over_budget, study_data
from priorband.study_analysis.incumbent import ended_before, leaders


def test_by_hand_a_promotion_that_is_worse_hands_the_lead_back() -> None:
    study = pb.Study(pb.Space(x=pb.Float(0, 1)), pb.Fidelity("epochs", 1, 3), "sh", maximize=True)
    for value in (0.5, 0.7, 0.6):
        study.tell(study.ask(), value)
    promoted = study.ask()
    assert promoted.parent == 1
    study.tell(promoted, 0.1)
    found = incumbent_over_budget(study_data(study))
    steps = found.any_fidelity
    assert steps.trial.tolist() == [0, 1, 2]
    assert steps.value.tolist() == [0.5, 0.7, 0.6]
    assert steps.ended.tolist() == [1, 2, 4]
    assert steps.spent.tolist() == pytest.approx([1 / 3, 2 / 3, 5 / 3])
    assert (found.full.trial.tolist(), found.full.value.tolist()) == ([3], [0.1])
    assert found.spent == pytest.approx(5 / 3)


@pytest.mark.parametrize("regard", ["lowest", "max_fidelity_first"])
@pytest.mark.parametrize("seed", range(3))
def test_after_each_result_it_is_what_the_history_says(seed: int, regard: str) -> None:
    method = pb.optimizer("asha+esp", incumbent=regard)
    study = pb.Study(SPACE, EPOCHS, method, seed=seed)
    busy(study, 80)
    data, found = study_data(study), incumbent_over_budget(study_data(study))
    near, before = leaders(data), ended_before(data)
    state, ended = study.problem.start(), 0
    for event in study.state.history.events:
        if isinstance(event, Asked):
            assert before[event.trial.id] == ended
        state = state.after(event)
        if isinstance(event, Told | Failed):
            ended += 1
            for steps, best in (
                (found.any_fidelity, state.history.incumbent),
                (found.full, state.history.best_at(27)),
            ):
                step = int(np.searchsorted(steps.ended, ended, side="right")) - 1
                assert (steps.trial[step] if step >= 0 else None) == (best and best.trial.id)
                if best is not None and steps.ended[step] == ended:
                    assert steps.spent[step] == pytest.approx(state.history.spent / 27)
                    assert steps.value[step] == best.loss
            leader = state.incumbent
            assert near[ended - 1] == (-1 if leader is None else leader.trial.id)


def test_all_failed_and_nothing_asked_have_no_steps() -> None:
    study = in_memory()
    assert len(incumbent_over_budget(study_data(study)).any_fidelity.trial) == 0
    study.fail(study.ask())
    found = incumbent_over_budget(study_data(study))
    assert (len(found.any_fidelity.trial), len(found.full.trial), found.spent) == (0, 0, 1.0)
