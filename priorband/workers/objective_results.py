"""What an objective returns or raises, as plain data."""

import math
import traceback
from collections.abc import Mapping
from typing import Any

from priorband.arguments import LONGEST_TEXT, given_cost, given_loss, plain_metrics
from priorband.errors import LossError
from priorband.failures import FailureKind

LONGEST_TRACEBACK = 20_000


def returned(value: Any, maximize: bool) -> dict[str, Any]:
    """A loss, a cost and metrics from what an objective returned."""
    metrics: dict[str, Any] = {}
    if isinstance(value, Mapping):
        metrics = {str(name): value[name] for name in value}
        named = [name for name in ("loss", "value") if name in metrics]
        if len(named) != 1:
            raise LossError(
                f"An objective returns a number, or a dict with it as 'loss' (or 'value', when "
                f"maximising), got one with {sorted(metrics) or 'nothing'}."
            )
        value = metrics.pop(named[0])
    number = given_loss(value)
    details: dict[str, Any] = {}
    if metrics.get("cost") is not None:
        details["cost"] = given_cost(metrics.pop("cost"))
    if metrics:
        details["metrics"] = plain_metrics(metrics)
    if not math.isfinite(number):
        return failed("diverged", f"the loss was {number}", details)
    return {"loss": -number if maximize else number, "details": details}


def failed(kind: FailureKind, reason: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """A failure of some kind."""
    return {"kind": kind, "reason": reason[:LONGEST_TEXT], "details": details or {}}


def raised(error: BaseException) -> dict[str, Any]:
    """What an exception means: memory that ran out is told apart."""
    text = f"{type(error).__name__}: {_said(error)}".strip()
    if isinstance(error, LossError):
        return failed("invalid", str(error))
    memory = isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
    trace = _trace(error)
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = [f"{type(error).__name__} in {frame.name}, line {frame.lineno}" for frame in last]
    details = {"traceback": trace[-LONGEST_TRACEBACK:], "where": "".join(where)}
    return failed("memory" if memory else "raised", text, details)


def _said(error: BaseException) -> str:
    """An exception's message; those of other people's libraries can fail to say it."""
    try:
        return str(error)
    except Exception as another:
        return f"its message could not be made ({type(another).__name__})"


def _trace(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return "".join(traceback.format_tb(error.__traceback__))
