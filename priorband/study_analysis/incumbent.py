"""The best configuration over budget and time."""

from heapq import heappop, heappush
from typing import final

import numpy as np

from priorband.events import Asked, Failed, Told
from priorband.study_analysis.source import StudyData, shown_values
from priorband.study_analysis.trial_columns import Floats, Ints, TrialColumns
from priorband.values import frozen

NONE = -1


@final
@frozen
class IncumbentSteps:
    """Each change of the best configuration: one entry a change, in order."""

    trial: Ints
    """The trial whose result counts."""
    ended: Ints
    """How many trials had ended by then, this one included."""
    spent: Floats
    """What had been spent by then, in full trainings."""
    time: Floats
    """When it was, in seconds since the study's creation; NaN if unknown."""
    value: Floats
    fidelity: Floats


@final
@frozen
class IncumbentHistory:
    """The best configuration over budget and time, and how far the study has come."""

    any_fidelity: IncumbentSteps
    """The best configuration, each taken at the highest fidelity that it has finished.

    Its value can get worse: when a configuration that led at a low fidelity turns out worse at a
    higher one, it no longer counts.
    """
    full: IncumbentSteps
    """The best full training."""
    spent: float
    """What was spent in all, in full trainings."""
    elapsed: float
    """Seconds since the study's creation; NaN if unknown."""
    fidelity: str
    """The name of the fidelity."""
    maximize: bool


def incumbent_over_budget(data: StudyData) -> IncumbentHistory:
    """Return how the best configuration changed over budget and time.

    Budget is counted when trials end, as `history.spent` does: imported results cost nothing.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> for loss in (0.5, 0.7, 0.2):
    ...     _ = study.tell(study.ask(), loss)
    >>> steps = incumbent_over_budget(study_data(study)).any_fidelity
    >>> steps.trial.tolist(), steps.value.tolist(), steps.spent.round(2).tolist()
    ([0, 2], [0.5, 0.2], [0.11, 0.33])
    """
    trials = data.trials
    spent = np.cumsum(trials.units[trials.order]) / data.full
    return IncumbentHistory(
        any_fidelity=_steps(data, incumbents(trials), spent),
        full=_steps(data, _best_at(trials, data.full), spent),
        spent=float(spent[-1]) if len(spent) else 0.0,
        elapsed=data.elapsed,
        fidelity=data.problem.fidelity.name,
        maximize=data.maximize,
    )


def incumbents(trials: TrialColumns) -> Ints:
    """After each end of a trial, in order: the trial of the incumbent, as `history.incumbent` says.

    It is -1 while there is none.
    """
    fidelity, loss = trials.fidelity.tolist(), trials.loss.tolist()
    same, root = trials.same.tolist(), trials.root.tolist()
    furthest: dict[int, int] = {}
    heap: list[tuple[float, int, int]] = []
    found = np.empty(len(trials.order), np.int64)
    for position, number in enumerate(trials.order.tolist()):
        first = same[number]
        before = furthest.get(first)
        rank = (-fidelity[number], loss[number], root[number])
        if before is None or rank < (-fidelity[before], loss[before], root[before]):
            furthest[first] = number
            if loss[number] < np.inf:
                heappush(heap, (loss[number], root[number], number))
        while heap and furthest[same[heap[0][2]]] != heap[0][2]:
            heappop(heap)  # the configuration was trained further since
        found[position] = heap[0][2] if heap else NONE
    return found


def leaders(data: StudyData) -> Ints:
    """After each end of a trial, in order: the trial that local search starts from; -1 for none.

    It is what `state.incumbent` said at the time, which depends on the optimizer's `incumbent`.
    """
    if data.state.regard == "lowest":
        return incumbents(data.trials)
    trials, best = data.trials, NONE
    found = np.full(len(trials.order), NONE, np.int64)
    fidelity, loss, root = trials.fidelity.tolist(), trials.loss.tolist(), trials.root.tolist()
    for position, number in enumerate(trials.order.tolist()):
        rank = (-fidelity[number], loss[number], root[number])
        first = best == NONE or rank < (-fidelity[best], loss[best], root[best])
        if loss[number] < np.inf and first:
            best = number
        found[position] = best
    return found


def ended_before(data: StudyData) -> Ints:
    """Of each trial: how many trials had ended when it was asked."""
    ended, found = 0, list[int]()
    for event in data.state.history.events:
        if isinstance(event, Asked):
            found.append(ended)
        elif isinstance(event, Told | Failed):
            ended += 1
    return np.array(found, np.int64)


def _best_at(trials: TrialColumns, fidelity: float) -> Ints:
    """After each end of a trial: the best success at a fidelity; ties go to the lower root."""
    order = trials.order
    here = (trials.fidelity[order] == fidelity) & np.isfinite(trials.loss[order])
    best, found = NONE, np.full(len(order), NONE, np.int64)
    loss, root = trials.loss.tolist(), trials.root.tolist()
    for position in np.flatnonzero(here).tolist():
        number = int(order[position])
        if best == NONE or (loss[number], root[number]) < (loss[best], root[best]):
            best = number
            found[position:] = best
    return found


def _steps(data: StudyData, leaders: Ints, spent: Floats) -> IncumbentSteps:
    """The changes among the leaders after each end of a trial."""
    before = np.concatenate(([NONE], leaders[:-1]))
    at = np.flatnonzero((leaders != before) & (leaders != NONE))
    trial = leaders[at]
    return IncumbentSteps(
        trial=trial,
        ended=at + 1,
        spent=spent[at],
        time=data.times.ended[data.trials.order[at]],
        value=shown_values(data, data.trials.loss[trial]),
        fidelity=data.trials.fidelity[trial],
    )
