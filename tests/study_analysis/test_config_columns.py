"""Configurations as columns have the values and the positions that the space gives them."""

import math

import numpy as np
import pytest
from analysed_studies import SPACE, busy, in_memory

import priorband as pb
from priorband.study_analysis import config_columns, study_data


def test_values_and_positions_are_those_of_the_space() -> None:
    study = busy(in_memory())
    table, trials = config_columns(study_data(study)), study.state.history.trials
    rows = SPACE.encode([trial.config for trial in trials])
    assert [column.name for column in table.parameters] == list(SPACE.names)
    for place, column in enumerate(table.parameters):
        for trial in trials:
            value, unit = column.value[trial.id], column.unit[trial.id]
            if column.name not in trial.config:
                assert math.isnan(value) and math.isnan(unit)
            elif column.labels:
                choice = trial.config[column.name]
                assert column.labels[int(value)] == str(choice)
                assert unit == value / (len(column.labels) - 1)
            else:
                assert value == trial.config[column.name]
                assert unit == pytest.approx(rows[trial.id, place], abs=1e-12)
    kinds = [(column.kind, column.log) for column in table.parameters]
    assert kinds == [
        ("float", True),
        ("float", False),
        ("integer", True),
        ("integer", False),
        ("categorical", False),
        ("ordinal", False),
        ("float", False),
    ]
    assert np.isnan(table.parameters[-1].value).any()


def test_a_maximised_value_has_the_sign_that_was_told() -> None:
    study = pb.Study(pb.Space(x=pb.Categorical(["only"])), method="random", maximize=True)
    study.tell(study.ask(), 0.75, cost=2)
    study.fail(study.ask())
    table = config_columns(study_data(study))
    assert table.value.tolist() == [0.75, pytest.approx(math.nan, nan_ok=True)]
    assert [table.statuses[code] for code in table.status] == ["succeeded", "failed"]
    assert (table.spent.tolist(), table.cost.tolist()[0]) == ([1, 1], 2)
    assert table.parameters[0].unit.tolist() == [0.5, 0.5]
