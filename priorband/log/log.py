"""The log: a study's events in order, with indexes that are updated as events are appended.

Only `History` uses it, and holds its lock while it does.
"""

from collections import deque
from functools import cached_property
from math import inf
from threading import RLock
from typing import final

import numpy as np

from priorband.cache import Cache
from priorband.events import Asked, Event, Failed, PriorChanged, Queued, Told
from priorband.log.columns import ASKED, Columns
from priorband.log.indexes import Indexes, Observations, Outcomes, Trials
from priorband.log.lazy_list import LazyList
from priorband.log.prior_change import PriorChange
from priorband.log.restored import Restored
from priorband.space.space import Space
from priorband.trial import IMPORTED, QUEUED, Observation, Trial, retried_trial


@final
class Log:
    """Events in order, and their indexes. It may begin with events that are given as columns."""

    def __init__(self, columns: Columns | None = None) -> None:
        self.lock = RLock()
        self.cache = Cache()
        self.columns = columns
        """The first events as columns, if they were needed as such."""
        self._restored = None if columns is None else Restored(columns)
        self.length = 0
        """How many events there are."""
        self.events: list[Event] | LazyList[Event] = []

        # By trial id: the trial and its outcome.
        self.trials: Trials = []
        self.outcomes: Outcomes = []
        self.running: dict[int, Trial] = {}
        self.queue: deque[Queued] = deque()
        self.retries: deque[Queued] = deque()
        """Failed trials to hand out again, before all else."""
        self.retried: dict[int, int | None] = {}
        """By failed trial: the trial in its place; None while it is in `retries`."""
        self.retry_of: dict[int, int] = {}
        """By trial: the failed one whose place it has."""
        self.drawn = 0
        self.prior_changes: list[PriorChange] = []

        # Observations: all, failures, and the best one by fidelity.
        self.observations: Observations = []
        self.failures: Observations = []
        self.best_at: dict[float, Observation] = {}
        self.best: Observation | None = None
        self.success_count = 0
        self.spent = 0.0

        if self._restored is None:
            self.indexes = Indexes(self.trials, self.outcomes)
        else:
            self._restore(self._restored)

    def _restore(self, restored: Restored) -> None:
        self.length = len(restored.events)
        self.events, self.trials, self.outcomes = (
            restored.events,
            restored.trials,
            restored.outcomes,
        )
        self.running, self.queue, self.drawn = restored.running, restored.queue, restored.drawn
        self.observations, self.failures = restored.observations, restored.failures
        self.best_at = restored.best_at
        self.best, self.success_count = restored.best, restored.success_count
        self.spent = restored.spent
        self.prior_changes = restored.prior_changes

    @cached_property
    def indexes(self) -> Indexes:
        """What decisions need to know. Where the log was restored, it is built on first use."""
        restored = self._restored
        assert restored is not None
        indexes = restored.indexes()
        for event in self.events[len(restored.columns) :]:
            if isinstance(event, Asked):
                indexes.ask(event.trial, self.retry_of.get(event.trial.id))
            elif isinstance(event, Told | Failed):
                ended = self.outcomes[event.trial]
                assert ended is not None
                indexes.end(ended)
        return indexes

    def apply(self, event: Event) -> None:
        """Append an event."""
        if isinstance(event, Asked):
            self._ask(event.trial)
        elif isinstance(event, Told):
            self._end(Observation(self.running.pop(event.trial), event.loss))
        elif isinstance(event, Failed):
            self._end(Observation(self.running.pop(event.trial), inf, event.reason))
        elif isinstance(event, PriorChanged):
            counts = len(self.trials), len(self.observations)
            self.prior_changes.append(PriorChange(event.prior, *counts))
        elif event.retry is None:
            self.queue.append(event)
        else:
            self._queue_retry(event, event.retry)
        self.events.append(event)
        self.length += 1

    def extended_columns(self, space: Space, length: int) -> Columns:
        """The first `length` events as columns. They are kept, and extended the next time."""
        columns = self.columns
        if columns is None or len(columns) > length or columns.space is not space:
            columns = Columns.empty(space)
        self.columns = columns = columns.extended(self.events[len(columns) : length])
        return columns

    def asked_at(self, number: int) -> int:
        """How many events came before the one that asked a trial."""
        start = 0
        if self.columns is not None:
            asked = np.flatnonzero(self.columns.kinds == ASKED)
            if number < len(asked):
                return int(asked[number])
            start = len(self.columns)
        for position in range(start, self.length):
            event = self.events[position]
            if isinstance(event, Asked) and event.trial.id == number:
                return position
        raise IndexError(f"There is no trial {number}.")

    def cost(self, trial: Trial) -> float:
        """The cost of a trial in fidelity units: its fidelity, less that of its parent."""
        parent_fidelity = 0.0 if trial.parent is None else self.trials[trial.parent].fidelity
        return trial.fidelity - parent_fidelity

    def _ask(self, trial: Trial) -> None:
        if trial.id != len(self.trials):
            raise RuntimeError(f"Trial {trial.id} was asked when {len(self.trials)} was next.")
        failed = self._next_retry(trial)
        from_queue = trial.origin == QUEUED and trial.parent is None and failed is None
        if from_queue and not self.queue:
            raise RuntimeError(f"Trial {trial.id} comes from the queue, but the queue is empty.")
        self.trials.append(trial)
        self.outcomes.append(None)
        self.running[trial.id] = trial
        if failed is not None:
            self.retries.popleft()
            self.retried[failed], self.retry_of[trial.id] = trial.id, failed
        elif from_queue:
            self.queue.popleft()
        elif trial.parent is None and trial.origin != IMPORTED:
            self.drawn += 1
        if "indexes" in self.__dict__:
            self.indexes.ask(trial, failed)

    def first_choice(self, trial: Trial) -> int:
        """The trial for which a trial's configuration was chosen, before promotions and retries."""
        number = trial.root
        while (failed := self.retry_of.get(number)) is not None:
            number = self.trials[failed].root
        return number

    def _queue_retry(self, event: Queued, failed: int) -> None:
        ended = self.outcomes[failed] if 0 <= failed < len(self.outcomes) else None
        known = ended is not None and ended.failed and ended.trial.origin != IMPORTED
        if not known or failed in self.retried:
            raise RuntimeError(f"Trial {failed} cannot be retried.")
        assert ended is not None
        if (ended.config, ended.fidelity) != (event.config, event.fidelity):
            raise RuntimeError(f"What was queued is not what trial {failed} is.")
        self.retries.append(event)
        self.retried[failed] = None

    def _next_retry(self, trial: Trial) -> int | None:
        """The failed trial whose place a new one takes; None if it does not."""
        if not self.retries or trial.origin == IMPORTED:
            return None
        failed = self.retries[0].retry
        assert failed is not None
        if trial != retried_trial(self.trials[failed], trial.id):
            raise RuntimeError(f"Trial {trial.id} was asked when {failed} was to be retried.")
        return failed

    def _end(self, ended: Observation) -> None:
        trial = ended.trial
        self.outcomes[trial.id] = ended
        self.observations.append(ended)
        if trial.origin != IMPORTED:
            self.spent += self.cost(trial)
        if ended.failed:
            self.failures.append(ended)
        else:
            self._succeed(ended)
        if "indexes" in self.__dict__:
            self.indexes.end(ended)

    def _succeed(self, ended: Observation) -> None:
        self.success_count += 1
        lowest = self.best_at.get(ended.fidelity)
        if lowest is None or ended.ranking < lowest.ranking:
            self.best_at[ended.fidelity] = ended
        if self.best is None or ended.loss < self.best.loss:
            self.best = ended
