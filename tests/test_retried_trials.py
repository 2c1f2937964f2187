"""Retried trials: first in line, in their old place, and replayed exactly."""

from collections import Counter

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import priorband as pb
from priorband.errors import TrialError
from priorband.events import Queued
from priorband.history import History
from priorband.trial import Trial
from priorband.values import replaced

SPACE = pb.Space(x=pb.Float(0, 1, prior=0.4), n=pb.Integer(1, 9))
EPOCHS = pb.Fidelity("epochs", 1, 9)
METHODS = ["sh", "hyperband", "priorband", "asha", "async-hyperband", "random", "mobster"]


def halving() -> pb.Study:
    """A study of successive halving: 9 trials, then 3, then 1."""
    return pb.Study(SPACE, EPOCHS, "sh", seed=1)


def tell(study: pb.Study, *losses: float | None) -> list[Trial]:
    """Ask for as many trials as there are losses, and tell them; None is a failure."""
    trials = [study.ask() for _ in losses]
    for trial, loss in zip(trials, losses, strict=True):
        if loss is None:
            study.fail(trial, "out of memory", kind="memory")
        else:
            study.tell(trial, loss)
    return trials


def test_a_retried_trial_comes_before_promotions_and_queued_configurations() -> None:
    study = halving()
    tell(study, *[None, *range(8)])
    study.queue({"x": 0.5, "n": 3}, fidelity=3)
    study.retry([0])
    again, failed = study.ask(), study.state.history.trial(0)
    assert again == replaced(failed, id=9, root=9)
    assert study.state.history.retry_of(9) == 0 and study.state.history.retried(0)
    assert study.ask().origin == "queued"
    assert study.replay().exact


def test_its_bracket_waits_for_it_and_promotes_it() -> None:
    study = halving()
    tell(study, *[None, *range(1, 9)])
    study.retry([0])
    again = study.ask()
    assert study.ask().slot == (1, 0), "another bracket goes on meanwhile"
    study.tell(again, 0.5)
    promoted = [study.ask() for _ in range(3)]
    assert [trial.parent for trial in promoted] == [again.id, 1, 2]


def test_a_trial_is_not_promoted_twice_if_a_better_one_is_retried_late() -> None:
    study = halving()
    tell(study, *[None, *range(1, 9)])
    first = study.ask()
    assert first.parent == 1
    study.retry([0])
    again = study.ask()
    study.tell(again, 0.5)
    assert [study.ask().parent, study.ask().parent] == [again.id, 2]
    assert study.ask().slot == (1, 0), "the rung is full"


def test_a_retried_promotion_continues_its_parent_and_keeps_its_place() -> None:
    study = halving()
    tell(study, *range(9))
    promoted = tell(study, None, 1, 2)
    study.retry([promoted[0].id])
    again = study.ask()
    assert (again.parent, again.slot, again.fidelity) == (0, (0, 1), 3)
    assert (again.config, again.root, again.origin) == (
        promoted[0].config,
        promoted[0].root,
        promoted[0].origin,
    )
    study.tell(again, 0.5)
    assert study.ask().parent == again.id, "it is the best of the three"
    assert study.replay().exact


def test_asha_counts_a_place_once() -> None:
    once, twice = (pb.Study(SPACE, EPOCHS, "asha", seed=1) for _ in range(2))
    tell(once, 1, 2)
    tell(twice, None, 1)
    twice.retry([0])
    again = twice.ask()
    twice.tell(again, 2)
    for study in (once, twice):
        assert study.ask().parent is None, "two of three places are filled"
    assert twice.state.history.promotions(0) == 0


def test_a_retry_can_be_retried_but_its_trial_only_once() -> None:
    study = halving()
    tell(study, None)
    study.retry([0])
    for number, said in ((0, "retried already"), (1, "`trial` 1 is not in this study")):
        with pytest.raises(TrialError, match=said):
            study.retry([number])
    again = study.ask()
    with pytest.raises(TrialError, match="has not failed"):
        study.retry([again.id])
    study.fail(again)
    with pytest.raises(TrialError, match="retried already"):
        study.retry([1, 0])
    study.retry([1])
    assert study.ask().config == again.config


def test_imported_results_are_not_retried() -> None:
    study = halving()
    study.add({"x": 0.5, "n": 3}, float("nan"))
    with pytest.raises(TrialError, match=r"was imported.*study.queue\(config, fidelity\)"):
        study.retry([0])


def test_a_history_refuses_what_is_no_retry() -> None:
    study = halving()
    [failed] = tell(study, None)
    history = study.state.history
    for event in (
        Queued(failed.config, failed.fidelity, 7),
        Queued(failed.config, 3, 0),
        Queued(pb.Config(x=0.0, n=1), failed.fidelity, 0),
    ):
        with pytest.raises(RuntimeError):
            history.after(event)
    assert history.after(Queued(failed.config, failed.fidelity, 0)).queued is not None


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(METHODS), st.integers(0, 2**20))
def test_studies_with_retries_are_replayed_exactly(method: str, seed: int) -> None:
    study = pb.Study(SPACE, EPOCHS, method, seed % 3)
    rng, running = np.random.default_rng(seed), list[Trial]()
    for _ in range(50):
        history = study.state.history
        choice = rng.random()
        failed = [
            o.trial.id for o in history.observations if o.failed and not history.retried(o.trial.id)
        ]
        if choice < 0.15 and failed:
            study.retry([failed[int(rng.integers(len(failed)))]])
        elif choice < 0.55 and running:
            trial = running.pop(int(rng.integers(len(running))))
            study.tell(trial, float("nan") if rng.random() < 0.3 else round(float(rng.random()), 2))
        else:
            running.append(study.ask())
    history = study.state.history
    assert study.replay().exact
    again = History.of(history.events)
    state = replaced(study.state, history=again)
    assert study.optimizer.propose(state, study.seed) == study.optimizer.propose(
        study.state, study.seed
    )
    parents = Counter(
        trial.parent for trial in history.trials if history.retry_of(trial.id) is None
    )
    assert all(count == 1 for parent, count in parents.items() if parent is not None)
    for number in range(history.brackets if method in ("sh", "hyperband", "priorband") else 0):
        base = history.base(number)
        for step, planned in enumerate(study.state.ladder.brackets[base]):
            members = history.members(number, base + step)
            assert members.succeeded <= members.ended <= members.started <= planned
