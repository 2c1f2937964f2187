"""How much the everyday part of the tests does, and what is left to the slow part."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

from priorband import methods

slow = pytest.mark.slow
"""Tests of the slow part: many processes, injected faults, statistics, or many model fits."""

MODELLED = tuple(name for name in methods() if "bo" in name or "mobster" in name)
"""Methods that fit a model for each trial; in the everyday part they are tried on a small case."""


def examples(number: int) -> int:
    """How many examples Hypothesis tries: all in the slow part, a quarter in the everyday part."""
    profile = settings.default
    assert profile is not None
    return max(5, number * profile.max_examples // 100)


def slow_unless_in(everyday: Iterable[object], cases: Iterable[object]) -> list[Any]:
    """Values for `parametrize`, of which the everyday part tries only some."""
    kept = [*everyday]
    return [pytest.param(*_values(case), marks=() if case in kept else slow) for case in cases]


def _values(case: object) -> tuple[object, ...]:
    return case if isinstance(case, tuple) else (case,)
