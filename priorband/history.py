"""The history: everything that happened in a study, as an immutable value with fast queries.

`after` returns a longer history and leaves the old one as it is. All histories of a study share one
log, whose indexes belong to the longest history. When a shorter history is queried, it builds a log
of its own. So `after` costs the same for trial 100,000 as for the first, and a history always
answers the same, also while other threads query it or make longer ones.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, final

from priorband.cache import CacheKey
from priorband.events import Event, Queued
from priorband.log import Log, Members
from priorband.space.config import Config
from priorband.trial import Observation, Trial

R = TypeVar("R")
T = TypeVar("T")


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

    def after(self, event: Event) -> "History":
        """A longer history: this one and one more event."""
        return self._read(lambda log: History._grown(log, event))

    @classmethod
    def _grown(cls, log: Log, event: Event) -> "History":
        log.apply(event)
        longer = cls.__new__(cls)
        longer._log = log
        longer._length = len(log.events)
        return longer

    def _read(self, query: Callable[[Log], T]) -> T:
        """Return `query(log)` for a log with exactly this history's events, and hold its lock.

        All other methods go through this one. A query must not return anything that the log goes
        on to change.
        """
        while True:
            log = self._log
            log.lock.acquire()  # not a `with` block: that takes twice as long
            try:
                if len(log.events) == self._length:
                    return query(log)
                events = log.events[: self._length]
            finally:
                log.lock.release()
            self._leave(log, events)

    def _leave(self, log: Log, events: list[Event]) -> None:
        """Replace a log that is longer than this history with a new one of these events."""
        own = Log()
        for event in events:
            own.apply(event)
        with log.lock:
            if self._log is log:  # if not, another thread has replaced it
                self._log = own

    def __len__(self) -> int:
        """The number of trials, which is the id of the next one."""
        return self._read(lambda log: len(log.trials))

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

    def trial(self, number: int) -> Trial:
        """The trial with this id."""
        return self._read(lambda log: log.trials[number])

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
        return self._read(lambda log: log.drawn)

    @property
    def queued(self) -> Queued | None:
        """The first configuration in the queue, to be tried next."""
        return self._read(lambda log: log.queue[0] if log.queue else None)

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
        return self._read(lambda log: log.incumbent())

    @property
    def spent(self) -> float:
        """The total `cost` of all ended trials except imported ones, in fidelity units."""
        return self._read(lambda log: log.spent)

    @property
    def resources(self) -> float:
        """Fidelity units behind all results: those spent, plus what imported results add."""
        return self._read(lambda log: log.spent + log.import_resources)

    def cost(self, trial: Trial) -> float:
        """The cost of a trial in fidelity units: its fidelity, less that of its parent."""
        return self._read(lambda log: log.cost(trial))

    def promoted(self, number: int) -> bool:
        """Whether a later trial continues this one."""
        return self._read(lambda log: number in log.promoted)

    def promotions(self, rung: int) -> int:
        """How many trials were promoted from a rung, in all brackets."""
        return self._read(lambda log: log.promotions_from.get(rung, 0))

    def seen(self, config: Config) -> bool:
        """Whether a trial with this configuration was asked."""
        values = tuple(config.values())
        return self._read(lambda log: values in log.first_by_values)

    def members(self, bracket: int, rung: int) -> Members:
        """How many trials of a slot were started, have ended, and have succeeded."""
        return self._read(lambda log: log.members((bracket, rung)))

    def ranked_member(self, bracket: int, rung: int, position: int) -> Observation:
        """The ended trial of a slot that ranks at `position`, the best being at 0."""
        return self._read(lambda log: log.slots[bracket, rung].best(position))

    @property
    def brackets(self) -> int:
        """How many brackets have been started."""
        return self._read(lambda log: len(log.base_rungs))

    def base(self, bracket: int) -> int:
        """The rung on which a bracket began."""
        return self._read(lambda log: log.base_rungs[bracket])

    def brackets_touched(self, since: int) -> tuple[int, ...]:
        """The bracket of each trial that was asked or has ended, in order.

        There is one entry for each such event of a trial with a slot. The first `since` are left
        out.
        """
        return self._read(lambda log: tuple(log.bracket_touches[since:]))

    def ended_on(self, rung: int, since: int = 0) -> tuple[Observation, ...]:
        """Trials with a slot on this rung that have ended, in any bracket, in the order they ended.

        The first `since` of them are left out.
        """
        return self._read(lambda log: tuple(log.ended_on.get(rung, ())[since:]))

    def observations_since(self, count: int) -> tuple[Observation, ...]:
        """The observations in the order they were told, without the first `count`."""
        return self._read(lambda log: tuple(log.observations[count:]))

    @property
    def observation_count(self) -> int:
        """How many trials have ended."""
        return self._read(lambda log: len(log.observations))

    def succeeded_at(self, fidelity: float, since: int = 0) -> tuple[Observation, ...]:
        """Trials that succeeded at a fidelity, with a slot or without, in the order they ended.

        The first `since` of them are left out.
        """
        return self._read(lambda log: tuple(log.succeeded_at.get(fidelity, ())[since:]))

    def success_count(self, fidelity: float) -> int:
        """How many trials succeeded at a fidelity, with a slot or without."""
        return self._read(lambda log: len(log.succeeded_at.get(fidelity, ())))

    def cached(self, key: CacheKey[T], use: Callable[[T], R]) -> R:
        """Return `use(value)` for the value cached under `key`, which is made if it is missing.

        The value must follow from this history's events alone. Longer histories share it, so it
        must be something that can be extended when the history grows. While `use` runs, no other
        thread can use the value or make a longer history: `use` may change the value, but should
        not return it.
        """
        return self._read(lambda log: use(log.cache.value(key)))
