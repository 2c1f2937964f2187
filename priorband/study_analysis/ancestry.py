"""Ancestry: the trials of a configuration, and where the configuration comes from."""

from typing import final

import numpy as np

from priorband.arguments import asked_trial
from priorband.study_analysis.incumbent import ended_before, incumbents, leaders
from priorband.study_analysis.source import StudyData, shown_values
from priorband.study_analysis.trial_columns import NONE, STATUSES, Floats, Ints
from priorband.values import frozen

INCUMBENT = "incumbent"
"""The origin of draws near the incumbent."""


@final
@frozen
class Lineage:
    """The trials that led to one, the oldest first: one entry each.

    Entries with the same `generation` are one configuration, from its first trial on. Generation 0
    is the configuration itself. If that was drawn near an incumbent, generation 1 is that incumbent
    up to what was known of it at the time, and so on back.
    """

    trial: Ints
    generation: Ints
    origin: tuple[str, ...]
    """Where the configuration comes from: "uniform", "prior", "incumbent", "mode", ..."""
    rung: Ints
    fidelity: Floats
    status: Ints
    """As an index into `statuses`."""
    value: Floats
    statuses: tuple[str, ...]


def ancestry(data: StudyData, trial: int | None = None) -> Lineage:
    """Return the trials that a trial continues, and where its configuration comes from.

    Args:
        data: the study.
        trial: the id of a trial; None for the incumbent. Without an incumbent, all is empty.

    Raises:
        TrialError: if there is no such trial.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> for loss in range(10):
    ...     _ = study.tell(study.ask(), 1 / (1 + loss))
    >>> found = ancestry(study_data(study))
    >>> found.trial.tolist(), found.origin
    ([8, 9], ('uniform', 'uniform'))
    """
    trials, number = data.trials, _number(data, trial)
    sources, ended = leaders(data), ended_before(data)
    chain, generations, generation = list[int](), list[int](), 0
    while number != NONE:
        own = _chain(data, number)
        chain += own
        generations += [generation] * len(own)
        near = trials.origins[trials.origin[own[-1]]] == INCUMBENT and ended[own[-1]] > 0
        number = int(sources[ended[own[-1]] - 1]) if near else NONE
        generation += 1
    ids = np.array(chain[::-1], np.int64)
    return Lineage(
        trial=ids,
        generation=np.array(generations[::-1], np.int64),
        origin=tuple(trials.origins[code] for code in trials.origin[ids].tolist()),
        rung=trials.rung[ids],
        fidelity=trials.fidelity[ids],
        status=trials.status[ids],
        value=shown_values(data, trials.loss[ids]),
        statuses=STATUSES,
    )


def _number(data: StudyData, trial: int | None) -> int:
    """The id of a trial, or of the incumbent; -1 if there is none."""
    if trial is None:
        found = incumbents(data.trials)
        return int(found[-1]) if len(found) else NONE
    return asked_trial(data.state.history, trial).id


def _chain(data: StudyData, number: int) -> list[int]:
    """A trial and those that it continues, the newest first."""
    chain = [number]
    while (parent := int(data.trials.parent[chain[-1]])) != NONE:
        chain.append(parent)
    return chain
