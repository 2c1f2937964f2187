"""Means, deviations and errors over seeds."""

import csv
import gzip
import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from real_data import paper_folder

from priorband.analysis.summary import Array, Summary, band, difference_in_se, moments, summarised
from priorband.errors import DataError


def test_tv16_the_standard_error_of_three_numbers() -> None:
    """1, 2, 4: squares about 7/3 sum to 14/3, over 2, over 3."""
    summary = summarised([1.0, 2.0, 4.0])
    assert summary.mean == pytest.approx(7 / 3)
    assert summary.sd == pytest.approx(math.sqrt(7 / 3))
    assert summary.sem == pytest.approx(0.8819171037, abs=5e-11)
    assert (summary.n, summary.missing) == (3, 0)


def test_nan_is_missing_and_infinite_is_failed() -> None:
    summary, whole = summarised([math.nan, 1.0, 2.0, math.inf, 4.0]), summarised([1, 2, 4])
    assert summary == Summary(whole.mean, whole.sd, whole.sem, n=3, missing=1, failed=1)


def test_one_value_has_no_spread_and_none_has_no_mean() -> None:
    one, none = summarised([0.5]), summarised([math.nan])
    assert (one.mean, one.n, one.missing) == (0.5, 1, 0)
    assert math.isnan(one.sd) and math.isnan(one.sem)
    assert math.isnan(none.mean) and math.isnan(none.sem)
    assert (none.n, none.missing) == (0, 1)
    assert summarised([]).n == 0
    assert one.complete and not none.complete and not summarised([]).complete


def test_a_difference_is_in_combined_standard_errors() -> None:
    """Errors of 3 and 40 / sqrt(100) = 4 together are 5."""
    ours = Summary(mean=20.0, sd=6.0, sem=3.0, n=4)
    assert difference_in_se(ours, 10.0, 40.0, 100) == pytest.approx(2.0)
    assert difference_in_se(ours, 30.0, 40.0, 100) == pytest.approx(-2.0)


def test_a_difference_without_spread_is_none_or_infinite() -> None:
    ours = Summary(mean=1.0, sd=0.0, sem=0.0, n=3)
    assert difference_in_se(ours, 1.0, 0.0, 50) == 0.0
    assert difference_in_se(ours, 2.0, 0.0, 50) == -math.inf
    assert math.isnan(difference_in_se(summarised([]), 1.0, 0.1, 50))


def test_a_published_mean_from_no_run_is_refused() -> None:
    with pytest.raises(DataError, match="`theirs_n` at least 1, got 0.1 and 0"):
        difference_in_se(summarised([1, 2]), 1.0, 0.1, 0)
    with pytest.raises(DataError, match="`theirs_sd` must be at least 0"):
        difference_in_se(summarised([1, 2]), 1.0, -0.1, 50)


def test_a_band_leaves_out_missing_values_at_each_point() -> None:
    rows = np.array([[1.0, 5.0, math.nan], [2.0, math.nan, math.nan], [4.0, math.nan, math.nan]])
    mean, sem = band(rows)
    np.testing.assert_allclose(mean, [7 / 3, 5.0, math.nan])
    np.testing.assert_allclose(sem, [0.8819171036881969, math.nan, math.nan])


@given(
    arrays.arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 4)),
        elements=st.one_of(st.floats(-1e3, 1e3), st.just(math.nan)),
    )
)
def test_moments_are_those_of_the_finite_values(rows: Array) -> None:
    mean, sd, count = moments(rows)
    for column in range(rows.shape[1]):
        there = rows[:, column][np.isfinite(rows[:, column])]
        assert count[column] == len(there)
        assert np.isnan(mean[column]) == (len(there) == 0)
        assert np.isnan(sd[column]) == (len(there) < 2)
        if len(there) > 1:
            assert mean[column] == pytest.approx(there.mean(), abs=1e-9)
            assert sd[column] == pytest.approx(there.std(ddof=1), abs=1e-9)


def test_a_common_shift_does_not_cost_digits() -> None:
    assert summarised(1e9 + np.array([1.0, 2.0, 4.0])).sem == pytest.approx(0.8819171037, abs=1e-9)


def test_the_papers_tables_are_means_and_deviations_over_seeds() -> None:
    """For methods with full trainings only, whose published traces are what the tables print.

    All cells come out to the digits printed, but for random search on ImageNet after 12 trainings,
    which is printed once for each of three priors and lies 0.002 away.
    """
    folder = paper_folder()
    runs = defaultdict(list)
    with gzip.open(folder / "traces" / "by_integer_budget.csv.gz", "rt") as lines:
        for run in csv.DictReader(lines):
            runs[run["benchmark"], run["prior"], run["algorithm"]].append(run)
    with (folder / "tables.csv").open() as lines:
        cells = [
            cell
            for cell in csv.DictReader(lines)
            if cell["algorithm"] in ("RS", "BO", "piBO") and cell["workers"] == "1"
        ]
    differing = set()
    for cell in cells:
        key = cell["benchmark"], cell["prior"], cell["algorithm"]
        budget = f"b{cell['horizon'].removesuffix('x')}"
        found = summarised([float(run[budget]) for run in runs[key]])
        printed = float(cell["mean"]), float(cell["std"])
        if (found.mean, found.sd) != pytest.approx(printed, abs=5.1e-4):
            differing.add((*key, cell["horizon"]))
    assert len(cells) == 216
    assert differing == {
        ("PD1-ImageNet", prior, "RS", "12x") for prior in ("near_optimum", "good", "bad")
    }
