"""Rung flow: how many trials started on each rung, by origin, and what became of them."""

from typing import final

import numpy as np

from priorband.explanations.outcomes import open_trials
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import (
    FAILED,
    NONE,
    RUNNING,
    SUCCEEDED,
    Bools,
    Floats,
    Ints,
)
from priorband.values import frozen


@final
@frozen
class RungFlow:
    """Counts by rung and origin: row r of a table is rung r, column o is `origins[o]`.

    Each trial counts on the rung of its own fidelity. Started is the sum of the six others.
    """

    fidelities: Floats
    """The fidelity of each rung."""
    origins: tuple[str, ...]
    """The origins, in the order in which they came up."""
    started: Ints
    running: Ints
    failed: Ints
    promoted: Ints
    """Continued by another trial."""
    open: Ints
    """Succeeded, and may still be promoted."""
    stopped: Ints
    """Succeeded, was not promoted, and can never be."""
    finished: Ints
    """Succeeded on the highest rung."""
    off_ladder: int
    """Trials whose fidelity is that of no rung; they are not in the tables."""


def rung_flow(data: StudyData) -> RungFlow:
    """Return how many trials started on each rung, by origin, and what became of them.

    Whether a trial may still be promoted is what the scheduler says; if that is not known, all in
    brackets may. A failed trial that was
    retried counts as failed, and the one in its place counts by itself.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> for loss in range(10):
    ...     _ = study.tell(study.ask(), loss)
    >>> flow = rung_flow(study_data(study))
    >>> flow.started.tolist(), flow.promoted.tolist(), flow.open.tolist(), flow.stopped.tolist()
    ([[9], [1], [0]], [[1], [0], [0]], [[2], [1], [0]], [[6], [0], [0]])
    """
    trials, top = data.trials, data.ladder.top
    succeeded = trials.status == SUCCEEDED
    ended = succeeded & ~trials.promoted
    finished = ended & (trials.rung == top)
    waiting = ended & ~finished
    still = np.zeros(len(trials), bool)
    numbers = np.flatnonzero(waiting).tolist()
    still[list(open_trials(data.scheduler, data.state, numbers))] = True
    kinds: dict[str, Bools] = {
        "started": np.ones(len(trials), bool),
        "running": trials.status == RUNNING,
        "failed": trials.status == FAILED,
        "promoted": succeeded & trials.promoted,
        "open": waiting & still,
        "stopped": waiting & ~still,
        "finished": finished,
    }
    return RungFlow(
        fidelities=np.array(data.ladder.fidelities, float),
        origins=trials.origins,
        off_ladder=int(np.count_nonzero(trials.rung == NONE)),
        **{name: _table(data, which) for name, which in kinds.items()},
    )


def _table(data: StudyData, which: Bools) -> Ints:
    """How many of some trials there are on each rung, by origin."""
    trials = data.trials
    shape = data.ladder.top + 1, len(trials.origins)
    counted = which & (trials.rung != NONE)
    table = np.zeros(shape, np.int64)
    np.add.at(table, (trials.rung[counted], trials.origin[counted]), 1)
    return table
