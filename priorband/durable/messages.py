"""What passes between a study and those who evaluate its trials."""

from collections.abc import Mapping
from typing import Any, final

from priorband.durable.ledger import FAILURE_KINDS, FailureKind
from priorband.errors import FormatError, MethodError, suggestion
from priorband.numeric import whole
from priorband.storage.json_text import member, number
from priorband.trial import Trial
from priorband.values import field_names, frozen

ATTEMPTS: Mapping[FailureKind, int] = {
    "raised": 1,
    "diverged": 1,
    "memory": 2,
    "timeout": 1,
    "crashed": 2,
    "invalid": 1,
    "lost": 3,
    "preempted": 1_000_000,
}
"""How many attempts of a kind end a trial: a pre-emption never does."""


@final
@frozen
class Assignment:
    """A trial that this worker may evaluate, for the how-manieth time it is tried."""

    trial: Trial
    attempt: int
    parent_attempt: int | None
    """The attempt that brought the parent's result."""
    start: float
    """How far the parent's checkpoint goes; 0 without one."""


@final
@frozen
class Idle:
    """There is nothing to do, for now or for good."""

    reason: str
    running: int
    """How many trials others are at work on: one may yet be given back."""
    halted: bool = False


@final
@frozen
class Report:
    """What came of an attempt: a loss, or the kind of failure and its reason."""

    trial: int
    attempt: int
    loss: float | None = None
    kind: FailureKind | None = None
    reason: str = ""
    details: Mapping[str, Any] = {}
    """Whatever else is kept: seconds, cost, metrics, traceback, where."""

    def described(self) -> dict[str, Any]:
        """The report as plain data."""
        return {name: getattr(self, name) for name in field_names(self)}


def restored_report(data: dict[str, Any]) -> Report:
    """A report from plain data that may be anything."""
    kind = data.get("kind")
    loss = None if data.get("loss") is None else float(number(data, "loss"))
    if (kind is None) == (loss is None) or kind not in (None, *FAILURE_KINDS):
        raise FormatError("it is neither a loss nor a failure")
    ids = member(data, "trial", int), member(data, "attempt", int)
    if not all(0 <= one < 2**63 for one in ids):
        raise FormatError("it names no trial")
    return Report(*ids, loss, kind, member(data, "reason", str), member(data, "details", dict))


def attempts(given: Mapping[str, int] | None) -> dict[FailureKind, int]:
    """How many attempts each kind of failure is given, some of them changed.

    >>> attempts({"memory": 1})["memory"], attempts(None)["lost"]
    (1, 3)
    """
    chosen = dict(ATTEMPTS)
    for kind, times in (given or {}).items():
        if kind not in FAILURE_KINDS:
            raise MethodError(
                f"There is no failure called {kind!r}. {suggestion(kind, FAILURE_KINDS)}"
            )
        if not whole(times) or times < 1:
            raise MethodError(f"Attempts are a whole number of at least 1, got {kind}={times!r}.")
        chosen[kind] = times
    return chosen
