"""`plan`: what a method will do with a budget, by running it in simulated time."""

from typing import Any, final

from priorband.choose_method import Auto, as_auto, chosen_optimizer
from priorband.durable.budget import BudgetLike, as_budget
from priorband.errors import ArgumentError
from priorband.fidelity import Fidelity
from priorband.ladder import Ladder
from priorband.named_methods import methods
from priorband.named_methods import optimizer as named
from priorband.numeric import real
from priorband.optimizers import Optimizer
from priorband.planning.advice import advice
from priorband.planning.cases import (
    Span,
    first_end,
    first_promotion,
    idle_share,
    length,
    simulated_cases,
)
from priorband.planning.jobs import PlanInputs, PlannedJob
from priorband.planning.text import plan_lines
from priorband.space.space import Space
from priorband.timeline.timeline import Workload
from priorband.values import frozen

MOST_TRIALS = 50_000
"""How many trials are simulated at most, in all sequences of losses together."""
RANDOM_SEQUENCES = 6
UNLIMITED = 1e12
"""Trainings, if only the number of trials is limited."""


@final
@frozen
class Plan:
    """What a method will do with a budget. Made by `plan`; print it to read it.

    Times are in units of fidelity, if a trial takes as long as it trains: one epoch takes one.
    """

    method: str
    """The name of the method."""
    fidelity: Fidelity
    """How long a trial can be trained."""
    budget: float | None
    """The full trainings of all workers together; None if only trials are limited."""
    workers: int
    """How many trials run at the same time."""
    rungs: tuple[float, ...]
    """The fidelity of each rung, lowest first."""
    jobs: tuple[PlannedJob, ...]
    """The trials, in the order in which they start: in one typical case, unless `exact`."""
    exact: bool
    """Whether the jobs are the same whatever the losses are, as long as no trial fails."""
    sequences: int
    """With how many sequences of losses the method was run."""
    capped: bool
    """Whether the plan ends before the budget, because there are too many trials to simulate."""
    trials: Span
    """How many trials there are."""
    promotions: Span
    """How many of them continue another one."""
    trainings: Span
    """How much is trained, in full trainings. The last trials may exceed the budget."""
    first_promotion: Span | None
    """When the first trial is promoted; None if that may not happen."""
    first_full: Span | None
    """When the first full training ends; None if that may not happen."""
    length: Span
    """When the last trial ends."""
    idle: Span
    """The share of the workers' time in which they have nothing to do, from 0 to 1."""
    continued: bool = True
    """Whether a promotion resumes from its parent's checkpoint."""
    seconds_per_unit: float | None = None
    """How many seconds a unit of fidelity takes, if known."""
    warnings: tuple[str, ...] = ()
    """What does not fit together, each with a proposal."""
    begun: int = 0
    """How many trials the study has already; the plan is what is left, and what is running."""

    @property
    def brackets(self) -> dict[int, tuple[int, ...]]:
        """How many trials each bracket has on each rung."""
        counts: dict[int, list[int]] = {}
        for job in self.jobs:
            if job.bracket is not None and job.rung is not None:
                counts.setdefault(job.bracket, [0] * len(self.rungs))[job.rung] += 1
        return {bracket: tuple(counts[bracket]) for bracket in sorted(counts)}

    @property
    def starts(self) -> tuple[int, ...]:
        """How many new configurations start on each rung."""
        new = [job.rung for job in self.jobs if not job.promoted]
        return tuple(map(new.count, range(len(self.rungs))))

    @property
    def seconds(self) -> Span | None:
        """How long the study takes; None if the seconds per unit are not known."""
        per_unit = self.seconds_per_unit
        if per_unit is None or self.capped:
            return None
        times = (self.length.low, self.length.typical, self.length.high)
        return Span(*(time * per_unit for time in times))

    def text(self, width: int = 80) -> str:
        """Return the plan as text for a terminal.

        Args:
            width: how many columns the terminal has.
        """
        return "\n".join(plan_lines(self, width))

    def __str__(self) -> str:
        return self.text()


def plan(  # noqa: PLR0913  # what a plan depends on; all but the first have a default
    fidelity: Fidelity,
    method: str | Optimizer | None = None,
    budget: BudgetLike = 12,
    workers: int = 4,
    seconds_per_unit: float | None = None,
    space: Space | None = None,
    seed: int = 0,
    continued: bool = True,
) -> Plan:
    """Show what a method will do with a budget, before anything is trained.

    The method itself runs in simulated time, in which a trial takes as long as it trains. So the
    jobs are those of `simulate` and of a study in which each unit takes equally long. If they
    depend on the losses, the method is run with several sequences of losses, and the plan shows
    ranges.

    Args:
        fidelity: how long a trial can be trained.
        method: a name from `methods()`, "auto" to choose one, or an `Optimizer`; "priorband" by
            default.
        budget: a number of full trainings, or a `Budget` with `trainings` or `trials`.
        workers: how many trials run at the same time.
        seconds_per_unit: how many seconds a unit of fidelity takes, such as an epoch.
        space: the search space; needed only for methods that may run out of configurations.
        seed: the seed of the study.
        continued: whether a promotion continues from its parent's checkpoint, instead of from
            scratch.

    Returns:
        The plan.

    Raises:
        ArgumentError: if an argument is not allowed.
        MethodError: if there is no such method.

    >>> from priorband import Fidelity, plan
    >>> planned = plan(Fidelity("epochs", 1, 81), "hyperband", budget=12, workers=4)
    >>> planned.brackets[0], planned.exact
    ((81, 27, 9, 3, 1), True)
    >>> planned.first_promotion.typical, planned.first_full.typical
    (21.0, 128.0)
    """
    if not isinstance(fidelity, Fidelity):
        raise ArgumentError(
            f"`fidelity` must be a Fidelity, got {fidelity!r}. Write Fidelity('epochs', 1, 81)."
        )
    limits = as_budget(budget).limits
    if not {"trainings", "trials"} & limits.keys():
        raise ArgumentError(
            "`budget` needs `trainings` or `trials` for a plan: how many trials fit into hours or "
            "a cost is not known beforehand."
        )
    if seconds_per_unit is not None and (real(seconds_per_unit) or 0) <= 0:
        raise ArgumentError(
            f"`seconds_per_unit` must be a number of seconds above 0, got {seconds_per_unit!r}."
        )
    known = Auto(limits.get("trainings"), limits.get("trials"), workers)
    inputs = PlanInputs(
        chosen_optimizer(as_auto(method, known), space, fidelity),
        fidelity,
        Workload(workers, limits.get("trainings", UNLIMITED), continued=continued),
        seed,
        space,
        int(limits["trials"]) if "trials" in limits else None,
    )
    return make_plan(inputs, seconds_per_unit)


def make_plan(
    inputs: PlanInputs,
    seconds_per_unit: float | None = None,
    most: int = MOST_TRIALS,
    random: int = RANDOM_SEQUENCES,
) -> Plan:
    """The plan of these inputs, with about `most` simulated trials in all sequences together."""
    cases = simulated_cases(inputs, most, random)
    optimizer, work = inputs.optimizer, inputs.work
    ladder = Ladder(inputs.fidelity, optimizer.eta, optimizer.sizes)
    high = inputs.fidelity.high
    return Plan(
        method=method_name(optimizer),
        fidelity=inputs.fidelity,
        budget=None if work.budget >= UNLIMITED else work.budget,
        workers=work.workers,
        rungs=ladder.fidelities,
        jobs=cases.typical,
        exact=cases.exact,
        sequences=len(cases.all),
        capped=cases.capped,
        trials=cases.span(len),
        promotions=cases.span(lambda jobs: sum(job.promoted for job in jobs)),
        trainings=cases.span(lambda jobs: sum(job.cost for job in jobs) / high),
        first_promotion=cases.moment(first_promotion),
        first_full=cases.moment(lambda jobs: first_end(jobs, ladder.top)),
        length=cases.span(length),
        idle=cases.span(lambda jobs: idle_share(jobs, work.workers)),
        continued=work.continued,
        seconds_per_unit=seconds_per_unit,
        warnings=tuple(advice(inputs, cases)) if inputs.begun is None else (),
        begun=0 if inputs.begun is None else len(inputs.begun.history),
    )


def method_name(optimizer: Optimizer) -> str:
    """The name of a method, if it has one."""
    return next((name for name in methods() if named(name) == optimizer), "a custom method")


def plan_json(planned: Plan) -> dict[str, Any]:
    """A plan as JSON data. Times are in units of fidelity, except for `seconds`."""
    fidelity = planned.fidelity
    spans = ("trials", "promotions", "trainings", "first_promotion", "first_full", "length", "idle")
    return {
        "method": planned.method,
        "fidelity": {"name": fidelity.name, "low": fidelity.low, "high": fidelity.high},
        "budget": planned.budget,
        "workers": planned.workers,
        "rungs": list(planned.rungs),
        "starts": list(planned.starts),
        "brackets": list(map(list, planned.brackets.values())),
        "exact": planned.exact,
        "sequences": planned.sequences,
        "capped": planned.capped,
        "continued": planned.continued,
        **{name: _span_json(getattr(planned, name)) for name in spans},
        "seconds_per_unit": planned.seconds_per_unit,
        "seconds": _span_json(planned.seconds),
        "warnings": list(planned.warnings),
        "begun": planned.begun,
    }


def _span_json(span: Span | None) -> dict[str, float] | None:
    if span is None:
        return None
    return {"low": span.low, "typical": span.typical, "high": span.high}
