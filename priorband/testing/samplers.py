"""The check of samplers."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from priorband.errors import ConfigError, ExhaustedError
from priorband.history import History
from priorband.samplers.base import Draw, Sampler
from priorband.space.space import Space
from priorband.state import State
from priorband.streams import generator
from priorband.testing.parts import PURE, check_json, check_part, difference
from priorband.testing.states import example_states, snapshot
from priorband.trial import IMPORTED, QUEUED


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
        AssertionError: If the sampler has no method `sample`, no readable `repr` or no equality; or
            if a draw differs when it is repeated (also by a copy of the sampler), is not in the
            space, or changes the state.
        ConfigError: If a configuration is not in the space.
    """
    check_part(sampler, "sampler", "sample")
    copied = deepcopy(sampler)
    for description, state in example_states(spaces).items():
        before = snapshot(state)
        again = _rebuilt(state)
        for rung in range(state.ladder.top + 1):
            for seed in range(draws):
                where = f"{sampler!r} on rung {rung} in the state {description!r}"
                draw = _draw(sampler, state, rung, seed, where)
                _check_draw(draw, state, where)
                for twin, same in ((sampler, state), (sampler, again), (copied, again)):
                    _check_same(draw, _draw(twin, same, rung, seed, where), where)
        assert snapshot(state) == before, (
            f"{sampler!r} in the state {description!r}: `sample` changed the state, which belongs "
            "to the study. Only read it, and change copies: list(state.history.trials)."
        )


def _rebuilt(state: State) -> State:
    """Return the same state, built again from its events."""
    history = History.of(state.history.events)
    return State(state.space, state.prior, state.ladder, history, state.regard)


def _draw(sampler: Sampler, state: State, rung: int, seed: int, where: str) -> Draw | str:
    try:
        return sampler.sample(state, rung, generator(seed, rung, "contract"))
    except ExhaustedError as error:
        return str(error)
    except Exception as error:
        error.add_note(f"{where}: `sample` must return a Draw in every state, also in this one.")
        raise


def _check_draw(draw: object, state: State, where: str) -> None:
    if isinstance(draw, str):  # the message of ExhaustedError, which is allowed
        return
    assert isinstance(draw, Draw), (
        f"{where}: `sample` must return a Draw, got {draw!r}. Write "
        '`return Draw(config, "mine")`, with Draw from priorband.samplers.'
    )
    try:
        checked = state.space.check(draw.config)
    except ConfigError as error:
        error.add_note(f"{where}: `state.space.decode(row)` makes a valid configuration.")
        raise
    assert checked == draw.config and list(checked) == list(draw.config), (
        f"{where}: the configuration must be what `state.space.check(config)` returns. Here, "
        f"{difference(draw.config, checked) or 'its parameters are in another order'}. "
        "Return Draw(state.space.check(config), ...)."
    )
    check_json(draw.config, where)
    assert draw.origin and draw.origin not in (QUEUED, IMPORTED), (
        f"{where}: the origin of a Draw must be a word for how it was drawn, other than 'queued' "
        f"and 'imported', got {draw.origin!r}. Write Draw(config, \"mine\")."
    )


def _check_same(draw: Draw | str, other: Draw | str, where: str) -> None:
    assert draw == other, (
        f"{where}: `sample` gave two results for the same arguments: "
        f"{difference(_shown(draw), _shown(other))}. {PURE}"
    )


def _shown(draw: Draw | str) -> dict[str, Any]:
    if isinstance(draw, str):
        return {"error": draw}
    return {**draw.config, "origin": draw.origin, "chances": draw.chances}
