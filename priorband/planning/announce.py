"""The plan of a study in three lines, and its warnings, when the study starts."""

import json
import shutil
import sys
from collections.abc import Callable

from priorband.choose_method import Auto
from priorband.display.displays import checked_show
from priorband.display.output import LineWriter
from priorband.display.text import wrapped
from priorband.durable.study import DurableStudy
from priorband.errors import PriorbandError
from priorband.planning.jobs import PlanInputs
from priorband.planning.plan import UNLIMITED, Plan, make_plan, method_name, plan_json
from priorband.planning.text import short_lines
from priorband.timeline.timeline import Workload

AT_START = 2000
"""How many trials are simulated at most when a study starts: it must not wait for its plan."""
_SEQUENCES = 3


def announce(study: DurableStudy, workers: int, show: str | None, auto: Auto | None = None) -> None:
    """Print the plan of a study that begins, unless `show` is "quiet"; in JSON as one object.

    There is none for a study that has trials already, nor if only hours or a cost limit it.
    """
    chosen = checked_show(show)
    if chosen == "quiet" or len(study.state.history):
        return
    writer = LineWriter(sys.stdout)
    if auto is not None:
        _announce_choice(study, auto, chosen == "json", writer)
    planned = start_plan(study, workers)
    if planned is None:
        return
    if chosen == "json":
        writer.write(json.dumps({"event": "plan"} | plan_json(planned), allow_nan=False))
        return
    lines = start_lines(planned)
    width = shutil.get_terminal_size().columns if chosen == "live" else None
    for line in wrapped(lines, width) if width else lines:
        writer.write(line)


def _announce_choice(study: DurableStudy, auto: Auto, as_json: bool, writer: LineWriter) -> None:
    """Say which method "auto" has chosen; nothing if the study was created with another one."""
    problem = study.problem
    method, reason = auto.choice(problem.space, problem.fidelity)
    if method_name(problem.optimizer) != method:
        return
    if as_json:
        writer.write(json.dumps({"event": "method", "method": method, "reason": reason}))
    else:
        writer.write(f"Method: {method}, because {reason}.")


def start_lines(planned: Plan) -> list[str]:
    """What is said about a plan when its study starts."""
    return [*short_lines(planned), *(f"Warning: {warning}" for warning in planned.warnings)]


def start_plan(study: DurableStudy, workers: int) -> Plan | None:
    """The plan of a study that begins; None if its budget says nothing about trials."""
    limits = study.budget.limits
    if not {"trainings", "trials"} & limits.keys():
        return None
    problem = study.problem
    inputs = PlanInputs(
        problem.optimizer,
        problem.fidelity,
        Workload(workers, limits.get("trainings", UNLIMITED)),
        problem.seed,
        problem.space,
        int(limits["trials"]) if "trials" in limits else None,
    )
    return _unless_it_fails(lambda: make_plan(inputs, None, AT_START, _SEQUENCES))


def _unless_it_fails(make: Callable[[], Plan]) -> Plan | None:
    """A plan must not keep a study from starting: a custom method may raise anything."""
    try:
        return make()
    except PriorbandError:
        return None
