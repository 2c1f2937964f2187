"""Call an objective and describe what it returned or raised as plain data.

An `AttemptResult` can be sent to another process as JSON. It is one of

    {"loss": 0.5, "details": {...}}                      the objective returned a finite loss
    {"kind": "raised", "reason": "...", "details": ...}  it failed
    {"interrupted": "SIGTERM"}                           it stopped early because it was asked to

The details of a failure have the `traceback`, the user's own `frames` of it, and `where` it was.
The whole traceback is also written into the trial's log.

A full disk is not the fault of a configuration. The failure is then "preempted", which hands the
trial back, and its details have `DISK_FULL`.
"""

import errno
import inspect
import math
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from priorband.arguments import LONGEST_TEXT, checked_cost, checked_loss, json_metrics
from priorband.errors import FormatError, LossError, MethodError, MismatchError
from priorband.failures import FailureKind, advice
from priorband.workers.attempt import Attempt, Diverged, Interrupted, task_checkpoints
from priorband.workers.command_failure import SCRIPT_OUTPUT, CommandFailed
from priorband.workers.own_frames import definition, own_frames

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
        result = result_from_value(_called(objective, attempt), maximize)
    except Interrupted as stop:
        return {"interrupted": str(stop)}
    except Diverged as error:
        result = failure("diverged", str(error), {"frames": own_frames(error)})
    except Exception as error:
        result = failure_from_exception(error)
    except SystemExit as error:
        details = {"traceback": _traceback(error), "frames": own_frames(error)}
        result = failure("crashed", f"the objective called sys.exit({error.code!r})", details)
    result["details"]["seconds"] = time.monotonic() - started
    if result.get("kind") in ("invalid", "diverged"):  # returned, so there is no traceback
        result["details"].setdefault("frames", definition(objective))
    if "kind" in result and attempt.rank == 0:
        _write_to_log(result, attempt, maximize)
    return result


def _called(objective: Objective, attempt: Attempt) -> Any:
    """What an objective returns; a `LossError` if it cannot be called with one argument."""
    try:
        return objective(attempt)
    except TypeError as error:
        problem = call_problem(objective)
        called = traceback.extract_tb(error.__traceback__)[1:]
        if problem and not called:  # nothing of the objective itself has run
            raise LossError(problem) from None
        raise


def require_one_argument(objective: Objective) -> None:
    """Raise `MethodError` for an objective that cannot be called with a trial alone."""
    problem = call_problem(objective)
    if problem:
        raise MethodError(
            f"{problem} For example:\n"
            "    def train(trial):\n"
            '        return fit(lr=trial.config["lr"], epochs=trial.fidelity)'
        )


def call_problem(objective: Objective) -> str:
    """Why an objective cannot be called with one argument; empty if it can, or is not known."""
    try:
        signature = inspect.signature(objective)
    except (TypeError, ValueError):  # some built-in functions have none
        return ""
    try:
        signature.bind(None)
    except TypeError:
        name = getattr(objective, "__name__", type(objective).__name__)
        return (
            f"`objective` must take exactly one argument, the trial, got {name}{signature}. The "
            "settings are in `trial.config`, how long to train is in `trial.fidelity`."
        )
    return ""


def result_from_value(value: Any, maximize: bool) -> AttemptResult:
    """The loss, cost and metrics that an objective returned."""
    metrics: dict[str, Any] = {}
    if isinstance(value, Mapping):
        metrics = {str(name): value[name] for name in value}
        loss_keys = [name for name in ("loss", "value") if name in metrics]
        if len(loss_keys) != 1:
            raise LossError(_dict_problem(metrics, loss_keys, maximize))
        value = metrics.pop(loss_keys[0])
        where = f"as {loss_keys[0]!r} in its dict"
    else:
        where = ""
    try:
        number = checked_loss(value)
    except LossError:
        raise LossError(_value_problem(value, where, maximize)) from None
    details: dict[str, Any] = {}
    if metrics.get("cost") is not None:
        details["cost"] = checked_cost(metrics.pop("cost"))
    if metrics:
        details["metrics"] = json_metrics(metrics)
    if not math.isfinite(number):
        word = "value" if maximize else "loss"
        return failure("diverged", f"the {word} was {number}", details)
    return {"loss": -number if maximize else number, "details": details}


def _dict_problem(metrics: Mapping[str, Any], loss_keys: Sequence[str], maximize: bool) -> str:
    """What is wrong with a dict that has no loss, or two."""
    if loss_keys:
        return "The objective returned a dict with both 'loss' and 'value'. Return one of them."
    names = ", ".join(map(repr, metrics)) or "nothing in it"
    wanted = "value" if maximize else "loss"
    return f"The objective returned a dict without {wanted!r}: it has {names}."[:LONGEST_TEXT]


def _value_problem(value: Any, where: str, maximize: bool) -> str:
    """What is wrong with something that is not one real number."""
    what = "the value to maximise" if maximize else "the loss"
    place = f" {where}" if where else ""
    if value is None:
        hint = "" if where else " Is a `return` missing?"
        return f"The objective returned None{place} instead of {what}.{hint}"
    shape = getattr(value, "shape", None)
    if shape:
        got = f"an array of shape {tuple(shape)}"
        hint = "Reduce it to one number, with `.mean()` for example."
    elif isinstance(value, tuple | list):
        got = f"a {type(value).__name__} of {len(value)}"
        hint = f"Return {what} alone, or give each number a name in a dict."
    elif isinstance(value, str):
        got, hint = f"the text {value[:60]!r}", "Convert it with `float(...)`."
    else:
        got, hint = f"{value!r:.60} ({type(value).__name__})", ""
    return f"The objective returned {got}{place} instead of {what}. {hint}".rstrip()


def _write_to_log(result: AttemptResult, attempt: Attempt, maximize: bool) -> None:
    """Add the whole traceback of a failure to the trial's log, and what to do."""
    trace = result["details"].get("traceback", "")
    head = f"{result['kind']}: {result['reason']}"
    is_script = SCRIPT_OUTPUT in result["details"]
    text = f"\n{trace}\n{head}\n{advice(result['kind'], maximize, is_script)}"
    for stream in (sys.stdout, sys.stderr):  # what the objective has printed comes first
        with suppress(Exception):
            stream.flush()
    checkpoints = task_checkpoints(attempt.task)
    with suppress(OSError, FormatError, MismatchError):
        checkpoints.note(attempt.id, attempt.attempt, text)
    checkpoints.close()


def failure(kind: FailureKind, reason: str, details: dict[str, Any] | None = None) -> AttemptResult:
    """A failed attempt."""
    return {"kind": kind, "reason": reason[:LONGEST_TEXT], "details": details or {}}


def failure_from_exception(error: BaseException) -> AttemptResult:
    """The failure that an exception stands for; running out of memory has a kind of its own."""
    text = f"{type(error).__name__}: {_message(error)}".strip()
    if isinstance(error, LossError) and not own_frames(error):  # of `trial.report`, for example
        return failure("invalid", str(error))
    if isinstance(error, CommandFailed):
        if _SAYS_FULL.search(error.output):
            return failure("preempted", f"a disk is full ({error})", {DISK_FULL: True})
        return failure(error.kind, str(error), error.details)
    out_of_memory = isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
    trace, frames = _traceback(error), own_frames(error)
    details: dict[str, Any] = {"traceback": trace[-LONGEST_TRACEBACK:], "frames": frames}
    last = [(frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)[-1:]]
    if isinstance(error, LossError):  # raised here, by a call in the user's code
        last = [(function, line) for _, line, function, _ in frames[-1:]]
    where = [f"{type(error).__name__} in {function}, line {line}" for function, line in last]
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
