"""Learning curves as columns, joined along promotions."""

from collections.abc import Callable, Iterable, Iterator
from typing import final

import numpy as np

from priorband.arguments import checked_count
from priorband.durable.study import DurableStudy
from priorband.durable.study_records import reported_points
from priorband.results.learning_curves import Point
from priorband.study import BaseStudy
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import SUCCEEDED, Bools, Floats, Ints
from priorband.values import frozen

Points = Callable[[int], Iterable[Point]]


@final
@frozen
class CurveColumns:
    """The points of all curves, sorted by root and step. A curve is the points with one root."""

    trial: Ints
    """The trial that brought the point: a curve goes on with another trial at each promotion."""
    root: Ints
    """The first trial of the chain of promotions, which names the curve."""
    step: Floats
    """How far the training was, in units of the fidelity."""
    value: Floats
    """With the sign that the objective uses."""
    fidelity: str
    """The name of the fidelity."""
    maximize: bool
    curves: int
    """How many curves there are in all."""
    points: int
    """How many points they have in all; there are fewer here if they were thinned."""


def no_points(trial: int) -> Iterator[Point]:
    """What a trial reported, of a study that keeps no reports: nothing."""
    del trial
    return iter(())


def study_points(study: BaseStudy) -> Points:
    """Return a function that reads what a trial of a study has reported, step by step.

    It reads a small file for each trial. A study in memory has no reports.
    """
    if not isinstance(study, DurableStudy) or study.checkpoints is None:
        return no_points
    ledger, files = study.ledger, study.checkpoints
    return lambda trial: reported_points(ledger, files, trial)


def learning_curves(
    data: StudyData,
    points: Points = no_points,
    roots: Iterable[int] | None = None,
    most_points: int | None = None,
) -> CurveColumns:
    """Return the learning curves, joined along promotions.

    A curve has what its trials reported and the result of each that succeeded. What a trial brought
    from the first step of the next one on is left out: then the next one was trained from scratch,
    or took the place of one that failed.

    Args:
        data: the study.
        points: returns what a trial reported, such as `study_points(study)`; by default nothing,
            so that the results alone are the points.
        roots: the curves to return, by the id of their first trial; None for all.
        most_points: how many points to return at most. Curves are then thinned evenly, to their
            first and last point if need be; if those are still too many, the best curves are kept,
            and as many others, spread evenly over the study.

    Raises:
        ArgumentError: if `most_points` is not a whole number of at least 2.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> for loss in range(10):
    ...     _ = study.tell(study.ask(), 1 / (1 + loss))
    >>> found = learning_curves(study_data(study), roots=[8])
    >>> found.trial.tolist(), found.step.tolist(), found.value.round(2).tolist()
    ([8, 9], [1.0, 3.0], [0.11, 0.1])
    """
    trials = data.trials
    wanted = np.ones(len(trials), bool)
    if roots is not None:
        wanted = np.isin(trials.root, np.fromiter(roots, np.int64))
    trial, step, value = _all_points(data, points, wanted)
    order = np.lexsort((step, trials.root[trial]))
    trial, step, value = trial[order], step[order], value[order]
    root = trials.root[trial]
    kept = slice(None) if most_points is None else _thinned(data, root, most_points)
    return CurveColumns(
        trial=trial[kept],
        root=root[kept],
        step=step[kept],
        value=value[kept],
        fidelity=data.problem.fidelity.name,
        maximize=data.maximize,
        curves=len(np.unique(root)),
        points=len(root),
    )


def _all_points(data: StudyData, points: Points, wanted: Bools) -> tuple[Ints, Floats, Floats]:
    """The trial, step and value of each point."""
    trials, values = data.trials, data.values
    if points is no_points:
        ended = np.flatnonzero(wanted & (trials.status == SUCCEEDED))
        return ended, trials.fidelity[ended], values[ended]
    by_root: dict[int, list[tuple[float, int, float]]] = {}
    for number in np.flatnonzero(wanted).tolist():
        own = {p.step: p.value for p in points(number) if p.value is not None}
        if trials.status[number] == SUCCEEDED:
            own.setdefault(float(trials.fidelity[number]), float(values[number]))
        before = by_root.setdefault(int(trials.root[number]), [])
        if own:
            first = min(own)
            before[:] = [point for point in before if point[0] < first]
            before += [(step, number, value) for step, value in own.items()]
    every = [point for each in by_root.values() for point in each]
    step, trial, value = zip(*every, strict=True) if every else ((), (), ())
    return np.array(trial, np.int64), np.array(step, float), np.array(value, float)


def _thinned(data: StudyData, root: Ints, most_points: int) -> Ints:
    """The positions of at most `most_points` points; `root` is sorted."""
    most = checked_count("most_points", most_points)
    if len(root) <= most:
        return np.arange(len(root))
    starts = np.flatnonzero(np.concatenate(([True], root[1:] != root[:-1])))
    ends = np.concatenate((starts[1:], [len(root)]))
    curves = np.arange(len(starts))
    if 2 * len(curves) > most:
        curves = _chosen(data, root[starts], max(most // 2, 1))
    share = max(most // len(curves), 1)
    kept = [_spread(starts[i], ends[i], share) for i in curves.tolist()]
    return np.concatenate(kept)


def _spread(start: int, end: int, count: int) -> Ints:
    """At most `count` positions from start to end, evenly, with the last and the first."""
    if end - start <= count:
        return np.arange(start, end)
    if count == 1:
        return np.array([end - 1])
    return np.linspace(start, end - 1, count).round().astype(np.int64)


def _chosen(data: StudyData, roots: Ints, count: int) -> Ints:
    """Positions among the roots: the best half by fidelity and loss, others spread evenly."""
    trials = data.trials
    ended = np.flatnonzero(trials.status == SUCCEEDED)
    rank = np.lexsort((trials.loss[ended], -trials.fidelity[ended]))
    ranked = trials.root[ended][rank]
    _, first = np.unique(ranked, return_index=True)
    ranked = ranked[np.sort(first)]
    best = np.flatnonzero(np.isin(roots, ranked[: (count + 1) // 2]))
    rest = np.setdiff1d(np.arange(len(roots)), best)
    return np.union1d(best, rest[_spread(0, len(rest), count - len(best))])
