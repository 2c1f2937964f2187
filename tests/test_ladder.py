"""The ladder against the paper's example, exact arithmetic and the traps of floating logarithms."""

import math
import re
import warnings
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from priorband import Fidelity, Study
from priorband.benchmarks import Hartmann
from priorband.errors import MethodError, SingleRungWarning, SpaceError
from priorband.ladder import Ladder, Rule
from priorband.named_methods import optimizer

FOUR = ((27, 9, 3, 1), (9, 3, 1), (6, 2), (4,))
THREE = ((9, 3, 1), (3, 1), (3,))


class Row(NamedTuple):
    """A line of the table of rungs and brackets, costs also in full trainings."""

    bounds: tuple[int, int]
    rungs: list[int]
    brackets: tuple[tuple[int, ...], ...]
    trials: int
    continued: tuple[int, float]
    scratch: tuple[int, float]
    first: tuple[int, float]


# fmt: off
TABLE = [
    Row((3, 81), [3, 9, 27, 81], FOUR, 65, (1026, 12.667), (1215, 15.0), (243, 3.000)),
    Row((3, 100), [3, 11, 33, 100], FOUR, 65, (1250, 12.5), (1475, 14.75), (286, 2.860)),
    Row((1, 52), [1, 5, 17, 52], FOUR, 65, (630, 12.115), (737, 14.173), (134, 2.577)),
    Row((3, 200), [7, 22, 66, 200], FOUR, 65, (2518, 12.59), (2977, 14.885), (590, 2.950)),
    Row((1, 74), [2, 8, 24, 74], FOUR, 65, (916, 12.378), (1078, 14.568), (206, 2.784)),
    Row((3, 99), [3, 11, 33, 99], FOUR, 65, (1242, 12.545), (1467, 14.818), (285, 2.879)),
    Row((1, 19), [2, 6, 19], THREE, 20, (131, 6.895), (149, 7.842), (43, 2.263)),
    Row((45, 199), [66, 199], ((3, 1), (2,)), 6, (729, 3.663), (795, 3.995), (331, 1.663)),
]
OTHERS: list[tuple[float, float, list[float], tuple[tuple[int, ...], ...]]] = [
    (1, 81, [1, 3, 9, 27, 81], ((81, 27, 9, 3, 1), (27, 9, 3, 1), (9, 3, 1), (6, 2), (5,))),
    (1, 27, [1, 3, 9, 27], FOUR),
    (1, 9, [1, 3, 9], THREE),
    (1, 243, [1, 3, 9, 27, 81, 243], ((243, 81, 27, 9, 3, 1), (81, 27, 9, 3, 1), (27, 9, 3, 1),
                                      (18, 6, 2), (9, 3), (6,))),
    (2, 50, [5, 16, 50], THREE),
    (80, 200, [200], ((1,),)),
    (0.1, 1.0, [1 / 9, 1 / 3, 1.0], THREE),
]
CEIL = [
    ((3, 81), ((27, 9, 3, 1), (12, 4, 1), (6, 2), (4,)), 69),
    ((1, 19), ((9, 3, 1), (5, 1), (3,)), 22),
    ((1, 81), ((81, 27, 9, 3, 1), (34, 11, 3, 1), (15, 5, 1), (8, 2), (5,)), 206),
]
# fmt: on


def ladder(low: float, high: float, eta: int = 3, rule: Rule = "floor") -> Ladder:
    """A ladder over any range, single rungs included."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        return Ladder(Fidelity("epochs", low, high), eta, rule)


def exact_top(low: float, high: float, eta: int) -> int:
    """The largest s with low * eta**s <= high, in rational numbers, rounding forgiven."""
    top, reach = 0, Fraction(high) * (1 + Fraction(1, 10**12)) / Fraction(low)
    while Fraction(eta) ** (top + 1) <= reach:
        top += 1
    return top


def exact_sizes(top: int, eta: int, base: int, rule: Rule) -> tuple[int, ...]:
    """n_b and its repeated division, from the formula in rational numbers."""
    steps = top - base
    share = Fraction(top + 1, steps + 1)
    widest = eta**steps
    first = math.floor(share) * widest if rule == "floor" else math.ceil(share * widest)
    return tuple(math.floor(Fraction(first, eta**i)) for i in range(steps + 1))


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_tv1_the_ladder_is_that_of_the_table(row: Row) -> None:
    made = Ladder(Fidelity("epochs", *row.bounds))
    assert list(made.fidelities) == row.rungs
    assert made.brackets == row.brackets
    assert sum(map(sum, made.brackets)) == row.trials
    bases = range(made.top + 1)
    costs = [
        (sum(made.cost(base) for base in bases), row.continued),
        (sum(made.cost(base, continued=False) for base in bases), row.scratch),
        (made.first_cost, row.first),
    ]
    for cost, (units, trainings) in costs:
        assert cost == units
        assert cost / made.fidelity.high == pytest.approx(trainings, abs=6e-4)


@pytest.mark.parametrize(("low", "high", "rungs", "brackets"), OTHERS)
def test_tv1_other_ranges_have_their_rungs_and_brackets(
    low: float, high: float, rungs: list[float], brackets: tuple[tuple[int, ...], ...]
) -> None:
    made = ladder(low, high)
    assert list(made.fidelities) == pytest.approx(rungs, rel=1e-15)
    assert made.brackets == brackets


def test_tv1_truncated_rungs_do_not_fall_together() -> None:
    made = Ladder(Fidelity("epochs", 1, 1000))
    assert list(made.fidelities) == [1, 4, 12, 37, 111, 333, 1000]


@pytest.mark.parametrize(("bounds", "brackets", "trials"), CEIL)
def test_tv1_the_printed_rule_rounds_sizes_up(
    bounds: tuple[int, int], brackets: tuple[tuple[int, ...], ...], trials: int
) -> None:
    made = Ladder(Fidelity("epochs", *bounds), rule="ceil")
    assert made.brackets == brackets
    assert sum(map(sum, made.brackets)) == trials


def test_the_papers_example_from_3_to_81_comes_out_as_by_hand() -> None:
    paper = Ladder(Fidelity("epochs", 3, 81))
    assert paper.top == 3
    assert list(paper.fidelities) == [3, 9, 27, 81]
    assert paper.brackets == ((27, 9, 3, 1), (9, 3, 1), (6, 2), (4,))
    # 27*3 + 9*6 + 3*18 + 1*54; 9*9 + 3*18 + 1*54; 6*27 + 2*54; 4*81
    assert [paper.cost(base) for base in range(4)] == [243, 189, 270, 324]
    # 27*3 + 9*9 + 3*27 + 81; 9*9 + 3*27 + 81; 6*27 + 2*81; 4*81
    assert [paper.cost(base, continued=False) for base in range(4)] == [324, 243, 324, 324]
    assert paper.first_cost == 243


@pytest.mark.parametrize(
    ("low", "high", "eta", "top"),
    [
        (0.1, 8.1, 3, 4),
        (1, 243, 3, 5),
        (1, 242, 3, 4),
        (1, 125, 5, 3),
        (1, 1000, 10, 3),
        (0.001, 1.0, 10, 3),
        (1 / 3, 9.0, 3, 3),
        (0.1, 0.3, 3, 1),
        (0.1, 0.29999, 3, 0),
        (7, 7, 3, 0),
    ],
)
def test_the_number_of_rungs_is_not_a_victim_of_rounding(
    low: float, high: float, eta: int, top: int
) -> None:
    """Floating logarithms lose a rung in the first two: log(81)/log(3) and log(243, 3)."""
    assert ladder(low, high, eta).top == top


@given(st.integers(1, 5000), st.integers(1, 10**9), st.integers(2, 5))
@settings(deadline=None)
def test_whole_rungs_strictly_increase_from_at_least_low_to_high(
    low: int, high: int, eta: int
) -> None:
    assume(low <= high)
    rungs = ladder(low, high, eta).fidelities
    assert len(rungs) == exact_top(low, high, eta) + 1
    assert all(isinstance(z, int) for z in rungs)
    assert all(below < above for below, above in zip(rungs, rungs[1:], strict=False))
    assert rungs[-1] == high and rungs[0] >= low
    assert list(rungs) == [math.floor(Fraction(high, eta**k)) for k in range(len(rungs))][::-1]


@given(
    st.integers(1, 100),
    st.integers(1, 10**6),
    st.integers(2, 5),
    st.sampled_from(["floor", "ceil"]),
)
@settings(deadline=None)
def test_bracket_sizes_and_costs_follow_their_formulas(
    low: int, high: int, eta: int, rule: Rule
) -> None:
    assume(low <= high)
    made = ladder(low, high, eta, rule)
    top, rungs = made.top, made.fidelities
    assert made.brackets == tuple(exact_sizes(top, eta, base, rule) for base in range(top + 1))
    for base, sizes in enumerate(made.brackets):
        above = range(base + 1, top + 1)
        climb = sum(sizes[r - base] * (rungs[r] - rungs[r - 1]) for r in above)
        assert made.cost(base) == sizes[0] * rungs[base] + climb
        scratch = sum(n * z for n, z in zip(sizes, rungs[base:], strict=True))
        assert made.cost(base, continued=False) == scratch


@given(st.floats(1e-6, 1e3), st.floats(1.0, 1e6), st.integers(2, 5))
@settings(deadline=None)
def test_real_rungs_are_the_full_training_divided_by_powers_of_eta(
    low: float, ratio: float, eta: int
) -> None:
    made = ladder(low, low * ratio, eta)
    assert made.top == exact_top(low, low * ratio, eta)
    assert made.fidelities[-1] == low * ratio
    for rung, fidelity in enumerate(made.fidelities):
        exact = Fraction(low * ratio) / eta ** (made.top - rung)
        assert fidelity == pytest.approx(float(exact), rel=1e-15)
    assert made.fidelities[0] >= low * (1 - 1e-11)


def test_a_share_of_the_data_has_real_rungs() -> None:
    made = Ladder(Fidelity("share", 0.1, 1.0))
    assert made.fidelities == pytest.approx((1 / 9, 1 / 3, 1.0), rel=1e-15)
    assert made.brackets == ((9, 3, 1), (3, 1), (3,))
    assert made.first_cost == pytest.approx(9 / 9 + 3 * 2 / 9 + 2 / 3)


def test_whole_bounds_make_whole_rungs_and_a_real_bound_makes_real_ones() -> None:
    assert list(Ladder(Fidelity("epochs", 2, 50)).fidelities) == [5, 16, 50]
    real = Ladder(Fidelity("epochs", 2, 50.0)).fidelities
    assert real == pytest.approx((50 / 9, 50 / 3, 50))


def test_a_range_with_a_single_rung_warns_and_says_what_to_do() -> None:
    text = (
        "`epochs` from 80 to 200 has a single rung with eta=3: every trial is a full training, "
        "nothing is tried at low cost. Use low=66 for 2 rungs, low=22 for 3 rungs, "
        "low=7 for 4 rungs."
    )
    with pytest.warns(SingleRungWarning, match=re.escape(text)):
        fidelity = Fidelity("epochs", 80, 200)
    made = Ladder(fidelity)
    assert list(made.fidelities) == [200]
    assert made.brackets == ((1,),)


def test_a_range_too_short_for_any_low_says_how_high_to_go() -> None:
    with pytest.warns(SingleRungWarning, match=re.escape("Raise high to 3.")):
        Fidelity("epochs", 1, 2)


def test_a_larger_eta_that_leaves_one_rung_warns_when_the_study_is_made() -> None:
    fidelity = Fidelity("epochs", 30, 100)
    with pytest.warns(SingleRungWarning, match="single rung with eta=4"):
        Study(Hartmann(3).space, fidelity, optimizer("hyperband", eta=4))


@pytest.mark.parametrize(
    ("low", "high"), [(80, 200), (150_000, 200_000), (1.0, 2.0), (0.5, 0.7), (2, 5)]
)
def test_taking_the_warnings_advice_gives_the_rungs_it_promises(low: float, high: float) -> None:
    with pytest.warns(SingleRungWarning) as caught:
        Fidelity("epochs", low, high)
    advice = re.findall(r"low=([-+.e\d]*\d) for (\d) rungs", str(caught[0].message))
    assert advice
    for text, rungs in advice:
        advised = type(low)(float(text))
        assert Ladder(Fidelity("epochs", advised, high)).top + 1 == int(rungs)


def test_enough_room_for_two_rungs_does_not_warn() -> None:
    Fidelity("epochs", 66, 200)
    Fidelity("share", 0.1, 0.3)


def test_equal_bounds_are_a_single_rung_and_warn() -> None:
    with pytest.warns(SingleRungWarning, match="from 10 to 10 has a single rung with eta=3"):
        Fidelity("epochs", 10, 10)


@pytest.mark.parametrize("low", [0, -1, 0.0, -0.5, math.nan, -math.inf])
def test_a_least_fidelity_of_zero_or_less_is_refused(low: float) -> None:
    with pytest.raises(SpaceError, match="epochs"):
        Fidelity("epochs", low, 81)


def test_the_refusal_of_zero_says_why() -> None:
    text = (
        "`low` of the fidelity `epochs` must be above 0, got 0. Give the shortest training that "
        "says something about a configuration, such as 1."
    )
    with pytest.raises(SpaceError, match=re.escape(text)):
        Fidelity("epochs", 0, 81)


def test_bounds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(SpaceError, match=r"low=81 and high=3\. .*: Fidelity\('epochs', 3, 81\)"):
        Fidelity("epochs", 81, 3)


@pytest.mark.parametrize("eta", [1, 0, -3, True, 2.5])
def test_an_eta_below_two_or_not_whole_is_refused(eta: int) -> None:
    with pytest.raises(MethodError, match="`eta` must be a whole number of at least 2"):
        Ladder(Fidelity("epochs", 3, 81), eta)


def test_a_ladder_up_to_the_largest_float_ends() -> None:
    assert Ladder(Fidelity("e", 1.0, 1.7976931348623157e308)).top == 646
    assert Ladder(Fidelity("e", 1, 10**308)).top == 645
