"""The checks of optimizers, and of what they leave behind."""

import math
from copy import deepcopy
from typing import Any

from priorband.optimizers import Optimizer
from priorband.space.space import Space
from priorband.state import State
from priorband.testing.parts import PURE, check_json, check_part, difference
from priorband.testing.states import example_space, example_study, import_and_queue, play, snapshot
from priorband.trial import Trial
from priorband.values import field_names


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
    check_part(optimizer, "optimizer", "propose")
    copied = deepcopy(optimizer)
    study = example_study(space or example_space(), optimizer, seed)
    for trial in play(study, 90, seed):
        check_json(trial.config, repr(optimizer))
        if trial.id in (0, 60):
            import_and_queue(study)
        state = study.state
        before = snapshot(state)
        first, second = optimizer.propose(state, seed), copied.propose(state, seed)
        assert first == second, (
            f"{optimizer!r}: `propose` gave two trials for the same state and seed: "
            f"{difference(_shown(first), _shown(second))}. {PURE} "
            "`check_sampler` and `check_scheduler` find which part it is."
        )
        assert snapshot(state) == before, (
            f"{optimizer!r}: `propose` changed the state, which belongs to the study. "
            "`check_sampler` and `check_scheduler` find which part it is."
        )
        check_failures(state)
    for step in study.replay().differing:
        raise AssertionError(
            f"{optimizer!r}: the replay of a study gave another trial {step.trial.id}: "
            f"{difference(_shown(step.trial), _shown(step.again))}. {PURE}"
        )


def check_failures(state: State) -> None:
    """Check that no failed trial was promoted, or is the incumbent or the best of a fidelity.

    Args:
        state: The state to check.

    Raises:
        AssertionError: If there is one.
    """
    history = state.history
    for ended in history.observations:
        assert not (ended.failed and history.promoted(ended.trial.id)), (
            f"Trial {ended.trial.id} failed and was promoted. A scheduler may promote a trial only "
            "if its `outcome` is not None and not `failed`."
        )
    fidelities = {ended.fidelity for ended in history.observations}
    leaders = [history.best, history.incumbent, state.incumbent, *map(history.best_at, fidelities)]
    for leader in leaders:
        assert leader is None or math.isfinite(leader.loss), (
            f"Trial {leader.trial.id} failed, yet is the best: its loss is {leader.loss}. Only "
            "trials that succeeded can be: check `outcome.failed`."
        )


def _shown(trial: Trial) -> dict[str, Any]:
    others = {name: getattr(trial, name) for name in field_names(trial) if name != "config"}
    return {**trial.config, **others}
