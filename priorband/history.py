"""The history: everything that happened, as a value that can be asked quickly.

A history never changes; `after` gives a longer one. All histories of a study share one log with its
indexes, which belong to the longest. A shorter one that is asked again makes a log of its own, so
that growing costs the same at the hundred-thousandth trial as at the first, and no value ever
answers differently than it did.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, final

from priorband.events import Event, Queued
from priorband.log import Log, Members
from priorband.space.config import Config
from priorband.trial import Observation, Trial

T = TypeVar("T")

NOBODY = Members()


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
        log = self._tip()
        log.apply(event)
        longer = History.__new__(History)
        longer._log = log
        longer._length = len(log.events)
        return longer

    def _tip(self) -> Log:
        if len(self._log.events) != self._length:
            self._log = History.of(self._log.events[: self._length])._log
        return self._log

    def _read(self, query: Callable[[Log], T]) -> T:
        """What a query finds, while no other thread makes a longer history."""
        with self._log.lock:
            return query(self._tip())

    def __len__(self) -> int:
        """The number of trials: the id of the next."""
        with self._log.lock:
            return len(self._tip().trials)

    def __repr__(self) -> str:
        return f"History({len(self)} trials, {len(self.running)} running)"

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in order."""
        return tuple(self._log.events[: self._length])

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
        return self._read(lambda log: tuple(log.ended))

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
        return self._tip().finished

    @property
    def drawn(self) -> int:
        """How many configurations a sampler invented: neither queued nor imported ones."""
        return self._tip().drawn

    @property
    def queued(self) -> Queued | None:
        """The configuration that a person wants tried next."""
        queue = self._tip().queue
        return queue[0] if queue else None

    @property
    def best(self) -> Observation | None:
        """The reported incumbent: the lowest loss seen at any fidelity."""
        return self._read(lambda log: log.best)

    def best_at(self, fidelity: float) -> Observation | None:
        """The lowest loss at one fidelity."""
        ended = self._tip().at.get(fidelity)
        return ended[1] if ended else None

    @property
    def highest(self) -> float:
        """The highest fidelity at which a trial has succeeded; 0 before."""
        return max(self._tip().at, default=0.0)

    @property
    def incumbent(self) -> Observation | None:
        """The best configuration, each taken at the highest fidelity it has finished.

        A lucky low-fidelity loss does not survive a worse one further up. A configuration that is
        being promoted keeps its last finished loss.
        """
        with self._log.lock:
            return self._tip().incumbent()

    @property
    def spent(self) -> float:
        """Fidelity units paid for all ended trials; continuing pays only the difference."""
        return self._read(lambda log: log.spent)

    @property
    def resources(self) -> float:
        """Fidelity units behind the evidence: those spent, and what imported results add."""
        return self._tip().spent + self._tip().imported

    def cost(self, trial: Trial) -> float:
        """What a trial pays, in fidelity units: its fidelity, less its parent's."""
        return self._tip().cost(trial)

    def promoted(self, number: int) -> bool:
        """Whether some later trial continues this one."""
        return number in self._tip().promoted

    def promotions(self, rung: int) -> int:
        """How many trials were promoted from a rung, in all brackets."""
        return self._tip().risen.get(rung, 0)

    def seen(self, config: Config) -> bool:
        """Whether some trial has this configuration."""
        return tuple(config.values()) in self._tip().firsts

    def members(self, bracket: int, rung: int) -> Members:
        """The trials of a slot."""
        return self._tip().slots.get((bracket, rung), NOBODY)

    @property
    def brackets(self) -> int:
        """How many brackets have been started."""
        return len(self._tip().bases)

    def base(self, bracket: int) -> int:
        """The rung on which a bracket began."""
        return self._tip().bases[bracket]

    def stirred(self, first: int) -> Sequence[int]:
        """The bracket of each trial asked or told, in order, but for so many of the first."""
        return self._tip().stirred[first:]

    def ended_on(self, rung: int) -> Sequence[Observation]:
        """The plan's trials that have ended on a rung, in any bracket, in the order they ended.

        Like `succeeded_at` and `members`, this is the log's own: look, and do not keep it.
        """
        return self._tip().rungs.get(rung, [])

    def told(self, first: int) -> Sequence[Observation]:
        """The observations in the order they were told, but for so many of the first."""
        return self._tip().ended[first:]

    def succeeded_at(self, fidelity: float) -> Sequence[Observation]:
        """Trials that succeeded at a fidelity, also outside the plan, in the order they ended."""
        ended = self._tip().at.get(fidelity)
        return ended[0] if ended else []

    @property
    def cache(self) -> dict[Any, Any]:
        """A place for what can be derived from this history and only ever grows with it."""
        return self._tip().cache
