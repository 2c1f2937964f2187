"""Learning curves: what trials reported step by step, joined along promotions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, final

from priorband.errors import TrialError
from priorband.history import History
from priorband.notebook import html_table
from priorband.results.trial_records import frame
from priorband.space.config import ReadOnlyDict
from priorband.values import frozen

_ROWS = 20
"""How many curves a notebook shows."""


@final
@frozen
class Point:
    """One point of a learning curve."""

    step: float
    """How far the trial was trained, in units of the fidelity."""
    value: float | None
    """The loss or value that the objective reported; None if it reported metrics only."""
    metrics: Mapping[str, Any] = ReadOnlyDict()
    """What else it reported."""


@final
@frozen
class LearningCurve:
    """The learning curve of a trial and of those that it continues."""

    trial: int
    """The id of the trial."""
    points: tuple[Point, ...]
    """The points by step, from the first trial of the chain on."""

    @property
    def steps(self) -> tuple[float, ...]:
        """The steps, in order."""
        return tuple(point.step for point in self.points)

    @property
    def values(self) -> tuple[float | None, ...]:
        """The values, in the order of the steps."""
        return tuple(point.value for point in self.points)

    def __repr__(self) -> str:
        ends = [
            f"{point.value!r} at {point.step:g}" for point in self.points[:: max(len(self), 2) - 1]
        ]
        return f"LearningCurve(trial {self.trial}, {len(self)} points: {' to '.join(ends[:2])})"

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)


@final
class Curves(Mapping[int, LearningCurve]):
    """The learning curves of a study by the id of the trial.

    Args:
        curves: the curves.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> for loss in range(10):
    ...     _ = study.tell(study.ask(), 1 / (1 + loss))
    >>> study.curves()[9]  # it continues trial 8
    LearningCurve(trial 9, 2 points: 0.1111111111111111 at 1 to 0.1 at 3)
    """

    __slots__ = ("_curves",)

    def __init__(self, curves: Iterable[LearningCurve] = ()) -> None:
        self._curves = {curve.trial: curve for curve in curves}

    def __getitem__(self, trial: int) -> LearningCurve:
        if trial not in self._curves:
            raise TrialError(f"There is no trial {trial!r}: {self!r}.")
        return self._curves[trial]

    def __contains__(self, trial: object) -> bool:
        return trial in self._curves

    def __iter__(self) -> Iterator[int]:
        return iter(self._curves)

    def __len__(self) -> int:
        return len(self._curves)

    def __repr__(self) -> str:
        points = sum(map(len, self._curves.values()))
        return f"Curves({len(self)} trials, {points} points)"

    def _repr_html_(self) -> str:
        shown = list(self._curves.values())[-_ROWS:]
        rows = [[c.trial, len(c), *(c.points[-1:] and _last(c.points[-1]))] for c in shown]
        return html_table(["trial", "points", "last step", "last value"], rows, repr(self))

    def to_frame(self) -> Any:
        """Return all points as a pandas DataFrame, with the columns "trial", "step" and "value".

        A metric is in a column such as "metrics.accuracy".

        Returns:
            The DataFrame.

        Raises:
            ExtraError: if pandas is not installed.
        """
        rows = [
            {"trial": curve.trial, "step": point.step, "value": point.value}
            | {f"metrics.{name}": item for name, item in point.metrics.items()}
            for curve in self._curves.values()
            for point in curve
        ]
        return frame(rows, ("trial", "step", "value"))


def _last(point: Point) -> tuple[float, float | None]:
    return point.step, point.value


def joined_curves(
    history: History, maximize: bool, reported: Callable[[int], Iterable[Point]] = lambda _: ()
) -> Curves:
    """The curves of all trials, each with the points of the trials that it continues before it.

    `reported` returns what a trial itself has reported. Its result is added as the last point, if
    the trial has not reported that step. What a parent reported from the first step of its child on
    is left out: then the child was trained from scratch, or the parent went too far.
    """
    curves: dict[int, LearningCurve] = {}
    for trial in history.trials:
        own = {point.step: point for point in reported(trial.id)}
        ended = history.outcome(trial.id)
        if ended is not None and not ended.failed:
            last = own.get(trial.fidelity)
            if last is None or last.value is None:
                value = -ended.loss if maximize else ended.loss
                metrics = ReadOnlyDict() if last is None else last.metrics
                own[trial.fidelity] = Point(trial.fidelity, value, metrics)
        points = [own[step] for step in sorted(own)]
        before = () if trial.parent is None else curves[trial.parent].points
        first = points[0].step if points else float("inf")
        kept = (point for point in before if point.step < first)
        curves[trial.id] = LearningCurve(trial.id, (*kept, *points))
    return Curves(curves.values())
