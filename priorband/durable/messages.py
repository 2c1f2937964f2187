"""The messages between a study and its workers: assignments and reports."""

from collections.abc import Mapping
from typing import Any, final

from priorband.durable.records import NO_DETAILS, member, number
from priorband.errors import ArgumentError, FormatError, suggestion
from priorband.failures import FAILURE_KINDS, FailureKind
from priorband.numeric import one_of, whole
from priorband.trial import Trial
from priorband.values import frozen

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
"""After how many attempts of each kind a trial has failed. Preemption never makes it fail."""


@final
@frozen
class Assignment:
    """A trial that a worker is to evaluate, and which attempt this is."""

    trial: Trial
    attempt: int
    parent_attempt: int | None
    """The attempt that brought the parent's result."""
    start: float
    """How far the parent's checkpoint goes; 0 without one."""
    since: float
    """When the attempt began, by the storage's clock."""
    parent_fidelity: float = 0.0
    """The parent's fidelity; 0 without a parent."""


@final
@frozen
class Idle:
    """There is nothing to hand out, for now or for good."""

    reason: str
    running: int
    """How many trials other workers are evaluating: one may still be handed back."""
    halted: bool = False
    """Whether the study stopped because the objective keeps failing in the same way."""


@final
@frozen
class Report:
    """The outcome of an attempt: a loss, or the kind of failure and its reason."""

    trial: int
    attempt: int
    loss: float | None = None
    failure: FailureKind | None = None
    reason: str = ""
    details: Mapping[str, Any] = NO_DETAILS
    """Whatever else is kept: seconds, cost, metrics, traceback, where."""

    def to_data(self) -> dict[str, Any]:
        """The report as data that JSON can hold."""
        return {
            "trial": self.trial,
            "attempt": self.attempt,
            "loss": self.loss,
            "kind": self.failure,
            "reason": self.reason,
            "details": dict(self.details),
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> "Report":
        """The report that `data` stands for, or a `FormatError`: it may be anything."""
        failure = data.get("kind")
        loss = None if data.get("loss") is None else float(number(data, "loss"))
        if (failure is None) == (loss is None) or failure not in (None, *FAILURE_KINDS):
            raise FormatError("it is neither a loss nor a failure")
        trial, attempt = member(data, "trial", int), member(data, "attempt", int)
        if not (0 <= trial < 2**63 and 0 <= attempt < 2**63):
            raise FormatError("it names no trial")
        reason, details = member(data, "reason", str), member(data, "details", dict)
        return Report(trial, attempt, loss, failure, reason, details)


def allowed_attempts(retries: Mapping[str, int] | None) -> dict[FailureKind, int]:
    """How many attempts each kind of failure is given: the usual numbers, changed by `retries`.

    >>> allowed_attempts({"memory": 1})["memory"], allowed_attempts(None)["lost"]
    (1, 3)
    """
    allowed_attempts = dict(ATTEMPTS)
    if retries is not None and not isinstance(retries, Mapping):
        raise ArgumentError(
            f"`retries` must be a dict of attempts by kind of failure, such as {{'memory': 3}}, "
            f"got {retries!r}."
        )
    for kind, times in (retries or {}).items():
        if not one_of(kind, FAILURE_KINDS):
            raise ArgumentError(
                f"`retries` has an unknown kind of failure, {kind!r}. "
                f"{suggestion(kind, FAILURE_KINDS)}"
            )
        if not whole(times) or times < 1:
            raise ArgumentError(
                f"`retries` needs whole numbers of at least 1, got {kind}={times!r}."
            )
        allowed_attempts[kind] = times
    return allowed_attempts
