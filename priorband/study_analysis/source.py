"""What an analysis reads: a study as of one moment."""

from pathlib import PurePath
from typing import final

import numpy as np

from priorband.durable.budget import Budget
from priorband.durable.study import DurableStudy
from priorband.ladder import Ladder
from priorband.problem import Problem
from priorband.schedulers.base import Scheduler
from priorband.state import State
from priorband.storage.addresses import DEFAULT_NAME, is_address
from priorband.study import BaseStudy
from priorband.study_analysis.attempts import (
    AttemptColumns,
    GrowingAttempts,
    TrialTimes,
    no_attempts,
    unknown_times,
)
from priorband.study_analysis.trial_columns import Bools, Floats, GrowingTrials, TrialColumns
from priorband.values import frozen


@final
@frozen
class StudyData:
    """A study as of one moment. It never changes, whatever happens to the study later."""

    name: str
    """A short name: the folder's or the database study's; "study" for one in memory."""
    where: str | None
    """The folder or URL, without a password; None for a study in memory."""
    problem: Problem
    """The space, the prior, the fidelity, the optimizer and the seed."""
    state: State
    """The state, with the history."""
    maximize: bool
    budget: Budget | None
    """The limits; None for a study in memory."""
    created: float
    """When it was created, in seconds since 1970; NaN for a study in memory."""
    elapsed: float
    """The moment, in seconds since the creation; NaN for a study in memory."""
    records: int
    """The number of the last record that was read; for a study in memory, of events."""
    trials: TrialColumns
    times: TrialTimes
    attempts: AttemptColumns
    method_known: bool = True
    """Whether `problem` has the study's own method, and not one that stands in for it."""
    prior_known: bool = True
    """Whether `problem` has the study's own prior, and not one that stands in for it."""

    @property
    def scheduler(self) -> Scheduler | None:
        """The scheduler; None if it is not known."""
        return self.problem.optimizer.scheduler if self.method_known else None

    @property
    def ladder(self) -> Ladder:
        """The fidelities of the rungs."""
        return self.state.ladder

    @property
    def full(self) -> float:
        """The highest fidelity: one full training."""
        return self.problem.fidelity.high

    @property
    def values(self) -> Floats:
        """The value of each trial, with the sign that the objective uses; NaN without one."""
        return shown_values(self, self.trials.loss)


def shown_values(data: StudyData, losses: Floats) -> Floats:
    """Losses as values with the sign that the objective uses; NaN for what is not finite."""
    values = np.where(np.isfinite(losses), losses, np.nan)
    return -values if data.maximize else values


def study_data(study: BaseStudy) -> StudyData:
    """Read a study as of now.

    Args:
        study: a study in memory, or a stored one. Of a stored one, what others have written is
            taken in first.

    >>> from priorband import Float, Space, Study
    >>> study = Study(Space(x=Float(0, 1)), method="random", maximize=True)
    >>> _ = study.tell(study.ask(), 0.75)
    >>> study_data(study).values
    array([0.75])
    """
    return StudyReader(study).refresh()


@final
class StudyReader:
    """Reads a study again and again: each time only what is new.

    Args:
        study: a study in memory, or a stored one.

    Each look reads the new records, without any lock that writers wait for, and copies the columns
    of all trials, which takes about a millisecond for 50,000 of them.

    >>> from priorband import Float, Space, Study
    >>> study = Study(Space(x=Float(0, 1)), method="random")
    >>> reader = StudyReader(study)
    >>> before = reader.refresh()
    >>> _ = study.tell(study.ask(), 0.5)
    >>> len(before.trials), len(reader.refresh().trials)
    (0, 1)
    """

    def __init__(self, study: BaseStudy) -> None:
        self._study = study
        self._begin()

    def _begin(self) -> None:
        problem, state = self._study.problem, self._study.state
        self._trials = GrowingTrials(problem.space, state.ladder.fidelities)
        self._attempts: GrowingAttempts | None = None
        self._seq = 0
        """How many records were read; of a study in memory, how many ends of trials."""
        self._costs: dict[int, float] = {}

    def refresh(self) -> StudyData:
        """Read what is new, and return the study as of now."""
        if isinstance(self._study, DurableStudy):
            return self._stored(self._study)
        study, state = self._study, self._study.state
        trials = self._trials.read(state.history)
        for number in trials.order[self._seq :].tolist():
            cost = study.metrics(number).get("cost")
            if cost is not None:
                self._costs[number] = cost
        self._seq = len(trials.order)
        return StudyData(
            name="study",
            where=None,
            problem=study.problem,
            state=state,
            maximize=study.maximize,
            budget=None,
            created=float("nan"),
            elapsed=float("nan"),
            records=len(trials) + len(trials.order),
            trials=trials,
            times=unknown_times(len(trials), self._costs),
            attempts=no_attempts(),
        )

    def _stored(self, study: DurableStudy) -> StudyData:
        state, ledger = study.refresh(), study.ledger
        if ledger.seq < self._seq:  # storage has lost records that were not acknowledged
            self._begin()
        if self._attempts is None:
            self._attempts = GrowingAttempts(ledger.created)
        trials = self._trials.read(state.history)
        self._read_rows(study, self._attempts, trials.imported, ledger.seq)
        return StudyData(
            name=_short_name(study.where),
            where=study.where,
            problem=study.problem,
            state=state,
            maximize=study.maximize,
            budget=ledger.budget,
            created=ledger.created,
            elapsed=study.journal.now() - ledger.created,
            records=ledger.seq,
            trials=trials,
            times=self._attempts.times(len(trials)),
            attempts=self._attempts.columns(),
            method_known=study.method_known,
            prior_known=study.prior_known,
        )

    def _read_rows(
        self, study: DurableStudy, attempts: GrowingAttempts, imported: Bools, last: int
    ) -> None:
        """Read the rows up to the last one that the study's own view has."""
        pages = [study.journal.read(self._seq)] if self._seq else study.journal.read_in_pages()
        for page in pages:
            for row in page:
                if row.seq <= last:
                    attempts.read(row, imported)
        self._seq = last


def _short_name(where: str) -> str:
    """The last part of a folder, or the name of a study in a database.

    >>> _short_name("runs/resnet"), _short_name("postgresql://host/lab#vit")
    ('resnet', 'vit')
    """
    if is_address(where):
        return where.partition("#")[2] or DEFAULT_NAME
    return PurePath(where).name or where
