"""The Gaussian process, against scikit-learn, plain linear algebra and differences."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from priorband.models.gp import GP, Data, factor, likelihood, solve
from priorband.models.kernels import Array, Kernel
from priorband.models.threads import one_thread

from .test_kernels import (
    KERNELS,
    differences,
    label,
    mixed_rows,
    random_logs,
    rows_for,
    slow_cross,
    slow_noise,
    tables,
)


@pytest.fixture(autouse=True, scope="module")
def one_thread_each() -> Iterator[None]:
    """As where the model works: waiting threads would cost more than the matrices."""
    with one_thread():
        yield


class Case(NamedTuple):
    """A kernel with parameters, some data, and rows at which to ask."""

    kernel: Kernel
    logs: Array
    rows: Array
    targets: Array
    places: Array


def case(kernel: Kernel, n: int, seed: int) -> Case:
    rows, places = (rows_for(kernel, m, seed + m) for m in (n, 7))
    targets = np.random.default_rng(seed).standard_normal(n) + 0.5
    return Case(kernel, random_logs(kernel, seed), rows, targets, places)


def slow_matrix(known: Case) -> Array:
    """The covariance of the targets."""
    matrix = slow_cross(known.kernel, known.logs, known.rows, known.rows)
    return matrix + np.diag(slow_noise(known.kernel, known.logs, known.rows))


def slow_mean(known: Case) -> float:
    """The mean with the highest likelihood: that of generalised least squares."""
    ones = np.ones(len(known.targets))
    inverse = np.linalg.inv(slow_matrix(known))
    return float(ones @ inverse @ known.targets / (ones @ inverse @ ones))


def slow_likelihood(known: Case, mean: float) -> float:
    matrix, residuals = slow_matrix(known), known.targets - mean
    _, log_determinant = np.linalg.slogdet(matrix)
    fit = float(residuals @ np.linalg.solve(matrix, residuals))
    return -0.5 * (fit + float(log_determinant) + len(residuals) * float(np.log(2 * np.pi)))


def slow_posterior(known: Case, mean: float) -> tuple[Array, Array]:
    kernel, logs, rows, targets, places = known
    cross = slow_cross(kernel, logs, places, rows)
    pull = np.linalg.solve(slow_matrix(known), cross.T)
    prior = np.diagonal(slow_cross(kernel, logs, places, places))
    return mean + pull.T @ (targets - mean), prior - (cross * pull.T).sum(axis=1)


# Against scikit-learn

TABLES = [(1, 1), (1, 60), (2, 2), (3, 17), (5, 1), (7, 40), (14, 5), (14, 60)]
"""Dimensions, and results."""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("columns", "n"), TABLES)
def test_the_likelihood_and_its_gradient_are_scikit_learns(columns: int, n: int, seed: int) -> None:
    kernel, logs, rows, targets, _ = case(Kernel((None,) * columns), n, seed)
    value, gradient = likelihood(Data.of(kernel, rows, targets), logs, mean=0.0)
    shape = ConstantKernel() * Matern(np.ones(columns), nu=2.5) + WhiteKernel()
    theirs = GaussianProcessRegressor(shape, alpha=0.0, optimizer=None).fit(rows, targets)
    theta = np.array([logs[-2], *logs[:-2], logs[-1]])  # amplitude, scales, noise
    expected, slopes = theirs.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(expected, rel=1e-9)
    ordered = [*slopes[1:-1], slopes[0], slopes[-1]]
    assert gradient == pytest.approx(ordered, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("columns", "n"), TABLES)
def test_the_posterior_is_scikit_learns(columns: int, n: int, seed: int) -> None:
    kernel, logs, rows, targets, places = case(Kernel((None,) * columns), n, seed)
    places = np.concatenate((places, rows[:3]))
    known = np.exp(logs)
    shape = ConstantKernel(known[-2]) * Matern(known[:-2], nu=2.5)
    theirs = GaussianProcessRegressor(shape, alpha=known[-1], optimizer=None).fit(rows, targets)
    mean, deviation = theirs.predict(places, return_std=True)
    got = GP.conditioned(kernel, logs, rows, targets, mean=0.0).predict(places)
    assert got.mean == pytest.approx(mean, rel=1e-6, abs=1e-9)
    assert got.variance == pytest.approx(deviation**2, rel=1e-6)


# Against plain linear algebra and differences


@pytest.mark.parametrize("n", [1, 2, 12])
@pytest.mark.parametrize("kernel", KERNELS, ids=label)
def test_the_likelihood_is_that_of_plain_linear_algebra(kernel: Kernel, n: int) -> None:
    known = case(kernel, n, seed=n)
    data, best = Data.of(kernel, known.rows, known.targets), slow_mean(known)
    profiled = likelihood(data, known.logs)[0]
    assert profiled == pytest.approx(slow_likelihood(known, best), rel=1e-8)
    for mean in (0.0, -1.7):
        given_mean = likelihood(data, known.logs, mean)[0]
        assert given_mean == pytest.approx(slow_likelihood(known, mean), rel=1e-8)


@pytest.mark.parametrize("mean", [None, 0.0, 0.8])
@pytest.mark.parametrize("kernel", KERNELS, ids=label)
def test_the_likelihoods_gradient_is_that_of_differences(
    kernel: Kernel, mean: float | None
) -> None:
    known = case(kernel, 15, seed=3)
    data = Data.of(kernel, known.rows, known.targets)
    _, gradient = likelihood(data, known.logs, mean)
    expected = differences(lambda logs: likelihood(data, logs, mean)[0], known.logs, 1e-3)
    rounding = 1e-8 + 1e-9 * np.abs(expected).max()
    assert gradient == pytest.approx(expected, rel=1e-6, abs=rounding)
    alone = [f"t{j}" for j, size in enumerate(kernel.sizes) if size == 1]
    assert (gradient == 0.0).tolist() == [name in alone for name in kernel.names]


@pytest.mark.parametrize("n", [1, 2, 30])
def test_rows_in_another_order_have_the_same_likelihood(n: int) -> None:
    known = case(Kernel((None, 3, None), graded=True), n, seed=8)
    order = np.random.default_rng(0).permutation(n)
    value, gradient = likelihood(Data.of(known.kernel, known.rows, known.targets), known.logs)
    other = Data.of(known.kernel, known.rows[order], known.targets[order])
    assert likelihood(other, known.logs)[0] == pytest.approx(value, rel=1e-10)
    assert likelihood(other, known.logs)[1] == pytest.approx(gradient, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=label)
def test_the_profiled_mean_maximises_the_likelihood(kernel: Kernel) -> None:
    known = case(kernel, 10, seed=4)
    found = GP.conditioned(kernel, known.logs, known.rows, known.targets).mean
    assert found == pytest.approx(slow_mean(known), rel=1e-8)
    best = slow_likelihood(known, found)
    for step in (1e-2, 1.0):
        sides = [slow_likelihood(known, found + sign * step) for sign in (-1, 1)]
        assert max(sides) < best
        assert sides[0] == pytest.approx(sides[1], rel=1e-9)  # a parabola's summit


@pytest.mark.parametrize("n", [1, 2, 12])
@pytest.mark.parametrize("kernel", KERNELS, ids=label)
def test_the_posterior_is_that_of_plain_linear_algebra(kernel: Kernel, n: int) -> None:
    known = case(kernel, n, seed=n)
    for mean in (None, 0.0, 1.3):
        process = GP.conditioned(kernel, known.logs, known.rows, known.targets, mean)
        expected = slow_posterior(known, slow_mean(known) if mean is None else mean)
        got = process.predict(known.places)
        assert got.mean == pytest.approx(expected[0], rel=1e-7, abs=1e-9)
        assert got.variance == pytest.approx(expected[1], rel=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=label)
def test_a_rows_slope_is_that_of_differences(kernel: Kernel) -> None:
    known, numbers = case(kernel, 12, seed=6), list(kernel.numbers)
    process = GP.conditioned(kernel, known.logs, known.rows, known.targets)

    def moved(row: Array, position: Array) -> Array:
        other = row.copy()
        other[numbers] = position
        return np.concatenate(process.predict(other[None]))

    for row in known.places[:3]:
        mean, variance, by_mean, by_variance = process.slope(row)
        posterior = process.predict(row[None])
        assert (mean, variance) == pytest.approx(moved(row, row[numbers]).tolist(), rel=1e-8)
        assert posterior.mean.shape == posterior.variance.shape == (1,)
        expected = differences(partial(moved, row), row[numbers], 1e-3).reshape(len(numbers), 2)
        assert by_mean == pytest.approx(expected[:, 0], rel=1e-6, abs=1e-7)
        assert by_variance == pytest.approx(expected[:, 1], rel=1e-6, abs=1e-7)


def test_one_result_worked_by_hand() -> None:
    """Amplitude 3, noise 1, one result 2 at the very row: a quarter of the way back to mean 0."""
    rows, targets = np.array([[0.4]]), np.array([2.0])
    process = GP.conditioned(Kernel((None,)), np.log([0.3, 3.0, 1.0]), rows, targets, mean=0.0)
    assert process.predict(rows).mean == pytest.approx([1.5], rel=1e-12)
    assert process.predict(rows).variance == pytest.approx([0.75], rel=1e-12)
    far = process.predict(np.array([[1e3]]))
    assert (far.mean[0], far.variance[0]) == (0.0, process.kernel.diagonal(process.logs))
    assert GP.conditioned(process.kernel, process.logs, rows, targets).mean == pytest.approx(2.0)


# Believing


@pytest.mark.parametrize("kernel", KERNELS, ids=label)
def test_believing_is_conditioning_on_the_means(kernel: Kernel) -> None:
    known, running = case(kernel, 9, seed=2), rows_for(kernel, 3, 77)
    process = GP.conditioned(kernel, known.logs, known.rows, known.targets)
    mean = slow_mean(known)
    means, variances = slow_posterior(known._replace(places=running), mean)
    by_hand = known._replace(
        rows=np.concatenate((known.rows, running)), targets=np.concatenate((known.targets, means))
    )
    with_pending = process.with_pending(running)
    got, expected = with_pending.predict(known.places), slow_posterior(by_hand, mean)
    assert got.mean == pytest.approx(expected[0], rel=1e-7, abs=1e-9)
    assert got.variance == pytest.approx(expected[1], rel=1e-7)
    # What it expected anyhow changes no mean, but leaves less to be known.
    everywhere = np.concatenate((known.places, known.rows, running))
    before, after = process.predict(everywhere), with_pending.predict(everywhere)
    assert after.mean == pytest.approx(before.mean, rel=1e-8, abs=1e-9)
    assert (after.variance <= before.variance * (1 + 1e-9)).all()
    assert (after.variance[-3:] < variances).all()


def test_believing_nothing_is_the_same_process_and_believing_twice_is_believing_both() -> None:
    known, running = case(Kernel((None, 2)), 6, seed=1), mixed_rows(2, (None, 2), 5)
    process = GP.conditioned(*known[:4])
    assert process.with_pending(running[:0]) is process
    both, twice = (
        process.with_pending(running),
        process.with_pending(running[:1]).with_pending(running[1:]),
    )
    assert both.mean == twice.mean == process.mean
    assert twice.targets == pytest.approx(both.targets, rel=1e-10)
    assert (twice.rows == both.rows).all() and len(process.rows) == 6


# The Cholesky factor


def pairs_of(matrix: Array) -> Array:
    return np.asarray(matrix[np.triu_indices(len(matrix), 1)], dtype=np.float64)


@pytest.mark.parametrize("n", [1, 2, 3, 40, 150])
def test_a_well_conditioned_matrix_gets_no_jitter(n: int) -> None:
    root = np.random.default_rng(n).standard_normal((n, n))
    matrix = root @ root.T + n * np.eye(n)
    lower = factor(pairs_of(matrix), np.diagonal(matrix))
    assert (lower == np.tril(lower)).all()
    assert lower == pytest.approx(np.linalg.cholesky(matrix), rel=1e-13, abs=1e-13)
    right = np.random.default_rng(0).standard_normal((n, 2))
    assert solve(lower, right) == pytest.approx(np.linalg.solve(matrix, right), rel=1e-7)
    assert solve(lower, right[:, 0]) == pytest.approx(solve(lower, right)[:, 0], rel=1e-12)


@pytest.mark.parametrize("n", [2, 5, 64])
def test_an_exactly_singular_matrix_gets_as_little_as_helps(n: int) -> None:
    lower = factor(np.full(n * (n - 1) // 2, 1.0), np.ones(n))
    grown = lower @ lower.T
    assert grown - np.diag(np.diagonal(grown) - 1.0) == pytest.approx(np.ones((n, n)), abs=1e-12)
    assert (np.diagonal(grown) >= 1.0 - 1e-15).all()
    assert (np.diagonal(grown) <= 1.0 + 1.01e-9).all()


def test_the_jitter_grows_with_the_need() -> None:
    for need in (1e-9, 1e-6, 1e-3):
        lower = factor(np.array([4.0 * (1 + need)]), np.full(2, 4.0))
        added = (lower @ lower.T)[0, 0] / 4.0 - 1.0
        assert need <= added <= 10.1 * need
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        factor(np.array([8.0]), np.full(2, 4.0))


def test_many_equal_rows_with_hardly_any_noise_work() -> None:
    kernel, logs = Kernel((None, 2)), np.log([1.0, 0.5, 1.0, 1.0, 1e-30])
    rows, targets = np.tile([0.3, 1.0], (30, 1)), np.linspace(-1, 1, 30)
    value, gradient = likelihood(Data.of(kernel, rows, targets), logs)
    assert np.isfinite(value) and np.isfinite(gradient).all()
    process = GP.conditioned(kernel, logs, rows, targets)
    got = process.predict(np.array([[0.3, 1.0], [0.3, 0.0], [0.9, 1.0]]))
    assert got.mean[0] == pytest.approx(0.0, abs=1e-3)
    assert np.isfinite(got.mean).all() and (got.variance > 0).all()
    assert got.variance[0] < 1e-6 < got.variance[1]
    mean, variance, *slopes = process.slope(rows[0])
    assert variance > 0 and np.isfinite([mean, *np.concatenate(slopes)]).all()


@pytest.mark.parametrize("n", [1, 2, 20])
def test_without_noise_a_variance_is_never_less_than_rounding(n: int) -> None:
    kernel, logs = Kernel((None, None)), np.log([0.05, 0.05, 3.0, 1e-300])
    rows, targets = mixed_rows(n, kernel.sizes, 1), np.linspace(-1, 1, n)
    process = GP.conditioned(kernel, logs, rows, targets)
    got = process.predict(rows)
    assert got.mean == pytest.approx(targets, abs=1e-9)
    for variance in (got.variance, np.array([process.slope(row)[1] for row in rows])):
        assert ((variance >= 2.99e-12) & (variance < 1e-10)).all()


@pytest.mark.parametrize("wrong", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("n", [2, 3, 100])
def test_what_is_not_finite_is_an_error_and_no_factor(n: int, wrong: float) -> None:
    """LAPACK itself does not report a NaN."""
    diagonal, values = np.full(n, 2.0 * n), np.ones(n * (n - 1) // 2)
    spoilt = diagonal.copy()
    spoilt[n // 2] = values[len(values) // 2] = wrong
    for pairs, ends in ((values, diagonal), (np.ones_like(values), spoilt)):
        with pytest.raises(np.linalg.LinAlgError, match="not finite"):
            factor(pairs, ends)


# Properties


@settings(max_examples=examples(40))
@given(tables(), st.integers(0, 2**32))
def test_variances_lie_between_nothing_and_the_priors(
    table: tuple[Kernel, Array, Array], seed: int
) -> None:
    kernel, logs, rows = table
    rng = np.random.default_rng(seed)
    targets, most = rng.standard_normal(len(rows)), kernel.diagonal(logs)
    process = GP.conditioned(kernel, logs, rows, targets)
    places = np.concatenate((rows_for(kernel, 5, seed), rows))
    got = process.predict(places)
    assert ((got.variance > 0) & (got.variance <= most)).all()
    assert np.isfinite(got.mean).all()
    shifted = GP.conditioned(kernel, logs, rows, 2.0 * targets + 5.0).predict(places)
    assert shifted.mean == pytest.approx(2.0 * got.mean + 5.0, rel=1e-6, abs=1e-5)
    assert (shifted.variance == got.variance).all()
    for place, mean, variance in zip(places, *got, strict=True):
        assert process.slope(place)[:2] == pytest.approx((mean, variance), rel=1e-6, abs=1e-6)
    more = process.with_pending(places[:2]).predict(places)
    assert (more.variance <= got.variance + 1e-9 * most).all()
