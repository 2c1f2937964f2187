"""The kernel density over rows with marks: by hand, against slow computations, and its integral."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from amounts import examples, slow
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from space.conditional_spaces import SPACES, random_spaces
from space.test_conditional_densities import quadrature

import priorband as pb
from priorband import Categorical, Float, Space
from priorband.models.kde import KDE, Array, Sizes
from priorband.models.marked_kde import FEWEST, MarkedKDE
from priorband.space.densities import Choices, Flat, TruncatedNormal

from .test_kde import LAST, OnlyRandom, random_rows, slow_kernel

NAN = math.nan


class Poisoned:
    """A density that must not be used."""

    def draw(self, u: float) -> float:
        raise AssertionError("the given density was drawn from")

    def logpdf(self, codes: Array) -> Array:
        raise AssertionError("the given density was used")


class Watched:
    """A density that is never asked about a mark."""

    def __init__(self, density: Any) -> None:
        self.density = density

    def draw(self, u: float) -> float:
        return float(self.density.draw(u))

    def logpdf(self, codes: Array) -> Array:
        assert not np.isnan(codes).any()
        return np.asarray(self.density.logpdf(codes))


def slow_width(codes: list[float], size: int | None, dimensions: int, least: float) -> float:
    """The normal reference rule, from the active codes alone."""
    factor: float = 1.06 * len(codes) ** (-1 / (4 + dimensions))
    if size is None:
        return max(factor * math.sqrt(np.var(codes)), least)
    shares = [count / len(codes) for count in Counter(codes).values()]
    wide = factor * math.sqrt((1 - sum(share**2 for share in shares)) / 2)
    return min(max(wide, least), (size - 1) / size)


def slow_density(data: Array, sizes: Sizes, given: Any, least: float, place: Array) -> float:
    """The mean over the data of products over what is active at a place."""
    total = 0.0
    for row in data.tolist():
        product = 1.0
        for i, code in enumerate(place.tolist()):
            if math.isnan(code):
                continue
            known = [c for c in data[:, i].tolist() if c == c]
            if len(known) < FEWEST:
                product *= math.exp(given[i].logpdf(np.array([code]))[0])
                continue
            width = slow_width(known, sizes[i], len(sizes), least)
            centres = known if math.isnan(row[i]) else [row[i]]
            product *= float(np.mean([slow_kernel(code, c, sizes[i], width) for c in centres]))
        total += product
    return total / len(data)


TREE = np.array(
    [
        *([0.0, 0.2, NAN], [0.0, 0.4, NAN], [0.0, 0.4, NAN], [0.0, 0.6, NAN]),
        *([1.0, NAN, 0.3], [1.0, NAN, 0.9]),
    ]
)
"""A choice, a number under the first choice, and another under the second."""


def test_the_density_is_the_one_worked_by_hand() -> None:
    """With wide kernels that are uniform, only what is given tells values apart."""
    given = (Poisoned(), Poisoned(), TruncatedNormal(0.5, 0.25))
    kde = MarkedKDE(TREE, (2, None, None), given, least=1.0)
    logs = kde.logpdf(np.array([[0.0, 0.4, NAN], [1.0, NAN, 0.5], [1.0, NAN, 1.0]]))
    # The choice has one half. The third column is active in two rows only: its density is given.
    narrow = stats.truncnorm(-2, 2, 0.5, 0.25)
    assert math.exp(logs[1]) == pytest.approx(0.5 * narrow.pdf(0.5))
    assert math.exp(logs[2]) == pytest.approx(0.5 * narrow.pdf(1.0))
    kernels = [stats.truncnorm(-c, 1 - c, c, 1.0).pdf(0.4) for c in (0.2, 0.4, 0.4, 0.6)]
    assert math.exp(logs[0]) == pytest.approx(0.5 * np.mean(kernels))


def test_where_a_row_is_inactive_the_mean_of_the_active_ones_takes_its_place() -> None:
    rows = np.array([[0.0, 0.25], [0.0, 0.5], [0.0, 0.75], [1.0, NAN]])
    kde = MarkedKDE(rows, (2, None), (Poisoned(), Poisoned()), least=0.1)
    shares = 9 / 16 + 1 / 16
    w0 = 1.06 * 4 ** (-1 / 6) * math.sqrt((1 - shares) / 2)
    w1 = 1.06 * 3 ** (-1 / 6) * math.sqrt(2 / 3) * 0.25  # of three rows, not of four
    at = [stats.truncnorm(-c / w1, (1 - c) / w1, c, w1).pdf(0.5) for c in (0.25, 0.5, 0.75)]
    expected = ((1 - w0) * sum(at) + w0 * sum(at) / 3) / 4
    assert math.exp(kde.logpdf(np.array([[0.0, 0.5]]))[0]) == pytest.approx(expected)
    none = ((1 - w0) + 3 * w0) / 4
    assert math.exp(kde.logpdf(np.array([[1.0, NAN]]))[0]) == pytest.approx(none)


@pytest.mark.parametrize("sizes", [(None,), (3, None), (None, 2, 1, None)], ids=str)
@pytest.mark.parametrize("n", [3, 9, 40])
def test_without_marks_it_is_the_density_without_conditions(sizes: Sizes, n: int) -> None:
    rows, places = random_rows(n, sizes, n), random_rows(30, sizes, 99)
    plain, marked = KDE(rows, sizes), MarkedKDE(rows, sizes, [Poisoned()] * len(sizes))
    assert marked.logpdf(places) == pytest.approx(plain.logpdf(places), rel=1e-9, abs=1e-9)
    one, other = (kde.nearby(30, 3.0, np.random.default_rng(1)) for kde in (plain, marked))
    assert (one == other).all()


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("n", [1, 4, 25])
def test_the_density_is_that_of_a_direct_computation(name: str, n: int) -> None:
    space = SPACES[name]
    rng = np.random.default_rng(n)
    rows, places = space.uniform(n, rng), space.uniform(20, rng)
    given = [Watched(density) for density in space.prior.densities]
    kde = MarkedKDE(rows, space.sizes, given, least=0.05)
    expected = [slow_density(rows, space.sizes, given, 0.05, place) for place in places]
    assert np.exp(kde.logpdf(places)) == pytest.approx(expected, rel=1e-9, abs=1e-290)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_it_integrates_to_one_over_the_mixed_space(name: str, n: int) -> None:
    space = SPACES[name]
    places, weights = quadrature(space)
    rows = space.uniform(n, np.random.default_rng(n))
    kde = MarkedKDE(rows, space.sizes, space.prior.densities, least=0.2)
    assert weights @ np.exp(kde.logpdf(places)) == pytest.approx(1.0, abs=1e-6)


@settings(max_examples=examples(100), deadline=None)
@given(random_spaces(), st.integers(0, 2**32), st.integers(1, 12))
def test_whatever_the_space_densities_are_finite_and_candidates_are_configurations(
    space: Space, seed: int, n: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = space.uniform(n, rng)
    kept = rows.copy()
    densities = [Watched(density) for density in pb.prior(space, {}).densities]
    kde = MarkedKDE(rows, space.sizes, densities)
    found = space.marked(kde.nearby(8, 3.0, rng))
    for row in found:
        assert space.check(space.decode(row)) == space.config(row.tolist())
    assert np.isfinite(kde.logpdf(found)).all() and np.isfinite(kde.logpdf(rows)).all()
    assert kde.logpdf(rows[:0]).shape == (0,)
    assert np.array_equal(rows, kept, equal_nan=True)


def test_a_choice_that_the_prior_excludes_has_a_tiny_density_and_no_warning() -> None:
    rows = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, NAN], [1.0, NAN]])
    kde = MarkedKDE(rows, (2, 2), (Poisoned(), Choices((1.0, 0.0))))
    logs = kde.logpdf(np.array([[0.0, 0.0], [0.0, 1.0]]))
    assert np.isfinite(logs).all() and logs[1] < logs[0] - 600


# The candidates


def test_candidates_are_those_worked_by_hand() -> None:
    """Six numbers: near which row, then one for each column of two candidates."""
    rows = np.array([[0.0, 0.2, NAN], [0.0, 0.6, NAN], [0.0, 0.6, NAN], [1.0, NAN, 0.5]])
    given = (Poisoned(), Poisoned(), Flat())
    kde = MarkedKDE(rows, (2, None, None), given, least=1e-3)
    # A number of 0.9 is in the third of three kernels, with 0.7 left: 0.6 and its 70% quantile.
    width = 2.0 * 1.06 * 3 ** (-1 / 7) * float(np.std([0.2, 0.6, 0.6]))
    rng: Any = Numbers([[0.99, 0.1, 0.9, 0.25], [0.0, 0.1, 0.5, 0.75]])
    found = kde.nearby(2, 2.0, rng)
    moved = stats.truncnorm(-0.6 / width, 0.4 / width, 0.6, width).ppf(0.7)
    stays = stats.truncnorm(-0.2 / width, 0.8 / width, 0.2, width).ppf(0.5)
    assert found[0] == pytest.approx([1.0, moved, 0.25])
    assert found[1] == pytest.approx([0.0, stays, 0.75])


class Numbers:
    """A generator that gives one table."""

    def __init__(self, table: list[list[float]]) -> None:
        self.table = np.array(table)

    def random(self, shape: tuple[int, int]) -> Array:
        assert self.table.shape == shape
        return self.table


@pytest.mark.parametrize("number", [0.0, 0.5, LAST])
def test_every_uniform_number_is_a_candidate(number: float) -> None:
    generator: Any = OnlyRandom(number)
    space = SPACES["categorical parent"]
    rows = space.uniform(500, np.random.default_rng(0))
    kde = MarkedKDE(rows, space.sizes, space.prior.densities)
    found = kde.nearby(3, 3.0, generator)
    assert ((found >= 0) & (found <= [2, 1, 1, 1])).all()


@pytest.mark.parametrize("count", [4_000, pytest.param(200_000, marks=slow)])
def test_candidates_are_as_frequent_as_their_kernels_say(count: int) -> None:
    """Widened by one, the candidates of a number follow the density; those of a choice, nearly."""
    space = Space({"a": Categorical([0, 1, 2]), "b": Categorical([0, 1], when={"a": [1, 2]})})
    rows = np.array([[0.0, NAN], [1.0, 0.0], [1.0, 1.0], [2.0, 1.0], [0.0, NAN]])
    kde = MarkedKDE(rows, space.sizes, space.prior.densities)
    w_a = slow_width(rows[:, 0].tolist(), 3, 2, 1e-3)
    w_b = slow_width([0.0, 1.0, 1.0], 2, 2, 1e-3)
    expected: Counter[Any] = Counter()
    for a, b in rows.tolist():
        for choice in range(3):
            p = ((1 - w_a) * (choice == a) + w_a / 3) / len(rows)
            if choice == 0:
                expected[choice, None] += p
                continue
            centres = [b] if b == b else [0.0, 1.0, 1.0]
            for other in range(2):
                q = np.mean([(1 - w_b) * (other == c) + w_b / 2 for c in centres])
                expected[choice, other] += p * q
    found = space.marked(kde.nearby(count, 1.0, np.random.default_rng(3)))
    seen = Counter((int(a), None if b != b else int(b)) for a, b in found.tolist())
    counts = [seen[key] for key in expected]
    assert sum(counts) == count
    assert stats.chisquare(counts, count * np.array([*expected.values()])).pvalue > 1e-4


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=slow)])
def test_a_number_that_becomes_active_is_drawn_from_all_that_are(count: int) -> None:
    space = Space({"a": Categorical([0, 1]), "x": Float(0, 1, when={"a": 1})})
    rows = np.array([[1.0, 0.1], [1.0, 0.2], [1.0, 0.8], *([[0.0, NAN]] * 5)])
    kde = MarkedKDE(rows, space.sizes, space.prior.densities)
    width = slow_width([0.1, 0.2, 0.8], None, 2, 1e-3)
    found = kde.nearby(count, 1.0, np.random.default_rng(4))[:, 1]

    def cdf(x: Any) -> Any:
        kernels = [stats.truncnorm(-c / width, (1 - c) / width, c, width) for c in (0.1, 0.2, 0.8)]
        return np.mean([kernel.cdf(x) for kernel in kernels], axis=0)

    assert stats.kstest(found, cdf).pvalue > 1e-4
