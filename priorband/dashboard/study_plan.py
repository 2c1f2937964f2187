"""The plan of a study as bars behind its timeline: what its method would do from the start."""

from typing import Any

from priorband.display.measured_time import MeasuredTrials
from priorband.durable.study import DurableStudy
from priorband.errors import PriorbandError
from priorband.planning.jobs import PlanInputs
from priorband.planning.left import RECENT
from priorband.planning.plan import UNLIMITED, make_plan
from priorband.study_analysis import StudyData
from priorband.timeline.timeline import Workload

MOST_JOBS = 2000
MOST_WORKERS = 64
_UNKNOWN: dict[str, Any] = {"known": False}


def study_plan(data: StudyData, study: DurableStudy) -> dict[str, Any]:
    """The planned jobs with as many workers as the study has had, in seconds since its creation.

    The plan starts with the first attempt, and a unit of fidelity takes as long as was measured.
    `known` is false if the budget has neither trainings nor trials, if no seconds are known, or if
    there are too many jobs.
    """
    limits, workers = study.budget.limits, len(data.attempts.workers)
    seconds = _seconds_per_unit(study)
    if not {"trainings", "trials"} & limits.keys() or seconds is None:
        return _UNKNOWN
    if not 0 < workers <= MOST_WORKERS or len(data.trials) > MOST_JOBS:
        return _UNKNOWN
    problem = study.problem
    work = Workload(workers, limits.get("trainings", UNLIMITED))
    trials = int(limits["trials"]) if "trials" in limits else None
    inputs = PlanInputs(
        problem.optimizer, problem.fidelity, work, problem.seed, problem.space, trials
    )
    try:
        plan = make_plan(inputs, seconds, most=MOST_JOBS, random=0)
    except PriorbandError:  # a method of one's own that cannot be planned
        return _UNKNOWN
    first = float(data.attempts.start.min())
    return {
        "known": True,
        "exact": plan.exact,
        "seconds_per_unit": seconds,
        "trial": [job.trial for job in plan.jobs],
        "worker": [job.worker for job in plan.jobs],
        "start": [first + job.start * seconds for job in plan.jobs],
        "end": [first + job.end * seconds for job in plan.jobs],
    }


def _seconds_per_unit(study: DurableStudy) -> float | None:
    measured = MeasuredTrials()
    last = study.ledger.seq
    rows = study.journal.read(max(last - RECENT, 0))
    measured.read([row for row in rows if row.seq <= last], study.state.history)
    return measured.durations.seconds_per_unit()
