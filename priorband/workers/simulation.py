"""Run a study on a benchmark in simulated time, with any number of workers.

The decisions are exactly those that a real parallel run with these durations would have made.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, final

from priorband.errors import ArgumentError
from priorband.study import BaseStudy
from priorband.timeline.timeline import Run, Workload, timeline
from priorband.trial import Observation, Trial
from priorband.values import frozen


class Evaluable(Protocol):
    """Something with an `evaluate` method, such as a benchmark."""

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """Return the loss of a configuration at a fidelity."""


LossFunction = Callable[[Mapping[str, Any], float], float]


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
    return timeline(_StudyTrials(study, evaluate), work, study.fidelity.high)


@final
@frozen
class _StudyTrials:
    """The trials of a study, evaluated on a benchmark."""

    study: BaseStudy
    evaluate: Callable[..., float]

    def ask(self) -> Trial:
        """Return the next trial."""
        return self.study.ask()

    def cost(self, trial: Trial) -> float:
        """Return how many fidelity units a trial adds to what its parent has trained."""
        return self.study.state.history.cost(trial)

    def end(self, trial: Trial) -> Observation:
        """Evaluate a trial, and tell the study."""
        try:
            loss = self.evaluate(trial.config, trial.fidelity)
        except Exception as error:
            self.study.fail(trial, f"{type(error).__name__}: {error}")
        else:
            self.study.tell(trial, -loss if self.study.maximize else loss)
        outcome = self.study.state.history.outcome(trial.id)
        assert outcome is not None
        return outcome
