"""The proof of a prior, the duel, and when brackets and model trainings take turns."""

import math
import warnings
from collections.abc import Iterable
from typing import Any

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import priorband as pb
from priorband import Config, Fidelity, Float, History, Space, State, Trial
from priorband.conditions import Never, Proven
from priorband.errors import MethodError, SingleRungWarning
from priorband.events import Asked, Failed, Queued, Told
from priorband.ladder import Ladder
from priorband.optimizers import Opening
from priorband.proof import best_full, is_proven, misses, possible_rivals, rival
from priorband.samplers import Fixed, FromPrior, FromUniform, Mix, PriorMode
from priorband.schedulers import ContinueMode, Hyperband, StagedScheduler, promotable
from priorband.trial import Slot

SPACE = Space({"x": Float(0.0, 1.0, prior=0.3)})
TWO = Fidelity("epochs", 1, 3)
"""Two rungs: bracket 0 has three trials and one, bracket 1 has two full trainings."""
BRACKETS = Hyperband(bases=(0, 1))


class Story:
    """A history that is written by hand: one line for each trial that has ended."""

    def __init__(self, fidelity: Fidelity = TWO) -> None:
        self.state = State(SPACE, SPACE.prior, Ladder(fidelity), History())

    def ask(
        self, origin: str, fidelity: float, slot: Slot | None = None, parent: int | None = None
    ) -> int:
        number = len(self.state.history)
        root, config = number, Config(x=number / 1000)
        if parent is not None:
            before = self.state.history.trial(parent)
            root, config = before.root, before.config
        elif origin == "queued":
            self.state = self.state.after(Queued(config, fidelity))
        trial = Trial(number, config, fidelity, slot, parent, origin, root)
        self.state = self.state.after(Asked(trial))
        return number

    def end(self, number: int, loss: float) -> int:
        event = Told(number, loss) if math.isfinite(loss) else Failed(number, "diverged")
        self.state = self.state.after(event)
        return number

    def trial(self, loss: float, *about: Any) -> int:
        return self.end(self.ask(*about), loss)

    def first_bracket(self, origins: Iterable[str], losses: Iterable[float], full: float) -> int:
        """Bracket 0 with two rungs; the best of the three is trained in full."""
        pairs = list(zip(origins, losses, strict=True))
        numbers = [self.trial(loss, origin, 1, Slot(0, 0)) for origin, loss in pairs]
        best = min(range(3), key=lambda index: pairs[index][1])
        return self.trial(full, pairs[best][0], 3, Slot(0, 1), numbers[best])


def test_the_mode_that_beats_the_first_bracket_proves_the_prior() -> None:
    story = Story()
    mode = story.trial(0.5, "mode", 1)
    story.first_bracket(("uniform", "prior", "prior"), (0.7, 0.6, 0.8), 0.4)
    assert not is_proven(story.state), "nothing but the prior, and the mode is not trained in full"
    story.trial(0.4, "mode", 3, None, mode)
    assert best_full(story.state) == (0.4, 0.4, math.inf)
    assert is_proven(story.state), "ties favour the prior"
    assert Proven()(story.state) and not Never()(story.state)


def test_a_prior_that_beats_a_uniform_draw_in_full_is_proven_until_one_is_better() -> None:
    story = Story()
    story.first_bracket(("uniform", "prior", "prior"), (0.7, 0.6, 0.8), 0.4)
    assert not is_proven(story.state), "there is nothing to compare with"
    story.trial(0.5, "uniform", 3, Slot(1, 1))
    assert is_proven(story.state)
    story.trial(0.1, "incumbent", 3, Slot(1, 1))
    story.trial(0.2, "model", 3)
    assert is_proven(story.state), "neither the incumbent nor the model counts"
    story.trial(0.3, "uniform", 3, Slot(2, 1))
    assert not is_proven(story.state)


@pytest.mark.parametrize("origin", ["queued", "imported"])
def test_what_people_add_counts_as_another_origin(origin: str) -> None:
    story = Story()
    story.first_bracket(("uniform", "prior", "prior"), (0.7, 0.6, 0.8), 0.4)
    story.trial(0.5, origin, 3)
    assert is_proven(story.state)
    story.trial(0.39, origin, 3)
    assert not is_proven(story.state)


def test_a_uniform_winner_refutes_the_prior() -> None:
    story = Story()
    mode = story.trial(0.5, "mode", 1)
    story.trial(0.45, "mode", 3, None, mode)
    story.first_bracket(("uniform", "prior", "prior"), (0.2, 0.6, 0.8), 0.4)
    assert not is_proven(story.state) and rival(story.state) is None


def test_there_is_no_proof_while_the_first_bracket_runs() -> None:
    story = Story()
    mode = story.trial(0.5, "mode", 1)
    story.trial(0.1, "mode", 3, None, mode)
    numbers = [story.trial(loss, "uniform", 1, Slot(0, 0)) for loss in (0.3, 0.4, 0.5)]
    story.trial(0.3, "imported", 3)
    last = story.ask("uniform", 3, Slot(0, 1), numbers[0])
    assert not is_proven(story.state)
    story.end(last, 0.4)
    assert is_proven(story.state)


def test_draws_from_the_prior_in_later_brackets_do_not_count() -> None:
    story = Story()
    story.first_bracket(("uniform", "prior", "prior"), (0.2, 0.6, 0.8), 0.4)
    story.trial(0.1, "prior", 3, Slot(1, 1))
    assert best_full(story.state) == (math.inf, math.inf, 0.4) and not is_proven(story.state)


def test_the_rival_is_the_best_uniform_draw_that_was_not_promoted() -> None:
    """Three rungs: nine, three, one. A uniform draw on rung 1 comes before those on rung 0."""
    story = Story(Fidelity("epochs", 1, 9))
    origins = ("prior", "prior", "uniform", *("uniform",) * 6)
    numbers = [
        story.trial(0.1 * (i + 1), origin, 1, Slot(0, 0)) for i, origin in enumerate(origins)
    ]
    kept = possible_rivals(story.state)
    assert kept == set(numbers[2:6]), "three may be promoted, so the fourth uniform draw may be it"
    second = [
        story.trial(loss, origins[i], 3, Slot(0, 1), numbers[i])
        for i, loss in enumerate((0.2, 0.3, 0.9))
    ]
    assert rival(story.state) is None, "the bracket is not over"
    story.trial(0.1, "prior", 9, Slot(0, 2), second[0])
    chosen = rival(story.state)
    assert chosen is not None and chosen.trial.id == second[2]
    assert second[2] in possible_rivals(story.state)
    duel = story.ask("uniform", 9, None, second[2])
    assert rival(story.state) is None, "there is one duel"
    assert not is_proven(story.state) and possible_rivals(story.state) == set()
    story.end(duel, 0.5)
    assert is_proven(story.state)


def test_a_failed_duel_proves_nothing_and_is_not_repeated() -> None:
    story = Story()
    story.first_bracket(("uniform", "prior", "uniform"), (0.7, 0.6, 0.8), 0.4)
    chosen = rival(story.state)
    assert chosen is not None and chosen.loss == 0.7
    story.trial(math.nan, "uniform", 3, None, chosen.trial.id)
    assert rival(story.state) is None and not is_proven(story.state)


def test_a_mode_that_is_ahead_needs_no_duel() -> None:
    story = Story()
    mode = story.trial(0.5, "mode", 1)
    story.trial(0.3, "mode", 3, None, mode)
    story.first_bracket(("uniform", "prior", "prior"), (0.7, 0.6, 0.8), 0.4)
    assert rival(story.state) is None and is_proven(story.state)


def test_misses_are_counted_since_the_last_improvement_and_the_last_bracket() -> None:
    story = Story()
    story.first_bracket(("uniform", "prior", "prior"), (0.2, 0.6, 0.8), 0.4)
    assert misses(story.state) == 0
    story.trial(0.5, "model", 3)
    story.trial(0.4, "model", 3)
    assert misses(story.state) == 2, "equal is not better"
    story.trial(0.3, "model", 3)
    assert misses(story.state) == 0
    story.trial(math.nan, "model", 3)
    late = story.ask("model", 3)
    assert misses(story.state) == 1, "a failure counts, a running trial does not"
    story.trial(0.6, "uniform", 3, Slot(1, 1))
    assert misses(story.state) == 0
    story.end(late, 0.7)
    assert misses(story.state) == 0, "it was asked before the bracket began"
    story.trial(0.35, "model", 3)
    assert misses(story.state) == 1
    story.trial(0.1, "imported", 3)
    assert misses(story.state) == 0, "a better full training of any origin"


def study_of(scheduler: Any, epochs: Fidelity = TWO, prior_share: float = 0.5) -> pb.Study:
    sampler = Mix((FromUniform(), FromPrior()), Fixed((1 - prior_share, prior_share)))
    method = pb.Optimizer(scheduler, sampler, Opening(PriorMode()), extra=FromPrior())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        return pb.Study(SPACE, epochs, method, seed=2)


def kinds(study: pb.Study, losses: Iterable[float]) -> list[str]:
    found = list[str]()
    for loss in losses:
        found.append(study.optimizer.decide(study.state, study.seed).kind)
        study.tell(study.ask(), loss)
    return found


def test_a_proven_prior_starts_the_model_after_the_first_bracket_and_has_patience() -> None:
    """Two rungs: the mode; three trials; the mode again, which leads; the winner; then models."""
    study = study_of(StagedScheduler(ContinueMode(BRACKETS)))
    assert kinds(study, (0.1, 0.5)) == ["opening", "new"]
    assert kinds(study, (0.1, 0.5, 0.5, 0.4)) == ["continue", "new", "new", "promote"]
    assert is_proven(study.state)
    assert kinds(study, (0.5, 0.5, 0.5)) == ["model"] * 3
    bracket = ["new", "new"]
    assert kinds(study, (0.5, 0.5)) == bracket, "bracket 1: two full trainings"
    assert kinds(study, (0.05, 0.5, 0.5, 0.5, 0.5)) == ["model"] * 4 + ["new"]
    assert study.replay().exact


def test_an_unproven_prior_waits_for_the_second_bracket_and_has_little_patience() -> None:
    study = study_of(StagedScheduler(ContinueMode(BRACKETS)), prior_share=0.0)
    first = kinds(study, (0.9, 0.5, 0.5, 0.5, 0.4))
    assert first == ["opening", "new", "new", "new", "promote"]
    assert kinds(study, (0.5, 0.5)) == ["new", "new"]
    assert kinds(study, (0.5, 0.5, 0.5, 0.5, 0.5)) == ["model", *["new"] * 3, "promote"]
    assert kinds(study, (0.3, 0.3, 0.3)) == ["model", "model", "new"]


def test_a_duel_comes_right_after_the_first_bracket() -> None:
    study = study_of(StagedScheduler(BRACKETS), prior_share=0.5)
    kinds(study, [0.9])
    while len(study.state.history) < 4:
        drawn = study.ask()
        study.tell(drawn, 0.2 if drawn.origin == "prior" else 0.5)
    assert {t.origin for t in study.state.history.trials[1:]} == {"prior", "uniform"}
    assert kinds(study, (0.2, 0.6, 0.5)) == ["promote", "duel", "model"]
    duel = study.state.history.trial(5)
    assert (duel.slot, duel.origin, duel.fidelity) == (None, "uniform", 3)


def test_with_a_single_rung_the_first_bracket_is_eta_full_trainings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        one = Fidelity("epochs", 1, 1)
    study = study_of(StagedScheduler(ContinueMode(BRACKETS)), one)
    assert kinds(study, (0.1, 0.5, 0.5, 0.5)) == ["opening", "new", "new", "new"]
    assert kinds(study, (0.5, 0.5, 0.5, 0.5)) == ["model"] * 3 + ["new"]
    worse = study_of(StagedScheduler(ContinueMode(BRACKETS)), one, prior_share=0.0)
    assert kinds(worse, (0.9, 0.5, 0.5, 0.5)) == ["opening", "new", "new", "new"]
    assert kinds(worse, (0.5, 0.5, 0.5)) == ["new", "model", "new"]


def test_several_workers_open_the_next_bracket_while_the_first_one_runs() -> None:
    study = study_of(StagedScheduler(ContinueMode(BRACKETS)))
    trials = [study.ask() for _ in range(12)]
    slots = [trial.slot for trial in trials]
    assert slots == [None, *[(0, 0)] * 3, *[(1, 1)] * 2, *[(2, 0)] * 3, *[(3, 1)] * 2, (4, 0)]


def test_a_queued_configuration_takes_the_place_of_a_model_training() -> None:
    study = study_of(StagedScheduler(ContinueMode(BRACKETS)))
    kinds(study, (0.1, 0.5, 0.1, 0.5, 0.5, 0.4))
    study.queue({"x": 0.123})
    decided = study.optimizer.decide(study.state, study.seed)
    assert (decided.kind, decided.trial.slot, decided.trial.fidelity) == ("queued", None, 3)
    kinds(study, [0.5])
    assert misses(study.state) == 0 and kinds(study, [0.5]) == ["model"]


@settings(max_examples=examples(20), deadline=None)
@given(
    st.sampled_from([(1, 27), (1, 9), (1, 3), (1, 1), (0.1, 1.0)]),
    st.integers(2, 4),
    st.sampled_from([1, 4, 16]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(0, 2**16),
)
def test_invariants_with_any_workers_rungs_and_failures(
    reach: tuple[float, float], eta: int, workers: int, failing: float, seed: int
) -> None:
    sampler = Mix((FromUniform(), FromPrior()), Fixed((0.4, 0.6)))
    scheduler = StagedScheduler(ContinueMode(BRACKETS))
    method = pb.Optimizer(scheduler, sampler, Opening(PriorMode()), eta, extra=FromUniform())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        study = pb.Study(SPACE, Fidelity("epochs", *reach), method, seed)
    duels = 0
    for trial in pb.testing.play(study, 120, seed, failing, workers):
        top = study.state.ladder.fidelities[-1]
        if trial.slot is None and trial.id:
            assert trial.fidelity == top
        duels += trial.slot is None and trial.parent is not None and trial.origin == "uniform"
    assert duels <= 1
    best = best_full(study.state)
    if is_proven(study.state):
        assert min(best.mode, best.prior) <= best.other
    assert promotable(scheduler, study.state, range(len(study.state.history))) <= set(
        range(len(study.state.history))
    )
    assert study.replay().exact


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"plan": Hyperband}, "`plan` must have a method `next`"),
        ({"duel": 1}, "`duel` must be True or False"),
        ({"proof": Proven}, "`proof` must be a function of the state"),
        ({"patience": 3}, "`patience` must be two whole numbers"),
        ({"patience": (3, 0)}, "`patience` must be two whole numbers"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MethodError, match=message):
        StagedScheduler(**({"plan": Hyperband()} | options))
