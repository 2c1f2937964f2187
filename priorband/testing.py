"""Checks for samplers, schedulers and optimizers of your own. Call them from your tests.

>>> from priorband import Optimizer
>>> from priorband.samplers import FromPrior
>>> from priorband.schedulers import ASHA
>>> check_sampler(FromPrior())
>>> check_scheduler(ASHA())
>>> check_optimizer(Optimizer(ASHA(), FromPrior()))

Each returns nothing, or raises an `AssertionError` that says what is wrong and in which state.
"""

import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, final

import numpy as np

from priorband.errors import ExhaustedError, SingleRungWarning
from priorband.fidelity import Fidelity
from priorband.history import History
from priorband.optimizers import Optimizer
from priorband.samplers.base import Draw, Sampler
from priorband.samplers.simple import FromUniform, PriorMode
from priorband.schedulers.base import Scheduler, promotable
from priorband.schedulers.synchronous import Hyperband
from priorband.space.choices import Categorical, Constant, Ordinal
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space
from priorband.space.when import at_least, at_most
from priorband.state import State
from priorband.streams import generator
from priorband.study import BaseStudy, Study
from priorband.trial import Trial

_LADDERS: tuple[tuple[float, float, int], ...] = ((1, 27, 3), (1, 19, 4), (0.1, 1.0, 2), (1, 1, 3))


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
            study = _study(space, Optimizer(Hyperband(), FromUniform()))
            states[f"{kind}, empty"] = study.state
            for _ in play(study, 90, seed=7, failing=failing):
                pass
            states[f"{kind}, {story}"] = study.state
            _visit(study)
            states[f"{kind}, {story}, with imported and queued trials"] = study.state
    return states


def check_sampler(
    sampler: Sampler, draws: int = 5, spaces: Mapping[str, Space] | None = None
) -> None:
    """Check that a sampler draws valid configurations, and the same ones when it is repeated.

    It is called in many states: empty, busy, with failures only, with imported and queued trials.

    Args:
        sampler: The sampler.
        draws: The number of draws for each state and rung.
        spaces: The spaces, by description, instead of those of `example_states`. With
            `{"conditional": conditional_space()}` some parameters have conditions.

    Raises:
        AssertionError: If a draw differs when it is repeated (also by a copy of the sampler), is
            not in the space, or changes the state; or if the sampler has no readable `repr`.
        ConfigError: If a configuration is not in the space.
    """
    _check_value(sampler)
    copied = deepcopy(sampler)
    for description, state in example_states(spaces).items():
        before = _snapshot(state)
        again = _rebuilt(state)
        for rung in range(state.ladder.top + 1):
            for seed in range(draws):
                where = f"{sampler!r}, {description}, rung {rung}, generator {seed}"
                draw = _draw(sampler, state, rung, seed)
                _check_draw(draw, state, where)
                for twin, same in ((sampler, state), (sampler, again), (copied, again)):
                    other = _draw(twin, same, rung, seed)
                    assert other == draw, f"{where}: drew {draw}, then {other}."
        unchanged = _snapshot(state) == before
        assert unchanged, f"{sampler!r}, {description}: the history was changed."


def check_scheduler(scheduler: Scheduler, synchronous: bool = False) -> None:
    """Check that a scheduler always answers, and promotes only what it may.

    It may promote a trial that succeeded, once, by one rung, and never one that it had left out of
    `promotable`. Its answers must not depend on the sampler, and must be the same when repeated.

    Args:
        scheduler: The scheduler.
        synchronous: Whether brackets must also have the sizes of Hyperband.

    Raises:
        AssertionError: If one of these rules is broken.
    """
    _check_value(scheduler)
    for seed, (low, high, eta) in enumerate(_LADDERS):
        for failing, workers in ((0.0, 1), (0.0, 8), (0.3, 8), (0.3, 120), (1.0, 8)):
            plans = []
            for sampler in (FromUniform(), PriorMode()):
                optimizer = Optimizer(scheduler, sampler, eta=eta)
                study = Study(example_space(), _range(low, high), optimizer, seed)
                plan = [
                    _check_step(scheduler, study.state, trial)
                    for trial in play(study, 120, seed, failing, workers)
                ]
                plans.append(plan)
                parents = Counter(trial.parent for trial in plan if trial.parent is not None)
                twice = [parent for parent, times in parents.items() if times > 1]
                assert not twice, f"{scheduler!r}: trials {twice} were promoted twice."
                assert not (parents and failing == 1), f"{scheduler!r}: promoted a failed trial."
                if synchronous:
                    _check_sizes(scheduler, study.state)
            _check_promotable(scheduler, study.state)
            places = [[(t.slot, t.parent, t.fidelity) for t in plan] for plan in plans]
            assert places[0] == places[1], f"{scheduler!r}: the plan depends on the sampler."


def check_optimizer(optimizer: Optimizer, seed: int = 0, space: Space | None = None) -> None:
    """Check that an optimizer depends on state and seed only, and does not use failed trials.

    Args:
        optimizer: The optimizer.
        seed: The seed of the study.
        space: The space, by default `example_space()`. `conditional_space()` has conditions.

    Raises:
        AssertionError: If a decision differs when it is repeated or replayed, changes the state, or
            promotes a failed trial.
    """
    _check_value(optimizer)
    copied = deepcopy(optimizer)
    study = _study(space or example_space(), optimizer, seed)
    for trial in play(study, 90, seed):
        json.dumps(trial.config)
        if trial.id in (0, 60):
            _visit(study)
        state = study.state
        before = _snapshot(state)
        first, second = optimizer.propose(state, seed), copied.propose(state, seed)
        assert first == second, f"{optimizer!r}: proposed {first}, then {second}."
        assert _snapshot(state) == before, f"{optimizer!r}: proposing changed the history."
        check_failures(state)
    replay = study.replay()
    assert replay.exact, f"{optimizer!r}: replay differs at {replay.differing[0]}."


def check_failures(state: State) -> None:
    """Check that no failed trial was promoted, or is the incumbent or the best of a fidelity.

    Args:
        state: The state to check.

    Raises:
        AssertionError: If there is one.
    """
    history = state.history
    for ended in history.observations:
        if ended.failed:
            assert not history.promoted(ended.trial.id), f"{ended.trial} failed and was promoted."
    fidelities = {ended.fidelity for ended in history.observations}
    leaders = [history.best, history.incumbent, state.incumbent, *map(history.best_at, fidelities)]
    for leader in leaders:
        assert leader is None or math.isfinite(leader.loss), f"{leader} failed, yet is the best."


def _study(space: Space, optimizer: Optimizer, seed: int = 0) -> Study:
    return Study(space, Fidelity("epochs", 1, 27), optimizer, seed)


def _range(low: float, high: float) -> Fidelity:
    """Return a fidelity, without the warning if it has a single rung."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingleRungWarning)
        return Fidelity("epochs", low, high)


def _visit(study: Study) -> None:
    """Import results, on rungs and between them, and queue configurations."""
    rng = np.random.default_rng(len(study.state.history))
    for fidelity, loss in ((27, 0.3), (27, 0.01), (5, 0.02), (3, math.nan), (0.5, 0.4)):
        study.add(study.space.decode(study.space.uniform(1, rng)[0]), loss, fidelity)
    study.queue(study.space.decode(study.space.uniform(1, rng)[0]))
    study.queue(study.space.decode(study.space.uniform(1, rng)[0]), fidelity=2)


def _check_value(part: object) -> None:
    shown, copied = repr(part), deepcopy(part)
    assert not re.search(r" at 0x[0-9a-f]+", shown), f"{shown} has no readable repr."
    assert copied == part, f"{shown} does not equal its copy."
    assert repr(copied) == shown, f"{shown} and its copy {copied!r} have different reprs."


def _rebuilt(state: State) -> State:
    """Return the same state, built again from its events."""
    history = History.of(state.history.events)
    return State(state.space, state.prior, state.ladder, history, state.regard)


def _draw(sampler: Sampler, state: State, rung: int, seed: int) -> Draw | str:
    try:
        return sampler.sample(state, rung, generator(seed, rung, "contract"))
    except ExhaustedError as error:
        return str(error)


def _check_draw(draw: Draw | str, state: State, where: str) -> None:
    if isinstance(draw, str):  # the message of ExhaustedError, which is allowed
        return
    checked = state.space.check(draw.config)
    assert checked == draw.config, f"{where}: {draw} is not in the space."
    assert list(checked) == list(draw.config), f"{where}: not in the space's order."
    assert json.loads(json.dumps(draw.config)) == draw.config, f"{where}: {draw} is not JSON."
    assert draw.origin, f"{where}: {draw} has no origin."


def _check_step(scheduler: Scheduler, state: State, trial: Trial) -> Trial:
    history, ladder = state.history, state.ladder
    ahead = [scheduler.next(state, generator(0, trial.id, "contract")) for _ in range(2)]
    assert ahead[0] == ahead[1], f"{scheduler!r}: decided {ahead[0]}, then {ahead[1]}."
    assert trial.slot is not None, f"{scheduler!r}: {trial} has no slot."
    at_rung = trial.fidelity == ladder.fidelities[trial.slot.rung]
    assert at_rung, f"{scheduler!r}: {trial} does not have the fidelity of its rung."
    if trial.parent is None:
        return trial
    parent, outcome = history.trial(trial.parent), history.outcome(trial.parent)
    assert outcome is not None, f"{scheduler!r}: promoted {parent}, which is running."
    assert not outcome.failed, f"{scheduler!r}: promoted {parent}, which has failed."
    assert parent.slot is not None, f"{scheduler!r}: promoted {parent}, which has no slot."
    assert trial.slot.rung == parent.slot.rung + 1, f"{scheduler!r}: {trial} is not one rung up."
    assert trial.config == parent.config, f"{scheduler!r}: {trial} does not continue {parent}."
    return trial


def _check_sizes(scheduler: Scheduler, state: State) -> None:
    slots = Counter(trial.slot for trial in state.history.trials if trial.slot is not None)
    bases: dict[int, int] = {}
    for bracket, rung in slots:
        bases[bracket] = min(rung, bases.get(bracket, rung))
    for (bracket, rung), trials in slots.items():
        planned = state.ladder.brackets[bases[bracket]][rung - bases[bracket]]
        assert trials <= planned, (
            f"{scheduler!r}: bracket {bracket} has {trials} trials on rung {rung}, more than "
            f"{planned}."
        )


def _check_promotable(scheduler: Scheduler, state: State) -> None:
    now = State(state.space, state.prior, state.ladder, History(), state.regard)
    kept: set[int] = set()
    for event in state.history.events:
        asked, told = len(now.history), len(now.history.observations)
        now = now.after(event)
        lost = [t for t in now.history.trials[asked:] if t.parent not in (None, *kept)]
        assert not lost, f"{scheduler!r}: promoted {lost[0]}, whose parent was not promotable."
        kept.update(ended.trial.id for ended in now.history.observations_since(told))
        kept &= promotable(scheduler, now, kept)


def _snapshot(state: State) -> tuple[object, ...]:
    """Return everything in a state, to check later that it has not changed."""
    history = state.history
    return (
        (state.space, state.prior, state.ladder, state.regard),
        (history.events, history.trials, history.running, history.observations),
        (history.best, history.incumbent, state.incumbent, history.queued),
        (history.spent, history.resources, history.drawn, history.finished),
    )
