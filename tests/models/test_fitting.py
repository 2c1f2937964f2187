"""Fitted parameters, against scikit-learn's optimiser, many starts and the truth."""

from collections.abc import Iterator

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from priorband.models.fitting import RACE, bounds, fit, starts
from priorband.models.gp import GP, Data, factor, likelihood
from priorband.models.kernels import Array, Kernel
from priorband.models.threads import one_thread

from .test_kernels import KERNELS, label, mixed_rows, parameters, rows_for, tables


@pytest.fixture(autouse=True, scope="module")
def one_thread_each() -> Iterator[None]:
    """As where the model works: waiting threads would cost more than the matrices."""
    with one_thread():
        yield


def drawn(kernel: Kernel, logs: Array, n: int, seed: int) -> tuple[Data, Array]:
    """Data of a process, standardised, and the parameters that it then has."""
    rows = rows_for(kernel, n, seed)
    values = kernel.gram(logs, kernel.pairs(rows)).values
    lower = factor(values, kernel.diagonal(logs) + kernel.noise(logs, rows))
    targets = lower @ np.random.default_rng(seed).standard_normal(n)
    scale = targets.std()
    variances = np.array([name[0] in "abvw" for name in kernel.names])
    true = np.clip(logs - variances * 2 * np.log(scale), *bounds(kernel).T)
    return Data.of(kernel, rows, (targets - targets.mean()) / scale), true


def climbed(data: Data, logs: Array, steps: int = 15_000) -> float:
    """The likelihood that scipy's optimiser reaches from some parameters."""
    return -float(
        minimize(
            lambda at: tuple(-part for part in likelihood(data, at)),
            logs,
            jac=True,
            bounds=bounds(data.kernel),
            method="L-BFGS-B",
            options={"maxiter": steps},
        ).fun
    )


@pytest.mark.parametrize("kernel", [*KERNELS, Kernel((None,) * 200)], ids=label)
def test_starts_are_distinct_and_within_the_bounds(kernel: Kernel) -> None:
    low, high = bounds(kernel).T
    begun = starts(kernel)
    assert (low < high).all() and len(low) == len(kernel.names)
    assert ((begun >= low) & (begun <= high)).all()
    assert len(np.unique(begun, axis=0)) == len(begun) >= 2
    assert [kernel.diagonal(logs) for logs in begun] == pytest.approx([1.0] * len(begun))


def test_starts_have_scales_by_the_root_of_the_dimensions_and_even_noise() -> None:
    one, four = starts(Kernel((None,))), starts(Kernel((None,) * 4, graded=True))
    assert four[:, :4] == pytest.approx(np.tile(one[:, :1], 4) + np.log(2.0))
    assert (four[:, -1] == four[:, -2]).all() and (four[:, -1] == one[:, -1]).all()


def test_bounds_follow_the_kinds_of_parameters() -> None:
    kernel = Kernel((3, None), graded=True)  # l1 t0 a b v w
    scale, weight, amplitude, noise = (0.02, 30.0), (1e-3, 10.0), (1e-3, 100.0), (1e-6, 1.0)
    expected = [scale, weight, amplitude, amplitude, noise, noise]
    assert np.exp(bounds(kernel)) == pytest.approx(np.array(expected), rel=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("columns", "n", "noise"), [(1, 12, 1e-3), (2, 25, 0.05), (3, 30, 1e-4)])
def test_scikit_learns_optimiser_finds_nothing_better(columns: int, n: int, noise: float) -> None:
    """They keep the mean at 0, so that our best mean can only be better at the same parameters."""
    kernel = Kernel((None,) * columns)
    logs = np.log([*np.linspace(0.3, 1.5, columns), 1.0, noise])
    data, _ = drawn(kernel, logs, n, seed=columns)
    limits = np.exp(bounds(kernel))
    shape = ConstantKernel(1.0, limits[-2]) * Matern(np.ones(columns), limits[:-2], nu=2.5)
    theirs = GaussianProcessRegressor(
        shape + WhiteKernel(1e-2, limits[-1]), alpha=0.0, n_restarts_optimizer=5, random_state=0
    ).fit(data.rows, data.targets)
    theta = theirs.kernel_.theta
    at_theirs = np.clip([*theta[1:-1], theta[0], theta[-1]], *bounds(kernel).T)
    expected = theirs.log_marginal_likelihood(theta)
    assert likelihood(data, at_theirs, mean=0.0)[0] == pytest.approx(expected, rel=1e-6)
    found = likelihood(data, fit(data))[0]
    assert found >= likelihood(data, at_theirs)[0] - 1e-3 >= expected - 1e-3


@pytest.mark.parametrize(
    ("kernel", "n"),
    [
        (Kernel((None,)), 8),
        (Kernel((None,) * 4), 40),
        (Kernel((None, 3)), 20),
        (Kernel((None, 3), product=True), 20),
        (Kernel((3, 2)), 20),
        (Kernel((None, None, 3, 2)), 40),
        (Kernel((2, None, None), graded=True), 40),
        (Kernel((None, 3, None, 2), optional=(1, 2)), 40),
    ],
    ids=str,
)
def test_neither_other_starts_nor_the_truth_explain_the_data_better(kernel: Kernel, n: int) -> None:
    values = {"l": 0.5, "t": 0.7, "v": 0.02, "w": 1e-3}
    logs = np.log([values.get(name[0], 1.0) for name in kernel.names])
    data, true = drawn(kernel, logs, n, seed=n)
    found = fit(data)
    low, high = bounds(kernel).T
    assert ((found >= low) & (found <= high)).all()
    reached = likelihood(data, found)[0]
    assert reached >= likelihood(data, true)[0]
    others = np.random.default_rng(0).uniform(low, high, (6, len(low)))
    assert reached >= max(climbed(data, logs) for logs in others) - 1e-3


def test_a_climb_gains_on_every_start_and_more_climbs_lose_nothing() -> None:
    kernel = Kernel((None, None))
    data, _ = drawn(kernel, np.log([0.3, 1.0, 1.0, 1e-2]), 20, seed=0)
    at_starts = [likelihood(data, logs)[0] for logs in starts(kernel)]
    reached = likelihood(data, fit(data))[0]
    assert reached > max(at_starts)
    assert likelihood(data, fit(data, restarts=6, steps=200))[0] >= reached


@pytest.mark.parametrize("seed", [0, 4, 6])
def test_of_the_starts_that_explain_most_the_highest_climb_goes_on(seed: int) -> None:
    """Noise in many dimensions: starts lead to different hills."""
    kernel, rng = Kernel((None,) * 8 + (3, 2), graded=False), np.random.default_rng(seed)
    rows = mixed_rows(14, kernel.sizes, seed)
    data = Data.of(kernel, rows, stats.zscore(rng.standard_normal(14)))
    begun = sorted(starts(kernel), key=lambda logs: -likelihood(data, logs)[0])
    early = [climbed(data, logs, steps=RACE) for logs in begun]
    for restarts in (1, 2, 3, 6):
        found = likelihood(data, fit(data, restarts, steps=500))[0]
        winner = begun[int(np.argmax(early[:restarts]))]
        assert found >= max(early[:restarts])
        assert found >= climbed(data, winner) - 0.05


def test_an_input_that_does_not_matter_gets_a_longer_scale() -> None:
    kernel, rows = Kernel((None, None, None, 2, 2)), mixed_rows(60, (None, None, None, 2, 2), 0)
    noise = 0.02 * np.random.default_rng(1).standard_normal(60)
    targets = np.sin(6 * rows[:, 1]) + 0.5 * rows[:, 2] + 0.8 * rows[:, 4] + noise
    data = Data.of(kernel, rows, (targets - targets.mean()) / targets.std())
    found = parameters(kernel, fit(data))
    assert 10 * found["l1"] < found["l0"] > found["l2"] > found["l1"]
    assert found["t4"] > 3 * found["t3"]


@pytest.mark.parametrize("noise", [1e-4, 1e-2, 0.2])
@pytest.mark.parametrize("seed", range(2))
def test_the_noise_and_the_scale_are_recovered(noise: float, seed: int) -> None:
    kernel = Kernel((None,))
    data, true = drawn(kernel, np.log([0.2, 1.0, noise]), 100, seed)
    assert np.abs(fit(data) - true)[[0, 2]].max() < np.log(2.5)


def test_graded_noise_is_recovered_at_both_ends() -> None:
    kernel = Kernel((None, None), graded=True)
    data, true = drawn(kernel, np.log([0.4, 2.0, 1.0, 0.2, 1e-3]), 120, seed=3)
    assert np.abs(fit(data) - true)[-2:].max() < np.log(4.0)


def test_constant_targets_need_no_fit() -> None:
    for kernel in (Kernel((None, 3)), Kernel((2,)), Kernel((None,), graded=True)):
        for n in (1, 2, 20):
            data = Data.of(kernel, rows_for(kernel, n, n), np.full(n, 0.5))
            found = fit(data)
            assert found.tolist() in starts(kernel).tolist()
            process = GP.conditioned(kernel, found, data.rows, data.targets)
            assert process.mean == pytest.approx(0.5, rel=1e-9)
            assert process.predict(data.rows).mean == pytest.approx([0.5] * n, rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=label)
def test_two_results_are_enough_and_twice_the_same(kernel: Kernel) -> None:
    for targets in ([-1.0, 1.0], [-1.0, 1.0, 0.3]):
        data = Data.of(kernel, rows_for(kernel, len(targets), 1), np.array(targets))
        found, again = fit(data), fit(data)
        assert (found == again).all()
        assert ((found >= bounds(kernel)[:, 0]) & (found <= bounds(kernel)[:, 1])).all()


@settings(max_examples=examples(25))
@given(tables(), st.integers(0, 2**32))
def test_whatever_the_data_parameters_are_within_the_bounds(
    table: tuple[Kernel, Array, Array], seed: int
) -> None:
    kernel, _, rows = table
    targets = np.random.default_rng(seed).standard_normal(len(rows)).round(1)
    data = Data.of(kernel, rows, targets)
    found = fit(data)
    assert ((found >= bounds(kernel)[:, 0]) & (found <= bounds(kernel)[:, 1])).all()
    assert likelihood(data, found)[0] >= likelihood(data, starts(kernel)[0])[0]
    got = GP.conditioned(kernel, found, rows, targets).predict(rows)
    assert np.isfinite(got.mean).all() and (got.variance > 0).all()
