"""The overview of a study: what every view shows, read once and never changed.

Losses become values here: where a study maximises, people see what their objective returned.
"""

from collections.abc import Mapping, Sequence
from typing import Any, final

from priorband.display.pace import UNKNOWN, Pace, RemainingWork, seconds_left
from priorband.display.text import jsonable, moment
from priorband.durable.budget import Budget, Spending
from priorband.durable.ledger import OpenTrial
from priorband.durable.study import DurableStudy
from priorband.storage.identity import fate
from priorband.storage.journal import Lease
from priorband.trial import Observation
from priorband.values import frozen

SETTLED = 5.0  # seconds after which a trial must have its lease: the two are read one by one


@final
@frozen
class Running:
    """An attempt under way."""

    trial: int
    attempt: int
    rung: int | None
    fidelity: float
    start: float
    """How much of it its parent has trained."""
    origin: str
    worker: str
    host: str
    since: float
    seconds: float
    """How long it has been under way."""
    step: float | None
    value: float | None
    """The last that it has reported, in the user's direction."""
    lost: bool
    """Whether its worker seems to be gone."""


@final
@frozen
class Result:
    """A finished trial that is the best of its kind."""

    trial: int
    value: float
    fidelity: float
    origin: str
    config: Mapping[str, Any]


@final
@frozen
class Overview:
    """How a study stands at a moment."""

    where: str
    at: float
    created: float
    maximize: bool
    fidelity: str
    """What the fidelity is called."""
    full: float
    """The highest fidelity: one full training."""

    budget: Budget
    spending: Spending
    share: float
    """How far the budget is handed out, from 0 to 1."""
    reached: tuple[str, ...]
    """The limits that leave no room for another trial."""

    asked: int
    ended: int
    succeeded: int
    failures: Mapping[str, int]
    """How many trials failed, by kind."""
    running: tuple[Running, ...]
    waiting: tuple[int, ...]
    """Trials that were given back and that nobody has taken over yet."""

    best: Result | None
    best_in_full: Result | None
    workers: int
    """How many are at work."""
    seconds_left: float | None
    """An estimate; None where there is nothing to base it on."""

    @property
    def failed(self) -> int:
        """How many trials failed."""
        return sum(self.failures.values())

    @property
    def over(self) -> bool:
        """Whether the budget is handed out, and all of it is done."""
        return bool(self.reached) and not self.running and not self.waiting


def overview(
    study: DurableStudy, leases: Sequence[Lease], now: float, recent: Pace = UNKNOWN
) -> Overview:
    """How a study stands, as of its last refresh, with the leases and the time of about then."""
    ledger, history = study.ledger, study.state.history
    by_trial = {lease.trial: lease for lease in leases}
    held = [opened for opened in ledger.running.values() if opened.held]
    running = tuple(_running(study, opened, by_trial.get(opened.trial.id), now) for opened in held)
    at_work = {one.worker for one in running if not one.lost}
    spending = ledger.spending(now)
    rests = [_rest(one) for one in running]
    rests += [RemainingWork(o.trial.fidelity - o.start, None, 0.0) for o in ledger.waiting.values()]
    left = seconds_left(ledger.budget, spending, ledger.full, recent, rests, len(at_work))
    return Overview(
        where=study.where,
        at=now,
        created=ledger.created,
        maximize=study.maximize,
        fidelity=study.problem.fidelity.name,
        full=study.problem.fidelity.high,
        budget=ledger.budget,
        spending=spending,
        share=spending.share(ledger.budget),
        reached=spending.reached(ledger.budget),
        asked=len(history),
        ended=len(history) - len(ledger.running),
        succeeded=history.finished,
        failures=dict(sorted(ledger.failures.items())),
        running=running,
        waiting=tuple(sorted(ledger.waiting)),
        best=_result(study, study.best),
        best_in_full=_result(study, study.best_in_full),
        workers=len(at_work),
        seconds_left=left,
    )


def as_json(seen: Overview) -> dict[str, Any]:
    """An overview as data that JSON can carry, with times as text."""
    limits = seen.budget.limits
    return {
        "study": seen.where,
        "at": moment(seen.at),
        "created": moment(seen.created),
        "direction": "maximize" if seen.maximize else "minimize",
        "fidelity": {"name": seen.fidelity, "full": seen.full},
        "budget": {
            name: {"used": getattr(seen.spending, name), "limit": limits.get(name)}
            for name in ("trainings", "trials", "cost", "hours")
        },
        "share": seen.share,
        "over": seen.over,
        "trials": {
            "asked": seen.asked,
            "ended": seen.ended,
            "succeeded": seen.succeeded,
            "failed": seen.failed,
            "running": len(seen.running),
            "waiting": len(seen.waiting),
        },
        "failures": dict(seen.failures),
        "running": [_running_json(one) for one in seen.running],
        "waiting": list(seen.waiting),
        "best": result_json(seen.best),
        "best_in_full": result_json(seen.best_in_full),
        "workers": seen.workers,
        "seconds_left": seen.seconds_left,
    }


def result_json(best: Result | None) -> dict[str, Any] | None:
    """A result as data that JSON can carry."""
    if best is None:
        return None
    about = {"trial": best.trial, "value": best.value, "fidelity": best.fidelity}
    return about | {"origin": best.origin, "config": jsonable(best.config)}


def _running_json(one: Running) -> dict[str, Any]:
    names = ("trial", "attempt", "rung", "fidelity", "start", "origin", "worker", "host")
    shown = {name: getattr(one, name) for name in names}
    shown |= {"since": moment(one.since), "seconds": one.seconds}
    return shown | {"step": one.step, "value": one.value, "lost": one.lost}


def _running(study: DurableStudy, opened: OpenTrial, lease: Lease | None, now: float) -> Running:
    trial = opened.trial
    if lease is not None and lease.attempt != opened.attempt:
        lease = None
    loss = lease.loss if lease else None
    return Running(
        trial=trial.id,
        attempt=opened.attempt,
        rung=trial.slot.rung if trial.slot else _rung(study, trial.fidelity),
        fidelity=trial.fidelity,
        start=opened.start,
        origin=trial.origin,
        worker=opened.worker,
        host=lease.owner.host if lease else "",
        since=opened.since,
        seconds=max(now - opened.since, 0.0),
        step=lease.step if lease else None,
        value=-loss if loss is not None and study.maximize else loss,
        lost=_lost(opened, lease, now),
    )


def _rung(study: DurableStudy, fidelity: float) -> int | None:
    rungs = study.state.ladder.fidelities
    return rungs.index(fidelity) if fidelity in rungs else None


def _lost(opened: OpenTrial, lease: Lease | None, now: float) -> bool:
    if lease is None:
        return now - opened.since > SETTLED
    return lease.until < now or fate(lease.owner) == "dead"


def _rest(one: Running) -> RemainingWork:
    """What is left of a trial. A later attempt may have begun anywhere."""
    units = one.fidelity - one.start
    if one.step is None:
        return RemainingWork(units, None, one.seconds)
    done = min(max(one.step - one.start, 0.0), units)
    return RemainingWork(units, done, one.seconds, begun_here=one.attempt == 1)


def _result(study: DurableStudy, best: Observation | None) -> Result | None:
    if best is None:
        return None
    value = -best.loss if study.maximize else best.loss
    return Result(best.trial.id, value, best.fidelity, best.trial.origin, best.config)
