"""The pace of a study: how much a worker gets done in a second, and how long the rest will take.

It is measured on the latest records, per worker, so that it holds when workers come and go.
"""

from collections.abc import Iterable, Sequence
from typing import final

from priorband.durable.budget import Budget, Spending
from priorband.storage.journal import Row
from priorband.storage.json_text import body
from priorband.values import frozen


@final
@frozen
class Pace:
    """What workers got done in ended attempts, and the seconds that each took, added up."""

    seconds: float = 0.0
    units: float = 0.0
    trials: float = 0.0
    cost: float = 0.0


UNKNOWN = Pace()


@final
@frozen
class RemainingWork:
    """A trial under way, or given back: its fidelity units, and how many of them are done."""

    units: float
    done: float | None
    """None where it has not said."""
    seconds: float
    begun_here: bool = False
    """Whether what is done was done in these seconds."""


def pace(rows: Iterable[Row]) -> Pace:
    """What the records of some attempts, both their beginning and their end, say."""
    begun: dict[int, float] = {}
    sizes: dict[int, float] = {}
    seconds = units = trials = cost = 0.0
    for row in rows:
        if row.trial is None:
            continue
        about = body(row.body)
        if (
            row.kind in ("asked", "adopted") and "start" in about
        ):  # results from elsewhere have none
            begun[row.trial] = row.at
            if row.kind == "asked":
                sizes[row.trial] = about["fidelity"] - about["start"]
        elif row.kind in ("told", "failed", "returned") and row.trial in begun:
            seconds += max(about.get("seen", row.at) - begun.pop(row.trial), 0.0)
            if row.kind != "returned":
                units += sizes.pop(row.trial, 0.0)
                trials += 1
                cost += about.get("cost", 0.0)
    return Pace(seconds, units, trials, cost)


def seconds_left(  # noqa: PLR0913  # all that an estimate rests on
    limits: Budget,
    spent: Spending,
    top: float,
    recent: Pace,
    rests: Sequence[RemainingWork],
    workers: int,
) -> float | None:
    """How long until the first limit is reached and all is done; None where that is unknown."""
    if not workers:
        return None
    rate = _rate(recent, rests)
    open_units = [_open(rest, rate) for rest in rests]
    tail = max(open_units, default=0.0) / rate if rate else 0.0
    ends = [
        _end(name, limit - getattr(spent, name), top, recent, rate, sum(open_units), workers)
        for name, limit in limits.limits.items()
    ]
    known = [max(end, tail) for end in ends if end is not None]
    return min(known, default=None)


def _rate(recent: Pace, rests: Sequence[RemainingWork]) -> float:
    """Fidelity units in a second of one worker, of ended attempts and of those that say."""
    telling = [rest for rest in rests if rest.begun_here and rest.done]
    seconds = recent.seconds + sum(rest.seconds for rest in telling)
    units = recent.units + sum(rest.done or 0.0 for rest in telling)
    return units / seconds if seconds > 0 else 0.0


def _open(rest: RemainingWork, rate: float) -> float:
    """The units that a trial still needs, by its own word or by the time it has had."""
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
