"""Results over budget and time."""

import pytest

import priorband as pb
from priorband.study_analysis import results_over_budget, study_data


def filled(maximize: bool = False) -> pb.Study:
    study = pb.Study(
        pb.Space(x=pb.Float(0, 1)), pb.Fidelity("epochs", 1, 9), "sh", maximize=maximize
    )
    for number in range(6):
        trial = study.ask()
        if number == 2:
            study.fail(trial, "no memory")
        else:
            study.tell(trial, number)
    return study


def test_successes_are_listed_with_what_had_been_spent() -> None:
    found = results_over_budget(study_data(filled()))
    assert found.trial.tolist() == [0, 1, 3, 4, 5]
    assert found.value.tolist() == [0, 1, 3, 4, 5]
    assert found.spent.tolist() == pytest.approx([1 / 9, 2 / 9, 4 / 9, 5 / 9, 6 / 9])
    assert found.ended == 5


def test_values_have_the_objectives_sign_and_long_studies_are_thinned_evenly() -> None:
    found = results_over_budget(study_data(filled(maximize=True)), most=3)
    assert found.trial.tolist() == [0, 3, 5]
    assert found.value.tolist() == [0, 3, 5]
    assert found.ended == 5
    with pytest.raises(pb.errors.ArgumentError, match="most"):
        results_over_budget(study_data(filled()), most=0)
