"""Call an objective and describe what it returned or raised as plain data.

An `AttemptResult` can be sent to another process as JSON. It is one of

    {"loss": 0.5, "details": {...}}                      the objective returned a finite loss
    {"kind": "raised", "reason": "...", "details": ...}  it failed
    {"interrupted": "SIGTERM"}                           it stopped early because it was asked to
"""

import math
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from priorband.arguments import LONGEST_TEXT, checked_cost, checked_loss, json_metrics
from priorband.errors import LossError
from priorband.failures import FailureKind
from priorband.workers.attempt import Attempt, Diverged, Interrupted

Objective = Callable[[Attempt], Any]
"""What users write: a function that trains one trial and returns its loss."""

AttemptResult = dict[str, Any]

LONGEST_TRACEBACK = 20_000


def evaluate(objective: Objective, attempt: Attempt, maximize: bool) -> AttemptResult:
    """Call the objective and return its result, whether it returns or raises.

    Other exceptions that are no `Exception`, such as KeyboardInterrupt, propagate.
    """
    started = time.monotonic()
    try:
        result = result_from_value(objective(attempt), maximize)
    except Interrupted as stop:
        return {"interrupted": str(stop)}
    except Diverged as error:
        result = failure("diverged", str(error))
    except Exception as error:
        result = failure_from_exception(error)
    except SystemExit as error:
        result = failure("crashed", f"the objective called sys.exit({error.code!r})")
    result["details"]["seconds"] = time.monotonic() - started
    return result


def result_from_value(value: Any, maximize: bool) -> AttemptResult:
    """The loss, cost and metrics that an objective returned."""
    metrics: dict[str, Any] = {}
    if isinstance(value, Mapping):
        metrics = {str(name): value[name] for name in value}
        loss_keys = [name for name in ("loss", "value") if name in metrics]
        if len(loss_keys) != 1:
            raise LossError(
                f"An objective returns a number, or a dict with it as 'loss' (or 'value', when "
                f"maximising), got one with {sorted(metrics) or 'nothing'}."
            )
        value = metrics.pop(loss_keys[0])
    number = checked_loss(value)
    details: dict[str, Any] = {}
    if metrics.get("cost") is not None:
        details["cost"] = checked_cost(metrics.pop("cost"))
    if metrics:
        details["metrics"] = json_metrics(metrics)
    if not math.isfinite(number):
        return failure("diverged", f"the loss was {number}", details)
    return {"loss": -number if maximize else number, "details": details}


def failure(kind: FailureKind, reason: str, details: dict[str, Any] | None = None) -> AttemptResult:
    """A failed attempt."""
    return {"kind": kind, "reason": reason[:LONGEST_TEXT], "details": details or {}}


def failure_from_exception(error: BaseException) -> AttemptResult:
    """The failure that an exception stands for; running out of memory has a kind of its own."""
    text = f"{type(error).__name__}: {_message(error)}".strip()
    if isinstance(error, LossError):
        return failure("invalid", str(error))
    out_of_memory = isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = [f"{type(error).__name__} in {frame.name}, line {frame.lineno}" for frame in last]
    details = {"traceback": _traceback(error)[-LONGEST_TRACEBACK:], "where": "".join(where)}
    return failure("memory" if out_of_memory else "raised", text, details)


def _message(error: BaseException) -> str:
    """The message of an exception; `__str__` of a third-party exception may itself raise."""
    try:
        return str(error)
    except Exception as another:
        return f"its message could not be made ({type(another).__name__})"


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return "".join(traceback.format_tb(error.__traceback__))
