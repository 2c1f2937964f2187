"""The quadratic surface against least squares by another method, and against known functions."""

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import priorband as pb
from priorband.prior_report.surface import (
    MOST,
    Terms,
    _solved,
    fitted_surface,
    kept_results,
    scores,
    terms_for,
)
from priorband.state import _ROWS
from priorband.trial import Observation, Trial


def test_the_terms_of_two_numbers_and_a_choice() -> None:
    terms = Terms((None, None, 2), products=True)
    row = np.array([[1.0, 0.25, 1.0]])
    linear = [1.0, -0.5, -0.5, 0.5]
    squares = [1.5 * (1 - 1 / 3), 1.5 * (0.25 - 1 / 3)]
    products = [-0.5, -0.5, 0.5, 0.25, -0.25]
    assert terms.of(row)[0].tolist() == pytest.approx([*linear, *squares, *products])
    assert terms.precisions.tolist() == [2.0] * 6 + [8.0] * 5


def test_inactive_parameters_have_no_terms() -> None:
    terms = Terms((None, 3), products=True)
    assert terms.of(np.array([[np.nan, np.nan]])).tolist() == [[0.0] * 8]


def test_products_are_left_out_where_there_are_too_many() -> None:
    few = pb.Space({f"x{i}": pb.Float(0, 1) for i in range(6)})
    many = pb.Space({f"x{i}": pb.Float(0, 1) for i in range(40)})
    assert terms_for(few).products and not terms_for(many).products


def test_the_solution_is_that_of_least_squares_with_rows_for_the_prior() -> None:
    rng = np.random.default_rng(0)
    terms = Terms((None, None), products=True)
    columns = terms.of(rng.random((40, 2)))
    target, weights = rng.standard_normal(40), rng.random(40) + 0.5
    surface = _solved(terms, columns, target, weights)
    residuals = target - columns @ surface.coefficients
    noise = float(np.clip(weights @ residuals**2 / 40, 0.1, 1.0))
    for _ in range(3):  # the variance of the noise has all but settled
        root = np.sqrt(weights / noise)
        left = np.concatenate((columns * root[:, None], np.diag(np.sqrt(terms.precisions))))
        right = np.concatenate((target * root, np.zeros(5)))
        expected = np.linalg.lstsq(left, right, rcond=None)[0]
        noise = float(np.clip(weights @ (target - columns @ expected) ** 2 / 40, 0.1, 1.0))
    assert surface.coefficients == pytest.approx(expected, abs=0.02)
    assert surface.covariance == pytest.approx(np.linalg.inv(left.T @ left), abs=0.02)


def test_scores_of_equal_losses_are_equal_and_those_of_a_constant_are_zero() -> None:
    assert scores(np.full(5, 3.0)).tolist() == [0.0] * 5
    tied = scores(np.array([1.0, 2.0, 2.0, 5.0]))
    assert tied[1] == tied[2] and tied[0] < tied[1] < tied[3]


@settings(max_examples=examples(100))
@given(st.lists(st.floats(-100, 100), min_size=3, max_size=30), st.floats(0.1, 10))
def test_scores_keep_the_order_and_do_not_depend_on_the_unit(
    losses: list[float], unit: float
) -> None:
    values = np.round(losses, 3)
    found = scores(values)
    order = np.argsort(values, kind="stable")
    assert (np.diff(found[order]) >= -1e-9).all()
    assert scores(values * unit) == pytest.approx(found, abs=1e-6)
    assert abs(found.mean()) < 1e-9


def filled(results: int, fidelity: float | None = None) -> pb.Study:
    space = pb.Space(x=pb.Float(0, 1, prior=0.5), y=pb.Float(0, 1, prior=0.5))
    study = pb.Study(space, pb.Fidelity("epochs", 1, 9))
    for x, y in np.random.default_rng(0).random((results, 2)).tolist():
        study.add({"x": x, "y": y}, (x - 0.3) ** 2, fidelity)
    return study


def test_the_surface_finds_what_matters_and_the_minimum() -> None:
    surface = fitted_surface(filled(60).state)
    assert surface is not None
    grid = np.linspace(0, 1, 101)
    by_x = surface.scores(np.stack((grid, np.full(101, 0.5)), axis=1))
    by_y = surface.scores(np.stack((np.full(101, 0.5), grid), axis=1))
    assert abs(grid[by_x.argmin()] - 0.3) < 0.08
    assert np.ptp(by_y) < 0.1 * np.ptp(by_x)


def test_a_difference_and_its_error() -> None:
    surface = fitted_surface(filled(60).state)
    assert surface is not None
    rows = np.array([[0.3, 0.5], [1.0, 0.5]])
    better = surface.difference(rows, np.array([1.0, -1.0]))
    low, high = surface.scores(rows)
    assert better.mean == pytest.approx(low - high) and better.mean < -10 * better.error
    assert surface.difference(rows, np.zeros(2)).ratio == 0.0


def test_more_results_make_errors_smaller() -> None:
    errors = []
    for results in (10, 40, 160):
        surface = fitted_surface(filled(results).state)
        assert surface is not None
        errors.append(surface.difference(np.eye(2), np.array([1.0, -1.0])).error)
    assert errors == sorted(errors, reverse=True)


def test_there_is_no_surface_without_results() -> None:
    assert fitted_surface(filled(0).state) is None
    assert fitted_surface(filled(2).state) is None


def test_only_some_of_many_results_are_encoded() -> None:
    state = filled(3 * MOST).state
    assert fitted_surface(state) is not None
    assert state.history.cached(_ROWS, lambda kept: len(kept.by_root)) <= MOST


def test_results_near_the_incumbent_are_left_out_first() -> None:
    def ended(i: int) -> Observation:
        origin = "uniform" if i % 5 == 0 else "incumbent"
        return Observation(Trial(i, pb.Config(x=0.5), 1, None, None, origin, i), float(i))

    few, many = [ended(i) for i in range(MOST)], [ended(i) for i in range(4 * MOST)]
    assert kept_results(few) == list(range(MOST))
    kept = kept_results(many)
    assert len(kept) == MOST and kept == sorted(kept)
    assert {i for i in kept if i % 5 == 0} == set(range(0, 4 * MOST, 5))
    assert max(np.diff(kept)) <= 25 and len(kept_results(many[::5] * 6)) == MOST
