"""The history: everything that happened in a study, as an immutable value with fast queries.

`after` returns a longer history and leaves the old one as it is. All histories of a study share one
log, whose indexes belong to the longest history. When a shorter history is queried, it builds a log
of its own. So `after` costs the same for trial 100,000 as for the first, and a history always
answers the same, also while other threads query it or make longer ones.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, TypeVarTuple, final

from priorband.cache import CacheKey
from priorband.events import Event, Queued
from priorband.log.columns import Columns
from priorband.log.indexes import NO_MEMBERS, Members
from priorband.log.log import Log
from priorband.log.prior_change import PriorChange
from priorband.space.config import Config
from priorband.space.prior import Prior
from priorband.space.space import Space
from priorband.trial import Observation, Trial

Args = TypeVarTuple("Args")
R = TypeVar("R")
T = TypeVar("T")

_LONG = 2000
"""With more events than this, columns are faster than applying each event."""


@final
class History:
    """What was asked and told, in order. Build one with `after` or `History.of(events)`."""

    __slots__ = ("_length", "_log")

    def __init__(self) -> None:
        self._log = Log()
        self._length = 0

    @classmethod
    def of(cls, events: Iterable[Event]) -> "History":
        """The history of these events."""
        history = cls()
        for event in events:
            history = history.after(event)
        return history

    @classmethod
    def restored(cls, columns: Columns) -> "History":
        """The history of the events that are given as columns."""
        history = cls.__new__(cls)
        history._log, history._length = Log(columns), len(columns)
        return history

    def columns(self, space: Space) -> Columns:
        """The events as columns, for configurations of this space.

        Raises:
            OverflowError: if a number is too large for a column.
        """
        log = self._log
        with log.lock:
            return log.extended_columns(space, self._length)

    def before(self, number: int, space: Space) -> "History":
        """The history as it was just before a trial was asked, for configurations of this space.

        A long history is not built again event by event.
        """

        def earlier(log: Log) -> History:
            length = log.asked_at(number)
            if length > _LONG:
                try:
                    return History.restored(log.extended_columns(space, self._length).first(length))
                except OverflowError:  # it has no columns
                    pass
            return History.of(log.events[:length])

        return self._read(earlier)

    def after(self, event: Event) -> "History":
        """A longer history: this one and one more event."""
        log = self._log
        with log.lock:
            if log.length == self._length:
                log.apply(event)
                longer = History.__new__(History)
                longer._log, longer._length = log, self._length + 1
                return longer
        self._leave(log)
        return self.after(event)

    def _read(self, query: Callable[[Log], T]) -> T:
        """Return what a query finds in a log with exactly this history's events, under its lock.

        All queries are made like this, and return nothing that the log changes later. Those that
        every decision makes are written out, which is faster. The lock is taken by `with` only: a
        signal handler that raises cannot leave it held.
        """
        log = self._log
        with log.lock:
            if log.length == self._length:
                return query(log)
        self._leave(log)
        return self._read(query)

    def _leave(self, log: Log) -> None:
        """Replace a log that is longer than this history by a new one of its own events."""
        with log.lock:
            columns = log.columns if log.columns and len(log.columns) <= self._length else None
            events = log.events[len(columns) if columns else 0 : self._length]
        own = Log(columns)
        for event in events:
            own.apply(event)
        with log.lock:
            if self._log is log:  # if not, another thread has replaced it
                self._log = own

    def __len__(self) -> int:
        """The number of trials, which is the id of the next one."""
        log = self._log
        with log.lock:
            if log.length == self._length:
                return len(log.trials)
        self._leave(log)
        return len(self)

    def __reduce__(self) -> tuple[Callable[[Iterable[Event]], "History"], tuple[Any, ...]]:
        """Pickle and copy the events: the log is derived from them, and it has a lock."""
        return History.of, (self.events,)

    def __repr__(self) -> str:
        return f"History({len(self)} trials, {len(self.running)} running)"

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order."""
        log = self._log  # may be longer than this history, but only grows at the end
        with log.lock:
            return tuple(log.events[: self._length])

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in the order they were asked. A trial's id is its index."""
        return self._read(lambda log: tuple(log.trials))

    @property
    def running(self) -> tuple[Trial, ...]:
        """Trials that were asked and have not ended."""
        return self._read(lambda log: tuple(log.running.values()))

    @property
    def observations(self) -> tuple[Observation, ...]:
        """Trials that have ended, in the order they were told."""
        return self._read(lambda log: tuple(log.observations))

    @property
    def successes(self) -> tuple[Observation, ...]:
        """Observations with a finite loss, in the order they were told."""
        return tuple(ended for ended in self.observations if not ended.failed)

    def latest_failures(self, count: int) -> tuple[Observation, ...]:
        """The last `count` trials that failed, in the order they were told."""
        return self._read(lambda log: tuple(log.failures[max(len(log.failures) - count, 0) :]))

    def trial(self, number: int) -> Trial:
        """The trial with this id."""
        return self._read(lambda log: log.trials[number])

    def trials_since(self, count: int) -> tuple[Trial, ...]:
        """The trials in the order they were asked, without the first `count`."""
        log = self._log
        with log.lock:
            if log.length == self._length:
                return tuple(log.trials[count:])
        self._leave(log)
        return self.trials_since(count)

    def outcome(self, number: int) -> Observation | None:
        """The observation of a trial; None while it is running."""
        return self._read(lambda log: log.outcomes[number])

    @property
    def finished(self) -> int:
        """How many trials have ended with a finite loss."""
        return self._read(lambda log: log.success_count)

    @property
    def drawn(self) -> int:
        """How many configurations a sampler has drawn; queued and imported ones do not count."""
        log = self._log
        with log.lock:
            if log.length == self._length:
                return log.drawn
        self._leave(log)
        return self.drawn

    def upcoming(self) -> tuple[int, Queued | None, int]:
        """The id of the next trial, the first configuration in the queue, and `drawn`.

        That is what each decision begins with, in one query.
        """
        log = self._log
        with log.lock:
            if log.length == self._length:
                first = log.retries or log.queue
                return len(log.trials), first[0] if first else None, log.drawn
        self._leave(log)
        return self.upcoming()

    @property
    def queued(self) -> Queued | None:
        """The first configuration in the queue, to be tried next."""
        log = self._log
        with log.lock:
            if log.length == self._length:
                first = log.retries or log.queue
                return first[0] if first else None
        self._leave(log)
        return self.queued

    @property
    def best(self) -> Observation | None:
        """The observation with the lowest loss at any fidelity."""
        return self._read(lambda log: log.best)

    def best_at(self, fidelity: float) -> Observation | None:
        """The observation with the lowest loss at one fidelity."""
        return self._read(lambda log: log.best_at.get(fidelity))

    @property
    def highest(self) -> float:
        """The highest fidelity at which a trial has succeeded; 0 if none has."""
        return self._read(lambda log: max(log.best_at, default=0.0))

    @property
    def incumbent(self) -> Observation | None:
        """The best configuration, each taken at the highest fidelity it has finished.

        A low loss at a low fidelity no longer counts once the configuration has a worse one at a
        higher fidelity. While a promotion is running, the last finished loss counts.
        """
        log = self._log
        with log.lock:
            if log.length == self._length:
                return log.indexes.incumbent()
        self._leave(log)
        return self.incumbent

    @property
    def spent(self) -> float:
        """The total `cost` of all ended trials except imported ones, in fidelity units."""
        return self._read(lambda log: log.spent)

    @property
    def resources(self) -> float:
        """Fidelity units behind all results: those spent, plus what imported results add."""
        log = self._log
        with log.lock:
            if log.length == self._length:
                return log.spent + log.indexes.import_resources
        self._leave(log)
        return self.resources

    def cost(self, trial: Trial) -> float:
        """The cost of a trial in fidelity units: its fidelity, less that of its parent."""
        return self._read(lambda log: log.cost(trial))

    def promoted(self, number: int) -> bool:
        """Whether a later trial continues this one."""
        return self._read(lambda log: number in log.indexes.promoted)

    def promotions(self, rung: int) -> int:
        """How many trials were promoted from a rung, in all brackets."""
        return self._read(lambda log: log.indexes.promotions_from.get(rung, 0))

    def retried(self, number: int) -> bool:
        """Whether a failed trial was handed out again, or is queued for that."""
        return self._read(lambda log: number in log.retried)

    def replacement(self, number: int) -> int | None:
        """The trial that has taken the place of a failed one; None if none has yet."""
        return self._read(lambda log: log.retried.get(number))

    def retry_of(self, number: int) -> int | None:
        """The failed trial whose place this one has taken; None if it is no retry."""
        return self._read(lambda log: log.retry_of.get(number))

    @property
    def prior_changes(self) -> tuple[PriorChange, ...]:
        """The changes of the prior, in order."""
        return self._read(lambda log: tuple(log.prior_changes))

    @property
    def changed_prior(self) -> Prior | None:
        """The prior that was set last; None if it was never changed."""
        return self._read(lambda log: log.prior_changes[-1].prior if log.prior_changes else None)

    def prior_number(self, trial: Trial) -> int:
        """With which prior a trial's configuration was chosen: 0 for the one of the beginning.

        Any other is in `prior_changes` at the index below. A promotion and a retry have the
        configuration of an earlier trial.
        """

        def number(log: Log) -> int:
            first = log.first_choice(trial)
            return sum(change.asked <= first for change in log.prior_changes)

        return self._read(number)

    def from_current_prior(self, trial: Trial) -> bool:
        """Whether a trial's configuration was chosen since the prior was last changed."""

        def is_current(log: Log) -> bool:
            changes = log.prior_changes
            return not changes or log.first_choice(trial) >= changes[-1].asked

        return self._read(is_current)

    def seen(self, config: Config) -> bool:
        """Whether a trial with this configuration was asked."""
        values = tuple(config.values())
        log = self._log
        with log.lock:
            if log.length == self._length:
                return values in log.indexes.first_by_values
        self._leave(log)
        return self.seen(config)

    def members(self, bracket: int, rung: int) -> Members:
        """How many trials of a slot were started, have ended, and have succeeded."""
        log = self._log
        with log.lock:
            if log.length == self._length:
                trials = log.indexes.slots.get((bracket, rung))
                return NO_MEMBERS if trials is None else trials.members
        self._leave(log)
        return self.members(bracket, rung)

    def ranked_member(self, bracket: int, rung: int, position: int) -> Observation:
        """The ended trial of a slot that ranks at `position`, the best being at 0."""
        return self._read(lambda log: log.indexes.slots[bracket, rung].best(position))

    def next_winner(self, bracket: int, rung: int, promoted: int) -> Observation:
        """The best trial of a slot that is not promoted yet, if `promoted` of them are."""
        return self._read(lambda log: log.indexes.next_winner((bracket, rung), promoted))

    @property
    def brackets(self) -> int:
        """How many brackets have been started."""
        return self._read(lambda log: len(log.indexes.base_rungs))

    def base(self, bracket: int) -> int:
        """The rung on which a bracket began."""
        return self._read(lambda log: log.indexes.base_rungs[bracket])

    def brackets_touched(self, since: int) -> tuple[int, ...]:
        """The bracket of each trial that was asked or has ended, in order.

        There is one entry for each such event of a trial with a slot. The first `since` are left
        out.
        """
        log = self._log
        with log.lock:
            if log.length == self._length:
                return tuple(log.indexes.bracket_touches[since:])
        self._leave(log)
        return self.brackets_touched(since)

    def ended_on(self, rung: int, since: int = 0) -> tuple[Observation, ...]:
        """Trials with a slot on this rung that have ended, in any bracket, in the order they ended.

        The first `since` of them are left out.
        """
        return self._read(lambda log: tuple(log.indexes.ended_on.get(rung, ())[since:]))

    def observations_since(self, count: int) -> tuple[Observation, ...]:
        """The observations in the order they were told, without the first `count`."""
        log = self._log
        with log.lock:
            if log.length == self._length:
                return tuple(log.observations[count:])
        self._leave(log)
        return self.observations_since(count)

    @property
    def observation_count(self) -> int:
        """How many trials have ended."""
        return self._read(lambda log: len(log.observations))

    def succeeded_at(self, fidelity: float, since: int = 0) -> tuple[Observation, ...]:
        """Trials that succeeded at a fidelity, with a slot or without, in the order they ended.

        The first `since` of them are left out.
        """
        log = self._log
        with log.lock:
            if log.length == self._length:
                return tuple(log.indexes.succeeded_at.get(fidelity, ())[since:])
        self._leave(log)
        return self.succeeded_at(fidelity, since)

    def success_count(self, fidelity: float) -> int:
        """How many trials succeeded at a fidelity, with a slot or without."""
        log = self._log
        with log.lock:
            if log.length == self._length:
                return len(log.indexes.succeeded_at.get(fidelity, ()))
        self._leave(log)
        return self.success_count(fidelity)

    def cached(self, key: CacheKey[T], use: Callable[[T, *Args], R], *args: *Args) -> R:
        """Return `use(value, *args)` for the value cached under `key`, made first if missing.

        The value must follow from this history's events alone. Longer histories share and extend
        it. While `use` runs, no other thread can use the value or make a longer history: `use` may
        change the value, but should not return it.
        """
        log = self._log
        with log.lock:
            if log.length == self._length:
                value: T = log.cache[key]
                return use(value, *args)
        self._leave(log)
        return self.cached(key, use, *args)
