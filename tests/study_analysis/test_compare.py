"""Several studies on one axis: each has its own value in force at each budget."""

import math

import numpy as np
import pytest
from analysed_studies import busy, in_memory

import priorband as pb
from priorband.errors import ArgumentError
from priorband.study_analysis import compare_incumbents, incumbent_over_budget, study_data


def test_by_hand() -> None:
    """The first spends two trainings; the second starts later, and spends three."""
    one, other = (pb.Study(pb.Space(x=pb.Float(0, 1)), method="random") for _ in range(2))
    for loss in (3.0, 2.0):
        one.tell(one.ask(), loss)
    other.fail(other.ask())
    for loss in (4.0, 1.0):
        other.tell(other.ask(), loss)
    found = compare_incumbents([study_data(one), study_data(other)])
    assert found.spent.tolist() == [1, 2, 3]
    expected = [[3, 2, math.nan], [math.nan, 4, 1]]
    assert np.array_equal(found.full, expected, equal_nan=True)
    assert np.array_equal(found.any_fidelity, expected, equal_nan=True)
    assert found.names == ("study", "study (2)") and found.last_spent.tolist() == [2, 3]


def test_each_row_is_the_study_alone() -> None:
    studies = [study_data(busy(in_memory(method), 60)) for method in ("priorband", "hyperband")]
    both = compare_incumbents(studies)
    for row, data in enumerate(studies):
        steps = incumbent_over_budget(data).any_fidelity
        for spent, value in zip(steps.spent, steps.value, strict=True):
            last = np.flatnonzero(steps.spent <= spent)[-1]
            at = int(np.searchsorted(both.spent, spent))
            assert both.any_fidelity[row, at] == steps.value[last]
            del value


def test_studies_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(ArgumentError, match="at least one"):
        compare_incumbents([])
    with pytest.raises(ArgumentError, match="all maximise"):
        compare_incumbents([study_data(in_memory()), study_data(in_memory(maximize=True))])
