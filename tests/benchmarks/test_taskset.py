"""TaskSet: the tables match their description, and the nearest row is used."""

import math
import pickle
from pathlib import Path

import numpy as np
import pytest
from real_data import data_folder
from scipy import stats

from priorband.benchmarks.base import Array, Benchmark
from priorband.benchmarks.taskset import FILE, HIGHEST, TASKS, TaskSet
from priorband.errors import DataError, SpaceError

DESCRIBED = {
    # best, median and tenth percentile; correlation after 3, 6 and 18 points; rows with nan
    "imdb_patch32_GRU128_bs128": ((0.378, 0.707, 0.692), (0.84, 0.90, 0.94), 1),
    "imdb_patch32_LSTM128_bs128": ((0.530, 0.694, 0.680), (0.76, 0.83, 0.90), 3),
    "imdb_patch32_VRNN64_tanh_avg_bs128": ((0.425, 0.694, 0.680), (0.78, 0.82, 0.90), 0),
    "imdb_patch32_IRNN64_relu_avg_bs128": ((0.489, 0.734, 0.682), (0.87, 0.91, 0.97), 234),
    "imdb_patch128_LSTM128_bs64": ((0.406, 0.694, 0.685), (0.79, 0.86, 0.93), 99),
}
GRU = TASKS[0]


def table(task: str) -> tuple[Array, Array]:
    """The settings and the validation curves as they are in the file."""
    with np.load(data_folder() / FILE.format(task), allow_pickle=False) as file:
        return np.array(file["hp"]), np.array(file["valid"], dtype=np.float64)


@pytest.mark.parametrize("task", TASKS)
def test_the_losses_match_their_description(task: str) -> None:
    described, correlations, missing = DESCRIBED[task]
    _, curves = table(task)
    assert np.isnan(curves).any(axis=1).sum() == missing
    ends = curves[:, -1][~np.isnan(curves[:, -1])]
    found = (ends.min(), np.median(ends), np.quantile(ends, 0.1))
    assert found == pytest.approx(described, abs=6e-4)
    both = curves[~np.isnan(curves).any(axis=1)]
    after = [stats.spearmanr(both[:, point - 1], both[:, -1]).statistic for point in (3, 6, 18)]
    assert after == pytest.approx(correlations, abs=6e-3)
    assert TaskSet(task, data_folder()).optimum[1] == pytest.approx(described[0], abs=6e-4)


@pytest.mark.parametrize("task", TASKS)
def test_each_trained_configuration_has_its_own_losses(task: str) -> None:
    bench = TaskSet(task, data_folder())
    values, curves = table(task)
    searched = np.column_stack((values[:, 0], 1 - values[:, 1:3], values[:, 3:]))
    configs = [dict(zip(bench.space.names, row, strict=True)) for row in searched.tolist()]
    for point in (1, 5, 17, 51):
        losses = curves[:, point - 1]
        expected = np.where(losses > HIGHEST, np.nan, losses)
        np.testing.assert_array_equal(bench.evaluate_many(configs, point), expected)
    config, loss = bench.optimum
    assert bench.evaluate(config, 51) == loss
    assert bench.evaluate_many(configs[:3], 17.6).tolist() == (
        bench.evaluate_many(configs[:3], 17).tolist()
    )


def test_no_untrained_network_counts_as_failed() -> None:
    for task in TASKS:
        _, curves = table(task)
        assert np.nanmax(curves[:, 0]) < HIGHEST / 3


def test_it_is_a_benchmark_that_can_be_pickled() -> None:
    bench: Benchmark = TaskSet(GRU, data_folder())
    copy = pickle.loads(pickle.dumps(bench))
    assert repr(copy) == "TaskSet('imdb_patch32_GRU128_bs128')"
    assert copy.optimum == bench.optimum
    assert (bench.fidelity.low, bench.fidelity.high, len(bench.space)) == (1, 51, 8)


def test_fidelities_beyond_a_curve_and_unknown_tasks_are_refused() -> None:
    with pytest.raises(SpaceError, match="Unknown TaskSet task 'imdb'. Known: imdb_patch"):
        TaskSet("imdb")
    bench = TaskSet(GRU, data_folder())
    for point in (0, 52, math.nan):
        with pytest.raises(SpaceError, match="`points` must be between 1 and 51, got"):
            bench.evaluate(bench.optimum[0], point)


def test_a_missing_or_different_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"TaskSet needs the file .* from a data folder"):
        TaskSet(GRU)
    with pytest.raises(DataError, match=r"needs the file .*GRU128_bs128.npz, which does not exist"):
        TaskSet(GRU, tmp_path)
    path = tmp_path / FILE.format(GRU)
    path.parent.mkdir()
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match="is not a table of TaskSet"):
        TaskSet(GRU, tmp_path)
    np.savez(path, hp=np.ones((4, 2)), valid=np.ones((4, 51)), hp_names=np.array(["a", "b"]))
    with pytest.raises(DataError, match=r"settings of learning_rate, .* \(4, 51\) for a, b"):
        TaskSet(GRU, tmp_path)


def test_a_fidelity_that_misses_a_point_by_rounding_is_that_point() -> None:
    bench = TaskSet(GRU, data_folder())
    configs = [bench.space.decode(row) for row in np.full((1, 8), 0.5)]
    just_below = 17 * (1 - 1e-12)
    assert bench.evaluate_many(configs, just_below) == bench.evaluate_many(configs, 17)
    assert bench.evaluate_many(configs, 17) != bench.evaluate_many(configs, 16)


def test_a_loss_above_ten_is_a_failure() -> None:
    assert HIGHEST == 10.0
