"""The axes of values and of parameters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import priorband as pb
from priorband.plots.drawing.parameter_axis import parameter_ticks
from priorband.plots.drawing.texts import folded_name, short
from priorband.plots.drawing.times import time_unit
from priorband.plots.drawing.value_axis import value_axis
from priorband.study_analysis.spread import spread_positions


def test_a_few_very_bad_values_do_not_compress_the_rest() -> None:
    usual = np.linspace(1, 2, 40)
    axis = value_axis(np.append(usual, [1e9, np.nan]), maximize=False)
    assert axis.limits[0] < 1 and 2 < axis.limits[1] < 6 and not axis.log
    assert axis.beyond(np.array([1.5, 1e9])) == 1
    turned = value_axis(-np.append(usual, 1e9), maximize=True)
    assert turned.limits == (-axis.limits[1], -axis.limits[0])
    assert turned.beyond(np.array([-1.5, -1e9])) == 1


def test_what_must_be_shown_is_shown() -> None:
    usual = np.linspace(1, 2, 40)
    assert value_axis(usual, False, always=np.array([50.0])).limits[1] > 50


def test_losses_over_decades_have_a_logarithmic_axis() -> None:
    values = np.geomspace(1e-3, 1, 50)
    axis = value_axis(values, maximize=False)
    assert axis.log and axis.share(np.array([axis.limits[0], axis.limits[1]])).tolist() == [0, 1]
    assert axis.share(np.sqrt([axis.limits[0] * axis.limits[1]])) == pytest.approx([0.5])
    assert not value_axis(values, maximize=True).log
    assert not value_axis(values - 0.5, maximize=False).log


@given(st.lists(st.floats(-1e30, 1e30), max_size=8), st.booleans())
def test_the_best_value_is_always_within(values: list[float], maximize: bool) -> None:
    axis = value_axis(np.array(values, float), maximize)
    low, high = axis.limits
    assert low < high
    if values:
        assert low <= (max(values) if maximize else min(values)) <= high


@pytest.mark.parametrize(
    ("parameter", "texts"),
    [
        (pb.Float(0, 1), ["0", "0.25", "0.5", "0.75", "1"]),
        (pb.Float(1e-5, 1e-1, log=True), ["1e\N{MINUS SIGN}5", "0.0001", "0.001", "0.01", "0.1"]),
        (pb.Float(0.2, 0.5, log=True), ["0.2", "0.3162", "0.5"]),
        (pb.Integer(8, 512, log=True), ["10", "100"]),
        (pb.Integer(1, 3), ["1", "2", "3"]),
        (pb.Ordinal([1, "$x$"]), ["1", "$x$"]),
        (pb.Categorical(["only"]), ["only"]),
        (pb.Categorical(list("abcdefghijklmnopqrst")), ["a", "d", "g", "j", "m", "p", "s"]),
    ],
)
def test_ticks_are_round_values_of_the_parameter(parameter: object, texts: list[str]) -> None:
    found = parameter_ticks(parameter)  # type: ignore[arg-type]  # each is a parameter
    assert list(found.values()) == texts
    assert list(found) == sorted(found) and min(found) >= 0 and max(found) <= 1


@pytest.mark.parametrize("parameter", [pb.Float(0, 1, step=0.1), pb.Integer(2, 20, step=3)])
def test_ticks_of_steps_are_on_them(parameter: pb.Float | pb.Integer) -> None:
    for place, text in parameter_ticks(parameter).items():
        assert parameter.encode(float(text)) == pytest.approx(place)


def test_positions_are_spread_with_both_ends() -> None:
    assert spread_positions(50_000, 5)[[0, -1]].tolist() == [0, 49_999]
    assert spread_positions(0, 5).tolist() == []


@given(st.text(max_size=80), st.integers(4, 20))
def test_long_names_become_short_lines(name: str, width: int) -> None:
    assert len(short(name, width)) <= width
    lines = folded_name(name, width).split("\n")
    assert len(lines) <= 3 and max(map(len, lines)) <= width
    assert "\u202e" not in short("a\u202eb")


def test_a_time_has_a_unit_that_suits_it() -> None:
    assert [time_unit(t)[0] for t in (1, 200, 9000, 1e6)] == ["seconds", "minutes", "hours", "days"]
    assert time_unit(float("nan"))[0] == "seconds"
