"""The pace of a study: how much one worker gets done per second, and how long the rest will take.

It is measured on the latest records and per worker, so it stays right when workers come and go.
"""

from collections.abc import Iterable, Sequence
from typing import final

from priorband.durable.budget import Budget, Spending
from priorband.durable.records import (
    AdoptedRecord,
    AskedRecord,
    FailedRecord,
    ReturnedRecord,
    ToldRecord,
    decode,
)
from priorband.storage.journal import Row
from priorband.values import frozen


@final
@frozen
class Pace:
    """What workers got done in attempts that ended, and the sum of the seconds these took."""

    seconds: float = 0.0
    units: float = 0.0
    trials: float = 0.0
    cost: float = 0.0


UNKNOWN = Pace()


@final
@frozen
class RemainingWork:
    """A running or waiting trial: its fidelity units, and how many of them are done."""

    units: float
    done: float | None
    """None if it has not reported a step."""
    seconds: float
    begun_here: bool = False
    """Whether `done` was done in `seconds`."""


def pace(rows: Iterable[Row]) -> Pace:
    """What the attempts got done that both began and ended in these rows."""
    begun: dict[int, float] = {}
    sizes: dict[int, float] = {}
    seconds = units = trials = cost = 0.0
    for row in rows:
        match decode(row):
            case AskedRecord() as asked if not asked.imported:
                begun[asked.trial] = row.at
                sizes[asked.trial] = asked.fidelity - asked.start
            case AdoptedRecord() as adopted:
                begun[adopted.trial] = row.at
            case ReturnedRecord() as returned if returned.trial in begun:
                end = row.at if returned.seen is None else returned.seen
                seconds += max(end - begun.pop(returned.trial), 0.0)
            case ToldRecord() | FailedRecord() as ended if ended.trial in begun:
                seconds += max(row.at - begun.pop(ended.trial), 0.0)
                units += sizes.pop(ended.trial, 0.0)
                trials += 1
                cost += ended.cost or 0.0
    return Pace(seconds, units, trials, cost)


def seconds_left(  # noqa: PLR0913  # all that an estimate rests on
    limits: Budget,
    spent: Spending,
    top: float,
    recent: Pace,
    rests: Sequence[RemainingWork],
    workers: int,
) -> float | None:
    """Seconds until the first limit is reached and all trials have ended; None if unknown."""
    if not workers:
        return None
    rate = _rate(recent, rests)
    open_units = [_open(rest, rate) for rest in rests]
    tail = max(open_units, default=0.0) / rate if rate else 0.0
    ends = [
        _end(name, limit - getattr(spent, name), top, recent, rate, sum(open_units), workers)
        for name, limit in limits.limits.items()
    ]
    return min((max(end, tail) for end in ends if end is not None), default=None)


def _rate(recent: Pace, rests: Sequence[RemainingWork]) -> float:
    """Fidelity units per second of one worker, from ended attempts and reported steps."""
    reporting = [rest for rest in rests if rest.begun_here and rest.done]
    seconds = recent.seconds + sum(rest.seconds for rest in reporting)
    units = recent.units + sum(rest.done or 0.0 for rest in reporting)
    return units / seconds if seconds > 0 else 0.0


def _open(rest: RemainingWork, rate: float) -> float:
    """The units that a trial still needs, by its last step or by the time it has had."""
    done = rest.seconds * rate if rest.done is None else rest.done
    return max(rest.units - done, 0.0)


def _end(  # noqa: PLR0913  # the same for each kind of limit
    name: str,
    left: float,
    top: float,
    recent: Pace,
    rate: float,
    open_units: float,
    workers: int,
) -> float | None:
    """Seconds until one limit is reached."""
    left = max(left, 0.0)
    if name == "hours":
        return left * 3600
    if name == "trainings":
        return (left * top + open_units) / rate / workers if rate else None
    done: float = getattr(recent, name)
    return left * recent.seconds / done / workers if done > 0 else None
