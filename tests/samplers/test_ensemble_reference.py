"""Scores, shares and incumbent after every event of a run, against a reference that forgets.

The reference keeps nothing between questions. It sorts, takes the top and multiplies densities of
scipy anew each time, where the library extends what it knows.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats

from priorband import (
    Categorical,
    Constant,
    Fidelity,
    Float,
    History,
    Integer,
    Normal,
    Observation,
    Ordinal,
    Space,
    State,
    Study,
    Trial,
    optimizer,
)
from priorband.ladder import Ladder
from priorband.samplers import Ensemble
from priorband.samplers.scores import incumbent_share, scores

PAPER = Fidelity("epochs", 3, 81)  # the first bracket costs 243
MIXED = Space(
    {
        "width": Integer(1, 64),
        "opt": Categorical(("adam", "sgd", "rms"), prior="sgd", confidence="high"),
        "lr": Float(1e-5, 1e-1, log=True, prior=1e-3),
        "classes": Constant(10),
        "act": Categorical(("relu", "gelu", "tanh", "silu")),
        "drop": Float(0.0, 1.0, prior=Normal(0.2, sigma=0.1)),
        "depth": Ordinal((2, 4, 8, 16, 32), prior=4, confidence="low"),
    }
)


class Part(NamedTuple):
    """A parameter as the reference sees it."""

    position: Callable[[Any], float]
    size: int
    """How many choices; 0 for a number."""
    centre: float | None
    width: float
    """The width of a number's kernel, the weight of a category's preferred choice."""


PARTS = {
    "width": Part(lambda value: (value - 0.5) / 64, 0, None, 0.25),
    "opt": Part(lambda value: ("adam", "sgd", "rms").index(value), 3, 1, 6.0),
    "lr": Part(lambda value: math.log(value / 1e-5) / math.log(1e4), 0, 0.5, 0.25),
    "act": Part(lambda value: ("relu", "gelu", "tanh", "silu").index(value), 4, None, 4.0),
    "drop": Part(float, 0, 0.2, 0.1),
    "depth": Part(lambda value: (math.log2(value) - 0.5) / 5, 0, 0.3, 0.5),
}


def log_density(part: Part, at: NDArray[np.float64], centre: float | None) -> Any:
    if part.size:
        if centre is None:
            return np.full(len(at), -math.log(part.size))
        return np.log(np.where(at == centre, part.width, 1.0) / (part.size - 1 + part.width))
    if centre is None:
        return np.zeros(len(at))
    low, high = -centre / part.width, (1 - centre) / part.width
    return stats.truncnorm.logpdf(at, low, high, loc=centre, scale=part.width)


def naive_incumbent(history: History) -> Observation | None:
    """Each configuration at its highest finished fidelity, the lowest of these."""
    reached: dict[int, Observation] = {}
    for ended in history.successes:
        known = reached.get(ended.trial.root)
        if known is None or ended.fidelity > known.fidelity:
            reached[ended.trial.root] = ended
    return min(reached.values(), key=lambda o: (o.loss, o.trial.root), default=None)


def first_at_the_top(history: History) -> Observation | None:
    """The best at the highest fidelity that anybody has finished."""
    highest = max((ended.fidelity for ended in history.successes), default=0.0)
    best = [ended for ended in history.successes if ended.fidelity == highest]
    return min(best, key=lambda o: (o.loss, o.trial.root), default=None)


def naive_resources(history: History) -> float:
    reached: dict[int, float] = {}
    for ended in history.observations:
        root = ended.trial.root
        reached[root] = max(reached.get(root, 0.0), ended.fidelity)
    return sum(reached.values())


def naive_scores(state: State, incumbent: Observation | None) -> tuple[float, float] | None:
    """Algorithm 2: log scores of prior and incumbent on the top of the highest rung with eta."""
    eta = state.ladder.eta
    for fidelity in reversed(state.ladder.fidelities):
        ended = [o for o in state.history.successes if o.fidelity == fidelity]
        if len(ended) >= eta and incumbent is not None:
            break
    else:
        return None
    ended.sort(key=lambda o: (o.loss, o.trial.root))
    top = ended[: max(eta, len(ended) // eta)]
    log_weights = np.log(np.arange(len(top), 0, -1))
    log_prior, log_incumbent = np.zeros(len(top)), np.zeros(len(top))
    for name, part in PARTS.items():
        at = np.array([part.position(o.config[name]) for o in top])
        log_prior += log_density(part, at, part.centre)
        log_incumbent += log_density(part, at, part.position(incumbent.config[name]))
    return (
        float(special.logsumexp(log_weights + log_prior)),
        float(special.logsumexp(log_weights + log_incumbent)),
    )


def eventful_run(study: Study, steps: int, workers: int, seed: int) -> Iterator[State]:
    """The states of a run whose trials end in any order, tie, fail, or come from elsewhere."""
    rng = np.random.default_rng(seed)
    running: list[Trial] = []
    for _ in range(steps):
        if rng.random() < 0.03:
            config = study.space.decode(study.space.uniform(1, rng)[0])
            study.add(config, round(rng.random(), 2), float(rng.choice([3, 9, 20, 27, 81])))
        elif len(running) < workers and (rng.random() < 0.6 or not running):
            running.append(study.ask())
        else:
            trial = running.pop(int(rng.integers(len(running))))
            if trial.parent is None and rng.random() < 0.05:
                study.fail(trial)
            else:
                bowl = abs(trial.config["drop"] - 0.7) + trial.config["width"] / 64
                study.tell(trial, round(bowl + 3 * rng.random() / trial.fidelity, 2))
        yield study.state


@pytest.mark.parametrize("method", ["priorband", "asha+esp"])
@pytest.mark.parametrize("workers", [1, 5])
def test_after_every_event_the_scores_are_those_computed_from_scratch(
    method: str, workers: int
) -> None:
    study = Study(MIXED, PAPER, method, seed=workers)
    scored = 0
    for state in eventful_run(study, 600, workers, seed=2):
        found, expected = scores(state), naive_scores(state, naive_incumbent(state.history))
        if expected is None:
            assert found is None
            continue
        assert found is not None
        assert (found.prior, found.incumbent) == pytest.approx(expected, abs=1e-9)
        share = float(special.expit(expected[1] - expected[0]))
        assert incumbent_share(found) == pytest.approx(share, abs=1e-9)
        scored += 1
    assert scored > 500


def test_after_every_event_the_shares_are_those_computed_from_scratch() -> None:
    study = Study(MIXED, PAPER, "priorband", seed=4)
    before = after = 0
    for state in eventful_run(study, 400, 3, seed=5):
        expected = naive_scores(state, naive_incumbent(state.history))
        full = any(ended.fidelity == 81 for ended in state.history.successes)
        assert state.history.resources == pytest.approx(naive_resources(state.history))
        if naive_resources(state.history) < 243 or not full:
            share, before = 0.0, before + 1
        else:
            share = 0.25 if expected is None else float(special.expit(expected[1] - expected[0]))
            after += 1
        for rung in range(4):
            left = 1 - 1 / (1 + 3**rung)
            assert Ensemble()(state, rung).probabilities == pytest.approx(
                (1 - left, left * (1 - share), left * share), abs=1e-9
            )
    assert before > 50 and after > 200


@pytest.mark.parametrize("workers", [1, 4, 9])
@pytest.mark.parametrize("method", ["priorband", "asha+esp", "async-hyperband+esp"])
def test_the_incumbent_is_that_of_a_naive_search_whatever_is_running(
    method: str, workers: int
) -> None:
    study = Study(MIXED, PAPER, method, seed=workers)
    for state in eventful_run(study, 500, workers, seed=workers):
        assert state.incumbent == naive_incumbent(state.history)


def test_max_fidelity_first_looks_at_the_highest_fidelity_only() -> None:
    study = Study(MIXED, PAPER, optimizer("priorband", incumbent="max_fidelity_first"), seed=4)
    differing = 0
    for state in eventful_run(study, 400, 3, seed=6):
        best = first_at_the_top(state.history)
        assert state.incumbent == best
        differing += best != naive_incumbent(state.history)
        expected, found = naive_scores(state, best), scores(state)
        if expected is not None:
            assert found is not None
            assert (found.prior, found.incumbent) == pytest.approx(expected, abs=1e-9)
    assert differing > 20


def test_an_old_state_answers_as_it_did() -> None:
    study = Study(MIXED, PAPER, "priorband", seed=4)
    answered = [
        (state, Ensemble()(state, 1), state.incumbent)
        for state in eventful_run(study, 300, 3, seed=7)
    ]
    for state, shares, incumbent in answered[::-20] + answered[::31]:
        assert Ensemble()(state, 1) == shares
        assert state.incumbent == incumbent


def test_one_history_read_with_two_ladders_answers_for_each() -> None:
    study = Study(MIXED, PAPER, "priorband", seed=4)
    *_, state = eventful_run(study, 200, 3, seed=7)
    other = Ladder(Fidelity("epochs", 10, 81), eta=2)  # its fourth rung is a full training, too
    for ladder in (state.ladder, other, state.ladder):
        seen = State(MIXED, state.prior, ladder, state.history)
        found, expected = scores(seen), naive_scores(seen, naive_incumbent(seen.history))
        assert found is not None and expected is not None
        assert (found.prior, found.incumbent) == pytest.approx(expected, abs=1e-9)
