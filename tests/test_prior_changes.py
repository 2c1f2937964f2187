"""Changes of the prior: what decisions use, what the history says, and what guarded methods do."""

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from amounts import MODELLED, examples, slow, slow_unless_in
from hypothesis import given, settings
from hypothesis import strategies as st
from test_guard import decision, study_of, tell
from test_proof import Story

import priorband as pb
from priorband import Beta, Categorical, Config, Fidelity, Float, History, Space, State, Study
from priorband.errors import SpaceError
from priorband.events import Asked, PriorChanged, Queued, Told
from priorband.guard import believed, mode_failed
from priorband.proof import best_full, duel_is_possible, is_proven
from priorband.space.edited_prior import with_beliefs
from priorband.testing import conditional_space, example_space, play
from priorband.trial import Slot
from priorband.values import replaced

SPACE = Space({"x": Float(0.0, 1.0, prior=0.2), "c": Categorical(("a", "b"), prior="a")})
EPOCHS = Fidelity("epochs", 1, 9)


class Diagonal:
    """A prior of a user's own, which compares with nothing."""

    mode = Config(x=0.5, c="b")

    def sample(self, rng: Any) -> np.ndarray[Any, Any]:
        return np.array([rng.random(), 1.0])

    def logpdf(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(-3.0 * (rows[:, 0] - 0.5) ** 2)

    def around(self, config: Any) -> "Diagonal":
        del config
        return self

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")

    __hash__ = None  # type: ignore[assignment]  # nor hashed


PRIORS: tuple[Any, ...] = (
    None,
    {},
    {"x": 0.9, "c": "b"},
    {"x": Beta(5, 2)},
    {"c": {"a": 1, "b": 9}},
    Diagonal(),
)


def test_decisions_after_a_change_use_the_new_prior() -> None:
    study = Study(SPACE, EPOCHS, "random+prior", seed=3)
    first = [study.ask() for _ in range(30)]
    study.set_prior({"x": pb.Normal(0.9, sigma=0.01), "c": pb.Weights({"b": 1})})
    later = [study.ask() for _ in range(30)]
    assert first[0].config == {"x": 0.2, "c": "a"}
    assert any(trial.config["x"] < 0.5 for trial in first)
    assert all(trial.config["x"] > 0.8 and trial.config["c"] == "b" for trial in later)
    assert study.prior.mode == study.state.prior.mode == {"x": 0.9, "c": "b"}
    assert study.problem.prior == SPACE.prior, "the problem is what the study began with"
    assert study.replay().exact
    [change] = study.state.history.prior_changes
    assert (change.prior, change.asked, change.ended) == (study.prior, 30, 0)


def test_the_same_prior_changes_nothing() -> None:
    study = Study(SPACE, EPOCHS)
    own = Diagonal()
    for prior in (None, {"x": 0.2, "c": "a"}, SPACE.prior, own, own):
        study.set_prior(prior)
    assert [change.prior for change in study.state.history.prior_changes] == [own]
    study.set_prior(None)
    assert study.prior == SPACE.prior


@pytest.mark.parametrize("wrong", [{"y": 0.5}, {"x": 2}, {"epochs": 3}, 0.5])
def test_a_prior_that_does_not_fit_is_refused_and_changes_nothing(wrong: Any) -> None:
    study = Study(SPACE, EPOCHS)
    with pytest.raises(SpaceError):
        study.set_prior(wrong)
    assert study.state.history.events == ()


def test_new_beliefs_about_some_parameters_leave_the_others() -> None:
    changed = with_beliefs(SPACE.prior, {"x": Beta(5, 2)})
    assert changed.densities[1] == SPACE.prior.densities[1]
    assert changed == pb.prior(SPACE, {"x": Beta(5, 2), "c": "a"})
    space = conditional_space()
    trees = with_beliefs(space.prior, {"model": "trees", "depth": 4}, "high")
    assert trees.mode["model"] == "trees" and trees.mode["depth"] == 4
    assert "layers" not in trees.mode and space.check(trees.mode) == trees.mode
    assert trees.densities[2] == space.prior.densities[2], "that of `layers`, which is not active"
    net = with_beliefs(trees, {"model": "net"})
    assert net.mode["layers"] == space.prior.mode["layers"]


def test_the_history_says_with_which_prior_a_configuration_was_chosen() -> None:
    study = Study(SPACE, EPOCHS, "sh", seed=1)
    for number in range(9):
        study.set_prior({"x": 0.5} if number == 4 else None)
        trial = study.ask()
        if number == 2:
            study.fail(trial)
        else:
            study.tell(trial, number)
    history = study.state.history
    assert [change.asked for change in history.prior_changes] == [4, 5]
    assert [history.prior_number(trial) for trial in history.trials] == [0] * 4 + [1] + [2] * 4
    study.retry([2])
    again = study.ask()
    study.tell(again, 9.0)
    promoted = study.ask()
    history = study.state.history
    assert (history.retry_of(again.id), promoted.parent) == (2, 0)
    assert [history.prior_number(trial) for trial in (again, promoted)] == [0, 0]
    assert [history.from_current_prior(history.trial(n)) for n in (4, 5, again.id)] == [
        *(False, True, False),
    ]


SPACES = {"mixed": example_space(), "branched": conditional_space()}
METHODS = [(method, space) for method in pb.methods() for space in SPACES]
EVERYDAY = [(m, "mixed") for m in pb.methods() if m not in MODELLED and "hyper" not in m]
EVERYDAY += [("priorband", "branched"), ("guardband", "branched")]


@pytest.mark.parametrize(("method", "space"), slow_unless_in(EVERYDAY, METHODS))
def test_every_method_replays_exactly(method: str, space: str) -> None:
    study = Study(SPACES[space], Fidelity("epochs", 1, 27), method, seed=5)
    beliefs = [{"lr": 1e-2}, {}, None, {"lr": pb.Normal(1e-4, 0.05)}]
    for trial in play(study, 70, seed=2, failing=0.2, workers=4):
        if trial.id in (0, 12, 13, 40):
            study.set_prior(beliefs[(0, 12, 13, 40).index(trial.id)])
        if trial.id == 50:
            failed = study.state.history.latest_failures(2)
            study.retry([ended.trial.id for ended in failed])
    assert len(study.state.history.prior_changes) == 4
    assert study.replay().differing == ()


def perform(study: Study, kind: str, data: st.DataObject) -> None:
    """Do one thing to a study; what cannot be done is replaced by asking."""
    running = study.state.history.running
    loss, number = data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])), data.draw(st.integers(0, 40))
    config = {"x": loss, "c": "b"}
    failed = study.state.history.latest_failures(1)
    match kind:
        case "tell" if running:
            study.tell(running[number % len(running)], loss)
        case "fail" if running:
            study.fail(running[number % len(running)])
        case "queue":
            study.queue(config, (None, 1, 9)[number % 3])
        case "add":
            study.add(config, loss, (1, 9)[number % 2])
        case "prior":
            study.set_prior(PRIORS[number % len(PRIORS)])
        case "retry" if failed and not study.state.history.retried(failed[0].trial.id):
            study.retry([failed[0].trial.id])
        case _:
            study.ask()


ACTS = ("ask",) * 5 + ("tell",) * 5 + ("fail", "queue", "add", "retry", "prior", "prior")
QUICK = ("priorband", "guardband", "asha+guard", "async-hyperband+esp", "priorband(decay)")


@settings(max_examples=examples(100))
@given(st.sampled_from(QUICK), st.data())
def test_a_decision_follows_from_the_events_alone(method: str, data: st.DataObject) -> None:
    """The state built event by event, a restored one and a fresh one decide the same."""
    check_decisions(method, data)


@slow
@settings(max_examples=40)
@given(st.sampled_from(["guardband+bo", "guardband+bo(esp)", "pibo", "mobster+esp"]), st.data())
def test_a_decision_with_a_model_follows_from_the_events_alone(
    method: str, data: st.DataObject
) -> None:
    check_decisions(method, data)


def check_decisions(method: str, data: st.DataObject) -> None:
    study = Study(SPACE, EPOCHS, method, seed=7)
    album = [study.state]
    decide = study.optimizer.decide
    for act in data.draw(st.lists(st.sampled_from(ACTS), min_size=15, max_size=45)):
        perform(study, act, data)
        album.append(study.state)
        if method in QUICK:
            decide(study.state, 7)  # so that there is something in the caches
    last = study.state
    decided = repr(decide(last, 7))
    events, start = last.history.events, study.problem.start()
    assert repr(decide(start.with_history(History.of(events)), 7)) == decided
    assert repr(decide(pickle.loads(pickle.dumps(last)), 7)) == decided
    cut = data.draw(st.integers(0, len(events)))
    if not any(isinstance(event, Queued) and event.retry is not None for event in events[:cut]):
        columns = History.of(events[:cut]).columns(SPACE)
        columns.check()
        restored = History.restored(columns)
        for event in events[cut:]:
            restored = restored.after(event)
        assert restored.events == events
        assert restored.brackets_touched(0) == last.history.brackets_touched(0)
        assert restored.prior_changes == last.history.prior_changes
        assert repr(decide(start.with_history(restored), 7)) == decided
    if method in QUICK:
        for state in data.draw(st.permutations(album))[:4]:  # two priors in one log
            fresh = start.with_history(History.of(state.history.events))
            assert fresh.prior is state.prior
            assert repr(decide(state, 7)) == repr(decide(fresh, 7))
    assert study.replay().exact


def test_columns_with_another_number_of_priors_are_refused() -> None:
    study = Study(SPACE, EPOCHS)
    study.ask()
    study.set_prior({})
    columns = study.state.history.columns(SPACE)
    columns.check()
    for priors in ((), columns.priors * 2):
        with pytest.raises(ValueError, match="not those of a history"):
            replaced(columns, priors=priors).check()


def test_scores_are_those_of_the_present_prior() -> None:
    """The best trials are at 0.9: a prior there gets most draws, one at 0.1 nearly none."""
    space = Space({"x": Float(0.0, 1.0, prior=pb.Normal(0.1, sigma=0.05))})
    study = Study(space, EPOCHS, "priorband", seed=1)
    for _ in range(60):
        trial = study.ask()
        study.tell(trial, abs(trial.config["x"] - 0.9) + 1 / trial.fidelity)
    state = study.state

    def share(now: State) -> tuple[float, float]:
        sampler: Any = study.optimizer.sampler
        chances = sampler.weights(now, 0)
        return chances.p_prior, chances.p_incumbent

    before = share(state)
    assert before[0] < 0.01 * before[1]
    study.set_prior({"x": pb.Normal(0.9, sigma=0.05)})
    after = share(study.state)
    assert after[0] > 0.2
    assert share(state) == before, "the earlier state decides as it did"
    assert share(study.state) == after


def test_an_opening_that_is_still_to_come_is_the_mode_of_the_new_prior() -> None:
    for method in ("priorband", "guardband"):
        study = Study(SPACE, EPOCHS, method)
        study.set_prior({"x": 0.7})
        assert study.ask().config["x"] == 0.7
        study.set_prior({"x": 0.8})
        study.tell(0, 0.5)
        origins = [trial.origin for trial in play(study, 60, seed=1, failing=0)]
        assert "mode" not in [
            o
            for o, t in zip(origins, study.state.history.trials[1:], strict=True)
            if t.parent is None
        ], "there is no second opening"


def test_a_changed_prior_is_not_trusted_until_a_draw_from_it_leads() -> None:
    """Odds of 3**2 while the mode leads; of 3**-2 after a change, until a new draw leads."""
    study = study_of()
    tell(study, 0.1, *[0.5] * 9, 0.05)  # the mode, nine uniform draws, the mode in full
    [trusted] = tell(study, 0.5)
    assert trusted["probabilities"] == [pytest.approx(1 / 10), pytest.approx(9 / 10), 0.0]
    study.set_prior({"x": 0.9})
    distrusted = [pytest.approx(9 / 10), pytest.approx(1 / 10), 0.0]
    for _ in range(30):
        now = decision(study)
        if now["origin"] == "prior":
            break
        assert now["probabilities"] == distrusted
        study.tell(study.ask(), 0.5)
        study.set_prior({"x": 0.9})
    assert (now["origin"], now["probabilities"]) == ("prior", distrusted)
    study.tell(study.ask(), 0.01)
    assert decision(study)["probabilities"] == trusted["probabilities"]
    study.set_prior({"x": 0.1})
    assert decision(study)["probabilities"] == distrusted, "it says nothing about the third prior"


def test_the_failure_of_an_earlier_mode_says_nothing_about_the_new_prior() -> None:
    study = study_of()
    tell(study, math.nan)
    assert mode_failed(study.state)
    study.set_prior({"x": 0.9})
    assert not mode_failed(study.state)
    study.retry([0])
    again = study.ask()
    study.fail(again)
    assert again.origin == "mode" and not mode_failed(study.state)
    assert not believed(study.state, again), "it is the mode of the earlier prior"
    assert study.replay().exact


def test_an_earlier_mode_that_leads_is_still_continued() -> None:
    study = study_of()
    tell(study, 0.1, *[0.5] * 8)
    study.set_prior({"x": 0.9})
    tell(study, 0.5)
    on = decision(study)
    assert (on["kind"], on["continues"]) == ("continue", 0)
    study.tell(study.ask(), 0.05)
    assert best_full(study.state) == (math.inf, math.inf, 0.05), "as if a person had queued it"


def changed(story: Story, x: float = 0.9) -> None:
    story.state = story.state.after(PriorChanged(pb.prior(story.state.space, {"x": x})))


def test_full_trainings_of_an_earlier_prior_count_as_others() -> None:
    story = Story()
    mode = story.trial(0.5, "mode", 1)
    story.trial(0.3, "mode", 3, None, mode)
    story.first_bracket(("uniform", "prior", "prior"), (0.7, 0.6, 0.8), 0.4)
    assert best_full(story.state) == (0.3, 0.4, math.inf) and is_proven(story.state)
    before = story.state
    changed(story)
    assert best_full(story.state) == (math.inf, math.inf, 0.3)
    assert not is_proven(story.state) and not duel_is_possible(story.state)
    assert is_proven(before), "the earlier state is what it was"


def test_a_new_prior_is_proven_by_its_own_draws_in_the_first_bracket() -> None:
    """The draw of the old prior, 0.7, is promoted later and counts as another."""
    story = Story(Fidelity("epochs", 1, 3))
    old = story.trial(0.5, "prior", 1, Slot(0, 0))
    running = story.ask("prior", 1, Slot(0, 0))
    changed(story)
    story.trial(0.4, "prior", 1, Slot(0, 0))
    story.end(running, 0.6)
    story.trial(0.2, "prior", 3, Slot(0, 1), 2)
    assert best_full(story.state) == (math.inf, 0.2, math.inf)
    story.trial(0.25, "prior", 3, Slot(1, 1), old)
    assert best_full(story.state) == (math.inf, 0.2, math.inf), "not in the first bracket"
    story.trial(0.25, "queued", 3)
    assert is_proven(story.state)
    changed(story, 0.1)
    assert best_full(story.state) == (math.inf, math.inf, 0.2) and not is_proven(story.state)


def test_a_draw_that_was_asked_before_the_change_and_ends_after_it_is_of_the_old_prior() -> None:
    story = Story()
    numbers = [story.trial(loss, "prior", 1, Slot(0, 0)) for loss in (0.5, 0.6, 0.7)]
    changed(story)
    story.trial(0.4, "prior", 3, Slot(0, 1), numbers[0])
    assert best_full(story.state) == (math.inf, math.inf, 0.4)


def test_a_change_is_an_event_like_any_other() -> None:
    study = Study(SPACE, EPOCHS, seed=2)
    study.tell(study.ask(), 0.5)
    study.set_prior({"x": 0.9})
    study.ask()
    events = study.state.history.events
    assert [type(event) for event in events] == [Asked, Told, PriorChanged, Asked]
    other = Study(SPACE, EPOCHS, seed=2)
    other.follow(events)
    assert other.prior == study.prior and other.ask() == study.ask()
    assert copy.deepcopy(study.state.history).events == study.state.history.events
    assert repr(study.replay()) == "Replay(3 decisions, 0 of them differ)"
