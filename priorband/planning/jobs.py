"""The jobs of a plan: which worker trains what, when, if trials have given losses."""

from typing import NamedTuple, final

from priorband.errors import MethodError
from priorband.fidelity import Fidelity
from priorband.history import History
from priorband.optimizers import Opening, Optimizer
from priorband.problem import make_problem
from priorband.samplers.grid import Grid
from priorband.space.prior import is_flat
from priorband.space.space import Space
from priorband.state import State
from priorband.timeline.in_memory import LossOf, TrialsInMemory
from priorband.timeline.timeline import Ongoing, Run, Workload, timeline
from priorband.timeline.without_configs import ReadsConfigurations, without_configs
from priorband.values import field_names, frozen


class PlannedJob(NamedTuple):
    """A trial in a plan."""

    trial: int
    """The number of the trial, from 0."""
    worker: int
    """Which worker runs it, from 0."""
    start: float
    """When it starts, in units of fidelity."""
    end: float
    """When it ends."""
    cost: float
    """How many units are trained."""
    rung: int | None
    """The rung, from 0 for the lowest; None if the fidelity is that of no rung."""
    bracket: int | None
    """The bracket; None for a trial that the scheduler did not place."""
    promoted: bool
    """Whether it continues another trial."""


@final
@frozen
class PlanInputs:
    """All that a plan follows from, except for the losses."""

    optimizer: Optimizer
    fidelity: Fidelity
    work: Workload
    seed: int = 0
    space: Space | None = None
    trials: int | None = None
    """The most trials that the budget allows."""
    begun: State | None = None
    """The state of a study that has begun; trials that run in it start again."""


def planned_jobs(inputs: PlanInputs, loss: LossOf, most: int) -> tuple[PlannedJob, ...]:
    """The jobs in the order of their trials, if trials have these losses; at most `most` of them.

    No configuration is drawn where that provably makes no difference; see `without_configs`.
    """
    if inputs.space is None or _never_exhausted(inputs.optimizer):
        optimizer, first = without_configs(inputs.optimizer, inputs.fidelity, _flat(inputs))
        try:
            return _jobs(inputs, optimizer, _continued(inputs, first), loss, most)
        except ReadsConfigurations:
            pass
    if inputs.space is None:
        raise MethodError(
            f"{inputs.optimizer.scheduler!r} looks at configurations, so a plan needs their "
            "`space`."
        )
    prior = None if inputs.begun is None else inputs.begun.prior
    problem = make_problem(inputs.space, inputs.fidelity, inputs.optimizer, inputs.seed, prior)
    return _jobs(inputs, inputs.optimizer, _continued(inputs, problem.start()), loss, most)


def _flat(inputs: PlanInputs) -> bool:
    """Whether the prior is known to be flat."""
    if inputs.begun is not None:
        return is_flat(inputs.begun.prior)
    return inputs.space is not None and is_flat(inputs.space.prior)


def _continued(inputs: PlanInputs, first: State) -> State:
    """The first state, or a copy of that of a study that has begun."""
    if inputs.begun is None:
        return first
    history = History.of(inputs.begun.history.events)
    return State(first.space, first.prior, first.ladder, history, first.regard)


def _jobs(
    inputs: PlanInputs, optimizer: Optimizer, state: State, loss: LossOf, most: int
) -> tuple[PlannedJob, ...]:
    trials = TrialsInMemory(optimizer, state, inputs.seed, loss)
    limit = most if inputs.trials is None else min(most, inputs.trials)
    ongoing = [Ongoing(trial, state.history.cost(trial)) for trial in state.history.running]
    runs = timeline(trials, inputs.work, inputs.fidelity.high, ongoing=ongoing, most=limit)
    return jobs_of(runs, state.ladder.fidelities)


def jobs_of(runs: list[Run], rungs: tuple[float, ...]) -> tuple[PlannedJob, ...]:
    """The jobs that runs in simulated time are, in the order of their trials."""
    jobs = []
    for run in runs:
        trial = run.outcome.trial
        slot = trial.slot
        on_rung = rungs.index(trial.fidelity) if trial.fidelity in rungs else None
        jobs.append(
            PlannedJob(
                trial.id,
                run.worker,
                run.start,
                run.end,
                run.cost,
                slot.rung if slot else on_rung,
                slot.bracket if slot else None,
                trial.parent is not None,
            )
        )
    return tuple(sorted(jobs, key=lambda job: job.trial))


def _never_exhausted(optimizer: Optimizer) -> bool:
    """Whether the samplers are ours, which always have a configuration, except for the grid."""
    opening = optimizer.opening
    first = opening.sampler if isinstance(opening, Opening) else opening
    return all(map(_endless, (optimizer.sampler, first, optimizer.extra)))


def _endless(part: object) -> bool:
    if isinstance(part, tuple | list):
        return all(map(_endless, part))
    if hasattr(part, "sample"):
        own = type(part).__module__.startswith("priorband.samplers.")
        return own and not isinstance(part, Grid) and all(map(_endless, _parts(part)))
    return True


def _parts(part: object) -> list[object]:
    return [getattr(part, name) for name in field_names(part)]
