"""The search for the highest row, on functions whose summits are known."""

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from priorband.models.kernels import Array
from priorband.models.search import Domain, Sizes, distinct, filled, mutated, ranked
from priorband.models.threads import one_thread

from .test_kernels import mixed_rows


@pytest.fixture(autouse=True, scope="module")
def one_thread_each() -> Iterator[None]:
    """As where the model works: waiting threads would cost more than the climbs."""
    with one_thread():
        yield


class Hill:
    """A score by its function of rows; its slopes are by differences, counted, or not known."""

    def __init__(
        self, sizes: Sizes, function: Callable[[Array], Array], *, known: bool = True
    ) -> None:
        self.numbers = [i for i, size in enumerate(sizes) if size is None]
        self.function = function
        self.known = known
        self.slopes = 0

    def __call__(self, rows: Array) -> Array:
        assert len(rows), "nobody asks for the score of nothing"
        return self.function(rows)

    def slope(self, row: Array) -> tuple[float, Array]:
        self.slopes += 1
        steps = np.zeros((len(self.numbers), len(row)))
        steps[np.arange(len(self.numbers)), self.numbers] = 1e-5
        with np.errstate(invalid="ignore"):
            rise = self.function(row + steps) - self.function(row - steps)
        return float(self.function(row[None])[0]), self.known * rise / 2e-5


def as_they_are(rows: Array) -> Array:
    return rows


def on_a_grid(rows: Array) -> Array:
    """Multiples of 1/64: choices stay what they are."""
    return np.asarray(np.round(rows * 64) / 64, dtype=np.float64)


def inside(rows: Array, sizes: Sizes) -> bool:
    ends = [1.0 if size is None else size - 1.0 for size in sizes]
    choices = rows[:, [i for i, size in enumerate(sizes) if size is not None]]
    in_the_box = bool(((rows >= 0) & (rows <= ends)).all())
    return in_the_box and bool((choices == np.round(choices)).all())


LINE = Domain((None,), as_they_are)
MIXED: Sizes = (None, 3, None, 4, None)
OFFSETS = (np.array([0.0, -0.6, 0.4]), np.array([0.1, 0.5, -0.3, 0.0]))
SUMMIT = [0.3, 2.0, 0.9, 1.0, 0.0]


def bowls(rows: Array) -> Array:
    """Separable: a parabola a number, its last summit outside of the box; an offset a choice."""
    numbers = rows[:, [0, 2, 4]] - [0.3, 0.9, -0.2]
    offsets = OFFSETS[0][rows[:, 1].astype(int)] + OFFSETS[1][rows[:, 3].astype(int)]
    return np.asarray(offsets - (numbers**2 * [1.0, 5.0, 2.0]).sum(axis=1), dtype=np.float64)


@pytest.mark.parametrize("settle", [as_they_are, on_a_grid])
@pytest.mark.parametrize("seed", range(4))
def test_the_summit_of_numbers_and_choices_is_found(
    seed: int, settle: Callable[[Array], Array]
) -> None:
    rng, groups = np.random.default_rng(seed), [mixed_rows(n, MIXED, seed + n) for n in (40, 20)]
    score = Hill(MIXED, bowls)
    kept = [group.copy() for group in groups]
    rows = ranked(score, groups, Domain(MIXED, settle), rng)
    summit = settle(np.array([SUMMIT]))
    assert rows[0] == pytest.approx(summit[0], abs=2e-3 if settle is as_they_are else 1e-12)
    assert bowls(rows[:1])[0] == pytest.approx(bowls(summit)[0], abs=1e-5)
    assert inside(rows, MIXED) and (rows == settle(rows)).all()
    assert len(np.unique(rows, axis=0)) == len(rows)
    values = bowls(rows)
    assert (np.diff(values) <= 0).all() and values[0] == values.max()
    for group, before in zip(groups, kept, strict=True):
        assert (group == before).all()
        for candidate in settle(group):
            assert (rows == candidate).all(axis=1).sum() == 1


def test_equal_generators_give_equal_rows() -> None:
    groups = [mixed_rows(30, MIXED, 1)]
    found = [
        ranked(Hill(MIXED, bowls), groups, Domain(MIXED, on_a_grid), np.random.default_rng(seed))
        for seed in (5, 5, 6)
    ]
    assert found[0].tolist() == found[1].tolist() != found[2].tolist()


def test_with_choices_alone_all_combinations_are_ranked() -> None:
    sizes: Sizes = (3, 1, 2, 4)
    every = np.array(list(product(range(3), range(1), range(2), range(4))), dtype=np.float64)
    table = np.random.default_rng(0).standard_normal((3, 1, 2, 4))
    score = Hill(sizes, lambda rows: table[tuple(rows.astype(int).T)])
    shuffled = np.random.default_rng(1).permutation(every)
    rows = ranked(score, [shuffled], Domain(sizes, as_they_are), np.random.default_rng(2))
    assert rows.tolist() == every[np.argsort(-score(every))].tolist()
    assert score.slopes == 0


@pytest.mark.parametrize("best", [0, 370, 999])
def test_a_better_choice_that_is_no_candidate_is_found(best: int) -> None:
    sizes: Sizes = (None, 1000)
    score = Hill(sizes, lambda rows: (rows[:, 1] == best) - (rows[:, 0] - 0.4) ** 2)
    candidates = np.array([[0.1, 3.0], [0.7, 200.0]])
    rows = ranked(score, [candidates], Domain(sizes, as_they_are), np.random.default_rng(0))
    assert rows[0] == pytest.approx([0.4, best], abs=1e-3)


def test_a_choice_with_another_summit_is_climbed_again() -> None:
    """Under the better choice the summit lies elsewhere: its neighbours alone would not do."""
    sizes: Sizes = (None, 2)

    def function(rows: Array) -> Array:
        centre = np.where(rows[:, 1] == 1, 0.8, 0.3)
        return np.asarray(3.0 * rows[:, 1] - 8 * (rows[:, 0] - centre) ** 2, dtype=np.float64)

    rows = ranked(
        *(Hill(sizes, function), [np.array([[0.2, 0.0]])], Domain(sizes, as_they_are)),
        np.random.default_rng(0),
    )
    assert rows[0] == pytest.approx([0.8, 1.0], abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_the_highest_of_many_hills_in_one_dimension(seed: int) -> None:
    def waves(rows: Array) -> Array:
        x = rows[:, 0]
        return np.asarray(np.sin(25 * x) - 3 * (x - 0.6) ** 2, dtype=np.float64)

    fine = np.linspace(0, 1, 100_001)[:, None]
    score, rng = Hill((None,), waves), np.random.default_rng(seed)
    rows = ranked(score, [mixed_rows(30, (None,), seed)], LINE, rng)
    assert waves(rows[:1])[0] == pytest.approx(waves(fine).max(), abs=1e-6)
    assert rows[0] == pytest.approx(fine[waves(fine).argmax()], abs=1e-3)


def test_each_group_has_its_own_climbs() -> None:
    """The candidates of one hill are all better than the one on the slope of the higher hill."""

    def hills(rows: Array) -> Array:
        x = rows[:, 0]
        peaks = np.exp(-(((x - 0.1) / 0.1) ** 2)) + 3 * np.exp(-(((x - 0.8) / 0.03) ** 2))
        return np.asarray(peaks, dtype=np.float64)

    many, lonely = np.linspace(0.07, 0.13, 30)[:, None], np.array([[0.84]])
    assert hills(lonely)[0] < hills(many).min()
    for groups in ([many, lonely], [lonely, many[:0], many]):
        rng, score = np.random.default_rng(0), Hill((None,), hills)
        rows = ranked(score, groups, LINE, rng)
        assert rows[0] == pytest.approx([0.8], abs=1e-3)


def test_where_slopes_say_nothing_rows_around_the_best_are_tried() -> None:
    score = Hill((None,), lambda rows: -np.abs(rows[:, 0] - 0.5), known=False)
    groups = [np.array([[0.95]]), np.array([[0.0], [0.45]])]
    rows = ranked(score, groups, LINE, np.random.default_rng(0))
    assert rows[0] == pytest.approx([0.5], abs=0.02)
    assert len(rows) == 3 + 64 and (np.abs(rows - 0.45) < 0.1).sum() > 40
    assert score.slopes == 2 + 1  # from the best of each group, then from the best of all


def test_other_choices_are_tried_around_every_summit() -> None:
    sizes: Sizes = (1000, 1000)
    score = Hill(sizes, lambda rows: (rows == [5, 7]).all(axis=1) + 0.1 * (rows == 0).all(axis=1))
    groups = [np.array([[0.0, 0.0]]), np.array([[5.0, 0.0]])]
    rows = ranked(score, groups, Domain(sizes, as_they_are), np.random.default_rng(0))
    assert rows[:2].tolist() == [[5.0, 7.0], [0.0, 0.0]]


def test_a_climb_that_steps_off_a_cliff_comes_back() -> None:
    def cliff(rows: Array) -> Array:
        return np.where(rows[:, 0] > 0.7, -np.inf, -100 * (rows[:, 0] - 0.6) ** 2)

    score, rng = Hill((None,), cliff), np.random.default_rng(0)
    rows = ranked(score, [np.array([[0.3]])], LINE, rng)
    assert rows[0] == pytest.approx([0.6], abs=1e-6)


def test_hopeless_rows_do_no_harm() -> None:
    def half(rows: Array) -> Array:
        values = 1.0 - (rows[:, 0] - 0.6) ** 2
        return np.where(rows[:, 0] < 0.5, -np.inf, values)

    candidates = np.linspace(0, 1, 21)[:, None]
    for group in (candidates, candidates[8:12], candidates[::-1]):
        rng, score = np.random.default_rng(0), Hill((None,), half)
        rows = ranked(score, [group], LINE, rng)
        assert rows[0] == pytest.approx([0.6], abs=1e-3)
        assert inside(rows, (None,)) and (np.sort(-half(rows)) == -half(rows)).all()


def test_where_all_is_hopeless_rows_come_all_the_same() -> None:
    sizes: Sizes = (None, 3)
    score = Hill(sizes, lambda rows: np.full(len(rows), -np.inf))
    group = mixed_rows(5, sizes, 0)
    rows = ranked(score, [group], Domain(sizes, on_a_grid), np.random.default_rng(0))
    assert len(rows) >= 5 and inside(rows, sizes)
    assert len(np.unique(rows, axis=0)) == len(rows)


def test_a_single_row_of_a_single_choice_is_all_there_is() -> None:
    score = Hill((1,), lambda rows: rows[:, 0])
    rows = ranked(score, [np.zeros((4, 1))], Domain((1,), as_they_are), np.random.default_rng(0))
    assert rows.tolist() == [[0.0]]


# Mutations


def test_copies_follow_their_rows_and_leave_them_alone() -> None:
    rows = np.array([[0.2, 0.0], [0.5, 1.0], [0.8, 2.0]])
    kept = rows.copy()
    made = mutated(rows, (None, 4), 50, np.random.default_rng(0))
    again = mutated(rows, (None, 4), 50, np.random.default_rng(0))
    assert made.shape == (150, 2) and (made == again).all() and (rows == kept).all()
    for place, row in enumerate(rows):
        same = made[50 * place : 50 * (place + 1)] == row
        assert (same.mean(axis=0) > 0.25).all() and not same.all(axis=0).any()
    assert mutated(rows, (None, 4), 0, np.random.default_rng(0)).shape == (0, 2)
    assert mutated(rows[:0], (None, 4), 5, np.random.default_rng(0)).shape == (0, 2)


@pytest.mark.parametrize("columns", [1, 2, 10])
def test_each_copy_moves_one_number_or_half_of_them(columns: int) -> None:
    rows, n = np.full((1, columns), 0.5), 20_000
    made = mutated(rows, (None,) * columns, n, np.random.default_rng(1))
    moved = made != 0.5
    assert moved.any(axis=1).all()
    chances = (1 / columns, 0.5)
    expected = np.mean([columns * p + (1 - p) ** columns for p in chances])
    assert moved.sum(axis=1).mean() == pytest.approx(expected, rel=0.03)
    assert moved.mean(axis=0) == pytest.approx([moved.mean()] * columns, rel=0.08)
    shifts = (made - 0.5)[moved]
    assert shifts.mean() == pytest.approx(0.0, abs=5e-3)
    for limit in (0.005, 0.03, 0.2, 0.45):  # a third each of three normal distributions
        share = np.mean([math.erf(limit / width / math.sqrt(2)) for width in (0.2, 0.05, 0.01)])
        assert (np.abs(shifts) < limit).mean() == pytest.approx(share, abs=0.015)


def test_a_new_choice_is_any_of_the_others_alike() -> None:
    made = mutated(np.array([[2.0]]), (5,), 20_000, np.random.default_rng(2))[:, 0]
    counts = [(made == choice).sum() for choice in (0, 1, 3, 4)]
    assert stats.chisquare(counts).pvalue > 1e-3
    assert inside(made[:, None], (5,))


@pytest.mark.parametrize(
    ("row", "sizes"),
    [
        ((1.0,), (3,)),
        ((0.0, 1.0), (2, 4)),
        ((0.5, 0.0), (None, 1)),
        ((0.5, 1.0, 2.0), (None, 2, 3)),
        ((0.0,), (None,)),
        ((1.0, 0.0), (None, None)),
        ((0.0, 0.0, 1.0, 0.0), (1, 1, 2, 1)),
    ],
)
def test_every_copy_differs_from_its_row(row: tuple[float, ...], sizes: Sizes) -> None:
    made = mutated(np.array([row]), sizes, 500, np.random.default_rng(3))
    assert (made != row).any(axis=1).all() and inside(made, sizes)


def test_where_there_is_no_other_choice_copies_are_what_they_were() -> None:
    assert not mutated(np.zeros((2, 3)), (1, 1, 1), 10, np.random.default_rng(0)).any()


def test_a_climb_goes_no_further_than_its_reach() -> None:
    """Two climbs, each of at most a tenth, and a step between them to one of 64 rows nearby."""

    def slope(rows: Array) -> Array:
        return rows[:, 0]

    for reach, least, most in ((0.1, 0.2, 0.9), (1.0, 1.0, 1.0)):
        score, rng = Hill((None,), slope), np.random.default_rng(0)
        rows = ranked(score, [np.zeros((1, 1))], LINE, rng, reach)
        assert least <= rows[0, 0] <= most


class OnlyRandom:
    """The same number however often, and nothing that numpy may change."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self, shape: Any) -> Array:
        return np.full(shape, self.number)


@pytest.mark.parametrize("number", [0.0, 5e-324, 0.5, 1.0 - 2.0**-53])
def test_mutations_need_uniform_numbers_only_and_any_of_them(number: float) -> None:
    sizes: Sizes = (None, 3, 1, 1000, None)
    generator: Any = OnlyRandom(number)
    made = mutated(mixed_rows(3, sizes, 0), sizes, 4, generator)
    assert made.shape == (12, 5) and inside(made, sizes)


@st.composite
def searches(draw: st.DrawFn) -> tuple[Array, Sizes]:
    sizes = tuple(draw(st.lists(st.none() | st.integers(1, 4), min_size=1, max_size=4)))
    number = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])
    cells = [number if size is None else st.integers(0, size - 1) for size in sizes]
    rows = draw(st.lists(st.tuples(*cells), min_size=1, max_size=6))
    return np.array(rows, dtype=np.float64), sizes


@settings(max_examples=examples(40))
@given(searches(), st.integers(0, 2**32))
def test_whatever_the_candidates_rows_are_ranked_settled_and_once(
    search: tuple[Array, Sizes], seed: int
) -> None:
    rows, sizes = search
    assert inside(mutated(rows, sizes, 5, np.random.default_rng(seed)), sizes)
    weights = np.random.default_rng(seed).standard_normal(len(sizes))
    score = Hill(sizes, lambda rows: np.asarray(np.cos(3 * rows) @ weights, dtype=np.float64))
    found = ranked(score, [rows], Domain(sizes, on_a_grid), np.random.default_rng(seed))
    assert inside(found, sizes) and (found == on_a_grid(found)).all()
    assert len(np.unique(found, axis=0)) == len(found)
    values = score(found)
    assert (np.diff(values) <= 1e-12).all()
    assert values[0] >= score(on_a_grid(rows)).max() - 1e-12


# Entries that may be inactive


def choice_opens(rows: Array) -> Array:
    """Columns x, parent, a, b, last: a is active under choice 1, b under 2, last where b > 0."""
    marked = rows.copy()
    marked[rows[:, 1] != 1, 2] = np.nan
    marked[rows[:, 1] != 2, 3] = np.nan
    marked[~(marked[:, 3] > 0), 4] = np.nan
    return marked


BRANCHES = Domain((None, 3, None, 4, None), on_a_grid, choice_opens)


def branch_values(rows: Array) -> Array:
    """1, 2 and 3 at the best of each choice; inactive entries must be marked, and are not read."""
    assert np.array_equal(choice_opens(np.nan_to_num(rows)), rows, equal_nan=True)
    x, parent, a, b, last = rows.T
    values = np.select([parent == 0, parent == 1], [1.0, 2.0 - 30 * (a - 0.8) ** 2], 1.5)
    values += np.where((parent == 2) & (b == 2), 0.5, 0.0)
    values += np.where(b == 3, 1.5 - 20 * (last - 0.3) ** 2, 0.0)
    return np.asarray(values - (x - 0.5) ** 2, dtype=np.float64)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_branch_is_found_though_no_candidate_is_in_it(seed: int) -> None:
    """All starts have choice 0; the best has choice 2, then 3, and a number that this activates."""
    group = mixed_rows(30, BRANCHES.sizes, seed)
    group[:, 1] = 0.0
    score, rng = Hill(BRANCHES.sizes, branch_values), np.random.default_rng(seed)
    rows = ranked(score, [group], BRANCHES, rng)
    expected = on_a_grid(np.array([[0.5, 2.0, np.nan, 3.0, 0.3]]))
    assert rows[0] == pytest.approx(expected[0], nan_ok=True, abs=1e-12)
    assert np.array_equal(choice_opens(np.nan_to_num(rows)), rows, equal_nan=True)


@pytest.mark.parametrize("seed", range(4))
def test_a_branch_that_begins_badly_is_climbed_too(seed: int) -> None:
    """Choice 1 has the best row of all, but only one in a thousand draws is above choice 0."""

    def narrow(rows: Array) -> Array:
        _, parent, a, *_ = rows.T
        values = np.select([parent == 1, parent == 0], [1.00001 - 40 * (a - 0.8) ** 2, 1.0], 0.0)
        return np.asarray(values, dtype=np.float64)

    group = np.array([[0.5, 0.0, 0.1, 0.0, 0.0]])
    domain = Domain(BRANCHES.sizes, as_they_are, choice_opens)
    rows = ranked(Hill(domain.sizes, narrow), [group], domain, np.random.default_rng(seed))
    assert rows[0, 1] == 1.0 and rows[0, 2] == pytest.approx(0.8, abs=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_a_number_that_passes_a_threshold_activates_another(seed: int) -> None:
    def mark(rows: Array) -> Array:
        return np.where(np.arange(2) < 1 + (rows[:, :1] >= 0.5), rows, np.nan)

    def step(rows: Array) -> Array:
        x, y = rows.T
        values = np.where(np.isnan(y), x, 2.0 - (x - 0.7) ** 2 - (y - 0.6) ** 2)
        return np.asarray(values, dtype=np.float64)

    score, rng = Hill((None, None), step), np.random.default_rng(seed)
    group = np.stack((np.linspace(0, 0.45, 20), np.full(20, 0.1)), axis=1)
    rows = ranked(score, [group], Domain((None, None), as_they_are, mark), rng)
    assert rows[0] == pytest.approx([0.7, 0.6], abs=1e-3)


def test_a_climb_stays_in_its_branch_and_reaches_its_edge() -> None:
    """Under 0.5 the score rises with x; beyond, y becomes active and the score falls by a step."""

    def mark(rows: Array) -> Array:
        return np.where(np.array([1, 0, 1]) | (rows[:, :1] > 0.5), rows, np.nan)

    def step(rows: Array) -> Array:
        x, y, z = rows.T
        values = np.where(np.isnan(y), x, -5.0 + x) - (z - 0.3) ** 2
        return np.asarray(values, dtype=np.float64)

    score, domain = Hill((None,) * 3, step), Domain((None,) * 3, as_they_are, mark)
    rows = ranked(score, [np.full((1, 3), 0.1)], domain, np.random.default_rng(0))
    assert rows[0] == pytest.approx([0.5, np.nan, 0.3], abs=1e-4, nan_ok=True)
    assert rows[0, 0] <= 0.5
    assert score.slopes < 60  # without a search for a way over the step


def test_rows_that_are_the_same_configuration_count_once() -> None:
    """With choice 0, only x counts, which is the same in all candidates."""
    group = mixed_rows(40, BRANCHES.sizes, 0)
    group[:, :2] = [0.5, 0.0]
    score, rng = Hill(BRANCHES.sizes, branch_values), np.random.default_rng(0)
    rows = ranked(score, [group], BRANCHES, rng)
    codes = np.nan_to_num(rows, nan=-1.0)
    assert len(np.unique(codes, axis=0)) == len(rows)
    assert (codes == [0.5, 0.0, -1.0, -1.0, -1.0]).all(axis=1).sum() == 1


def test_a_choice_that_is_not_active_is_not_varied() -> None:
    """Under choice 0 a thousand others would be the same row; under 1 they are tried."""
    asked: list[int] = []

    def count(rows: Array) -> Array:
        asked.append(len(rows))
        return np.asarray(rows[:, 0] * 0.0 - (rows[:, 0] == 1), dtype=np.float64)

    def mark(rows: Array) -> Array:
        return np.where(np.arange(2) < 1 + (rows[:, :1] == 1), rows, np.nan)

    domain = Domain((2, 1000), as_they_are, mark)
    ranked(Hill((2, 1000), count), [np.zeros((1, 2))], domain, np.random.default_rng(0))
    assert sum(asked) < 400


def test_draws_fill_what_is_inactive_and_nothing_else() -> None:
    sizes: Sizes = (None, 3, 1, 5000)
    rows = mixed_rows(2000, sizes, 0, optional=(0, 1, 2, 3))
    kept = rows.copy()
    made = filled(rows, sizes, np.random.default_rng(1))
    active = ~np.isnan(kept)
    assert (made[active] == kept[active]).all() and np.array_equal(rows, kept, equal_nan=True)
    assert inside(made, sizes)
    new = [made[~active[:, column], column] for column in range(4)]
    assert stats.kstest(new[0], "uniform").pvalue > 1e-3
    assert stats.chisquare(np.bincount(new[1].astype(int))).pvalue > 1e-3
    last: Any = OnlyRandom(1.0 - 2.0**-53)
    assert inside(filled(np.full((1, 4), np.nan), sizes, last), sizes)


def test_copies_change_something_active_and_draw_the_rest() -> None:
    sizes: Sizes = (None, 3, None, 4, None, None)
    rows = np.array([[0.3, np.nan, np.nan, np.nan, np.nan, 0.6]])
    made = mutated(rows, sizes, 3000, np.random.default_rng(0))
    moved = made[:, [0, 5]] != [0.3, 0.6]
    assert moved.any(axis=1).all() and inside(made, sizes)
    assert moved.sum(axis=1).mean() == pytest.approx(1.25, abs=0.05)  # of two active columns
    assert stats.kstest(made[:, 2], "uniform").pvalue > 1e-3
    assert stats.chisquare(np.bincount(made[:, 3].astype(int))).pvalue > 1e-3


def test_equal_rows_are_found_by_their_first_index() -> None:
    rows = np.array([[0.5, np.nan], [0.5, 0.0], [0.5, np.nan], [0.1, 0.0], [0.5, 0.0]])
    assert sorted(distinct(rows)) == [0, 1, 3]
