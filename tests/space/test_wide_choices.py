"""Categoricals with thousands of choices: the same distributions, at the cost of a bisection."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from priorband import Categorical, Float, Space
from priorband.space.densities import WIDE, Choices, MovedChoices, preferred_choice


def one_by_one(probabilities: tuple[float, ...], u: float) -> int:
    """The index that has the uniform number in its share, found by subtraction."""
    for index, probability in enumerate(probabilities):
        if u < probability:
            return index
        u -= probability
    return probabilities.index(max(probabilities))


def weights(size: int) -> tuple[float, ...]:
    numbers = np.random.default_rng(size).random(size)
    numbers[::7] = 0.0
    return tuple((numbers / numbers.sum()).tolist())


@pytest.mark.parametrize("size", [2, WIDE, WIDE + 1, 5_000])
def test_a_draw_is_the_choice_whose_share_contains_the_number(size: int) -> None:
    choices = Choices(weights(size))
    for u in np.random.default_rng(1).random(300).tolist():
        assert choices.draw(u) == one_by_one(choices.probabilities, u)
    assert choices.draw(1 - 2**-53) < size
    assert choices.probabilities[int(choices.draw(0.0))] > 0


@pytest.mark.parametrize("size", [WIDE, WIDE + 1])
@pytest.mark.parametrize("flat", [False, True])
def test_moving_the_peak_means_the_same_for_few_and_for_many_choices(size: int, flat: bool) -> None:
    base = Choices((1 / size,) * size if flat else weights(size))
    for centre in (0, 7, int(base.mode), size - 1):
        moved = base.around(centre)
        assert moved.mode == centre
        expected = (
            preferred_choice(centre, size, 4.0).probabilities
            if flat
            else exchanged(base.probabilities, int(base.mode), centre)
        )
        with np.errstate(divide="ignore"):
            logs = np.log(expected)
        assert moved.logpdf(np.arange(float(size))) == pytest.approx(logs)
        back = moved.around(3.0)
        assert back.mode == 3
        assert np.exp(back.logpdf(np.arange(float(size)))).sum() == pytest.approx(1)


def exchanged(probabilities: tuple[float, ...], one: int, other: int) -> tuple[float, ...]:
    moved = list(probabilities)
    moved[one], moved[other] = moved[other], moved[one]
    return tuple(moved)


def test_draws_from_a_moved_peak_have_its_probabilities() -> None:
    moved = Choices(weights(100)).around(5.0)
    assert isinstance(moved, MovedChoices)
    draws = [int(moved.draw(u)) for u in ((np.arange(100_000) + 0.5) / 100_000).tolist()]
    shares = np.bincount(draws, minlength=100) / len(draws)
    assert shares == pytest.approx(moved.probabilities, abs=1e-4)
    assert moved == Choices(moved.probabilities)
    assert hash(moved) == hash(Choices(moved.probabilities))


def steps_taken(action: Callable[[], Any]) -> int:
    """How many lines of Python an action runs."""
    count = 0

    def trace(*_: object) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def test_draws_and_moves_take_as_many_steps_for_five_thousand_choices_as_for_a_hundred() -> None:
    counts = []
    for size in (100, 5_000):
        space = Space({"word": Categorical(range(size), prior=3), "x": Float(0, 1)})
        prior, rng = space.prior, np.random.default_rng(0)
        prior.sample(rng), prior.around({"word": 7, "x": 0.5}).sample(rng)  # makes the tables
        draw = steps_taken(lambda p=prior, r=rng: p.sample(r))  # type: ignore[misc]  # defaults bind
        move = steps_taken(lambda p=prior: p.around({"word": 9, "x": 0.5}).densities[0].draw(0.5))  # type: ignore[misc]  # defaults bind
        counts.append((draw, move))
    assert counts[0] == counts[1]
