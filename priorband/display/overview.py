"""The overview of a study: a snapshot of everything that the displays show.

It holds values instead of losses: where a study maximises, users see what their objective returned.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, final

from priorband.display.failure_reports import failure_json
from priorband.display.pace import UNKNOWN, Pace, RemainingWork, seconds_left
from priorband.display.recent import NOTHING, Recent, rung_of
from priorband.display.text import jsonable, moment
from priorband.durable.budget import Budget, Spending
from priorband.durable.ledger import OpenTrial
from priorband.durable.study import DurableStudy
from priorband.storage.identity import liveness
from priorband.storage.journal import Lease
from priorband.trial import Observation
from priorband.values import frozen, replaced

LEASE_DELAY = 5.0  # seconds a trial may be without a lease: leases are read before trials


@final
@frozen
class Running:
    """A trial that is running."""

    trial: int
    attempt: int
    rung: int | None
    fidelity: float
    start: float
    """The fidelity that its parent has reached, if it continues from there."""
    origin: str
    worker: str
    host: str
    since: float
    seconds: float
    """How long it has been running."""
    step: float | None
    """The last step that it has reported."""
    value: float | None
    """The last value that it has reported, with the sign that the objective uses."""
    lost: bool
    """Whether its worker seems to have died."""


@final
@frozen
class Result:
    """The best trial, at any fidelity or at the full one."""

    trial: int
    value: float
    fidelity: float
    origin: str
    config: Mapping[str, Any]
    parents: Mapping[str, str] = MappingProxyType({})
    """The setting that each conditional one is shown under."""


@final
@frozen
class ShownChange:
    """A change of the prior."""

    at: float
    """When it was made, by the clock of the storage."""
    before: int
    """The first trial after it."""
    worker: str
    """The process that made it."""


@final
@frozen
class Overview:
    """The state of a study at one time."""

    where: str
    at: float
    """When the overview was made, by the clock of the storage."""
    created: float
    maximize: bool
    fidelity: str
    """The name of the fidelity."""
    full: float
    """The highest fidelity, that of a full training."""

    budget: Budget
    spending: Spending
    share: float
    """The share of the budget that is used or assigned, from 0 to 1."""
    reached: tuple[str, ...]
    """The names of the limits that do not allow another trial."""

    asked: int
    ended: int
    succeeded: int
    failures: Mapping[str, int]
    """How many trials have failed, by kind of failure."""
    running: tuple[Running, ...]
    waiting: tuple[int, ...]
    """Trials that were given back, and that no worker has taken over yet."""

    best: Result | None
    best_in_full: Result | None
    workers: int
    """How many workers are running a trial."""
    seconds_left: float | None
    """The estimated time until the budget is used up; None if it cannot be estimated."""
    recent: Recent = NOTHING
    """What has happened lately."""
    startup: float = 0.0
    """Seconds that trials have spent outside the objective."""
    startup_share: float | None = None
    """The share of the workers' time that this is; None if no worker has recorded it."""
    prior_changes: tuple[ShownChange, ...] = ()

    @property
    def failed(self) -> int:
        """How many trials have failed."""
        return sum(self.failures.values())

    @property
    def over(self) -> bool:
        """Whether the budget is used up, and no trial is left to run."""
        return bool(self.reached) and not self.running and not self.waiting


def study_overview(
    study: DurableStudy, leases: Sequence[Lease], now: float, recent: Pace = UNKNOWN
) -> Overview:
    """The overview of a study as of its last refresh; `leases` and `now` were read just before."""
    ledger, history = study.ledger, study.state.history
    by_trial = {lease.trial: lease for lease in leases}
    held = [opened for opened in ledger.running.values() if opened.held]
    running = tuple(_running(study, opened, by_trial.get(opened.trial.id), now) for opened in held)
    active = {trial.worker for trial in running if not trial.lost}
    spending = ledger.spending(now, leases)
    remaining = [_remaining_work(trial) for trial in running]
    remaining += [
        RemainingWork(o.trial.fidelity - o.start, None, 0.0) for o in ledger.waiting.values()
    ]
    both = ledger.startup + ledger.trained
    left = seconds_left(ledger.budget, spending, ledger.full, recent, remaining, len(active))
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
        workers=len(active),
        seconds_left=left,
        startup=ledger.startup,
        startup_share=ledger.startup / both if both else None,
        prior_changes=tuple(
            ShownChange(written.at, change.asked, written.worker)
            for written, change in zip(ledger.prior_changes, history.prior_changes, strict=False)
        ),
    )


def with_time_left(overview: Overview, planned: float | None) -> Overview:
    """An overview with the time left by the plan, or until another limit is reached before."""
    if planned is None:
        return overview
    known = overview.seconds_left
    if known is not None and {"hours", "cost"} & overview.budget.limits.keys():
        planned = min(planned, known)
    return replaced(overview, seconds_left=planned)


def as_json(overview: Overview) -> dict[str, Any]:
    """An overview as JSON data, with times as text."""
    limits = overview.budget.limits
    return {
        "study": overview.where,
        "at": moment(overview.at),
        "created": moment(overview.created),
        "direction": "maximize" if overview.maximize else "minimize",
        "fidelity": {"name": overview.fidelity, "full": overview.full},
        "budget": {
            name: {"used": getattr(overview.spending, name), "limit": limits.get(name)}
            for name in ("trainings", "trials", "cost", "hours")
        },
        "share": overview.share,
        "over": overview.over,
        "trials": {
            "asked": overview.asked,
            "ended": overview.ended,
            "succeeded": overview.succeeded,
            "failed": overview.failed,
            "running": len(overview.running),
            "waiting": len(overview.waiting),
        },
        "failures": dict(overview.failures),
        "latest_failures": [
            failure_json(report, overview.maximize)
            for report in (*overview.recent.failures, *overview.recent.given_back)
        ],
        "running": [_running_json(running) for running in overview.running],
        "waiting": list(overview.waiting),
        "best": result_json(overview.best),
        "best_in_full": result_json(overview.best_in_full),
        "workers": overview.workers,
        "seconds_left": overview.seconds_left,
        "startup_share": overview.startup_share,
        "prior_changes": [
            {"at": moment(change.at), "before_trial": change.before, "worker": change.worker}
            for change in overview.prior_changes
        ],
    }


def result_json(best: Result | None) -> dict[str, Any] | None:
    """A result as JSON data."""
    if best is None:
        return None
    data = {"trial": best.trial, "value": best.value, "fidelity": best.fidelity}
    return data | {"origin": best.origin, "config": jsonable(best.config)}


def _running_json(running: Running) -> dict[str, Any]:
    names = ("trial", "attempt", "rung", "fidelity", "start", "origin", "worker", "host")
    data = {name: getattr(running, name) for name in names}
    data |= {"since": moment(running.since), "seconds": running.seconds}
    return data | {"step": running.step, "value": running.value, "lost": running.lost}


def _running(study: DurableStudy, opened: OpenTrial, lease: Lease | None, now: float) -> Running:
    trial = opened.trial
    if lease is not None and lease.attempt != opened.attempt:
        lease = None
    loss = lease.loss if lease else None
    return Running(
        trial=trial.id,
        attempt=opened.attempt,
        rung=trial.slot.rung if trial.slot else rung_of(study, trial.fidelity),
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


def _lost(opened: OpenTrial, lease: Lease | None, now: float) -> bool:
    if lease is None:
        return now - opened.since > LEASE_DELAY
    return lease.until < now or liveness(lease.owner) == "dead"


def _remaining_work(trial: Running) -> RemainingWork:
    """What is left of a running trial. A second attempt may have resumed anywhere."""
    units = trial.fidelity - trial.start
    if trial.step is None:
        return RemainingWork(units, None, trial.seconds)
    done = min(max(trial.step - trial.start, 0.0), units)
    return RemainingWork(units, done, trial.seconds, begun_here=trial.attempt == 1)


def _result(study: DurableStudy, best: Observation | None) -> Result | None:
    if best is None:
        return None
    value = -best.loss if study.maximize else best.loss
    parents = _parents(study.space.parameters, best.config)
    return Result(best.trial.id, value, best.fidelity, best.trial.origin, best.config, parents)


def _parents(parameters: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, str]:
    """Which setting each conditional one depends on; the last of several in the configuration."""
    places = {name: place for place, name in enumerate(config)}
    whens = {name: parameters[name].when for name in config}
    return {name: max(when, key=places.__getitem__) for name, when in whens.items() if when}
