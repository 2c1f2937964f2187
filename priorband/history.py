"""The history: everything that happened, as a value that can be asked quickly.

A history never changes; `after` gives a longer one. All histories of a study share one log with its
indexes, which belong to the longest. A shorter one that is asked again makes a log of its own, so
that growing costs the same at the hundred-thousandth trial as at the first, and no value ever
answers differently than it did.
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
    """What was asked and told, in order. Build it with `after`, or `History.of(events)`."""

    __slots__ = ("_length", "_log")

    def __init__(self) -> None:
        self._log = Log()
        self._length = 0

    @classmethod
    def of(cls, events: Iterable[Event]) -> "History":
        """The fold of events."""
        history = cls()
        for event in events:
            history = history.after(event)
        return history

    def after(self, event: Event) -> "History":
        """This history and one more event."""
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
        """Replace a log that has grown beyond this history by one of our own."""
        own = Log()
        for event in events:
            own.apply(event)
        with log.lock:
            if self._log is log:  # else another thread was faster
                self._log = own

    def __len__(self) -> int:
        """The number of trials: the id of the next."""
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
        """All trials in the order they were asked; a trial's id is its index."""
        return self._read(lambda log: tuple(log.trials))

    @property
    def running(self) -> tuple[Trial, ...]:
        """Trials asked and not yet told."""
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
        """The trial with that id."""
        return self._read(lambda log: log.trials[number])

    def outcome(self, number: int) -> Observation | None:
        """What came of a trial; None while it runs."""
        return self._read(lambda log: log.outcomes[number])

    @property
    def finished(self) -> int:
        """How many trials ended with a finite loss."""
        return self._read(lambda log: log.success_count)

    @property
    def drawn(self) -> int:
        """How many configurations a sampler invented: neither queued nor imported ones."""
        return self._read(lambda log: log.drawn)

    @property
    def queued(self) -> Queued | None:
        """The configuration that a person wants tried next."""
        return self._read(lambda log: log.queue[0] if log.queue else None)

    @property
    def best(self) -> Observation | None:
        """The reported incumbent: the lowest loss seen at any fidelity."""
        return self._read(lambda log: log.best)

    def best_at(self, fidelity: float) -> Observation | None:
        """The lowest loss at one fidelity."""
        return self._read(lambda log: log.best_at.get(fidelity))

    @property
    def highest(self) -> float:
        """The highest fidelity at which a trial has succeeded; 0 before."""
        return self._read(lambda log: max(log.best_at, default=0.0))

    @property
    def incumbent(self) -> Observation | None:
        """The best configuration, each taken at the highest fidelity it has finished.

        A lucky low-fidelity loss does not survive a worse one further up. A configuration that is
        being promoted keeps its last finished loss.
        """
        return self._read(lambda log: log.incumbent())

    @property
    def spent(self) -> float:
        """Fidelity units paid for all ended trials; continuing pays only the difference."""
        return self._read(lambda log: log.spent)

    @property
    def resources(self) -> float:
        """Fidelity units behind the evidence: those spent, and what imported results add."""
        return self._read(lambda log: log.spent + log.import_resources)

    def cost(self, trial: Trial) -> float:
        """What a trial pays, in fidelity units: its fidelity, less its parent's."""
        return self._read(lambda log: log.cost(trial))

    def promoted(self, number: int) -> bool:
        """Whether some later trial continues this one."""
        return self._read(lambda log: number in log.promoted)

    def promotions(self, rung: int) -> int:
        """How many trials were promoted from a rung, in all brackets."""
        return self._read(lambda log: log.promotions_from.get(rung, 0))

    def seen(self, config: Config) -> bool:
        """Whether some trial has this configuration."""
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
        """The plan's trials that have ended on a rung, in any bracket, in the order they ended.

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
        """Trials that succeeded at a fidelity, also outside the plan, in the order they ended.

        The first `since` of them are left out.
        """
        return self._read(lambda log: tuple(log.succeeded_at.get(fidelity, ())[since:]))

    def success_count(self, fidelity: float) -> int:
        """How many trials succeeded at a fidelity, also outside the plan."""
        return self._read(lambda log: len(log.succeeded_at.get(fidelity, ())))

    def cached(self, key: CacheKey[T], use: Callable[[T], R]) -> R:
        """Return `use(value)` for the value cached under `key`, which is made if it is missing.

        The value must follow from this history's events alone. Longer histories share it, so it
        must be something that can be extended when the history grows. While `use` runs, no other
        thread can use the value or make a longer history: `use` may change the value, but should
        not return it.
        """
        return self._read(lambda log: use(log.cache.value(key)))
