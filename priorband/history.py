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
from priorband.log import NO_MEMBERS, Log, Members
from priorband.space.config import Config
from priorband.trial import Observation, Trial

Args = TypeVarTuple("Args")
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
        longer = History.__new__(History)
        log = longer._log = self._locked_log()
        try:
            log.apply(event)
            longer._length = self._length + 1
        finally:
            log.lock.release()
        return longer

    def _locked_log(self) -> Log:
        """Return a log with exactly this history's events, with its lock acquired.

        All queries go through here, release it, and return nothing that the log changes later.
        """
        while True:
            log = self._log
            log.lock.acquire()
            if len(log.events) == self._length:
                return log
            events = log.events[: self._length]
            log.lock.release()
            self._leave(log, events)

    def _read(self, query: Callable[[Log], T]) -> T:
        """Return `query(log)`. Queries that every decision makes avoid this call for speed."""
        log = self._locked_log()
        try:
            return query(log)
        finally:
            log.lock.release()

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
        log = self._locked_log()
        try:
            return len(log.trials)
        finally:
            log.lock.release()

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
        log = self._locked_log()
        try:
            return log.drawn
        finally:
            log.lock.release()

    def upcoming(self) -> tuple[int, Queued | None, int]:
        """The id of the next trial, the first configuration in the queue, and `drawn`.

        That is what each decision begins with, in one query.
        """
        log = self._locked_log()
        try:
            return len(log.trials), log.queue[0] if log.queue else None, log.drawn
        finally:
            log.lock.release()

    @property
    def queued(self) -> Queued | None:
        """The first configuration in the queue, to be tried next."""
        log = self._locked_log()
        try:
            return log.queue[0] if log.queue else None
        finally:
            log.lock.release()

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
        log = self._locked_log()
        try:
            return log.incumbent()
        finally:
            log.lock.release()

    @property
    def spent(self) -> float:
        """The total `cost` of all ended trials except imported ones, in fidelity units."""
        return self._read(lambda log: log.spent)

    @property
    def resources(self) -> float:
        """Fidelity units behind all results: those spent, plus what imported results add."""
        log = self._locked_log()
        try:
            return log.spent + log.import_resources
        finally:
            log.lock.release()

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
        log = self._locked_log()
        try:
            return values in log.first_by_values
        finally:
            log.lock.release()

    def members(self, bracket: int, rung: int) -> Members:
        """How many trials of a slot were started, have ended, and have succeeded."""
        log = self._locked_log()
        try:
            trials = log.slots.get((bracket, rung))
            return NO_MEMBERS if trials is None else trials.members
        finally:
            log.lock.release()

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
        log = self._locked_log()
        try:
            return tuple(log.bracket_touches[since:])
        finally:
            log.lock.release()

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
        log = self._locked_log()
        try:
            return tuple(log.succeeded_at.get(fidelity, ())[since:])
        finally:
            log.lock.release()

    def success_count(self, fidelity: float) -> int:
        """How many trials succeeded at a fidelity, with a slot or without."""
        log = self._locked_log()
        try:
            return len(log.succeeded_at.get(fidelity, ()))
        finally:
            log.lock.release()

    def cached(self, key: CacheKey[T], use: Callable[[T, *Args], R], *args: *Args) -> R:
        """Return `use(value, *args)` for the value cached under `key`, made first if missing.

        The value must follow from this history's events alone. Longer histories share and extend
        it. While `use` runs, no other thread can use the value or make a longer history: `use` may
        change the value, but should not return it.
        """
        log = self._locked_log()
        try:
            value: T = log.cache[key]
            return use(value, *args)
        finally:
            log.lock.release()
