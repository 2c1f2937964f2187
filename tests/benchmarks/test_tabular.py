"""Tables of past runs as benchmarks: which row is used, and at which fidelity."""

import math
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from priorband import Config, Study, simulate
from priorband.benchmarks import tabular
from priorband.benchmarks.base import Array, Benchmark
from priorband.benchmarks.tabular import Tabular, nearest_points
from priorband.errors import ConfigError, DataError, SpaceError

Write = Callable[[str], Path]

RUNS = """lr,act,epoch,loss
0.001,relu,1,0.9
0.001,relu,3,0.8
0.001,relu,9,0.7
0.1,gelu,1,0.5
0.1,gelu,3,0.4
0.1,gelu,9,0.45
1,relu,1,nan
0.01,relu,1,0.6
0.01,relu,3,0.55
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        path = tmp_path / "runs.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return written


# Which row answers


def slow_nearest(row: Array, points: Array, sizes: tuple[int | None, ...]) -> int:
    def square(point: Array) -> float:
        return sum(
            (a - b) ** 2 if size is None else float(a != b)
            for a, b, size in zip(row, point, sizes, strict=True)
        )

    return min(range(len(points)), key=lambda i: (square(points[i]), i))


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 1000), st.integers(1, 40))
@settings(max_examples=examples(50))
def test_the_nearest_point_is_that_of_a_plain_search_in_parts_of_any_size(
    points: int, rows: int, seed: int, most: int
) -> None:
    sizes = (None, 3, None)
    rng = np.random.default_rng(seed)

    def random_rows(n: int) -> Array:
        numbers = np.round(rng.random((n, 2)) * 4) / 4  # ties are common
        return np.column_stack((numbers[:, 0], rng.integers(0, 3, n), numbers[:, 1]))

    there, here = random_rows(points), random_rows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tabular, "MAX_DISTANCES", most)
        found = nearest_points(here, there, sizes)
    assert found.tolist() == [slow_nearest(row, there, sizes) for row in here]


def test_another_choice_is_as_far_away_as_the_other_end_of_a_range() -> None:
    points = np.array([[0.0, 1.0], [0.99, 2.0]])
    assert nearest_points(np.array([[0.0, 2.0]]), points, (None, 3)).tolist() == [1]
    points = np.array([[0.0, 1.0], [1.0, 2.0]])
    assert nearest_points(np.array([[0.0, 2.0]]), points, (None, 3)).tolist() == [0]


def test_a_configuration_has_the_loss_of_the_nearest_one(write: Write) -> None:
    bench = Tabular(write(RUNS))
    assert bench.evaluate({"lr": 0.09, "act": "gelu"}, 9) == 0.45
    assert bench.evaluate({"lr": 0.002, "act": "relu"}, 9) == 0.7
    assert bench.evaluate({"lr": 0.02, "act": "relu"}, 1) == 0.6


def test_between_fidelities_on_record_the_lower_one_counts(write: Write) -> None:
    bench = Tabular(write(RUNS))
    config = {"lr": 0.1, "act": "gelu"}
    assert [bench.evaluate(config, z) for z in (1, 2, 3, 8, 9)] == [0.5, 0.5, 0.4, 0.4, 0.45]


def test_only_configurations_trained_that_far_are_considered(write: Write) -> None:
    """0.01 ends at epoch 3: after that, its neighbours are used instead."""
    bench = Tabular(write(RUNS))
    config = {"lr": 0.01, "act": "relu"}
    assert bench.evaluate(config, 3) == 0.55
    assert bench.evaluate(config, 4) == 0.8
    assert bench.evaluate(config, 9) == 0.7


def test_a_failed_run_has_failed_at_all_later_fidelities(write: Write) -> None:
    bench = Tabular(write(RUNS))
    assert all(math.isnan(bench.evaluate({"lr": 1.0, "act": "relu"}, z)) for z in (1, 2, 3, 9))


@pytest.mark.parametrize("cell", ["", "nan", "NaN", "inf", "-inf", " ", "1e999"])
def test_a_loss_that_is_not_finite_is_a_failure(write: Write, cell: str) -> None:
    bench = Tabular(write(f"x,epoch,loss\n0.5,1,{cell}\n0.5,9,0.1\n0.7,1,0.3\n0.7,9,0.2\n"))
    assert math.isnan(bench.evaluate({"x": 0.5}, 1))
    assert bench.evaluate({"x": 0.5}, 9) == 0.1


def test_a_rung_that_misses_a_fidelity_by_rounding_finds_it(write: Write) -> None:
    bench = Tabular(write("x,share,loss\n1,0.1,5\n1,0.3,4\n2,0.1,3\n2,0.3,2\n"), "share")
    assert 0.3 / 3 != 0.1
    assert bench.evaluate({"x": 1}, 0.3 / 3) == 5
    assert bench.evaluate({"x": 1}, 0.1 * 3) == 4


@pytest.mark.parametrize("fidelity", [0, 0.99, 9.01, math.nan])
def test_fidelities_beyond_the_table_are_refused(write: Write, fidelity: float) -> None:
    with pytest.raises(SpaceError, match="`epoch` must be between 1 and 9, got"):
        Tabular(write(RUNS)).evaluate({"lr": 0.1, "act": "relu"}, fidelity)


def test_a_configuration_outside_of_the_space_is_refused(write: Write) -> None:
    with pytest.raises(ConfigError, match="`lr` must be a number in"):
        Tabular(write(RUNS)).evaluate({"lr": 7, "act": "relu"}, 1)


def test_evaluate_many_returns_what_evaluate_returns(write: Write) -> None:
    bench = Tabular(write(RUNS))
    configs = [bench.space.decode(r) for r in bench.space.uniform(50, np.random.default_rng(0))]
    for z in (1, 2, 3, 9):
        each = [bench.evaluate(config, z) for config in configs]
        np.testing.assert_array_equal(bench.evaluate_many(configs, z), each)
    assert bench.evaluate_many([], 9).shape == (0,)


def test_runs_on_either_side_of_a_gap_are_refused(write: Write) -> None:
    path = write("x,epoch,loss\n1,1,5\n2,1,4\n3,9,3\n4,9,2\n")
    with pytest.raises(DataError, match="`epoch` 1 or below and 9 or above, .* Use Fitted"):
        Tabular(path)
    Tabular(write("x,epoch,loss\n1,1,5\n1,2,5\n2,2,4\n3,3,3\n3,4,2\n"))  # nothing lies between


# What it is


def test_the_optimum_is_the_best_row_at_the_highest_fidelity(write: Write) -> None:
    bench = Tabular(write(RUNS))
    assert bench.optimum == (Config(lr=0.1, act="gelu"), 0.45)
    config, loss = bench.optimum
    assert bench.evaluate(config, 9) == loss


def test_if_all_full_trainings_failed_there_is_no_optimum(write: Write) -> None:
    assert Tabular(write("x,epoch,loss\n1,1,5\n1,9,\n2,1,4\n2,9,\n")).optimum is None


def test_it_is_a_benchmark_that_can_be_pickled_without_its_file(write: Write) -> None:
    path = write(RUNS)
    bench: Benchmark = Tabular(path)
    path.unlink()
    copy = pickle.loads(pickle.dumps(bench))
    assert copy.evaluate({"lr": 0.1, "act": "gelu"}, 9) == 0.45
    assert (copy.space, copy.fidelity, copy.optimum) == (bench.space, bench.fidelity, bench.optimum)
    assert repr(copy) == (
        "Tabular('runs.csv', 4 configurations of 2 parameters, epoch from 1 to 9)"
    )


def test_a_study_runs_on_it_and_sees_failures(write: Write) -> None:
    bench = Tabular(write(RUNS))
    study = Study(bench.space, bench.fidelity, "hyperband", seed=0)
    runs = simulate(study, bench, workers=2, budget=6)
    losses = {run.outcome.loss for run in runs}
    assert math.inf in losses
    assert losses - {math.inf} <= {0.9, 0.8, 0.7, 0.5, 0.4, 0.45, 0.6, 0.55}


def test_any_two_choices_are_equally_far_apart() -> None:
    """The third choice at a distance of 1 is nearer than the second at one of 1 and 0.5."""
    points = np.array([[0.0, 2.0], [0.5, 1.0]])
    assert nearest_points(np.array([[0.0, 0.0]]), points, (None, 3)).tolist() == [0]
