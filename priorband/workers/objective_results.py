"""Call an objective and describe what it returned or raised as plain data.

An `AttemptResult` can be sent to another process as JSON. It is one of

    {"loss": 0.5, "details": {...}}                      the objective returned a finite loss
    {"kind": "raised", "reason": "...", "details": ...}  it failed
    {"interrupted": "SIGTERM"}                           it stopped early because it was asked to

A full disk is not the fault of a configuration. The failure is then "preempted", which hands the
trial back, and its details have `DISK_FULL`.
"""

import errno
import math
import os
import re
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from priorband.arguments import LONGEST_TEXT, checked_cost, checked_loss, json_metrics
from priorband.errors import LossError
from priorband.failures import FailureKind
from priorband.workers.attempt import Attempt, Diverged, Interrupted
from priorband.workers.command_failure import CommandFailed

Objective = Callable[[Attempt], Any]
"""What users write: a function that trains one trial and returns its loss."""

AttemptResult = dict[str, Any]

LONGEST_TRACEBACK = 20_000
DISK_FULL = "disk_full"
"""The name among the details of a failure that was caused by a full disk."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_SAYS_FULL = re.compile(
    "|".join(
        [
            "No space left on device|Disk quota exceeded",
            *(re.escape(os.strerror(number)) for number in _FULL),
            "database or disk is full",  # SQLite
            "^[0-9]+ requested and [0-9]+ written$",  # numpy.save
            "PytorchStreamWriter failed writing|inline_container.*unexpected pos",  # torch.save
        ]
    ),
    re.DOTALL,
)


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
    if isinstance(error, CommandFailed):
        if _SAYS_FULL.search(error.output):
            return failure("preempted", f"a disk is full ({error})", {DISK_FULL: True})
        return failure(error.kind, str(error), error.details)
    out_of_memory = isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = [f"{type(error).__name__} in {frame.name}, line {frame.lineno}" for frame in last]
    details: dict[str, Any] = {"traceback": _traceback(error)[-LONGEST_TRACEBACK:]}
    details["where"] = "".join(where)
    if out_of_memory:
        return failure("memory", text, details)
    if _is_about_a_full_disk(error):
        return failure("preempted", f"a disk is full ({text})", details | {DISK_FULL: True})
    return failure("raised", text, details)


def _is_about_a_full_disk(error: BaseException) -> bool:
    """Whether an exception, or one that led to it, says that a disk or a quota is full."""
    chain = [error]
    for one in chain:  # grows while it is read
        if isinstance(one, OSError) and one.errno in _FULL or _SAYS_FULL.search(_message(one)):
            return True
        before = [one.__cause__, None if one.__suppress_context__ else one.__context__]
        before += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        chain += [other for other in before if other is not None and other not in chain]
    return False


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
