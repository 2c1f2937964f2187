"""The plan of a study that has begun: what is left of it, with measured seconds."""

from priorband.display.measured_time import MeasuredTrials
from priorband.durable.study import DurableStudy
from priorband.errors import ArgumentError
from priorband.planning.jobs import PlanInputs
from priorband.planning.plan import UNLIMITED, Plan, make_plan
from priorband.timeline.timeline import Workload

RECENT = 2000
"""From how many of the last records the seconds are measured."""


def plan_of_study(study: DurableStudy, workers: int, seconds_per_unit: float | None = None) -> Plan:
    """What is left of a study, if so many workers go on with it.

    Raises:
        ArgumentError: if the study has no number of trainings or trials left.
    """
    spent, limits = study.spending(), study.budget.limits
    if not {"trainings", "trials"} & limits.keys():
        raise ArgumentError(
            f"The budget of {study.where} has neither `trainings` nor `trials`, so there is no "
            "plan. `priorband status` shows the time left."
        )
    if spent.reached(study.budget):
        raise ArgumentError(
            f"The budget of {study.where} is used up: nothing is left to plan. "
            "A run with a larger `budget` continues the study."
        )
    measured = MeasuredTrials()
    rows = study.journal.read(max(study.ledger.seq - RECENT, 0))
    history = study.state.history
    measured.read([row for row in rows if row.seq <= study.ledger.seq], history)
    problem = study.problem
    inputs = PlanInputs(
        problem.optimizer,
        problem.fidelity,
        Workload(
            workers,
            limits["trainings"] - spent.trainings if "trainings" in limits else UNLIMITED,
            continued=not measured.from_scratch,
        ),
        problem.seed,
        problem.space,
        int(limits["trials"]) - spent.trials if "trials" in limits else None,
        study.state if len(history) else None,
    )
    return make_plan(inputs, seconds_per_unit or measured.durations.seconds_per_unit())
