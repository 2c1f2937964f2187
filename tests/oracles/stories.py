"""Random studies to compare decisions in.

A story is made from a number: its space, prior, fidelities, workers, results, failures, and what
people queue, import and retry.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from priorband import Categorical, Fidelity, Float, Integer, Ordinal, Space, Study
from priorband.errors import SingleRungWarning
from priorband.streams import Generator
from priorband.trial import IMPORTED, Trial

PRIORS = ("flat", "partial", "full")
CHOICES = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Story:
    """What a random study is made of; see `random_story`."""

    seed: int
    space: Space
    prior: str
    fidelity: Fidelity
    eta: int
    workers: int
    asks: int
    failing: float
    digits: int
    meddling: float
    """How often people queue, import or retry something."""
    retrying: float
    """How often they retry a trial as soon as it has failed."""
    gains: dict[str, float]
    """How much lower losses are by origin; negative for a bad prior."""

    def __str__(self) -> str:
        about = f"story {self.seed}: {len(self.space)} parameters, {self.prior} prior"
        reach = f"{self.fidelity.low:g} to {self.fidelity.high:g}, eta {self.eta}"
        return f"{about}, fidelity {reach}, {self.workers} workers, {self.failing} failing"


def random_story(seed: int, longest: int) -> Story:
    """The story of a number, with at most so many trials."""
    rng = np.random.default_rng([seed, 2024])
    prior = PRIORS[seed % 3]
    eta = int(rng.integers(2, 5))
    rungs = int(rng.choice([1, 2, 3, 4, 5], p=[0.15, 0.2, 0.3, 0.25, 0.1]))
    if longest > 300 and seed % 25 == 7:
        eta, rungs = 2, 8
    first = sum(eta ** (rungs - 1 - step) for step in range(rungs))
    return Story(
        seed=seed,
        space=_space(rng, prior),
        prior=prior,
        fidelity=_fidelity(rng, eta, rungs),
        eta=eta,
        workers=int(rng.choice([1, 4, 16])),
        asks=min(longest, 2 * first + int(rng.integers(20, 60))),
        failing=float(rng.choice([0.0, 0.1, 0.4, 1.0], p=[0.45, 0.35, 0.17, 0.03])),
        digits=int(rng.choice([1, 2, 6])),
        meddling=float(rng.choice([0.0, 0.02, 0.1])),
        retrying=float(rng.choice([0.0, 0.0, 0.5])),
        gains={
            "mode": float(rng.choice([-0.4, 0.0, 0.5, 0.5])),
            "prior": float(rng.choice([-0.4, 0.0, 0.5, 1.0, 1.0])),
            "queued": float(rng.choice([0.0, 0.3, 1.5])),
        },
    )


def _space(rng: Generator, prior: str) -> Space:
    count = int(rng.integers(1, 9))
    believed = [
        prior == "full" or (prior == "partial" and rng.random() < 0.5) for _ in range(count)
    ]
    if prior == "partial":
        believed[int(rng.integers(count))] = True
    conditional = count > 1 and rng.random() < 0.4
    parameters: dict[str, Any] = {}
    for number in range(count):
        belief = _belief(rng) if believed[number] else {}
        if conditional and number == 0:
            parameters["p0"] = Categorical(CHOICES, prior=CHOICES[0] if belief else None)
            continue
        when = {"when": {"p0": ["a", "b"]}} if conditional and rng.random() < 0.5 else {}
        parameters[f"p{number}"] = _parameter(rng, belief, when)
    return Space(parameters)


def _belief(rng: Generator) -> dict[str, Any]:
    return {"at": float(rng.random()), "confidence": str(rng.choice(["low", "medium", "high"]))}


def _parameter(rng: Generator, belief: dict[str, Any], options: dict[str, Any]) -> Any:
    kind = int(rng.integers(5))
    if belief:
        at = belief["at"]
        places = (at, 10.0 ** (-5 * at), int(9 * at), *[CHOICES[int(4 * at)]] * 2)
        options = {**options, "prior": places[kind], "confidence": belief["confidence"]}
    if kind < 2:
        return Float((0.0, 1e-5)[kind], 1.0, log=kind == 1, **options)
    if kind == 2:
        return Integer(0, 9, **options)
    return (Categorical if kind == 3 else Ordinal)(CHOICES, **options)


def _fidelity(rng: Generator, eta: int, rungs: int) -> Fidelity:
    """A range with so many rungs; whole numbers or not, and not always a power of eta."""
    low = int(rng.integers(1, 4))
    full = low * eta ** (rungs - 1)
    high = full + int(rng.integers(0, full * (eta - 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        return Fidelity("z", low, high) if rng.random() < 0.5 else Fidelity("z", low / 7, high / 7)


@dataclass
class Course:
    """The course of a study: what ends when and how, and what people do meanwhile."""

    story: Story
    study: Study
    running: list[Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.story.seed, 7])

    def before_each_ask(self) -> Iterator[None]:
        """Stop before each trial that is asked; the caller asks for it and calls `start`."""
        for _ in range(self.story.asks):
            while self.running and (len(self.running) >= self.story.workers or self._is_time()):
                self._end(self.running.pop(int(self.rng.integers(len(self.running)))))
            while self.rng.random() < self.story.meddling:
                self._meddle()
            yield

    def start(self, trial: Trial) -> None:
        self.running.append(trial)

    def _is_time(self) -> bool:
        return self.story.workers == 1 or self.rng.random() < 0.4

    def _end(self, trial: Trial) -> None:
        draw, trouble = float(self.rng.random()), float(self.rng.random())
        if trouble < self.story.failing:
            self.study.fail(trial, "random failure")
            if trouble < self.story.failing * self.story.retrying:
                self.study.retry([trial.id])
            return
        gain = self.story.gains.get(trial.origin, 0.0)
        trained = 0.2 * trial.fidelity / self.story.fidelity.high
        self.study.tell(trial, round(draw - gain - trained, self.story.digits))

    def _meddle(self) -> None:
        deed = int(self.rng.integers(4))
        space, rng = self.study.space, self.rng
        config = space.decode(space.uniform(1, rng)[0])
        rungs = self.study.state.ladder.fidelities
        if deed == 0:
            self.study.queue(config)
        elif deed == 1:
            self.study.queue(config, fidelity=rungs[int(rng.integers(len(rungs)))])
        elif deed == 2:
            loss = math.nan if rng.random() < 0.2 else round(float(rng.random()), self.story.digits)
            between = self.story.fidelity.high * 0.77
            self.study.add(config, loss, float(rng.choice([*rungs, between])))
        else:
            self._retry()

    def _retry(self) -> None:
        history = self.study.state.history
        failed = [
            o.trial.id
            for o in history.observations
            if o.failed and o.trial.origin != IMPORTED and not history.retried(o.trial.id)
        ]
        if failed:
            self.study.retry([failed[int(self.rng.integers(len(failed)))]])
