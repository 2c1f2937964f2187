"""Run a method with several sequences of losses, to see whether and how its jobs depend on them."""

from collections.abc import Callable, Iterable
from typing import final

from priorband.planning.jobs import PlanInputs, PlannedJob, planned_jobs
from priorband.timeline.in_memory import falling, rising, sequences, shuffled
from priorband.values import frozen

PROBE = 300
"""With how many trials to find out first whether jobs depend on losses."""

Jobs = tuple[PlannedJob, ...]


@final
@frozen
class Span:
    """A number that may depend on the losses: the lowest, a typical one and the highest."""

    low: float
    typical: float
    high: float


@final
@frozen
class PlanCases:
    """The jobs for each sequence of losses; one is enough if all have the same jobs."""

    all: tuple[Jobs, ...]
    typical: Jobs
    exact: bool
    """Whether the jobs were the same with all losses."""
    capped: bool
    """Whether the budget would allow more trials than were simulated."""

    def span(self, measure: Callable[[Jobs], float]) -> Span:
        """The range of a number over all cases."""
        values = list(map(measure, self.all))
        return Span(min(values), measure(self.typical), max(values))

    def moment(self, measure: Callable[[Jobs], float | None]) -> Span | None:
        """The range of a time over the cases; None if there is none in the typical case."""
        values = [value for value in map(measure, self.all) if value is not None]
        typical = measure(self.typical)
        return None if typical is None else Span(min(values), typical, max(values))


def simulated_cases(inputs: PlanInputs, most: int, random: int) -> PlanCases:
    """Run the method with losses that rise, fall, or are random.

    Args:
        inputs: What to simulate.
        most: About how many trials to simulate, in all cases together.
        random: How many random sequences to try if the jobs depend on the losses.
    """
    probe = min(PROBE, most)
    heads = [planned_jobs(inputs, loss, probe) for loss in (falling, rising, shuffled(0))]
    if not _same(heads):
        return _several(inputs, most, random)
    jobs = heads[0]
    if len(jobs) == probe:
        jobs = planned_jobs(inputs, falling, most)
        if 3 * len(jobs) <= most:
            others = [planned_jobs(inputs, loss, most) for loss in (rising, shuffled(0))]
            if not _same([jobs, *others]):
                return _several(inputs, most, random)
    return PlanCases((jobs,), jobs, True, _capped(inputs, jobs, most))


def _several(inputs: PlanInputs, most: int, random: int) -> PlanCases:
    losses = sequences(random)
    share = max(most // len(losses), 1)
    cases = [planned_jobs(inputs, loss, share) for loss in losses]
    usual = sorted(cases[2:] or cases, key=len)
    capped = any(_capped(inputs, jobs, share) for jobs in cases)
    return PlanCases(tuple(cases), usual[len(usual) // 2], False, capped)


def _same(cases: list[Jobs]) -> bool:
    return all(jobs == cases[0] for jobs in cases)


def _capped(inputs: PlanInputs, jobs: Jobs, most: int) -> bool:
    return len(jobs) == most and len(jobs) != inputs.trials


def first_promotion(jobs: Iterable[PlannedJob]) -> float | None:
    """When the first trial is promoted."""
    return min((job.start for job in jobs if job.promoted), default=None)


def first_end(jobs: Iterable[PlannedJob], rung: int) -> float | None:
    """When the first trial on a rung ends."""
    return min((job.end for job in jobs if job.rung == rung), default=None)


def length(jobs: Iterable[PlannedJob]) -> float:
    """When the last trial ends."""
    return max((job.end for job in jobs), default=0.0)


def idle_share(jobs: Jobs, workers: int) -> float:
    """The share of the workers' time in which they have nothing to do."""
    total = workers * length(jobs)
    busy = sum(job.end - job.start for job in jobs)
    return max(1.0 - busy / total, 0.0) if total else 0.0
