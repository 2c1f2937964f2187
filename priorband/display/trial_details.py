"""Everything about one trial, for `priorband show`."""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, final

from priorband.display.failure_reports import FailureReport, log_path, trial_failure
from priorband.display.recent import place_in_rung, rung_of, trial_outcome
from priorband.durable.records import (
    AdoptedRecord,
    AskedRecord,
    FailedRecord,
    RemarkRecord,
    ReturnedRecord,
    ToldRecord,
    decode,
)
from priorband.durable.study import DurableStudy
from priorband.errors import FormatError, TrialError
from priorband.explanations.outcomes import Outcome
from priorband.failures import FailureKind, failure_reason
from priorband.space.edited_prior import whole_mode
from priorband.space.prior import Independent, Prior, says_nothing
from priorband.storage.journal import Row
from priorband.trial import Trial
from priorband.values import frozen


@final
@frozen
class Setting:
    """A parameter of the space in a trial."""

    name: str
    parent: str | None
    """The parameter whose value makes this one active; None if it is always active."""
    active: bool
    value: Any
    """None if it is not active."""
    has_prior: bool
    prior: Any
    """The value that the prior finds most likely."""


@final
@frozen
class AttemptDetails:
    """One attempt at a trial."""

    number: int
    worker: str
    began: float
    """When it began and ended, by the clock of the storage."""
    ended: float | None = None
    value: float | None = None
    failure: FailureKind | None = None
    reason: str = ""


@final
@frozen
class TrialDetails:
    """Everything about a trial."""

    trial: Trial
    where: str
    fidelity: str
    maximize: bool
    full: float
    rung: int | None
    place: int | None
    of: int
    value: float | None
    failure: FailureReport | None
    settings: tuple[Setting, ...]
    attempts: tuple[AttemptDetails, ...]
    outcome: Outcome
    """What became of it, as in tables of trials."""
    children: tuple[int, ...]
    curve: tuple[tuple[float, float], ...]
    """Steps and values that the last attempt has reported."""
    checkpoint: Path | None
    logs: tuple[Path, ...]
    metrics: Mapping[str, Any]
    remarks: tuple[str, ...]
    prior: int = 0
    """With which prior its configuration was chosen: 0 for the one of the beginning."""
    prior_changes: tuple[int, ...] = ()
    """Of each change of the prior: the first trial after it."""


def require_trial(study: DurableStudy, number: int) -> None:
    """Raise `TrialError` if there is no such trial."""
    history = study.state.history
    if not 0 <= number < len(history):
        known = f"it has trials 0 to {len(history) - 1}" if len(history) else "it has none yet"
        if len(history) == 1:
            known = "it has trial 0 only"
        raise TrialError(f"There is no trial {number} in {study.where}: {known}.")


def trial_details(study: DurableStudy, number: int) -> TrialDetails:
    """Everything about a trial; raise `TrialError` if there is no such trial."""
    history = study.state.history
    require_trial(study, number)
    trial, outcome = history.trial(number), history.outcome(number)
    rows = study.journal.trial_rows(number)
    attempts = _attempts(rows, study.maximize)
    place, total = place_in_rung(study, outcome) if outcome else (None, 0)
    last = attempts[-1].number if attempts else 0
    logs = [log_path(study, number, attempt.number) for attempt in attempts]
    sign = -1 if study.maximize else 1
    return TrialDetails(
        trial=trial,
        where=study.where,
        fidelity=study.problem.fidelity.name,
        maximize=study.maximize,
        full=study.problem.fidelity.high,
        rung=trial.slot.rung if trial.slot else rung_of(study, trial.fidelity),
        place=place,
        of=total,
        value=None if outcome is None or outcome.failed else sign * outcome.loss,
        failure=trial_failure(study, number) if outcome and outcome.failed else None,
        settings=_settings(study, trial),
        attempts=attempts,
        outcome=trial_outcome(study, number),
        children=tuple(each.id for each in history.trials[number:] if each.parent == number),
        curve=_curve(study, number, last),
        checkpoint=_checkpoint(study, number, last),
        logs=tuple(log for log in logs if log is not None),
        metrics=_metrics(rows),
        remarks=tuple(
            record.text for record in map(decode, rows) if isinstance(record, RemarkRecord)
        ),
        prior=history.prior_number(trial),
        prior_changes=tuple(change.asked for change in history.prior_changes),
    )


def _attempts(rows: list[Row], maximize: bool) -> tuple[AttemptDetails, ...]:
    begun: dict[int, tuple[str, float]] = {}
    made: dict[int, AttemptDetails] = {}
    for row in rows:
        match decode(row):
            case AskedRecord() as asked if not asked.imported:
                begun[1] = row.worker, row.at
            case AdoptedRecord(attempt=attempt):
                begun[attempt] = row.worker, row.at
            case ReturnedRecord() | FailedRecord() as end if end.attempt in begun:
                about = (end.attempt, *begun.pop(end.attempt), row.at, None)
                made[end.attempt] = AttemptDetails(*about, end.failure, end.reason)
            case ToldRecord(attempt=attempt, loss=loss) if attempt in begun:
                value = -loss if maximize else loss
                made[attempt] = AttemptDetails(attempt, *begun.pop(attempt), row.at, value)
    made |= {number: AttemptDetails(number, *start) for number, start in begun.items()}
    return tuple(made[number] for number in sorted(made))


def _settings(study: DurableStudy, trial: Trial) -> tuple[Setting, ...]:
    """All parameters, also those that are not active, beside what its prior finds likely."""
    history, parameters = study.state.history, study.space.parameters
    priors = [study.problem.prior, *(change.prior for change in history.prior_changes)]
    number = history.prior_number(trial)
    expected = _expected(priors[number]) if number or study.prior_known else {}
    order = {name: place for place, name in enumerate(parameters)}
    settings = []
    for name, parameter in parameters.items():
        when = getattr(parameter, "when", None)
        parent = max(when, key=order.__getitem__) if when else None
        value, has_prior, likely = trial.config.get(name), name in expected, expected.get(name)
        settings.append(Setting(name, parent, name in trial.config, value, has_prior, likely))
    return tuple(settings)


def _expected(prior: Prior) -> Mapping[str, Any]:
    """The most likely value of each parameter that a prior says something about."""
    if not isinstance(prior, Independent):
        return prior.mode
    mode = whole_mode(prior)
    named = zip(prior.space.names, prior.densities, strict=True)
    return {name: mode[name] for name, density in named if not says_nothing(density)}


def _curve(study: DurableStudy, number: int, attempt: int) -> tuple[tuple[float, float], ...]:
    """The points that an attempt has reported; lines that are no points are left out."""
    text = "" if study.checkpoints is None else study.checkpoints.curve(number, attempt)
    points = []
    for line in text.splitlines():
        with suppress(ValueError, TypeError, KeyError):
            point = json.loads(line)
            value = float(point["value"] if "loss" not in point else point["loss"])
            step = float(point["step"])
            if math.isfinite(step):
                points.append((step, value))
    return tuple(points)


def _checkpoint(study: DurableStudy, number: int, attempt: int) -> Path | None:
    if study.checkpoints is None:
        return None
    with suppress(OSError, FormatError):
        return study.checkpoints.left_by(number, study.ledger.winners.get(number, attempt))
    return None


def _metrics(rows: list[Row]) -> Mapping[str, Any]:
    """The metrics of the result, with what it says it cost and how long it took."""
    for record in map(decode, rows):
        if isinstance(record, ToldRecord | FailedRecord):
            metrics = record.details.get("metrics")
            named = {name: record.details.get(name) for name in ("cost", "seconds")}
            found = metrics if isinstance(metrics, dict) else {}
            return {**found, **{name: one for name, one in named.items() if one is not None}}
    return {}


def attempt_end(attempt: AttemptDetails) -> str:
    """How an attempt ended: `raised: ValueError: ...`; empty if it succeeded or still runs."""
    return failure_reason(attempt.failure, attempt.reason) if attempt.failure else ""
