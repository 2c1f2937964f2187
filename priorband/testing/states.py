"""Spaces, losses and states to try a sampler, a scheduler or an optimizer on."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, final

import numpy as np

from priorband.fidelity import Fidelity
from priorband.optimizers import Optimizer
from priorband.samplers.simple import FromUniform
from priorband.schedulers.synchronous import Hyperband
from priorband.space.choices import Categorical, Constant, Ordinal
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space
from priorband.space.when import at_least, at_most
from priorband.state import State
from priorband.study import BaseStudy, Study
from priorband.trial import Trial


def example_space() -> Space:
    """Return a space with every kind of parameter, with and without a prior, and a constant."""
    return Space(
        {
            "lr": Float(1e-5, 1e-1, log=True, prior=1e-3),
            "momentum": Float(0.0, 0.99),
            "width": Integer(16, 512, log=True, prior=64, confidence="high"),
            "layers": Integer(1, 4),
            "optimizer": Categorical(("sgd", "adam", "rmsprop"), prior={"adam": 3, "sgd": 1}),
            "nesterov": Categorical((True, False)),
            "classes": Constant(10),
            "batch": Ordinal((16, 32, 64, 128), prior=32),
        }
    )


def conditional_space() -> Space:
    """Return a space with conditions on every kind of parameter, three levels deep, and priors."""
    return Space(
        {
            "eps": Float(1e-9, 1e-3, log=True, when={"norm": "batch"}),
            "model": Categorical(("net", "trees", "linear"), prior={"net": 3, "trees": 1}),
            "layers": Integer(1, 4, prior=2, when={"model": "net"}),
            "norm": Categorical(("batch", "none"), prior="batch", when={"layers": at_least(2)}),
            "width": Ordinal((16, 32, 64), prior=32, when={"model": "net"}),
            "skip": Categorical((True, False), when={"width": [32, 64], "layers": at_least(3)}),
            "depth": Integer(2, 64, log=True, prior=8, when={"model": "trees"}),
            "leaf": Float(0.0, 1.0, prior=0.1, step=0.1, when={"depth": at_most(16)}),
            "version": Constant(3, when={"model": ["net", "trees"]}),
            "lr": Float(1e-5, 1e-1, log=True, prior=1e-3),
            "decay": Float(0.0, 1.0, when={"lr": at_least(1e-3), "version": 3}),
        }
    )


def noise(config: Mapping[str, Any], fidelity: float, salt: str = "loss") -> float:
    """Return a random loss in [0, 1), always the same for the same arguments."""
    key = json.dumps([salt, dict(config), float(fidelity)], sort_keys=True).encode()
    return int.from_bytes(blake2b(key, digest_size=6).digest(), "little") / 2**48


@final
@dataclass(frozen=True, slots=True)
class Flaky:
    """An objective that fails for some configurations, always the same ones.

    It raises an error, or returns nan, inf or -inf.

    Args:
        evaluate: The objective for all other configurations.
        rate: The fraction of evaluations that fail.
    """

    evaluate: Callable[[Mapping[str, Any], float], float] = noise
    rate: float = 0.2

    def __call__(self, config: Mapping[str, Any], fidelity: float) -> float:
        trouble = noise(config, fidelity, "trouble") / self.rate
        if trouble >= 1:
            return self.evaluate(config, fidelity)
        if trouble >= 0.75:
            raise RuntimeError("The evaluation failed.")
        return (math.nan, math.inf, -math.inf)[int(trouble * 4)]


def play(
    study: BaseStudy, asks: int, seed: int = 0, failing: float = 0.2, workers: int = 8
) -> Iterator[Trial]:
    """Run a study with random results.

    Trials end in random order, with random losses or failures. The losses depend on `seed` only,
    not on the configurations. Some trials are still running at the end.

    Args:
        study: The study.
        asks: The number of trials to ask.
        seed: The seed of the results.
        failing: The fraction of trials that fail.
        workers: The maximum number of trials that run at the same time.

    Yields:
        Each trial, right after it was asked.
    """
    rng = np.random.default_rng(seed)
    waiting: list[Trial] = []
    for _ in range(asks):
        while waiting and (len(waiting) >= workers or rng.random() < 0.5):
            trial = waiting.pop(int(rng.integers(len(waiting))))
            loss, trouble = round(float(rng.random()), 2), float(rng.random())
            if trouble < failing / 2:
                study.fail(trial, "random failure")
            else:
                study.tell(trial, math.nan if trouble < failing else loss)
        trial = study.ask()
        waiting.append(trial)
        yield trial


def example_states(spaces: Mapping[str, Space] | None = None) -> dict[str, State]:
    """Return states that every sampler must handle, by description.

    Args:
        spaces: The spaces, by description. By default one with every kind of parameter, and one
            with a single categorical.

    Returns:
        The states.
    """
    states = {}
    one = Space({"only": Categorical(("a", "b", "c"), prior="b")})
    for kind, space in (spaces or {"mixed": example_space(), "one category": one}).items():
        for story, failing in (("busy", 0.3), ("failing", 1.0)):
            study = example_study(space, Optimizer(Hyperband(), FromUniform()))
            states[f"{kind}, empty"] = study.state
            for _ in play(study, 90, seed=7, failing=failing):
                pass
            states[f"{kind}, {story}"] = study.state
            import_and_queue(study)
            states[f"{kind}, {story}, with imported and queued trials"] = study.state
    return states


def example_study(space: Space, optimizer: Optimizer, seed: int = 0) -> Study:
    """Return a study with four rungs."""
    return Study(space, Fidelity("epochs", 1, 27), optimizer, seed)


def import_and_queue(study: Study) -> None:
    """Import results, on rungs and between them, and queue configurations."""
    rng = np.random.default_rng(len(study.state.history))
    for fidelity, loss in ((27, 0.3), (27, 0.01), (5, 0.02), (3, math.nan), (0.5, 0.4)):
        study.add(study.space.decode(study.space.uniform(1, rng)[0]), loss, fidelity)
    study.queue(study.space.decode(study.space.uniform(1, rng)[0]))
    study.queue(study.space.decode(study.space.uniform(1, rng)[0]), fidelity=2)


def snapshot(state: State) -> tuple[object, ...]:
    """Return everything in a state, to check later that it has not changed."""
    history = state.history
    return (
        (state.space, state.prior, state.ladder, state.regard),
        (history.events, history.trials, history.running, history.observations),
        (history.best, history.incumbent, state.incumbent, history.queued),
        (history.spent, history.resources, history.drawn, history.finished),
    )
