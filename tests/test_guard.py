"""Guardband: the opening, the guard, the continuation of the mode, and who decides on what."""

import math
import warnings
from typing import Any

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from priorband import Categorical, Fidelity, Float, Optimizer, Space, Study, optimizer, prior
from priorband.errors import MethodError, SingleRungWarning
from priorband.guard import first_size, guard_size, mode_trial
from priorband.ladder import Ladder
from priorband.method_names import method_name, method_options, method_text
from priorband.optimizers import Opening
from priorband.samplers import FromUniform, Guard, PriorMode
from priorband.samplers.ensemble_policy import Shares
from priorband.schedulers import ContinueMode, Hyperband, promotable
from priorband.space.beliefs import Beta, Histogram, Uniform
from priorband.space.prior import is_flat
from priorband.testing import play

SPACE = Space({"x": Float(0.0, 1.0, prior=0.3), "c": Categorical(("a", "b"))})
FLAT = Space({"x": Float(0.0, 1.0), "c": Categorical(("a", "b"))})
FOUR = Fidelity("epochs", 1, 27)


def study_of(method: Any = "guardband", space: Space = SPACE, epochs: Fidelity = FOUR) -> Study:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        return Study(space, epochs, method, seed=1)


def decision(study: Study) -> dict[str, Any]:
    return study.optimizer.decide(study.state, study.seed).data


def tell(study: Study, *losses: float) -> list[dict[str, Any]]:
    """Ask and tell one trial for each loss; nan is a failure. Return the decisions."""
    told = []
    for loss in losses:
        told.append(decision(study))
        study.tell(study.ask(), loss)
    return told


@pytest.mark.parametrize(
    ("low", "high", "eta", "sizes"),
    [
        (1, 27, 3, (27, 9)),
        (1, 9, 3, (9, 3)),
        (1, 3, 3, (3, 1)),
        (1, 1, 3, (3, 1)),
        (1, 8, 2, (8, 4)),
    ],
)
def test_the_first_third_of_the_first_bracket_is_guarded(
    low: int, high: int, eta: int, sizes: tuple[int, int]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        ladder = Ladder(Fidelity("epochs", low, high), eta)
    assert (first_size(ladder), guard_size(ladder)) == sizes


def test_a_trusted_prior_worked_by_hand() -> None:
    """27 trials: nine uniform; then odds of 3**(0 + 2) = 9 while the mode leads."""
    study = study_of()
    [first] = tell(study, 0.1)
    assert first == {
        **{"kind": "opening", "fidelity": 9, "bracket": None, "rung": None},
        **{"continues": None, "origin": "mode", "probabilities": None},
    }
    for told in tell(study, *[0.5] * 9):
        assert (told["kind"], told["bracket"], told["rung"]) == ("new", 0, 0)
        assert (told["origin"], told["probabilities"]) == ("uniform", [1.0, 0.0, 0.0])
    [on] = tell(study, 0.05)
    assert (on["kind"], on["continues"], on["fidelity"], on["origin"]) == (
        "continue",
        0,
        27,
        "mode",
    )
    assert on["bracket"] is None
    for told in tell(study, *[0.5] * 18):
        assert told["probabilities"] == pytest.approx([0.1, 0.9, 0.0])
    later = tell(study, *[0.4] * 13)
    assert [each["kind"] for each in later] == ["promote"] * 13
    [then] = tell(study, 0.3)
    assert (then["kind"], then["bracket"], then["rung"]) == ("new", 1, 1)
    assert then["probabilities"][0] == 0.25 and then["probabilities"][2] > 0
    assert study.replay().exact


def test_a_prior_that_loses_is_not_trusted() -> None:
    """A uniform draw leads: odds of 3**-2, so 9 in 10 draws are uniform; the mode stays."""
    study = study_of()
    tell(study, 0.9, *[0.5] * 9)
    for told in tell(study, *[0.5] * 18):
        assert told["probabilities"] == pytest.approx([0.9, 0.1, 0.0])
    kinds = [told["kind"] for told in tell(study, *[0.5] * 13)]
    assert kinds == ["promote"] * 13
    assert not study.state.history.promoted(0)


def test_a_draw_from_the_prior_that_leads_is_trusted() -> None:
    study = study_of()
    tell(study, 0.9, *[0.5] * 9)
    while decision(study)["origin"] != "prior":
        tell(study, 0.6)
    tell(study, 0.4)
    assert decision(study)["probabilities"] == pytest.approx([0.1, 0.9, 0.0])


def test_a_failed_mode_is_neither_trusted_nor_continued() -> None:
    study = study_of()
    tell(study, math.nan, *[0.5] * 9)
    while decision(study)["origin"] != "prior":
        tell(study, 0.6)
    tell(study, 0.1)
    assert decision(study)["probabilities"] == pytest.approx([0.9, 0.1, 0.0])
    assert mode_trial(study.state) == study.state.history.trial(0)
    kinds = {told["kind"] for told in tell(study, *[0.5] * 60)}
    assert "continue" not in kinds


def test_a_mode_that_fails_when_it_is_continued_is_no_longer_trusted() -> None:
    study = study_of()
    tell(study, 0.1, *[0.5] * 9)
    [on] = tell(study, math.nan)
    assert on["kind"] == "continue"
    assert decision(study)["probabilities"] == pytest.approx([0.9, 0.1, 0.0])


def test_the_mode_goes_on_when_it_leads_its_rung() -> None:
    """A worse draw on rung 0 looks better, but three on the mode's rung do not."""
    study = study_of()
    tell(study, 0.3, *[0.2] * 27, *[0.5] * 9)
    assert [told["kind"] for told in tell(study, 0.4, 0.4)] == ["promote"] * 2
    assert decision(study)["kind"] == "promote", "three successes are not enough"
    [last] = tell(study, 0.4)
    assert (last["kind"], last["fidelity"]) == ("promote", 9)
    [on] = tell(study, 0.4)
    assert (on["kind"], on["continues"]) == ("continue", 0)
    assert tell(study, 0.4)[0]["kind"] == "promote"


def test_ranking_on_the_modes_rung_is_by_loss_then_by_age() -> None:
    study = study_of()
    tell(study, 0.4, *[0.2] * 27, *[0.5] * 9)
    tell(study, 0.4, 0.4, 0.4)
    assert decision(study)["kind"] == "continue", "the mode is older than those with equal losses"


def test_the_mode_waits_for_the_uniform_draws_to_end() -> None:
    study = study_of()
    mode = study.ask()
    first = [study.ask() for _ in range(9)]
    study.tell(mode, 0.1)
    for trial in first[1:]:
        study.tell(trial, 0.5)
    assert decision(study)["kind"] == "new"
    study.tell(first[0], 0.05)
    assert decision(study)["kind"] == "new", "another one leads"
    assert decision(study)["probabilities"] == pytest.approx([0.9, 0.1, 0.0])


def test_with_a_flat_prior_there_is_no_opening_and_all_is_uniform() -> None:
    study = study_of(space=FLAT)
    told = tell(study, *[0.5] * 27)
    assert {each["origin"] for each in told} == {"uniform"}
    assert {each["kind"] for each in told} == {"new"}
    assert all(each["probabilities"] == [1.0, 0.0, 0.0] for each in told)


def test_a_partial_prior_is_not_flat() -> None:
    assert not is_flat(SPACE.prior) and is_flat(FLAT.prior)
    assert is_flat(prior(FLAT, {"x": Beta(1, 1)})) and not is_flat(prior(FLAT, {"x": Beta(2, 1)}))
    assert is_flat(prior(FLAT, {"x": Uniform()}))
    assert is_flat(prior(FLAT, {"x": Histogram([1, 1])}))
    assert not is_flat(prior(FLAT, {"x": Histogram([1, 2])}))
    assert not is_flat(prior(FLAT, {"c": "a"})) and is_flat(prior(FLAT, {"c": {"a": 1, "b": 1}}))


def test_with_one_rung_the_mode_is_trained_in_full_and_the_first_of_three_is_uniform() -> None:
    study = study_of(epochs=_range(1, 1))
    told = tell(study, 0.1, 0.5, 0.5, 0.5, 0.5)
    assert [each["kind"] for each in told] == ["opening", "new", "new", "new", "new"]
    shares = [each["probabilities"] for each in told[1:4]]
    assert shares == [[1.0, 0.0, 0.0], *[pytest.approx([0.1, 0.9, 0.0])] * 2]
    assert told[4]["probabilities"][2] > 0, "ensemble sampling from here on"


def test_queued_configurations_take_places_but_are_no_draws() -> None:
    study = study_of()
    tell(study, 0.9)
    for number in range(5):
        study.queue({"x": number / 10, "c": "a"})
    assert [told["kind"] for told in tell(study, *[0.5] * 5)] == ["queued"] * 5
    uniform = tell(study, *[0.5] * 9)
    assert all(told["probabilities"] == [1.0, 0.0, 0.0] for told in uniform)
    rest = tell(study, *[0.5] * 13)
    assert all(told["probabilities"] == pytest.approx([0.9, 0.1, 0.0]) for told in rest)
    assert decision(study)["kind"] == "promote"


def test_an_imported_result_that_leads_is_not_the_priors() -> None:
    study = study_of()
    study.add({"x": 0.5, "c": "b"}, 0.01, 27)
    [first] = tell(study, 0.1)
    assert first["kind"] == "opening"
    tell(study, *[0.5] * 9)
    assert decision(study)["probabilities"] == pytest.approx([0.9, 0.1, 0.0])


def test_a_retried_mode_takes_the_modes_place() -> None:
    study = study_of()
    tell(study, math.nan)
    study.retry([0])
    [again] = tell(study, 0.1)
    assert (again["kind"], again["origin"]) == ("retry", "mode")
    tell(study, *[0.5] * 9)
    assert decision(study)["continues"] == 1
    assert study.replay().exact


def test_a_draw_that_failed_has_ended_even_while_it_is_retried() -> None:
    study = study_of(epochs=Fidelity("epochs", 1, 9))
    tell(study, 0.3, math.nan)
    study.retry([1])
    study.ask()  # the retry, which keeps running
    tell(study, 0.5)
    assert decision(study)["probabilities"] == [1.0, 0.0, 0.0], "two draws, one of them twice"
    tell(study, 0.5)
    assert decision(study)["kind"] == "continue"


def test_while_no_full_training_has_succeeded_the_guard_goes_on() -> None:
    study = study_of()
    trials = [study.ask() for _ in range(28)]
    assert {trial.slot and trial.slot.bracket for trial in trials} == {None, 0}
    assert decision(study)["bracket"] == 1
    assert decision(study)["probabilities"] == pytest.approx([0.75, 0.25, 0.0])


@pytest.mark.parametrize("regard", ["lowest", "max_fidelity_first"])
def test_the_mode_goes_on_under_either_kind_of_incumbent(regard: Any) -> None:
    study = study_of(optimizer("guardband", incumbent=regard))
    tell(study, 0.1, *[0.5] * 9)
    assert decision(study)["kind"] == "continue"


def test_the_checkpoint_of_the_mode_is_kept_while_it_may_go_on() -> None:
    study = study_of()
    scheduler = study.optimizer.scheduler
    tell(study, 0.3, *[0.2] * 27, *[0.5] * 9)
    assert 0 in promotable(scheduler, study.state, [0])
    tell(study, 0.1, 0.4, 0.4)
    assert 0 in promotable(scheduler, study.state, [0]), "it may lead again after the next result"
    tell(study, 0.2)
    assert promotable(scheduler, study.state, [0]) == set()


STORIES = st.tuples(
    st.sampled_from([(1, 27), (1, 9), (1, 3), (1, 1), (0.1, 1.0), (1, 81)]),
    st.integers(2, 4),
    st.sampled_from([1, 4, 16]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(0, 2**16),
)
ALL = ("guardband", "asha+guard", "async-hyperband+guard")


@pytest.mark.parametrize("method", ALL)
@settings(max_examples=examples(20), deadline=None)
@given(STORIES)
def test_invariants_with_any_workers_rungs_and_failures(method: str, story: Any) -> None:
    (low, high), eta, workers, failing, seed = story
    study = study_of(optimizer(method, eta=eta), epochs=_range(low, high))
    ladder = study.state.ladder
    for trial in play(study, 80, seed, failing, workers):
        if trial.slot is None and trial.parent is not None:
            assert trial.origin == "mode" and trial.fidelity == ladder.fidelities[-1]
    trials = study.state.history.trials
    assert trials[0].fidelity == ladder.fidelities[max(ladder.top - 1, 0)]
    assert sum(trial.slot is None for trial in trials) <= 2
    steps = study.replay()
    assert steps.exact
    draws = [t for t in trials if t.slot is not None and t.parent is None]
    assert all(t.origin == "uniform" for t in draws[: guard_size(ladder)])
    for trial in draws[: first_size(ladder)]:
        shares = steps[trial.id].chances
        assert isinstance(shares, Shares) and shares.p_incumbent == 0.0
        assert sum(shares.probabilities) == pytest.approx(1.0)


def _range(low: float, high: float) -> Fidelity:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        return Fidelity("epochs", low, high)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Guard("much"), "`trusted` must be a number"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: Guard(distrusted=math.nan), "`distrusted` must be a number"),
        (lambda: Opening(PriorMode(), -1), "`below` must be a whole number"),
        (lambda: Opening(PriorMode(), 1, "no"), "`if_flat` must be True or False"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: Opening(PriorMode), "`sampler` must have a method `sample`"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: ContinueMode(FromUniform()), "`plan` must have a method `next`"),  # type: ignore[arg-type]  # wrong on purpose
        (lambda: Optimizer(Hyperband(), FromUniform(), extra=1), "`extra` must have a"),  # type: ignore[arg-type]  # wrong on purpose
    ],
)
def test_parts_that_do_not_fit_are_refused(make: Any, message: str) -> None:
    with pytest.raises(MethodError, match=message):
        make()


def test_names_and_options_of_guarded_methods() -> None:
    for name in ("guardband", "guardband(all-brackets)", "guardband(no-opening)", "hyperband"):
        assert method_name(optimizer(name)) == name and method_options(optimizer(name)) == {}
    chosen = optimizer("asha+guard", promotion="neps", eta=4)
    assert method_text(chosen) == "'asha+guard' with eta=4, promotion='neps'"
    assert method_name(optimizer("guardband(trusted=1.5)")) == "guardband(trusted=1.5)"
    assert method_text(optimizer("hyperband", bases=(0, 1))) == "'hyperband' with bases=(0, 1)"
    assert method_name(optimizer("guardband", bases=(0, 1, 2, 3))) is not None
