"""How much CPU time runs take, from the measured time of a run of each method."""

from collections import Counter
from collections.abc import Sequence

from priorband.display.text import about
from priorband.experiments.cases import Case

SECONDS = {
    **{("random", 20): 0.016, ("asha", 20): 0.026, ("asha", 80): 0.097},
    **{("hyperband", 20): 0.015, ("hyperband", 50): 0.027, ("hyperband", 80): 0.042},
    **{("async-hyperband", 20): 0.014, ("async-hyperband", 80): 0.037},
    **{("priorband", 20): 0.014, ("priorband", 50): 0.027, ("priorband", 80): 0.046},
    **{("guardband", 20): 0.024, ("guardband", 50): 0.057, ("guardband", 80): 0.098},
    **{("asha+guard", 20): 0.025, ("asha+guard", 80): 0.094},
    **{("async-hyperband+guard", 20): 0.012, ("async-hyperband+guard", 80): 0.042},
    **{("guardband+bo", 20): 0.18, ("guardband+bo", 50): 0.57, ("guardband+bo", 80): 2.3},
    **{("mobster", 20): 0.41, ("mobster", 80): 2.4},
    **{("pibo", 20): 0.14, ("pibo", 50): 0.61, ("bo", 20): 0.11, ("bo", 50): 0.48},
    **{("priorband+bo", 20): 0.70, ("bohb", 20): 0.030},
}
"""CPU seconds of a run by method and full trainings of all workers together.

Means over four benchmarks (a Hartmann function, LCBench, TaskSet, a mixed space) and three priors
on one core of a server, benchmark included.
"""


def expected_seconds(case: Case) -> float | None:
    """The CPU time of a run; None if no run of its method was measured.

    A variant of a method takes as long as the method. Other numbers of trainings than the measured
    ones take as long as the nearest measured one, in proportion.
    """
    trainings = case.workers * case.budget
    family = case.method.partition("(")[0]
    measured = [number for method, number in SECONDS if method == family]
    if not measured:
        return None
    nearest = min(measured, key=lambda number: abs(number - trainings))
    return SECONDS[family, nearest] * trainings / nearest


def cost_text(todo: Sequence[Case]) -> str:
    """How much CPU time runs take, as a sentence; empty if none of their methods was measured."""
    seconds = [expected_seconds(case) for case in todo]
    known = sum(filter(None, seconds))
    if not known:
        return ""
    unknown = Counter(c.method for c, s in zip(todo, seconds, strict=True) if s is None)
    names = ", ".join(f"{number} of {method}" for method, number in sorted(unknown.items()))
    without = f", without those whose time is not known ({names})" if unknown else ""
    return f"They take about {about(known)} of CPU time{without}."
