"""The library's decisions in a random study beside those of the independent oracle."""

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oracles import guardband_oracle as oracle
from oracles.stories import Course, Story
from priorband import Study, optimizer
from priorband.errors import SingleRungWarning
from priorband.events import Asked, Failed, Told
from priorband.optimizers import Optimizer
from priorband.proof import is_proven
from priorband.samplers import FromUniform, GPSearch
from priorband.samplers.base import Draw
from priorband.state import State
from priorband.streams import Generator
from priorband.trial import IMPORTED, QUEUED, Trial
from priorband.values import replaced


@dataclass(frozen=True)
class UniformModel:
    """Draws in the place of the Gaussian process: uniform ones.

    What a model proposes is not compared, and most studies here need hundreds of proposals.
    """

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        return Draw(FromUniform().sample(state, rung, rng).config, "model")


def study_of(story: Story, method: Optimizer) -> Study:
    """A study of the story."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        return Study(story.space, story.fidelity, replaced(method, eta=story.eta), story.seed)


def cheap(method: Optimizer) -> Optimizer:
    """The method with uniform draws in the place of the Gaussian process."""
    return method if method.extra is None else replaced(method, extra=UniformModel())


# Both decisions in the same words


def oracle_ladder(state: State) -> oracle.Ladder:
    return oracle.Ladder(state.ladder.eta, tuple(float(z) for z in state.ladder.fidelities))


@dataclass
class Translation:
    """A growing history in the oracle's words."""

    events: list[oracle.Event] = field(default_factory=list)
    configs: dict[tuple[Any, ...], int] = field(default_factory=dict)
    read: int = 0

    def update(self, state: State) -> list[oracle.Event]:
        """Add what is new, and return all events."""
        events = state.history.events
        for event in events[self.read :]:
            if isinstance(event, Asked):
                trial = event.trial
                number = self.configs.setdefault(tuple(trial.config.values()), trial.id)
                self.events.append(_job(state, trial, number))
            elif isinstance(event, Told):
                self.events.append(oracle.Ended(event.trial, event.loss))
            elif isinstance(event, Failed):
                self.events.append(oracle.Ended(event.trial, None))
        self.read = len(events)
        return self.events


def _job(state: State, trial: Trial, config: int) -> oracle.Job:
    outside = trial.slot is None and trial.parent is None
    model = outside and trial.origin not in ("mode", QUEUED, IMPORTED)
    return oracle.Job(
        id=trial.id,
        fidelity=float(trial.fidelity),
        rung=None if trial.slot is None else trial.slot.rung,
        bracket=None if trial.slot is None else bracket_number(state, trial.slot.bracket),
        origin="model" if model else trial.origin,
        parent=trial.parent,
        config=config,
        retry_of=state.history.retry_of(trial.id),
    )


def bracket_number(state: State, bracket: int) -> int:
    """The oracle's number of a bracket.

    With a single rung the library's brackets are single trials, the first eta of which stand for
    the first bracket.
    """
    return bracket if state.ladder.top else max(bracket - state.ladder.eta + 1, 0)


@dataclass(frozen=True)
class DensityScores:
    """The scores that ensemble sampling needs, from the library's densities."""

    state: State

    def __call__(self, top: Sequence[tuple[int, int]], incumbent: int) -> tuple[float, float]:
        state = self.state
        rows = np.array([state.row(state.history.trial(config)) for config, _ in top])
        weights = np.array([weight for _, weight in top], dtype=float)
        around = state.prior.around(state.history.trial(incumbent).config)
        logs = np.array([state.prior.logpdf(rows), around.logpdf(rows)])
        peak = logs.max()
        if peak == -math.inf:
            return 0.0, 0.0
        of_prior, of_incumbent = np.exp(logs - peak) @ weights
        return float(of_prior), float(of_incumbent)


Words = dict[str, Any]


def people_decide(state: State) -> bool:
    """Whether the next trial is a retry, or a queued one with a fidelity of its own."""
    queued = state.history.queued
    return queued is not None and (queued.retry is not None or queued.fidelity is not None)


def oracle_words(story: Story, method: str, state: State, events: Sequence[oracle.Event]) -> Words:
    """The oracle's decision, and for methods with a model whether the prior is proven."""
    ladder, queued = oracle_ladder(state), state.history.queued is not None
    flat, score = story.prior == "flat", DensityScores(state)
    found = oracle.decide(method, ladder, flat, events, score, queued)
    shares, proven = found.shares, None
    if method == oracle.GUARDBAND_BO:
        history = oracle.read(ladder, events)
        proven = oracle.bracket_over(history, 0) and oracle.is_proven(history)
    return {
        "kind": found.kind,
        "fidelity": found.fidelity,
        "bracket": found.bracket,
        "rung": found.rung,
        "continues": found.parent,
        "probabilities": shares and [shares[name] for name in ("uniform", "prior", "incumbent")],
        "weight": found.prior_weight,
        "proven": proven,
    }


def library_words(study: Study, model: GPSearch | None) -> Words:
    """The library's decision."""
    data = study.optimizer.decide(study.state, study.seed).data
    del data["origin"]
    if data["bracket"] is not None:
        data["bracket"] = bracket_number(study.state, data["bracket"])
    is_model = data["kind"] == "model"
    return {
        **data,
        "weight": prior_weight(study.state, model) if is_model and model else None,
        "proven": None if model is None else is_proven(study.state),
    }


def prior_weight(state: State, model: GPSearch) -> float:
    """The factor of the log prior in what the model maximises, as its values show it."""
    bonus = model._bonus(state, state.history.observation_count)
    if bonus is None:
        return 0.0
    rows = state.space.uniform(64, np.random.default_rng(0))
    logs = state.prior.logpdf(rows)
    low, high = int(logs.argmin()), int(logs.argmax())
    assert logs[low] < logs[high], "a prior that is not flat"
    values = bonus(rows)
    return float((values[high] - values[low]) / (logs[high] - logs[low]))


def differs(one: Words, other: Words) -> bool:
    """Whether two decisions differ by more than rounding."""
    numbers = ("fidelity", "probabilities", "weight")
    if any(one[name] != other[name] for name in one if name not in numbers):
        return True
    return any(not _close(one[name], other[name]) for name in numbers)


def _close(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.allclose(one, other, rtol=0.0, atol=1e-9))


# The comparison


@dataclass(frozen=True)
class Difference:
    """A decision in which the two differ."""

    story: Story
    trial: int
    library: Words
    oracle: Words

    def __str__(self) -> str:
        return f"{self.story}\n  trial {self.trial}\n  {self.library}\n  {self.oracle}"


@dataclass
class Comparison:
    """What was compared so far."""

    decisions: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)


def compare(
    story: Story, method: str, library: Optimizer | None = None, real_model: bool = False
) -> Comparison:
    """Run a story and compare each decision; `library` is the optimizer if not that method."""
    used = library or optimizer(method)
    model = used.extra if isinstance(used.extra, GPSearch) else None
    study = study_of(story, used if real_model else cheap(used))
    course, translation, result = Course(story, study), Translation(), Comparison()
    for _ in course.before_each_ask():
        state, ours = study.state, library_words(study, model)
        if not people_decide(state):
            theirs = oracle_words(story, method, state, translation.update(state))
            result.decisions[kind_of(theirs)] += 1
            if differs(ours, theirs):
                result.differences.append(Difference(story, len(state.history), ours, theirs))
                break
        course.start(study.ask())
    return result


def kind_of(words: Words) -> str:
    """The kind of a decision, with what is special about it."""
    if words["kind"] == "model":
        return "model, proven" if words["weight"] else "model"
    if words["kind"] == "new" and words["probabilities"][2]:
        return "new, incumbent"
    return str(words["kind"])
