"""What the checks of `priorband.testing` say about parts with a fault, word for word.

`python tests/contracts/test_check_messages.py` writes what they say to
`tests/data/check_messages.json`. Read it before you commit it.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from priorband import Config, Fidelity, Float, History, Observation, Optimizer, Space, Trial
from priorband.errors import PriorbandError
from priorband.samplers import Draw, FromUniform, Mix
from priorband.schedulers import Hyperband, Promote, Sample, Slot
from priorband.testing import (
    check_benchmark,
    check_failures,
    check_optimizer,
    check_sampler,
    check_scheduler,
)

DATA = Path(__file__).parent.parent / "data" / "check_messages.json"


class WithoutRepr:
    """A sampler that is not a value."""

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma

    def sample(self, state: Any, rung: int, rng: Any) -> Draw:
        """A draw."""
        return FromUniform().sample(state, rung, rng)


class WithoutEquality(WithoutRepr):
    """A sampler that says what it is, and no more."""

    def __repr__(self) -> str:
        return f"WithoutEquality(sigma={self.sigma})"


class PrintsAddress(WithoutRepr):
    """A sampler with a useless `repr` of its own."""

    def __repr__(self) -> str:
        return object.__repr__(self)


class WithoutReprEither:
    """A scheduler that is not a value, and has no options."""

    def next(self, state: Any, rng: Any) -> Sample:
        """A new trial."""
        return Sample(Slot(0, 0))


@dataclass(frozen=True)
class Holding:
    """A sampler that holds what is not an option."""

    held: Any

    def sample(self, state: Any, rung: int, rng: Any) -> Draw:
        """A draw."""
        return FromUniform().sample(state, rung, rng)


class Draws:
    """What cannot be copied, with a readable `repr`."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self.numbers = numbers

    def __repr__(self) -> str:
        return "Draws()"


class Counting(Holding):
    """A sampler that counts how often it is printed."""

    numbers = count()

    def __repr__(self) -> str:
        return f"Counting({next(self.numbers)})"


@dataclass(frozen=True)
class Faulty:
    """A sampler whose draw is changed by a function that the tests name."""

    fault: str

    def sample(self, state: Any, rung: int, rng: Any) -> Any:
        """A draw with the fault."""
        return CHANGES[self.fault](FromUniform().sample(state, rung, rng), state)


NUMBERS = count()


def _changed(state: Any, name: str, item: object) -> bool:
    object.__setattr__(state, name, item)
    return True


def _backwards(config: Config) -> Config:
    return Config(reversed(config.items()))


CHANGES: dict[str, Callable[[Draw, Any], Any]] = {
    "returns a dict": lambda draw, _: {"lr": 0.1},
    "leaves the space": lambda draw, _: Draw(Config(draw.config | {"lr": 7.0}), "mine"),
    "lacks a parameter": lambda draw, _: Draw(Config(lr=0.1), "mine"),
    "has another order": lambda draw, _: Draw(_backwards(draw.config), "mine"),
    "has numbers of numpy": lambda draw, _: Draw(
        Config(draw.config | {"layers": np.int64(2)}), "mine"
    ),
    "has no origin": lambda draw, _: Draw(draw.config, ""),
    "has a reserved origin": lambda draw, _: Draw(draw.config, "queued"),
    "remembers": lambda draw, _: Draw(
        Config(draw.config | {"layers": next(NUMBERS) % 4 + 1}), "mine"
    ),
    "changes the state": lambda draw, state: _changed(state, "history", History()) and draw,
    "marks the state": lambda draw, state: _changed(state, "regard", state.regard + "!") and draw,
    "needs a result": lambda draw, state: Draw(state.history.best.config, "best"),
}


def _ended(state: Any, failed: bool = False) -> Iterable[Trial]:
    """Trials on the lowest rung that have ended, with or without a failure."""
    for ended in state.history.observations:
        if ended.failed is failed and ended.trial.slot == Slot(0, 0) and state.ladder.top > 1:
            yield ended.trial


def _first(trials: Iterable[Trial], rung: int = 1) -> Any:
    chosen = next(iter(trials), None)
    return Promote(chosen, Slot(0, rung)) if chosen else NEW


def _unpromoted(state: Any) -> Iterable[Trial]:
    return (trial for trial in _ended(state) if not state.history.promoted(trial.id))


def wait(state: Any) -> Any:
    """No answer while a trial runs."""
    if state.history.running:
        raise RuntimeError("wait for trial 0")
    return NEW


def _odd(state: Any) -> bool:
    return any(trial.config["layers"] == 1 for trial in state.history.trials)


NEW = Sample(Slot(0, 0))
ANSWERS: dict[str, Callable[[Any], Any]] = {
    "returns nothing": lambda state: None,
    "returns a tuple as a slot": lambda state: Sample((0, 0)),  # type: ignore[arg-type]  # wrong on purpose
    "leaves the rungs": lambda state: Sample(Slot(0, -1)),
    "has no answer": lambda state: wait(state),
    "answers by turns": lambda state: Sample(Slot(next(NUMBERS) % 2, 0)),
    "depends on configurations": lambda state: Sample(Slot(int(_odd(state)), 0)),
    "promotes a running trial": lambda state: _first(state.history.running),
    "promotes a failed trial": lambda state: _first(_ended(state, failed=True)),
    "promotes by two rungs": lambda state: _first(_unpromoted(state), rung=2),
    "promotes twice": lambda state: _first(_ended(state)),
    "changes a configuration": lambda state: _first(
        replace_config(trial) for trial in _unpromoted(state)
    ),
    "overfills a bracket": lambda state: NEW,
    "forgets what it promotes": lambda state: _first(_unpromoted(state)),
}


def replace_config(trial: Trial) -> Trial:
    """The trial with another configuration."""
    changed = Config(trial.config | {"layers": 5 - trial.config["layers"]})
    return Trial(trial.id, changed, 1, trial.slot, None, "mine", trial.root)


@dataclass(frozen=True)
class Answering:
    """A scheduler that answers with a function that the tests name."""

    fault: str

    def next(self, state: Any, rng: Any) -> Any:
        """An answer with the fault."""
        return ANSWERS[self.fault](state)

    def promotable(self, state: Any, trials: Iterable[int]) -> set[int]:
        """All trials, or none."""
        return set() if "forgets" in self.fault else {*trials}


class Parabola:
    """A benchmark without a fault."""

    space: Any = Space({"x": Float(0.0, 1.0)})
    fidelity: Any = Fidelity("epochs", 1, 27)
    optimum: Any = Config(x=0.5), 0.0

    def evaluate(self, config: Any, fidelity: float) -> Any:
        """The loss."""
        return (config["x"] - 0.5) ** 2 + 27 / fidelity - 1

    def evaluate_many(self, configs: Any, fidelity: float) -> Any:
        """The losses."""
        return np.array([self.evaluate(config, fidelity) for config in configs])


@dataclass(frozen=True)
class Late:
    """A sampler that draws something else after some draws."""

    draws: float

    def sample(self, state: Any, rung: int, rng: Any) -> Draw:
        """A draw."""
        draw = FromUniform().sample(state, rung, rng)
        return (
            draw
            if next(NUMBERS) < self.draws
            else Draw(Config(draw.config | {"layers": 1}), "late")
        )


def replayed_differently() -> None:
    """Check a sampler that draws something else at the very end of the replay."""
    optimized(Optimizer(Hyperband(), Late(math.inf)))
    draws = next(NUMBERS)
    optimized(Optimizer(Hyperband(), Late(2 * draws)))


FAILURE = Observation(Trial(3, Config(x=0.5), 1, Slot(0, 0), None, "uniform", 3), math.inf)
LED_BY_A_FAILURE = SimpleNamespace(observations=(), best=FAILURE, incumbent=None, best_at=None)


def benchmark(**members: Any) -> Any:
    """The benchmark with other members."""
    return type("Mine", (Parabola,), members)()


def weights(state: Any, rung: int) -> Any:
    """The weights of a mixture, as a function."""
    raise NotImplementedError


sampled: Any = check_sampler
scheduled: Any = check_scheduler
optimized: Any = check_optimizer
failures: Any = check_failures
Mine: Any = type("Mine", (), {"evaluate": Parabola.evaluate, "space": Parabola.space})
CASES: dict[str, Callable[[], Any]] = {
    "a class instead of a sampler": lambda: sampled(FromUniform),
    "a class instead of a scheduler": lambda: scheduled(Hyperband),
    "a class instead of a benchmark": lambda: check_benchmark(Parabola),
    "a sampler without sample": lambda: sampled(Hyperband()),
    "a scheduler without next": lambda: scheduled(FromUniform()),
    "a name instead of an optimizer": lambda: optimized("hyperband"),
    "a sampler without repr": lambda: sampled(WithoutRepr(0.1)),
    "a scheduler without repr": lambda: scheduled(WithoutReprEither()),
    "a part without repr": lambda: optimized(Optimizer(Hyperband(), WithoutRepr(0.1))),
    "a function as a part": lambda: sampled(Mix([FromUniform()], weights)),
    "an address in the repr": lambda: sampled(PrintsAddress(0.1)),
    "a sampler without equality": lambda: sampled(WithoutEquality(0.1)),
    "a part without equality": lambda: optimized(Optimizer(Hyperband(), WithoutEquality(0.1))),
    "an array as an option": lambda: sampled(Holding(np.arange(3))),
    "a generator as an option": lambda: sampled(Holding(Draws(x for x in range(3)))),
    "a repr that changes": lambda: sampled(Counting(1)),
    **{f"a sampler that {fault}": partial(sampled, Faulty(fault)) for fault in CHANGES},
    **{
        f"a scheduler that {fault}": partial(scheduled, Answering(fault), "overfills" in fault)
        for fault in ANSWERS
    },
    "an optimizer that remembers": lambda: optimized(Optimizer(Hyperband(), Faulty("remembers"))),
    "an optimizer that marks the state": lambda: optimized(
        Optimizer(Hyperband(), Faulty("marks the state"))
    ),
    "an optimizer that replays differently": lambda: replayed_differently(),
    "an optimizer that promotes failures": lambda: optimized(
        Optimizer(Answering("promotes a failed trial"), FromUniform())
    ),
    "a failed trial that is the best": lambda: failures(
        SimpleNamespace(history=LED_BY_A_FAILURE, incumbent=None)
    ),
    "a benchmark without fidelity": lambda: check_benchmark(Mine()),
    "a benchmark without evaluate_many": lambda: check_benchmark(
        type("Mine", (Mine,), {"fidelity": Parabola.fidelity, "optimum": None})()
    ),
    "a loss that is text": lambda: check_benchmark(benchmark(evaluate=lambda *_: "low")),
    "a loss with noise": lambda: check_benchmark(benchmark(evaluate=lambda *_: next(NUMBERS))),
    "too few losses": lambda: check_benchmark(benchmark(evaluate_many=lambda *_: np.zeros(3))),
    "other losses": lambda: check_benchmark(benchmark(evaluate_many=lambda *_: np.zeros(20))),
    "an optimum with another loss": lambda: check_benchmark(
        benchmark(optimum=(Config(x=0.5), -1.0))
    ),
    "an optimum that is not the best": lambda: check_benchmark(
        benchmark(optimum=(Config(x=0.0), 0.25))
    ),
}


def said(case: str) -> list[str]:
    """The lines of the error, and of the notes on it."""
    global NUMBERS
    NUMBERS = count()
    Counting.numbers = count()
    with pytest.raises((AssertionError, PriorbandError, AttributeError, RuntimeError)) as caught:
        CASES[case]()
    text = [f"{caught.type.__name__}: {caught.value}", *getattr(caught.value, "__notes__", ())]
    return re.sub(r"0x[0-9a-f]+", "0x...", "\n".join(text)).split("\n")


@pytest.mark.parametrize("case", CASES)
def test_the_check_says_what_is_missing_and_what_to_write(case: str) -> None:
    assert said(case) == json.loads(DATA.read_text())[case]


def test_each_message_has_its_case() -> None:
    assert list(json.loads(DATA.read_text())) == list(CASES)


def test_the_benchmark_without_a_fault_passes() -> None:
    check_benchmark(Parabola())


if __name__ == "__main__":
    DATA.write_text(json.dumps({case: said(case) for case in CASES}, indent=2) + "\n")
