"""The timeline: which worker runs which trial when, given how long each trial takes.

`simulate`, plans and the estimate of time left all use this loop, so that they cannot disagree.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Protocol, final

from priorband.errors import ArgumentError, ExhaustedError
from priorband.numeric import real, whole
from priorband.trial import Observation, Trial
from priorband.values import frozen


@final
@frozen
class Run:
    """One evaluation in simulated time."""

    outcome: Observation
    """The trial and its loss."""
    worker: int
    """Which worker ran it, from 0."""
    start: float
    """When it began, in fidelity units since the start of the simulation."""
    end: float
    """When it ended."""
    cost: float
    """How many fidelity units were trained."""


@final
@frozen
class Workload:
    """The workers and the budget of a simulation."""

    workers: int = 1
    budget: float = 12.0
    """How many full trainings: of all workers together, or with `each` of every worker."""
    each: bool = False
    """Whether to start trials until every worker has used the budget by itself."""
    continued: bool = True
    """Whether a promotion costs only the difference to the fidelity already trained."""
    pause: float = 0.0
    """How much longer a trial takes than it costs, in units of fidelity."""

    def __post_init__(self) -> None:
        if not whole(self.workers) or self.workers < 1:
            raise ArgumentError(
                f"`workers` must be a whole number of at least 1, got {self.workers!r}."
            )
        if (real(self.budget) or 0) <= 0:
            raise ArgumentError(
                f"`budget` must be a positive number of full trainings, got {self.budget!r}."
            )
        if real(self.pause) is None or self.pause < 0:
            raise ArgumentError(f"`pause` must be a number of at least 0, got {self.pause!r}.")


class Trials(Protocol):
    """Where the trials of a simulation come from, and where their results go."""

    def ask(self) -> Trial:
        """Return the next trial, or raise `ExhaustedError`."""

    def end(self, trial: Trial) -> Observation:
        """End a trial, and return its result."""

    def cost(self, trial: Trial) -> float:
        """Return how many fidelity units a trial adds to what its parent has trained."""


@final
@frozen
class Ongoing:
    """A trial that runs already when the simulation begins."""

    trial: Trial
    left: float
    """How much longer it takes."""


Duration = Callable[[Trial, float], float]
"""How long a trial takes, from the trial and its cost in fidelity units."""


def timeline(
    trials: Trials,
    work: Workload,
    high: float,
    duration: Duration | None = None,
    ongoing: Sequence[Ongoing] = (),
    most: int | None = None,
) -> list[Run]:
    """Let workers run trials until the budget is used up; return the runs in the order they ended.

    Trials that end within a billionth of a full training end at the same time, and are told in the
    order in which they were asked.

    Args:
        trials: Where the trials come from.
        work: The workers and the budget.
        high: The fidelity of a full training.
        duration: How long a trial takes; without it, as long as it costs, and the pause.
        ongoing: The trials that run already. They are not paid from the budget.
        most: No more trials than this are started.
    """
    instant = 1e-9 * high
    moment = instant if duration is None else 1e-9
    limit = work.budget * high
    workers = max(work.workers, len(ongoing))
    busy: list[tuple[int, int, _Job]] = []
    for worker, one in enumerate(ongoing):
        heappush(busy, (round(one.left / moment), one.trial.id, _Job(one.trial, worker, one.left)))
    idle, now, paid = list(range(len(ongoing), workers)), 0.0, [0.0] * workers
    runs: list[Run] = []
    started = 0
    while True:
        while idle and limit - (min(paid) if work.each else sum(paid)) > instant:
            if started == most:
                break
            try:
                trial = trials.ask()
            except ExhaustedError:
                limit = 0.0
                break
            started += 1
            cost = trials.cost(trial) if work.continued else trial.fidelity
            end = now + cost + work.pause if duration is None else now + duration(trial, cost)
            job = _Job(trial, idle.pop(0), end, now, cost)
            paid[job.worker] += cost
            heappush(busy, (round(end / moment), trial.id, job))
        if not busy:
            return runs
        _, _, job = heappop(busy)
        now = job.end
        runs.append(Run(trials.end(job.trial), job.worker, job.start, now, job.cost))
        idle.append(job.worker)


@final
@frozen
class _Job:
    """A trial that is running."""

    trial: Trial
    worker: int
    end: float
    start: float = 0.0
    cost: float = 0.0
