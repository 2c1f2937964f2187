"""The ensemble sampling policy: its equations and rules on cases that can be checked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from priorband import Categorical, Fidelity, Float, Histogram, Space, State, Study, Trial, optimizer
from priorband.samplers import Ensemble, Shares
from priorband.samplers.ensemble_policy import (
    ConstantShare,
    Decay,
    Dynamic,
    Half,
    Linear,
    Zero,
    active,
)
from priorband.samplers.scores import scores

UNIT = Space({"x": Float(0.0, 1.0, prior=0.3)})
PAPER = Fidelity("epochs", 3, 81)  # the first bracket costs 243


def with_results(*results: tuple[float, float, float], space: Space = UNIT) -> State:
    """A state with results (x, loss, fidelity) and nothing else."""
    study = Study(space, PAPER)
    for x, loss, fidelity in results:
        study.add({"x": x}, loss, fidelity)
    return study.state


def test_equation_2_leaves_less_to_chance_on_higher_rungs() -> None:
    shares = [Ensemble()(with_results(), rung) for rung in range(4)]
    assert shares == [Shares(1 / (1 + 3**r), 1 - 1 / (1 + 3**r), 0.0) for r in range(4)]


def test_algorithm_2_on_a_case_worked_by_hand() -> None:
    """Two choices of weight 4 to 1: the prior's "a" has 0.8, and so has the incumbent's "b".

    Three results at 27 epochs are scored, the two at 81 are too few. With 3, 2, 1 on b, b, a the
    prior scores 0.2 * 3 + 0.2 * 2 + 0.8 * 1 = 1.8 and the incumbent 0.8 * 5 + 0.2 = 4.2.
    """
    study = Study(Space({"c": Categorical(("a", "b"), prior="a")}), PAPER)
    for choice, loss, fidelity in [
        *(("b", 0.1, 27), ("b", 0.2, 27), ("a", 0.3, 27), ("a", 0.05, 9)),
        *(("b", 0.0, 81), ("a", 0.9, 81)),
    ]:
        study.add({"c": choice}, loss, fidelity)
    found = scores(study.state)
    assert found is not None and (found.rung, found.top) == (2, 3)
    assert math.exp(found.prior) == pytest.approx(1.8, rel=1e-14)
    assert math.exp(found.incumbent) == pytest.approx(4.2, rel=1e-14)
    assert Dynamic()(study.state)[0] == pytest.approx(0.7, rel=1e-14)


def test_the_incumbent_needs_a_full_training_and_a_brackets_cost() -> None:
    nine = [(i / 9, 0.5 + i, 27.0) for i in range(9)]
    assert not active(with_results(*nine))  # 243 units, none of them in full
    assert not active(with_results(*nine, (0.95, math.nan, 81)))  # in full, but failed
    assert active(with_results(*nine, (0.95, 0.5, 81)))
    spent = [(0.1, 0.5, 81.0), (0.2, 0.5, 81.0), (0.3, 0.5, 80.0)]
    assert not active(with_results(*spent))  # 242 units
    assert active(with_results(*spent, (0.4, 0.5, 1)))


def test_a_failure_costs_its_fidelity_but_is_neither_incumbent_nor_scored() -> None:
    kept = [(0.1, 0.3, 81.0), (0.2, 0.4, 81.0), (0.3, 0.5, 81.0)]
    state = with_results(*kept, (0.9, -math.inf, 81))
    assert state.history.resources == 4 * 81
    assert scores(state) == scores(with_results(*kept))


def test_resources_are_the_highest_fidelity_of_each_configuration() -> None:
    study = Study(UNIT, Fidelity("epochs", 1, 3), "hyperband")
    for loss in (0.3, 0.1, 0.2):
        study.tell(study.ask(), loss)
    assert study.state.history.resources == 3 * 1
    promoted = study.ask()
    assert study.state.history.resources == 3 * 1  # whatever is running
    study.add(promoted.config, 0.2, fidelity=2)
    assert study.state.history.resources == 2 * 1 + 2
    study.tell(promoted, 0.2)
    assert study.state.history.resources == 2 * 1 + 3
    study.add(promoted.config, 0.2, fidelity=2)
    assert study.state.history.resources == 2 * 1 + 3


def test_the_first_draw_that_the_incumbent_may_take_is_the_first_of_bracket_1() -> None:
    study = Study(UNIT, PAPER, seed=1)
    for _ in range(60):
        trial = study.ask()
        study.tell(trial, abs(trial.config["x"] - 0.6))
    chances = {number: step.chances for number, step in study.replay().steps.items()}
    trusted = [n for n, c in chances.items() if isinstance(c, Shares) and c.p_incumbent > 0]
    bracket = {trial.id: trial.slot.bracket for trial in study.state.history.trials if trial.slot}
    assert [bracket[number] for number in trusted[:1]] == [1]
    sampled = [t.id for t in study.state.history.trials if t.slot == (1, 1) and t.parent is None]
    assert trusted[: len(sampled)] == sampled


def test_without_eta_results_on_any_rung_the_prior_is_trusted_eta_times_as_much() -> None:
    state = with_results((0.1, 0.5, 81), (0.2, 0.4, 60), (0.3, 0.3, 60), (0.4, 0.2, 60))
    assert active(state) and scores(state) is None
    assert Ensemble()(state, 1).probabilities == pytest.approx((0.25, 0.75 * 0.75, 0.75 * 0.25))


BOX = Space({"x": Float(0.0, 1.0, prior=Histogram((0, 0, 0, 1, 0, 0, 0, 0, 0, 0)))})


@pytest.mark.parametrize(
    ("top", "incumbent", "share"),
    [
        ((0.05, 0.06, 0.07), 0.65, 0.5),  # neither box holds a single result
        ((0.05, 0.66, 0.07), 0.65, 1.0),
        ((0.05, 0.36, 0.07), 0.65, 0.0),
    ],
)
def test_densities_with_hard_edges_give_a_half_where_neither_has_support(
    top: tuple[float, ...], incumbent: float, share: float
) -> None:
    results = [(x, 0.5, 81.0) for x in top]
    state = with_results(*results, (incumbent, 0.1, 50), space=BOX)
    found = scores(state)
    assert found is not None
    assert (found.prior > -math.inf, found.incumbent > -math.inf) == (share == 0, share == 1)
    assert Ensemble()(state, 0).probabilities == (0.5, 0.5 * (1 - share), 0.5 * share)


def test_a_floor_keeps_both_sides_alive() -> None:
    state = with_results((0.9, 0.1, 81), (0.91, 0.2, 81), (0.92, 0.3, 81))
    assert Dynamic()(state)[0] > 0.95
    assert Dynamic(floor=0.2)(state)[0] == 0.8


def test_parameters_without_a_prior_are_flat_and_take_the_medium_kernel_of_the_incumbent() -> None:
    flat = {"c": 1 / 4, "y": 1.0}
    space = Space({"c": Categorical((1, 2, 3, 4)), "x": Float(0, 1, prior=0.3), "y": Float(0, 1)})
    [row] = rows = space.encode([{"c": 2, "x": 0.3, "y": 0.9}])
    with_x = space.prior.logpdf(rows)[0] - UNIT.prior.logpdf(rows[:, 1:2])[0]
    assert math.exp(with_x) == pytest.approx(flat["c"] * flat["y"])
    around = space.prior.around({"c": 1, "x": 0.3, "y": 0.5})
    kernel = stats.truncnorm.pdf(row[2], -2, 2, loc=0.5, scale=0.25)
    with_x = around.logpdf(rows)[0] - UNIT.prior.logpdf(rows[:, 1:2])[0]
    assert math.exp(with_x) == pytest.approx(kernel / 7)


results = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.one_of(st.floats(-10, 10), st.just(math.nan)),
        st.sampled_from([1.0, 3.0, 9.0, 27.0, 50.0, 81.0]),
    ),
    max_size=30,
)


@given(results, st.sampled_from([UNIT, BOX]))
@settings(deadline=None)
def test_shares_are_probabilities_whatever_has_happened(
    happened: list[tuple[float, float, float]], space: Space
) -> None:
    state = with_results(*happened, space=space)
    for incumbent in (Dynamic(), ConstantShare(), Decay(), Decay("resources"), Zero()):
        for weights in (Ensemble(Half(), incumbent), Ensemble(Linear(), incumbent)):
            for rung in range(4):
                shares = weights(state, rung)
                assert sum(shares.probabilities) == pytest.approx(1.0, abs=1e-12)
                assert min(shares.probabilities) >= 0.0
                assert shares.p_incumbent == 0.0 or active(state)


def test_a_lucky_low_fidelity_does_not_make_an_incumbent() -> None:
    study = Study(UNIT, PAPER)
    study.add({"x": 0.1}, 0.10, 3)
    study.add({"x": 0.2}, 0.20, 3)
    assert study.state.incumbent is not None and study.state.incumbent.config["x"] == 0.1
    study.add({"x": 0.1}, 0.30, 27)
    assert study.state.incumbent.config["x"] == 0.2
    assert study.best is not None and (study.best.config["x"], study.best.loss) == (0.1, 0.10)


def test_max_fidelity_first_takes_the_highest_fidelity_that_was_reached() -> None:
    study = Study(UNIT, PAPER, optimizer("priorband", incumbent="max_fidelity_first"))
    for x, loss, fidelity in [(0.1, 0.1, 3), (0.2, 0.3, 27), (0.3, 0.2, 27), (0.4, 0.9, 40)]:
        study.add({"x": x}, loss, fidelity)
        highest = study.state.incumbent
        assert highest is not None and highest.config["x"] == x
    study.add({"x": 0.5}, math.nan, 81)
    assert study.state.incumbent == highest


def test_a_configuration_under_promotion_keeps_its_last_finished_loss() -> None:
    study = Study(UNIT, Fidelity("epochs", 1, 3), "hyperband")
    for loss in (0.3, 0.1, 0.2):
        study.tell(study.ask(), loss)
    promoted = study.ask()
    assert (promoted.parent, study.state.incumbent) == (1, study.state.history.outcome(1))
    study.tell(promoted, 0.25)
    assert study.state.incumbent == study.state.history.outcome(2)


def test_decay_counts_the_brackets_that_have_run_to_their_end() -> None:
    """One worker: brackets of 13, 4 and 3 trials one after another, so bracket t sees t of them."""
    study = Study(UNIT, Fidelity("epochs", 1, 9), "priorband(decay)")
    for _ in range(60):
        trial = study.ask()
        study.tell(trial, trial.config["x"])
    for number, step in study.replay().steps.items():
        slot = study.state.history.trial(number).slot
        if isinstance(step.chances, Shares) and slot is not None and slot.bracket > 0:
            ratio = step.chances.p_incumbent / step.chances.p_prior
            assert ratio == pytest.approx(2.0**slot.bracket)


def test_decay_counts_brackets_that_end_out_of_turn() -> None:
    study, counts = Study(UNIT, Fidelity("epochs", 1, 9), "hyperband"), set()
    rng = np.random.default_rng(1)
    running: list[Trial] = []
    for _ in range(300):
        if len(running) < 8:
            running.append(study.ask())
            continue
        trial = running.pop(int(rng.integers(8)))
        study.tell(trial, trial.config["x"])
        slots = [ended.trial.slot for ended in study.state.history.observations]
        sizes = [sum(study.state.ladder.brackets[b % 3]) for b in range(len(slots))]
        over = sum(
            sum(slot is not None and slot.bracket == b for slot in slots) == size
            for b, size in enumerate(sizes)
        )
        assert Decay()(study.state)[0] == pytest.approx(2**over / (1 + 2**over))
        counts.add(over)
    assert counts == set(range(max(counts) + 1)) and max(counts) > 10


def test_the_incumbent_becomes_active_in_a_space_of_three_configurations() -> None:
    space = Space({"c": Categorical(["a", "b", "c"], prior="a")})
    study = Study(space, Fidelity("epochs", 1, 81), seed=1)
    for _ in range(130):
        trial = study.ask()
        study.tell(trial, "cba".index(trial.config["c"]) + 1 / trial.fidelity)
    chances = study.replay()[129].chances
    assert isinstance(chances, Shares) and chances.p_incumbent > 0
