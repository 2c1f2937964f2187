"""The kernels over mixed rows, against a plain loop over pairs and by hand."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import Matern

from priorband.models.kernels import Array, Kernel

Sizes = tuple[int | None, ...]

NUMBERS: list[Sizes] = [(None,), (None,) * 3, (None,) * 14]
CHOICES: list[Sizes] = [(2,), (1,), (3, 2, 5)]
MIXED: list[Sizes] = [(None, 3), (2, None), (None, 4, None, 1, 2), (3, None, None, 2, None)]
KERNELS = [
    *(Kernel(sizes, graded=graded) for sizes in NUMBERS for graded in (False, True)),
    *(Kernel(sizes) for sizes in CHOICES),
    *(Kernel(sizes, product=product) for sizes in MIXED for product in (False, True)),
    *(Kernel((3, None, None), product=product, graded=True) for product in (False, True)),
]
"""Numbers, choices and both; sums and products; noise that is graded by a last number, or not."""
CONDITIONAL = [
    Kernel((None,), optional=(0,)),
    Kernel((3,), optional=(0,)),
    Kernel((None,) * 4, optional=(1, 3)),
    Kernel((2, 3, 4), optional=(2,)),
    *(
        Kernel(sizes, product, optional=(0, 1, 2))
        for sizes in MIXED[2:]
        for product in (False, True)
    ),
    *(Kernel((3, None, 2, None, None), p, True, (1, 2, 3)) for p in (False, True)),
]
"""Kernels with columns whose entries may be inactive: numbers, choices and both."""
KERNELS += CONDITIONAL

RANGES = {"l": (0.1, 3.0), "t": (0.05, 3.0), "a": (0.3, 3.0), "b": (0.3, 3.0)}


def label(kernel: Kernel) -> str:
    """The names of a kernel's parameters, and how they are joined: a short name for a test."""
    optional = "".join(f"-{column}?" for column in kernel.optional)
    return f"{'-'.join(kernel.names)}{'-product' * kernel.product}{optional}"


def mixed_rows(n: int, sizes: Sizes, seed: int, optional: tuple[int, ...] = ()) -> Array:
    """Random rows; in optional columns, about half of the entries are inactive."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n, len(sizes)))
    for column, size in enumerate(sizes):
        if size is not None:
            rows[:, column] = np.floor(rows[:, column] * size)
    for column in optional:
        rows[rng.random(n) < 0.5, column] = np.nan
    return rows


def rows_for(kernel: Kernel, n: int, seed: int) -> Array:
    return mixed_rows(n, kernel.sizes, seed, kernel.optional)


def random_logs(kernel: Kernel, seed: int, noise: tuple[float, float] = (1e-3, 0.3)) -> Array:
    limits = np.log([RANGES.get(name[0], noise) for name in kernel.names])
    return np.random.default_rng(seed).uniform(limits[:, 0], limits[:, 1])


def parameters(kernel: Kernel, logs: Array) -> dict[str, float]:
    return dict(zip(kernel.names, map(math.exp, logs), strict=True))


def slow_value(kernel: Kernel, logs: Array, one: Array, other: Array) -> float:
    """The kernel of two rows, by its formula and the names of its parameters."""
    known = parameters(kernel, logs)
    squared, weight = 0.0, 0.0
    for column, size in enumerate(kernel.sizes):
        active = [not math.isnan(row[column]) for row in (one, other)]
        if size is not None:
            differs = one[column] != other[column] if all(active) else any(active)
            weight += known[f"t{column}"] * differs
        elif column not in kernel.optional:
            squared += ((one[column] - other[column]) / known[f"l{column}"]) ** 2
        elif all(active):
            arc = 2 * math.sin((one[column] - other[column]) / 2)
            squared += (arc / known[f"l{column}"]) ** 2
        else:
            squared += any(active) / known[f"l{column}"] ** 2
    root = math.sqrt(5 * squared)
    matern = (1 + root + 5 * squared / 3) * math.exp(-root)
    hamming = math.exp(-weight)
    if "b" in known:
        return known["a"] * matern + known["b"] * hamming
    return known["a"] * matern * hamming


def slow_cross(kernel: Kernel, logs: Array, rows: Array, others: Array) -> Array:
    return np.array([[slow_value(kernel, logs, x, y) for y in others] for x in rows])


def slow_noise(kernel: Kernel, logs: Array, rows: Array) -> Array:
    known = parameters(kernel, logs)
    if not kernel.graded:
        return np.full(len(rows), known["v"])
    return np.array([known["v"] ** (1 - u) * known["w"] ** u for u in rows[:, -1]])


def differences(function: Callable[[Array], Array | float], at: Array, step: float) -> Array:
    """The function's derivatives by each coordinate, exact to the step's fourth power."""
    found: list[Array] = []
    for place in range(len(at)):
        move = np.zeros_like(at)
        move[place] = step
        near = np.asarray(function(at + move)) - np.asarray(function(at - move))
        far = np.asarray(function(at + 2 * move)) - np.asarray(function(at - 2 * move))
        found.append((8 * near - far) / (12 * step))
    return np.array(found, dtype=np.float64)


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (Kernel((None,)), "l0 a v"),
        (Kernel((None, None), product=True, graded=True), "l0 l1 a v w"),
        (Kernel((3, 2)), "t0 t1 a v"),
        (Kernel((3, None, 1, None)), "l1 l3 t0 t2 a b v"),
        (Kernel((3, None), product=True), "l1 t0 a v"),
        (Kernel((3, None), graded=True), "l1 t0 a b v w"),
    ],
    ids=str,
)
def test_parameters_are_scales_then_weights_then_amplitudes_then_noise(
    kernel: Kernel, names: str
) -> None:
    assert kernel.names == tuple(names.split())
    assert kernel.numbers == tuple(i for i, size in enumerate(kernel.sizes) if size is None)
    assert kernel.choices == tuple(i for i, size in enumerate(kernel.sizes) if size is not None)


def test_a_sum_and_a_product_worked_by_hand() -> None:
    """Half a length scale apart and of two choices: 0.8286 and exp(-0.7) = 0.4966."""
    rows, other = np.array([[0.2, 1.0]]), np.array([[0.4, 0.0]])
    root = math.sqrt(5) / 2
    matern, hamming = (1 + root + root**2 / 3) * math.exp(-root), math.exp(-0.7)
    assert (matern, hamming) == pytest.approx((0.8286, 0.4966), abs=1e-4)
    summed = Kernel((None, 2)).cross(np.log([0.4, 0.7, 2.0, 3.0, 0.1]), rows, other)
    assert summed == pytest.approx(2 * matern + 3 * hamming, rel=1e-12)
    joint = Kernel((None, 2), product=True).cross(np.log([0.4, 0.7, 2.0, 0.1]), rows, other)
    assert joint == pytest.approx(2 * matern * hamming, rel=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=label)
def test_all_values_are_those_of_a_loop_over_pairs(kernel: Kernel) -> None:
    for seed in range(3):
        logs = random_logs(kernel, seed)
        rows, others = rows_for(kernel, 11, seed), rows_for(kernel, 7, seed + 9)
        rows[3], others[2] = rows[0], rows[1]
        expected = slow_cross(kernel, logs, rows, others)
        assert kernel.cross(logs, rows, others) == pytest.approx(expected, rel=1e-10)
        square = slow_cross(kernel, logs, rows, rows)
        values = kernel.gram(logs, kernel.pairs(rows)).values
        assert values == pytest.approx(square[np.triu_indices(11, 1)], rel=1e-12)
        assert [kernel.diagonal(logs)] * 11 == pytest.approx(np.diagonal(square), rel=1e-12)
        noise = slow_noise(kernel, logs, rows)
        assert kernel.noise(logs, rows) == pytest.approx(noise, rel=1e-12)


@pytest.mark.parametrize("columns", [1, 2, 14])
def test_numbers_have_the_matern_kernel_of_scikit_learn(columns: int) -> None:
    kernel, logs = Kernel((None,) * columns), np.log([*np.linspace(0.2, 2, columns), 1.7, 0.1])
    rows, others = (mixed_rows(n, kernel.sizes, n) for n in (9, 5))
    theirs = 1.7 * Matern(np.exp(logs[:columns]), nu=2.5)(rows, others)
    assert kernel.cross(logs, rows, others) == pytest.approx(theirs, rel=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=label)
def test_near_is_a_line_of_cross_with_its_gradient(kernel: Kernel) -> None:
    logs = random_logs(kernel, 1)
    for row in rows_for(kernel, 5, 5):
        check_gradient(kernel, logs, row, rows_for(kernel, 8, 6))


def check_gradient(kernel: Kernel, logs: Array, row: Array, others: Array) -> None:
    numbers = list(kernel.numbers)
    values, gradient = kernel.near(logs, row, others)
    assert values == pytest.approx(slow_cross(kernel, logs, row[None], others)[0], rel=1e-12)

    def moved(position: Array) -> Array:
        other = row.copy()
        other[numbers] = position
        return slow_cross(kernel, logs, other[None], others).reshape(-1)

    expected = differences(moved, row[numbers], 1e-3).reshape(len(numbers), 8).T
    assert gradient.shape == (8, len(numbers))
    assert gradient == pytest.approx(expected, rel=1e-6, abs=1e-7)
    assert (gradient[:, np.isnan(row[numbers])] == 0).all()


def test_the_gradient_at_a_row_itself_vanishes() -> None:
    kernel = Kernel((None, 3, None))
    rows = mixed_rows(4, kernel.sizes, 0)
    values, gradient = kernel.near(random_logs(kernel, 0), rows[2], rows)
    assert values[2] == kernel.diagonal(random_logs(kernel, 0))
    assert (gradient[2] == 0).all() and (gradient[[0, 1, 3]] != 0).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=label)
def test_the_weighted_gradient_is_that_of_differences(kernel: Kernel) -> None:
    logs, rows = random_logs(kernel, 2), rows_for(kernel, 9, 3)
    pairs, upper = kernel.pairs(rows), np.triu_indices(9, 1)
    weights = np.random.default_rng(4).standard_normal(len(upper[0]))
    free = len(logs) - 1 - kernel.graded
    got = kernel.gradient(logs, pairs, kernel.gram(logs, pairs), weights)

    def total(moved: Array) -> float:
        whole = np.concatenate((moved, logs[free:]))
        return float(slow_cross(kernel, whole, rows, rows)[upper] @ weights)

    assert got.shape == (free,)
    assert got == pytest.approx(differences(total, logs[:free], 1e-3), rel=1e-7, abs=1e-8)


def test_graded_noise_goes_from_the_first_to_the_second_and_no_further() -> None:
    kernel, logs = Kernel((2, None), graded=True), np.log([0.5, 0.5, 1.0, 1.0, 0.16, 0.01])
    rows = np.array([[0, -0.5], [0, 0.0], [1, 0.5], [0, 1.0], [1, 1.5]])
    assert kernel.noise(logs, rows) == pytest.approx([0.16, 0.16, 0.04, 0.01, 0.01])
    plain = Kernel((2, None))
    noise = plain.noise(np.log([0.5, 0.5, 1.0, 1.0, 0.16]), rows)
    assert noise == pytest.approx([0.16] * 5, rel=1e-12)


def test_one_row_alone_has_no_pairs_and_no_rows_have_no_kernel() -> None:
    for kernel in KERNELS:
        logs, rows = random_logs(kernel, 0), rows_for(kernel, 3, 0)
        pairs = kernel.pairs(rows[:1])
        assert kernel.gram(logs, pairs).values.shape == (0,)
        assert not kernel.gradient(logs, pairs, kernel.gram(logs, pairs), np.zeros(0)).any()
        assert kernel.cross(logs, rows[:0], rows).shape == (0, 3)
        assert kernel.cross(logs, rows, rows[:0]).shape == (3, 0)


def test_a_sum_with_a_constant_choice_adds_a_constant() -> None:
    rows, logs = mixed_rows(6, (None, 1), 0), np.log([0.3, 2.0, 1.5, 0.7, 0.1])
    found = Kernel((None, 1)).cross(logs, rows, rows)
    alone = Kernel((None,)).cross(np.log([0.3, 1.5, 0.1]), rows[:, :1], rows[:, :1])
    assert found == pytest.approx(alone + 0.7, rel=1e-12)


def test_the_codes_of_choices_do_not_matter() -> None:
    kernel, renumbered = Kernel((5, None)), np.array([3.0, 0.0, 4.0, 2.0, 1.0])
    rows, logs = mixed_rows(12, kernel.sizes, 1), random_logs(kernel, 1)
    others = rows.copy()
    others[:, 0] = renumbered[rows[:, 0].astype(int)]
    assert (kernel.cross(logs, others, others) == kernel.cross(logs, rows, rows)).all()
    values = [kernel.gram(logs, kernel.pairs(each)).values for each in (rows, others)]
    assert (values[0] == values[1]).all()


def test_short_and_long_scales_stay_exact_where_the_squares_are_expanded() -> None:
    """Rows that are equal, or all but: the distance must not be lost among its large parts."""
    kernel = Kernel((None,) * 14)
    rows = mixed_rows(20, kernel.sizes, 2)
    for scale in (0.02, 30.0):
        logs = np.log([scale] * 14 + [1.0, 1e-6])
        for shift in (0.0, 1e-9, 1e-4):
            found = np.diagonal(kernel.cross(logs, rows + shift, rows))
            expected = [slow_value(kernel, logs, row + shift, row) for row in rows]
            assert found == pytest.approx(expected, abs=1e-10) and (found <= 1.0).all()


def test_far_from_the_origin_the_kernel_is_the_same() -> None:
    kernel, logs = Kernel((None,) * 3), np.log([0.3, 0.3, 0.3, 1.0, 0.1])
    rows, others = mixed_rows(6, kernel.sizes, 0), mixed_rows(9, kernel.sizes, 1)
    found = kernel.cross(logs, rows + 1e4, others + 1e4)
    assert found == pytest.approx(kernel.cross(logs, rows, others), rel=1e-9)


# Entries that may be inactive


def test_three_cases_of_an_optional_number_worked_by_hand() -> None:
    """With l = 2 and 1 radian for the whole range: 4 sin(0.25)^2 / 4, 1 / 4 and 0."""
    kernel, logs = Kernel((None,), optional=(0,)), np.log([2.0, 1.5, 0.1])
    rows = np.array([[0.1], [0.6], [np.nan], [np.nan]])

    def matern(squared: float) -> float:
        root = math.sqrt(5 * squared)
        return 1.5 * (1 + root + 5 * squared / 3) * math.exp(-root)

    both, one, none = matern(math.sin(0.25) ** 2), matern(0.25), 1.5
    assert (both, one) == pytest.approx((1.4279, 1.2429), abs=1e-4)
    values = kernel.gram(logs, kernel.pairs(rows)).values
    assert values == pytest.approx([both, one, one, one, one, none], rel=1e-12)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_optional_numbers_have_the_matern_kernel_of_scikit_learn_on_points(columns: int) -> None:
    """Each column is two coordinates there: on the unit circle, or at its centre."""
    kernel = Kernel((None,) * columns, optional=tuple(range(columns)))
    logs = np.log([*np.linspace(0.2, 2, columns), 1.7, 0.1])
    rows, others = (rows_for(kernel, n, n) for n in (9, 5))

    def points(rows: Array) -> Array:
        return np.array(
            [[f(x) if x == x else 0.0 for x in r for f in (math.cos, math.sin)] for r in rows]
        )

    theirs = 1.7 * Matern(np.exp(logs[:columns]).repeat(2), nu=2.5)(points(rows), points(others))
    assert kernel.cross(logs, rows, others) == pytest.approx(theirs, rel=1e-10)


def test_three_cases_of_an_optional_choice_worked_by_hand() -> None:
    kernel, logs = Kernel((3,), optional=(0,)), np.log([0.7, 1.0, 0.1])
    rows, apart = np.array([[0.0], [2.0], [np.nan], [np.nan]]), math.exp(-0.7)
    values = kernel.gram(logs, kernel.pairs(rows)).values
    assert values == pytest.approx([apart] * 5 + [1.0], rel=1e-12)


@pytest.mark.parametrize("kernel", CONDITIONAL, ids=label)
def test_where_nothing_is_inactive_the_kernel_is_close_to_the_plain_one(kernel: Kernel) -> None:
    """Choices are the same, and squared distances at most 8.1 % smaller."""
    plain = Kernel(kernel.sizes, kernel.product, kernel.graded)
    rows = mixed_rows(20, kernel.sizes, 1)
    rows[0], rows[1] = 0.0, [1.0 if size is None else size - 1.0 for size in kernel.sizes]
    found, expected = kernel.pairs(rows), plain.pairs(rows)
    assert (found.differ == expected.differ).all()
    assert (found.squares <= expected.squares + 1e-15).all()
    assert (found.squares >= 0.919 * expected.squares - 1e-15).all()
    others = [place for place, i in enumerate(kernel.numbers) if i not in kernel.optional]
    assert (found.squares[others] == expected.squares[others]).all()


@pytest.mark.parametrize("kernel", CONDITIONAL, ids=label)
def test_rows_that_differ_in_what_is_active_are_neither_equal_nor_unrelated(
    kernel: Kernel,
) -> None:
    for seed in range(4):
        logs, rows = random_logs(kernel, seed), mixed_rows(2, kernel.sizes, seed)
        rows[1] = rows[0]
        rows[1, list(kernel.optional)] = np.nan
        value, most = kernel.cross(logs, rows[:1], rows[1:])[0, 0], kernel.diagonal(logs)
        assert 1e-30 * most < value < 0.999 * most
        assert kernel.cross(logs, rows[1:], rows[1:])[0, 0] == pytest.approx(most, rel=1e-12)


@pytest.mark.parametrize("kernel", CONDITIONAL, ids=label)
def test_rows_that_were_placed_before_give_the_same(kernel: Kernel) -> None:
    logs, rows, others = random_logs(kernel, 3), rows_for(kernel, 5, 1), rows_for(kernel, 6, 2)
    before, placed = others.copy(), kernel.placed(others)
    assert (kernel.cross(logs, rows, placed) == kernel.cross(logs, rows, others)).all()
    for ours, theirs in zip(
        kernel.near(logs, rows[0], placed), kernel.near(logs, rows[0], others), strict=True
    ):
        assert (ours == theirs).all()
    assert np.array_equal(others, before, equal_nan=True)
    assert not any(np.isnan(part).any() for part in placed)


def test_a_mark_in_a_column_that_is_always_active_comes_out() -> None:
    kernel, rows = Kernel((None, None), optional=(1,)), np.full((3, 2), 0.5)
    rows[1, 0] = np.nan
    assert np.isnan(kernel.gram(random_logs(kernel, 0), kernel.pairs(rows)).values).sum() == 2


logs_of_any_size = st.floats(math.log(1e-3), math.log(100.0))


@st.composite
def tables(draw: st.DrawFn) -> tuple[Kernel, Array, Array]:
    sizes = tuple(draw(st.lists(st.none() | st.integers(1, 4), min_size=1, max_size=4)))
    graded = sizes[-1] is None
    optional = draw(st.sets(st.integers(0, len(sizes) - 1)))
    optional -= {len(sizes) - 1} if graded else set()
    kernel = Kernel(sizes, draw(st.booleans()), graded, tuple(sorted(optional)))
    number = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])
    cells: list[st.SearchStrategy[float]] = [
        number if size is None else st.integers(0, size - 1) for size in sizes
    ]
    for column in optional:
        cells[column] |= st.just(math.nan)
    rows = draw(st.lists(st.tuples(*cells), min_size=1, max_size=8))
    count = len(kernel.names)
    logs = draw(st.lists(logs_of_any_size, min_size=count, max_size=count))
    return kernel, np.array(logs), np.array(rows, dtype=np.float64)


@settings(max_examples=examples(60))
@given(tables())
def test_kernel_matrices_are_symmetric_and_positive_semidefinite(
    table: tuple[Kernel, Array, Array],
) -> None:
    kernel, logs, rows = table
    matrix, most = kernel.cross(logs, rows, rows), kernel.diagonal(logs)
    assert matrix == pytest.approx(matrix.T, rel=1e-9, abs=1e-9 * most)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9 * most * len(rows)
    assert (matrix >= 0).all() and (matrix <= most * (1 + 1e-12)).all()
    for row, line in zip(rows, matrix, strict=True):
        values, gradient = kernel.near(logs, row, rows)
        assert values == pytest.approx(line, rel=1e-8, abs=1e-8 * most)
        assert np.isfinite(gradient).all()
