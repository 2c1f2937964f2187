"""The worker timeline: what each worker did when, how long it was idle, and what was lost."""

from typing import final

import numpy as np

from priorband.study_analysis.attempts import ENDINGS, LOST, RUNNING
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import Floats, Ints
from priorband.values import frozen


@final
@frozen
class WorkerSpans:
    """Attempts by worker, and the workers' totals. Times are in seconds since creation.

    The spans are sorted by worker and start. A span that has not ended goes to the moment of the
    data. Nothing is known of a worker before its first span and after its last one.
    """

    worker: Ints
    """Of each span: its worker, as an index into `workers`."""
    trial: Ints
    attempt: Ints
    rung: Ints
    start: Floats
    startup: Floats
    """Seconds outside the objective; NaN if unknown."""
    end: Floats
    ending: Ints
    """As an index into `endings`."""

    workers: tuple[str, ...]
    """In the order in which they began."""
    hosts: tuple[str, ...]
    first: Floats
    """Of each worker: when its first span begins."""
    last: Floats
    """When its last span ends."""
    busy: Floats
    """Seconds within spans; of spans that overlap, each moment counts once."""
    idle: Floats
    """Seconds between spans."""
    trials: Ints
    """How many spans it has."""
    lost: Ints
    """How many of its attempts were lost."""
    startup_seconds: Floats
    """The sum of the start-up times that are known."""

    endings: tuple[str, ...]
    elapsed: float
    """The moment of the data."""


def worker_timeline(data: StudyData) -> WorkerSpans:
    """Return what each worker did when. A study in memory records no workers.

    >>> import tempfile, priorband as pb
    >>> from priorband.study_analysis import study_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with pb.open_study(folder, pb.Space(x=pb.Float(0, 1)), method="random") as study:
    ...         for loss in (0.5, 0.25):
    ...             _ = study.tell(study.ask(), loss)
    ...         spans = worker_timeline(study_data(study))
    >>> spans.trial.tolist(), [spans.endings[code] for code in spans.ending]
    ([0, 1], ['succeeded', 'succeeded'])
    """
    attempts = data.attempts
    running = attempts.ending == RUNNING
    end = np.where(running, np.maximum(data.elapsed, attempts.start), attempts.end)
    order = np.lexsort((end, attempts.start, attempts.worker))
    worker, start, end = attempts.worker[order], attempts.start[order], end[order]
    count = len(attempts.workers)
    covered, gaps = _covered(worker, start, end)
    startup, ending = attempts.startup[order], attempts.ending[order]
    first, last = np.full(count, np.nan), np.full(count, np.nan)
    np.fmin.at(first, worker, start)
    np.fmax.at(last, worker, end)
    return WorkerSpans(
        worker=worker,
        trial=attempts.trial[order],
        attempt=attempts.attempt[order],
        rung=data.trials.rung[attempts.trial[order]],
        start=start,
        startup=startup,
        end=end,
        ending=ending,
        workers=attempts.workers,
        hosts=attempts.hosts,
        first=first,
        last=last,
        busy=_sums(worker, covered, count),
        idle=_sums(worker, gaps, count),
        trials=np.bincount(worker, minlength=count),
        lost=np.bincount(worker[ending == LOST], minlength=count),
        startup_seconds=_sums(worker, np.nan_to_num(startup), count),
        endings=ENDINGS,
        elapsed=data.elapsed,
    )


def _sums(worker: Ints, seconds: Floats, count: int) -> Floats:
    """The sum of the seconds of each worker."""
    sums = np.zeros(count)
    np.add.at(sums, worker, seconds)
    return sums


def _covered(worker: Ints, start: Floats, end: Floats) -> tuple[Floats, Floats]:
    """Of each span: the seconds that no earlier one covers, and the gap before it.

    The spans are sorted by worker and start.
    """
    covered, gaps = np.zeros(len(worker)), np.zeros(len(worker))
    reached, who = 0.0, -1
    for i, (own, begin, stop) in enumerate(
        zip(worker.tolist(), start.tolist(), end.tolist(), strict=True)
    ):
        if own != who:
            who, reached = own, begin
        gaps[i] = max(begin - reached, 0.0)
        covered[i] = max(stop - max(begin, reached), 0.0)
        reached = max(reached, stop)
    return covered, gaps
