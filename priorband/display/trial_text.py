"""A trial in full, as text and as JSON."""

from collections.abc import Iterator
from typing import Any

from priorband.display.failure_reports import (
    advice_lines,
    failure_json,
    frame_lines,
    shown_path,
    summary_line,
    traceback_lines,
)
from priorband.display.recent_text import setting_text
from priorband.display.sparkline import sparkline
from priorband.display.text import (
    about,
    fidelity_text,
    jsonable,
    moment,
    nested_names,
    printable,
    value_text,
)
from priorband.display.trial_details import AttemptDetails, Setting, TrialDetails, attempt_end

_LABEL = 12  # characters
_LONGEST_END = 160


def trial_lines(details: TrialDetails, width: int) -> Iterator[str]:
    """Everything about a trial, for a terminal of a width."""
    trial = details.trial
    yield f"trial {trial.id} of {printable(details.where)}"
    yield _line("result", _result(details))
    yield _line("trained", _trained(details))
    if trial.slot is not None:
        yield _line("bracket", _bracket(details))
    yield _line("outcome", details.outcome)
    yield _line("origin", _origin(details))
    if details.prior_changes:
        yield _line("prior", _prior(details))
    if details.children:
        yield _line("continued", f"by trial {', '.join(map(str, details.children))}")
    yield ""
    yield from _config_lines(details)
    yield ""
    for attempt in details.attempts:
        last = details.failure is not None and attempt is details.attempts[-1]
        yield _line(f"attempt {attempt.number}", _attempt(attempt, brief=last))
    if details.curve:
        yield _line("curve", _curve(details, width - _LABEL))
    for name, value in details.metrics.items():
        yield _line("metric", f"{printable(name)} = {setting_text(value)}")
    saved = details.checkpoint
    yield _line("checkpoint", "none" if saved is None else printable(shown_path(saved)))
    yield from (_line("log", printable(shown_path(log))) for log in details.logs)
    yield from (_line("remark", printable(remark)) for remark in details.remarks)
    yield from _failure_lines(details)


def trial_json(details: TrialDetails) -> dict[str, Any]:
    """Everything about a trial as JSON data."""
    trial, failure = details.trial, details.failure
    direction = "maximize" if details.maximize else "minimize"
    return {
        "study": details.where,
        "trial": trial.id,
        "status": _status(details),
        "outcome": details.outcome,
        "value": details.value,
        "direction": direction,
        "fidelity": {"name": details.fidelity, "value": trial.fidelity, "full": details.full},
        "rung": details.rung,
        "bracket": trial.slot.bracket if trial.slot else None,
        "place": details.place,
        "of": details.of,
        "origin": trial.origin,
        "parent": trial.parent,
        "root": trial.root,
        "children": list(details.children),
        "config": jsonable(trial.config),
        "prior": {one.name: jsonable(one.prior) for one in details.settings if one.has_prior},
        "prior_number": details.prior,
        "inactive": [one.name for one in details.settings if not one.active],
        "attempts": [_attempt_json(attempt) for attempt in details.attempts],
        "curve": [[step, jsonable(value)] for step, value in details.curve],
        "metrics": jsonable(details.metrics),
        "checkpoint": None if details.checkpoint is None else str(details.checkpoint),
        "logs": [str(log) for log in details.logs],
        "remarks": list(details.remarks),
        "failure": None
        if failure is None
        else failure_json(failure, details.maximize) | {"traceback": failure.traceback},
    }


def _line(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}{text}".rstrip()


def _status(details: TrialDetails) -> str:
    if details.failure is not None:
        return "failed"
    if details.value is not None:
        return "succeeded"
    running = details.attempts and details.attempts[-1].ended is None
    return "running" if running else "waiting"


def _result(details: TrialDetails) -> str:
    if details.failure is not None:
        return f"failed, {details.failure.kind}"
    if details.value is not None:
        word = "value" if details.maximize else "loss"
        return f"{word} {value_text(details.value)}"
    return "still running" if _status(details) == "running" else "waits for its next attempt"


def _trained(details: TrialDetails) -> str:
    trial = details.trial
    name, full = printable(details.fidelity), fidelity_text(details.full)
    rung = "" if details.rung is None else f", rung {details.rung}"
    return f"{name}={fidelity_text(trial.fidelity)} of {full}{rung}"


def _bracket(details: TrialDetails) -> str:
    assert details.trial.slot is not None
    place = ""
    if details.of:
        mine = "" if details.place is None else f"place {details.place} of "
        place = f", {mine}{details.of} ended on its rung so far"
    return f"{details.trial.slot.bracket}{place}"


def _origin(details: TrialDetails) -> str:
    trial = details.trial
    parent = "" if trial.parent is None else f", continues trial {trial.parent}"
    first = "" if trial.root in (trial.id, trial.parent) else f", first tried as trial {trial.root}"
    return f"{printable(trial.origin)}{parent}{first}"


def _prior(details: TrialDetails) -> str:
    """Which of several priors the configuration was chosen with."""
    number, changes = details.prior, details.prior_changes
    since = f", set before trial {changes[number - 1]}" if number else ""
    until = f", changed before trial {changes[number]}" if number < len(changes) else ""
    return f"{number + 1} of {len(changes) + 1}{since}{until}"


def _config_lines(details: TrialDetails) -> Iterator[str]:
    """The configuration beside the prior; each conditional parameter is under its parent."""
    settings = {one.name: one for one in details.settings}
    parents = {one.name: one.parent for one in details.settings if one.parent is not None}
    names = {
        name: "  " * depth + printable(name) for name, depth in nested_names(settings, parents)
    }
    rows = [("config", "value", "prior")]
    rows += [(shown, *_setting(settings[name])) for name, shown in names.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for shown, value, prior in rows:
        yield f"{shown:<{widths[0]}}  {value:<{widths[1]}}  {prior}".rstrip()


def _setting(setting: Setting) -> tuple[str, str]:
    value = printable(repr(setting.value)) if setting.active else "(inactive)"
    return value, printable(repr(setting.prior)) if setting.has_prior else "-"


def _attempt(attempt: AttemptDetails, brief: bool) -> str:
    """How an attempt ended, and who made it; `brief` if the failure is shown in full below."""
    since = f"{moment(attempt.began)[:19].replace('T', ' ')} UTC"
    lasted = "" if attempt.ended is None else f", {about(max(attempt.ended - attempt.began, 0.0))}"
    end = printable(" ".join(attempt_end(attempt).split()))
    if brief and attempt.failure:
        end = attempt.failure
    if len(end) > _LONGEST_END:
        end = end[: _LONGEST_END - 3] + "..."
    if not end:
        end = "running" if attempt.ended is None else "succeeded"
    return f"{end} ({printable(attempt.worker)}, {since}{lasted})"


def _attempt_json(attempt: AttemptDetails) -> dict[str, Any]:
    ended = None if attempt.ended is None else moment(attempt.ended)
    return {
        "attempt": attempt.number,
        "worker": attempt.worker,
        "began": moment(attempt.began),
        "ended": ended,
        "value": attempt.value,
        "kind": attempt.failure,
        "reason": attempt.reason,
    }


def _curve(details: TrialDetails, width: int) -> str:
    values = [value for _, value in details.curve]
    first, last = value_text(values[0]), value_text(values[-1])
    points = f"{len(values)} point{'' if len(values) == 1 else 's'}"
    ends = f" {first} → {last} ({points})"
    return sparkline(values, max(min(width - len(ends), 60), 1)) + ends


def _failure_lines(details: TrialDetails) -> Iterator[str]:
    failure = details.failure
    if failure is None:
        return
    yield ""
    yield _line("failed", summary_line(failure).partition(", ")[2])
    yield from (f"  {line}" for line in frame_lines(failure))
    yield from (f"  {line}" for line in advice_lines(failure, details.maximize))
    if failure.traceback:
        yield ""
        yield from traceback_lines(failure)
