"""Traces: which configuration one would have taken home, over the budget spent."""

from collections.abc import Iterable
from itertools import accumulate
from typing import final

from priorband.trial import Observation
from priorband.values import frozen
from priorband.workers.simulate import Run


@final
@frozen
class Point:
    """From this much budget on, this was the incumbent."""

    spent: float
    """Fidelity units paid until then."""
    incumbent: Observation


def trace(runs: Iterable[Run]) -> list[Point]:
    """The reported incumbent over the budget of one worker: strict improvements at any fidelity."""
    ordered = list(runs)
    spent = accumulate(run.cost for run in ordered)
    points: list[Point] = []
    for run, total in zip(ordered, spent, strict=True):
        loss = run.outcome.loss
        if not run.outcome.failed and (not points or loss < points[-1].incumbent.loss):
            points.append(Point(total, run.outcome))
    return points


def incumbent_at(points: list[Point], spent: float) -> Observation | None:
    """The incumbent when so many fidelity units were spent; None where there was none yet."""
    known = [point for point in points if point.spent <= spent * (1 + 1e-12)]
    return known[-1].incumbent if known else None
