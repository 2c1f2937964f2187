"""The kernel density over mixed rows, against slow computations and by hand."""

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.neighbors import KernelDensity

from priorband.models.kde import KDE, Array, Sizes, bandwidths, inside, moved, redrawn, spread

LAST = 1.0 - 2.0**-53
"""The largest number that a generator draws."""


def random_rows(n: int, sizes: Sizes, seed: int) -> Array:
    rows = np.random.default_rng(seed).random((n, len(sizes)))
    for column, size in enumerate(sizes):
        if size is not None:
            rows[:, column] = np.floor(rows[:, column] * size)
    return rows


def slow_kernel(x: float, centre: float, size: int | None, width: float) -> float:
    if size is None:
        cdf = [0.5 * (1 + math.erf((edge - centre) / width / math.sqrt(2))) for edge in (0, 1)]
        density = math.exp(-(((x - centre) / width) ** 2) / 2) / math.sqrt(2 * math.pi) / width
        return density / (cdf[1] - cdf[0])
    if size == 1:
        return 1.0
    return 1 - width if x == centre else width / (size - 1)


def slow_density(kde: KDE, x: Array) -> float:
    total = 0.0
    for row in kde.rows:
        kernels = zip(x, row, kde.sizes, kde.bandwidths, strict=True)
        total += math.prod(slow_kernel(*each) for each in kernels)
    return total / len(kde.rows)


MIXES: list[Sizes] = [
    *((None,), (2,), (5,), (1,), (None, 1), (None, 3), (3, None)),
    *((None, None, 4, 2), (2, 3, None, 1, None, 7, None)),
]


@pytest.mark.parametrize("sizes", MIXES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 9, 40])
def test_the_density_is_that_of_a_direct_computation(sizes: Sizes, n: int) -> None:
    rows = random_rows(n, sizes, n)
    rows[n // 2] = rows[0]  # the same once more, which weighs so much
    kde = KDE(rows, sizes, least=0.05)
    places = random_rows(20, sizes, seed=99)
    expected = [slow_density(kde, place) for place in places]
    assert np.exp(kde.logpdf(places)) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("least", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize("n", [1, 3, 30])
def test_the_density_of_a_number_and_a_category_integrates_to_one(n: int, least: float) -> None:
    rows = random_rows(n, (None, 3), seed=n)
    rows[0, 0], rows[-1, 0] = 0.0, 1.0  # kernels that are cut in half
    middles = (np.arange(40_000) + 0.5) / 40_000
    cells = np.array([(x, c) for c in range(3) for x in middles])
    kde = KDE(rows, (None, 3), least)
    assert np.exp(kde.logpdf(cells)).sum() / 40_000 == pytest.approx(1.0, abs=1e-6)


def test_the_density_of_two_numbers_and_two_categories_integrates_to_one() -> None:
    sizes: Sizes = (None, 2, 1, None)
    middles = (np.arange(150) + 0.5) / 150
    cells = np.array(list(product(middles, (0.0, 1.0), (0.0,), middles)))
    kde = KDE(random_rows(6, sizes, seed=4), sizes)
    assert np.exp(kde.logpdf(cells)).sum() / 150**2 == pytest.approx(1.0, abs=1e-3)


def test_categories_alone_sum_to_one() -> None:
    sizes: Sizes = (3, 1, 4)
    cells = np.array(list(product(range(3), range(1), range(4))), dtype=np.float64)
    kde = KDE(random_rows(7, sizes, seed=0), sizes)
    assert np.exp(kde.logpdf(cells)).sum() == pytest.approx(1.0, rel=1e-12)


def test_one_number_has_the_truncated_normals_of_scipy() -> None:
    rows = random_rows(12, (None,), seed=3)
    kde, places = KDE(rows, (None,)), np.linspace(0, 1, 50)
    [width] = kde.bandwidths
    theirs = [stats.truncnorm(-c / width, (1 - c) / width, c, width).pdf(places) for [c] in rows]
    expected = np.mean(theirs, axis=0)
    assert np.exp(kde.logpdf(places[:, np.newaxis])) == pytest.approx(expected, rel=1e-9)


def test_far_from_the_edges_it_is_scikit_learns_density() -> None:
    rows = 0.5 + 0.02 * random_rows(50, (None,) * 3, seed=5)
    places = 0.5 + 0.05 * random_rows(20, (None,) * 3, seed=6)
    kde = KDE(rows, (None,) * 3)
    theirs = KernelDensity(bandwidth=1.0).fit(rows / kde.bandwidths)
    expected = theirs.score_samples(places / kde.bandwidths) - np.log(kde.bandwidths).sum()
    assert kde.logpdf(places) == pytest.approx(expected, rel=1e-9)


def test_bandwidths_follow_the_normal_reference_rule() -> None:
    rows = np.array([[0.1, 0], [0.3, 0], [0.5, 1], [0.7, 2]])
    # Both 1.06 * 4 ** (-1/6) times: sqrt(0.05), and sqrt((1 - 1/4 - 1/16 - 1/16) / 2).
    assert bandwidths(rows, (None, 3)) == pytest.approx([0.188125, 0.470314], abs=1e-6)


def test_a_bandwidth_is_never_below_the_least() -> None:
    rows = np.array([[0.1, 2.0, 0.0]] * 5)  # 0.1 five times has a deviation of 1e-17
    assert bandwidths(rows, (None, 3, 1)).tolist() == [1e-3, 1e-3, 0.0]
    assert bandwidths(rows, (None, 3, 1), least=0.2).tolist() == [0.2, 0.2, 0.0]


def test_a_categorys_bandwidth_ends_where_its_kernel_is_uniform() -> None:
    rows = np.zeros((2, 20))
    rows[1] = 1.0  # 1.06 * 0.5 * 2 ** (-1/24) = 0.514912
    assert bandwidths(rows, (2,) * 20).tolist() == [0.5] * 20
    assert bandwidths(rows, (None,) * 20) == pytest.approx([0.514912] * 20, abs=1e-6)
    uniform = KDE(np.array([[0.0], [2.0]]), (3,), least=1.0)
    assert np.exp(uniform.logpdf(np.array([[0.0], [1.0], [2.0]]))) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("ones", range(8))
def test_the_spread_of_two_choices_is_the_deviation_of_their_codes(ones: int) -> None:
    codes = np.array([1.0] * ones + [0.0] * (7 - ones))
    assert spread(codes, 2) == pytest.approx(codes.std(), abs=1e-12)


def test_the_numbers_that_choices_have_do_not_matter() -> None:
    rows, places = random_rows(15, (None, 5), seed=1), random_rows(15, (None, 5), seed=2)
    renumbered = np.array([3.0, 0.0, 4.0, 2.0, 1.0])
    expected = KDE(rows, (None, 5)).logpdf(places)
    for table in (rows, places):
        table[:, 1] = renumbered[table[:, 1].astype(int)]
    assert KDE(rows, (None, 5)).logpdf(places) == pytest.approx(expected, rel=1e-12)


def test_far_tails_keep_their_order_in_fourteen_dimensions() -> None:
    kde = KDE(np.full((3, 14), 0.0), (None,) * 14)
    logs = kde.logpdf(np.linspace(0, 1, 11)[:, np.newaxis] * np.ones(14))
    peak = 14 * math.log(
        2 / math.sqrt(2 * math.pi) / 1e-3
    )  # half normals: all data lie on the edge
    assert logs == pytest.approx([peak - 7e6 * (i / 10) ** 2 for i in range(11)], rel=1e-12)
    assert (np.diff(logs) < 0).all()


@pytest.mark.parametrize("width", [1e-9, 1e-3, 0.3, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("centre", [0.0, 1e-12, 0.4, 1.0])
def test_the_mass_inside_is_exact_however_wide_the_kernel(centre: float, width: float) -> None:
    got = float(inside(np.array([centre]), width)[0])
    expected = 0.5 * (math.erf((1 - centre) / width / 2**0.5) + math.erf(centre / width / 2**0.5))
    assert got == pytest.approx(expected, rel=1e-12)
    if width >= 1e6:
        assert got == pytest.approx(1 / math.sqrt(2 * math.pi) / width, rel=1e-9)


# The candidates


@pytest.mark.parametrize("centre", [0.0, 0.03, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("width", [3e-3, 0.1, 1.5])
def test_a_number_moves_by_a_truncated_normal(centre: float, width: float) -> None:
    middles = (np.arange(200_000) + 0.5) / 200_000
    found = moved(np.full(200_000, centre), width, middles)
    weights = np.exp(-0.5 * ((middles - centre) / width) ** 2)
    for power in (1, 2, 3):  # the moments by quadrature
        expected = (weights * middles**power).sum() / weights.sum()
        assert (found**power).mean() == pytest.approx(expected, rel=1e-4)
    theirs = stats.truncnorm(-centre / width, (1 - centre) / width, centre, width)
    assert theirs.cdf(found[::2000]) == pytest.approx(middles[::2000], abs=1e-9)
    assert (np.diff(found) >= 0).all()


@pytest.mark.parametrize("width", [1e-9, 1e-3, 0.5, 3.0, 1e9, 1e300])
@pytest.mark.parametrize("centre", [0.0, 5e-324, 1e-9, 0.5, 1.0])
def test_the_first_and_the_last_number_drawn_stay_in_the_box(centre: float, width: float) -> None:
    u = np.array([0.0, 5e-324, 2.0**-53, 0.5, LAST])
    found = moved(np.full(5, centre), width, u)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) >= 0).all()


def test_the_first_number_drawn_does_not_leave_its_kernel() -> None:
    low, high = moved(np.array([0.5, 0.5]), 1e-3, np.array([0.0, LAST]))
    assert 0.46 < low < 0.5 < high < 0.54


@pytest.mark.parametrize(("size", "width"), [(2, 0.5), (3, 0.4), (5, 0.1), (4, 0.75)])
def test_a_category_stays_or_becomes_any_alike(size: int, width: float) -> None:
    middles = (np.arange(60_000) + 0.5) / 60_000
    counts = Counter(redrawn(np.ones(60_000), size, width, middles).tolist())
    for choice in range(size):
        expected = (1 - width) * (choice == 1) + width / size
        assert counts[float(choice)] / 60_000 == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("size", [2, 3, 10, 1000])
@pytest.mark.parametrize("width", [1e-3, 0.1, 1 / 3, 0.5])
def test_a_redrawn_category_is_one_of_its_choices(size: int, width: float) -> None:
    stay = 1.0 - width
    u = np.array([0.0, math.nextafter(stay, 0), stay, math.nextafter(stay, 1), LAST])
    assert redrawn(np.ones(5), size, width, u).tolist() == [1, 1, 0, 0, size - 1]


@given(st.integers(2, 10_000), st.floats(1e-9, 1.0))
def test_the_last_number_drawn_is_the_last_choice_at_any_width(size: int, width: float) -> None:
    width = min(width, (size - 1) / size)
    [last] = redrawn(np.zeros(1), size, width, np.array([LAST]))
    assert size - 2 <= last <= size - 1


def test_candidates_are_spread_over_the_data_and_columns_move_on_their_own() -> None:
    rows = np.array([[0.2, 0.0, 2.0], [0.8, 1.0, 2.0], [0.2, 0.0, 2.0], [0.5, 2.0, 2.0]])
    kde, n = KDE(rows, (None, 3, 4)), 20_000
    found = kde.nearby(n, 0.01, np.random.default_rng(0))
    origins = np.abs(found[:, :1] - [0.2, 0.5, 0.8]).argmin(axis=1)
    moves = found[:, 0] - np.array([0.2, 0.5, 0.8])[origins]
    assert moves.std() == pytest.approx(0.01 * kde.bandwidths[0], rel=0.03)
    assert abs(np.corrcoef(moves, found[:, 1] == 0)[0, 1]) < 0.03
    stay, anywhere = 1 - kde.bandwidths[1], kde.bandwidths[1] / 3
    counts = [((origins == o) & (found[:, 1] == c)).sum() for o in range(3) for c in range(3)]
    shares = [
        (0.5, 0.25, 0.25)[o] * (stay * (c == (0, 2, 1)[o]) + anywhere)
        for o in range(3)
        for c in range(3)
    ]
    assert stats.chisquare(counts, n * np.array(shares)).pvalue > 1e-3
    others = (found[:, 2] != 2).mean()  # never seen, yet reached: 1e-3 * 3/4
    assert 0 < others < 2e-3


def test_a_candidates_number_is_three_times_as_wide_as_the_kernel() -> None:
    rows = random_rows(10, (None,), seed=8)
    kde = KDE(rows, (None,))
    width = 3 * kde.bandwidths[0]
    found = kde.nearby(5000, 3.0, np.random.default_rng(1))[:, 0]

    def cdf(x: Any) -> Any:
        kernels = [stats.truncnorm(-c / width, (1 - c) / width, c, width).cdf(x) for [c] in rows]
        return np.mean(kernels, axis=0)

    assert stats.kstest(found, cdf).pvalue > 1e-3


def test_candidates_leave_the_data_as_they_were() -> None:
    rows = random_rows(6, (None, 3), seed=0)
    kept, kde = rows.copy(), KDE(rows, (None, 3))
    first, again = (kde.nearby(50, 3.0, np.random.default_rng(7)) for _ in range(2))
    assert (rows == kept).all() and (first == again).all()
    assert (kde.logpdf(first) == kde.logpdf(again)).all()


class OnlyRandom:
    """Uniform numbers, and nothing that numpy may change."""

    def __init__(self, number: float) -> None:
        self.number = number

    def random(self, shape: tuple[int, int]) -> Array:
        return np.full(shape, self.number)


@pytest.mark.parametrize("number", [0.0, 0.5, LAST])
def test_candidates_need_uniform_numbers_only(number: float) -> None:
    rows = random_rows(2000, (None, 3, 1), seed=0)
    generator: Any = OnlyRandom(number)
    found = KDE(rows, (None, 3, 1)).nearby(2, 3.0, generator)
    assert found.shape == (2, 3) and ((found >= 0) & (found <= [1, 2, 0])).all()


@st.composite
def tables(draw: st.DrawFn) -> tuple[Array, Sizes]:
    sizes = tuple(draw(st.lists(st.none() | st.integers(1, 6), min_size=1, max_size=5)))
    number = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])
    cells = [number if size is None else st.integers(0, size - 1) for size in sizes]
    rows = draw(st.lists(st.tuples(*cells), min_size=1, max_size=12))
    return np.array(rows, dtype=np.float64), sizes


@settings(max_examples=examples(150))
@given(tables(), st.integers(0, 2**32), st.sampled_from([1e-9, 1e-3, 0.3, 1.0]))
def test_whatever_the_data_densities_are_finite_and_candidates_in_the_box(
    table: tuple[Array, Sizes], seed: int, least: float
) -> None:
    rows, sizes = table
    kde = KDE(rows, sizes, least)
    found = kde.nearby(8, 3.0, np.random.default_rng(seed))
    for column, size in enumerate(sizes):
        codes = found[:, column]
        assert ((codes >= 0) & (codes <= (1 if size is None else size - 1))).all()
        assert size is None or (codes == codes.round()).all()
    ends = np.array([[0.0 for _ in sizes], [1.0 if s is None else s - 1.0 for s in sizes]])
    for places in (found, rows, ends):
        assert np.isfinite(kde.logpdf(places)).all()
    assert kde.logpdf(rows[:0]).shape == (0,)
