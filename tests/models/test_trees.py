"""Extremely randomised trees, against a walk by hand, their definition and scikit-learn."""

import pickle
from collections import Counter

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesRegressor

from priorband.models import trees
from priorband.models.kde import Array, Sizes
from priorband.models.trees import Forest, spread_out

from .test_kernels import mixed_rows

MIXED: Sizes = (None, None, 3, None, 2)


def targets_of(rows: Array) -> Array:
    """A function of numbers and choices that depends on both at once."""
    bend = np.sin(5 * rows[:, 0]) * (1 + rows[:, 2]) + rows[:, 1] ** 2
    return np.asarray(bend + np.where(rows[:, 4] == 1, rows[:, 3], 1.0))


def mixed(n: int, seed: int = 0) -> tuple[Array, Array]:
    rows = mixed_rows(n, MIXED, seed)
    return rows, targets_of(rows)


def grown(rows: Array, targets: Array, sizes: Sizes, trees: int = 10, least: int = 5) -> Forest:
    return Forest.fit(rows, targets, sizes, np.random.default_rng(1), trees, least)


def leaf(forest: Forest, root: int, row: Array) -> int:
    """Where a row that is spread out ends up, step by step."""
    node = root
    while forest.lefts[node] != node:
        node = int(forest.lefts[node]) + int(row[forest.columns[node]] > forest.cuts[node])
    return node


def test_two_rows_are_told_apart() -> None:
    forest = grown(np.array([[0.0], [1.0]]), np.array([2.0, 5.0]), (None,), least=2)
    assert forest.depth == 1
    assert forest.predict(np.array([[0.0], [1.0]])).tolist() == [2.0, 5.0]


def test_too_few_rows_to_cut_have_their_mean() -> None:
    rows, targets = np.linspace(0, 1, 4)[:, None], np.array([1.0, 2.0, 3.0, 6.0])
    assert grown(rows, targets, (None,), least=5).predict(rows).tolist() == [3.0] * 4


def test_rows_that_do_not_differ_have_their_mean() -> None:
    rows, targets = np.full((6, 2), 0.5), np.arange(6.0)
    forest = grown(rows, targets, (None, 2), least=2)
    assert forest.depth == 0
    assert forest.predict(rows).tolist() == [2.5] * 6


def test_a_single_row_is_a_forest_of_its_target() -> None:
    assert grown(np.array([[0.3]]), np.array([7.0]), (None,)).predict(np.ones((3, 1))).tolist() == (
        [7.0] * 3
    )


def test_choices_are_told_apart_however_they_are_numbered() -> None:
    rows = np.tile(np.arange(4.0), 5)[:, None]
    forest = grown(rows, np.array([3.0, 0.0, 9.0, 1.0])[rows[:, 0].astype(int)], (4,), least=2)
    assert forest.predict(np.arange(4.0)[:, None]).tolist() == [3.0, 0.0, 9.0, 1.0]


def test_choices_become_columns_of_zeros_and_ones() -> None:
    rows = np.array([[1.0, 0.3, 2.0], [0.0, 0.4, 0.0]])
    assert spread_out(rows, (2, None, 3)).tolist() == [
        [0.0, 1.0, 0.3, 0.0, 0.0, 1.0],
        [1.0, 0.0, 0.4, 1.0, 0.0, 0.0],
    ]


@given(st.integers(1, 40), st.integers(0, 10_000), st.integers(2, 6))
@settings(max_examples=examples(25))
def test_a_leaf_has_the_mean_of_the_rows_in_it_and_cannot_be_cut(
    n: int, seed: int, least: int
) -> None:
    rows, targets = mixed(n, seed)
    rows, targets = np.repeat(rows, 2, axis=0), np.repeat(targets, 2) + np.arange(2 * n) % 2
    forest = grown(rows, targets, MIXED, trees=3, least=least)
    wide = spread_out(rows, MIXED)
    for root in forest.roots.tolist():
        found = np.array([leaf(forest, root, row) for row in wide])
        for node in set(found.tolist()):
            own = targets[found == node]
            assert forest.values[node] == pytest.approx(own.mean())
            few, same = len(own) < least, np.ptp(own) == 0
            assert few or same or not np.ptp(wide[found == node], axis=0).any()


@given(st.integers(1, 60), st.integers(0, 10_000))
@settings(max_examples=examples(25))
def test_every_cut_leaves_rows_on_both_sides_of_it(n: int, seed: int) -> None:
    rows, targets = mixed(n, seed)
    forest = grown(rows, targets, MIXED, trees=2, least=2)
    leaves = set(np.flatnonzero(forest.lefts == np.arange(len(forest.lefts))).tolist())
    wide = spread_out(rows, MIXED)
    reached = Counter(leaf(forest, root, row) for root in forest.roots.tolist() for row in wide)
    assert set(reached) == leaves


def test_the_cut_of_the_root_explains_most_of_the_variance() -> None:
    rows, targets = mixed(30)
    wide = spread_out(rows, MIXED)
    random = np.random.default_rng(1).random((wide.shape[1], 1))[:, 0]
    low, high = wide.min(axis=0), wide.max(axis=0)
    places = low + random * (high - low)
    left_over = []
    for column, place in enumerate(places):
        below = wide[:, column] <= place
        left_over.append(
            targets[below].var() * below.sum() + targets[~below].var() * (~below).sum()
        )
    forest = grown(rows, targets, MIXED, trees=1)
    assert forest.columns[0] == np.argmin(left_over)
    assert forest.cuts[0] == places[np.argmin(left_over)]


def test_the_prediction_is_the_mean_over_the_leaves_of_a_walk_by_hand() -> None:
    rows, targets = mixed(200)
    forest = grown(rows, targets, MIXED)
    fresh, _ = mixed(50, seed=1)
    walked = [
        np.mean([forest.values[leaf(forest, root, row)] for root in forest.roots.tolist()])
        for row in spread_out(fresh, MIXED)
    ]
    assert forest.predict(fresh) == pytest.approx(np.array(walked), rel=1e-12)


def test_a_row_has_the_same_value_alone_and_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, targets = mixed(300)
    forest = grown(rows, targets, MIXED)
    whole = forest.predict(rows)
    assert [forest.predict(row[None])[0] for row in rows[:20]] == whole[:20].tolist()
    monkeypatch.setattr(trees, "_BATCH", 70)
    assert forest.predict(rows).tolist() == whole.tolist()
    assert forest.predict(rows[:0]).shape == (0,)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(0, 10_000))
@settings(max_examples=examples(40))
def test_predictions_never_leave_the_range_of_the_targets(values: list[float], seed: int) -> None:
    forest = grown(mixed_rows(len(values), MIXED, seed), np.array(values), MIXED, trees=7)
    told = forest.predict(mixed_rows(20, MIXED, seed + 1))
    assert min(values) <= told.min() and told.max() <= max(values)


def test_equal_seeds_make_equal_forests_and_others_differ() -> None:
    rows, targets = mixed(100)
    told = [
        Forest.fit(rows, targets, MIXED, np.random.default_rng(seed), 5).predict(rows).tolist()
        for seed in (3, 3, 4)
    ]
    assert told[0] == told[1] != told[2]


def test_a_forest_survives_pickling() -> None:
    rows, targets = mixed(50)
    forest = grown(rows, targets, MIXED)
    assert pickle.loads(pickle.dumps(forest)).predict(rows).tolist() == (
        forest.predict(rows).tolist()
    )


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_fit_is_as_good_as_that_of_scikit_learn(noise: float) -> None:
    rows, clean = mixed(1000)
    targets = clean + noise * np.random.default_rng(2).standard_normal(len(rows))
    fresh, truth = mixed(1000, seed=1)
    theirs = ExtraTreesRegressor(100, min_samples_split=trees.LEAST, random_state=0)
    theirs.fit(spread_out(rows, MIXED), targets)

    def r2(told: Array) -> float:
        return 1.0 - float(np.mean((told - truth) ** 2) / truth.var())

    ours = r2(grown(rows, targets, MIXED, trees=100).predict(fresh))
    assert ours > 0.9
    assert ours == pytest.approx(r2(theirs.predict(spread_out(fresh, MIXED))), abs=0.02)


def test_there_are_as_many_trees_as_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, targets = mixed(30)
    monkeypatch.setattr(trees, "_BATCH", 4 * 30)
    assert len(grown(rows, targets, MIXED, trees=10).roots) == 10


def test_neighbouring_numbers_are_told_apart() -> None:
    rows = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    forest = grown(rows, np.array([2.0, 5.0]), (None,), least=2)
    assert forest.predict(rows).tolist() == [2.0, 5.0]


def test_of_two_cuts_the_one_that_explains_more_of_the_variance_is_taken() -> None:
    """2 * 2 / 1 + 2 * 2 / 9 for the first row alone, 4 * 4 / 5 + 4 * 4 / 5 for the halves."""
    targets = np.array([2.0, *[0.5] * 4, *[-0.8] * 5])
    rows = np.array([[0.0, 0.0], *[[1.0, 0.0]] * 4, *[[1.0, 1.0]] * 5])
    forest = grown(rows, targets, (None, None))
    assert set(forest.columns[forest.roots].tolist()) == {1}
