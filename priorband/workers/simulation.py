"""Run a study on a benchmark in simulated time, with any number of workers.

The decisions are exactly those that a real parallel run with these durations would have made.
"""

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import Any, Protocol, final

from priorband.errors import ArgumentError, ExhaustedError
from priorband.numeric import real, whole
from priorband.study import BaseStudy
from priorband.trial import Observation, Trial
from priorband.values import frozen


class Evaluable(Protocol):
    """Something with an `evaluate` method, such as a benchmark."""

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """Return the loss of a configuration at a fidelity."""


LossFunction = Callable[[Mapping[str, Any], float], float]


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


def simulate(
    study: BaseStudy,
    benchmark: Evaluable | LossFunction,
    workers: int = 1,
    budget: float = 12.0,
    continued: bool = True,
) -> list[Run]:
    """Run a study on a benchmark in simulated time; return the runs in the order they ended.

    A trial takes as long as it costs. Trials are started until the budget is used up, so the last
    ones may exceed it. A method that has nothing left to try ends the simulation early. Results
    that arrive at the same time are told in the order in which their trials were started.

    Args:
        study: a study in memory or in storage.
        benchmark: a benchmark, or a function of a configuration and a fidelity that returns a loss.
        workers: how many trials run at the same time.
        budget: how many full trainings all workers have together.
        continued: whether a promotion costs only the difference between the two fidelities,
            instead of all of the higher one.

    Returns:
        The runs, in the order in which they ended.

    Raises:
        ArgumentError: if the number of workers, the budget or the benchmark is not allowed.

    >>> from priorband import Study, simulate
    >>> from priorband.benchmarks import Hartmann
    >>> bench = Hartmann(3)
    >>> study = Study(bench.space, bench.fidelity, "hyperband", seed=1)
    >>> runs = simulate(study, bench, workers=4, budget=3)
    >>> len(runs), max(run.end for run in runs) <= 100
    (47, True)
    """
    return carried_out(study, benchmark, Workload(workers, budget, continued=continued))


def carried_out(study: BaseStudy, benchmark: Evaluable | LossFunction, work: Workload) -> list[Run]:
    """Run a study on a benchmark; return the runs in the order they ended."""
    evaluate = benchmark if callable(benchmark) else getattr(benchmark, "evaluate", None)
    if evaluate is None:
        raise ArgumentError(
            f"`benchmark` must be a function or have an `evaluate` method, got {benchmark!r}."
        )
    needed = getattr(getattr(benchmark, "space", None), "parameters", ())
    missing = [name for name in needed if name not in study.space.parameters]
    if missing:
        raise ArgumentError(
            f"`benchmark` needs {', '.join(missing)}, which the study's space does not have. "
            "Make the study with the benchmark's own `space` and `fidelity`."
        )
    instant = 1e-9 * study.fidelity.high  # trials that end within it end at the same time
    limit = work.budget * study.fidelity.high
    busy: list[tuple[int, int, _Job]] = []
    idle, now, paid = list(range(work.workers)), 0.0, [0.0] * work.workers
    runs: list[Run] = []
    while True:
        while idle and limit - (min(paid) if work.each else sum(paid)) > instant:
            try:
                trial = study.ask()
            except ExhaustedError:
                limit = 0.0
                break
            cost = study.state.history.cost(trial) if work.continued else trial.fidelity
            job = _Job(trial, idle.pop(0), now, cost)
            paid[job.worker] += cost
            heappush(busy, (round((now + cost + work.pause) / instant), trial.id, job))
        if not busy:
            return runs
        _, _, job = heappop(busy)
        now = job.start + job.cost + work.pause
        outcome = _evaluate(study, evaluate, job.trial)
        runs.append(Run(outcome, job.worker, job.start, now, job.cost))
        idle.append(job.worker)


@final
@frozen
class _Job:
    """A trial that is running."""

    trial: Trial
    worker: int
    start: float
    cost: float


def _evaluate(study: BaseStudy, evaluate: Callable[..., float], trial: Trial) -> Observation:
    try:
        loss = evaluate(trial.config, trial.fidelity)
    except Exception as error:
        study.fail(trial, f"{type(error).__name__}: {error}")
    else:
        study.tell(trial, loss)
    outcome = study.state.history.outcome(trial.id)
    assert outcome is not None
    return outcome
