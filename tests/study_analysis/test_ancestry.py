"""The ancestry of a trial goes back through promotions and incumbents."""

import pytest
from analysed_studies import busy, in_memory

from priorband.errors import TrialError
from priorband.events import Asked
from priorband.study_analysis import ancestry, study_data


def _known(number: int) -> int | None:
    return number


@pytest.mark.parametrize("method", ["priorband", "asha+esp"])
def test_each_step_back_is_a_parent_or_the_incumbent_of_the_time(method: str) -> None:
    study = busy(in_memory(method), 200)
    data, history = study_data(study), study.state.history
    near, state = dict[int, int | None](), study.problem.start()
    for event in history.events:
        if isinstance(event, Asked) and event.trial.origin == "incumbent":
            near[event.trial.id] = state.incumbent and state.incumbent.trial.id
        state = state.after(event)
    furthest = 0
    for trial in history.trials:
        found = ancestry(data, trial.id)
        expected, number = list[int](), _known(trial.id)
        while number is not None:
            expected.append(number)
            own = history.trial(number)
            source = near.get(own.id) if own.origin == "incumbent" else None
            number = own.parent if own.parent is not None else source
        assert found.trial.tolist() == expected[::-1]
        roots = [history.trial(each).root for each in found.trial.tolist()]
        assert len({*found.generation.tolist()}) == len({*roots})
        assert found.generation[-1] == 0
        assert found.origin == tuple(history.trial(each).origin for each in found.trial.tolist())
        furthest = max(furthest, int(found.generation[0]))
    assert furthest >= (2 if method == "priorband" else 1)
    best = history.incumbent
    assert best is not None
    assert ancestry(data).trial.tolist() == ancestry(data, best.trial.id).trial.tolist()


def test_without_an_incumbent_it_is_empty_and_an_unknown_trial_is_refused() -> None:
    study = in_memory()
    assert len(ancestry(study_data(study)).trial) == 0
    study.fail(study.ask())
    assert len(ancestry(study_data(study)).trial) == 0
    assert ancestry(study_data(study), 0).trial.tolist() == [0]
    for wrong in (1, -1, "0", 0.5):
        with pytest.raises(TrialError, match="not in this study: it has|must be a Trial or its id"):
            ancestry(study_data(study), wrong)  # type: ignore[arg-type]  # what people may pass
