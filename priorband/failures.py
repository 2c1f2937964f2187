"""The kinds of failure: why an attempt at a trial ended without a loss."""

from typing import Literal

FailureKind = Literal[
    "raised", "diverged", "memory", "timeout", "crashed", "invalid", "lost", "preempted"
]
"""What ended an attempt.

- "raised": the objective raised an exception
- "diverged": the loss was not finite
- "memory": memory ran out
- "timeout": a time limit was reached
- "crashed": the process ended by itself
- "invalid": the objective did not return a loss
- "lost": the worker died or stopped responding
- "preempted": the worker was asked to stop, or a disk was full: not the trial's fault
"""
FAILURE_KINDS: tuple[FailureKind, ...] = FailureKind.__args__  # type: ignore[attr-defined]  # a Literal has them

OBJECTIVE_FAULTS: tuple[FailureKind, ...] = ("raised", "invalid", "crashed")
"""Failures that point to a mistake in the objective rather than to a bad configuration."""


def failure_reason(kind: FailureKind, reason: str) -> str:
    """The reason of a failed trial as a history keeps it.

    >>> failure_reason("diverged", "the loss was nan"), failure_reason("raised", "")
    ('diverged: the loss was nan', 'raised')
    """
    return f"{kind}: {reason}" if reason else kind


def split_reason(reason: str) -> tuple[FailureKind, str]:
    """The kind and the text of a reason, also of one that does not begin with its kind.

    >>> split_reason("diverged: the loss was nan"), split_reason("out of luck")
    (('diverged', 'the loss was nan'), ('raised', 'out of luck'))
    """
    for kind in FAILURE_KINDS:
        if reason == kind or reason.startswith(f"{kind}: "):
            return kind, reason[len(kind) + 2 :]
    return "diverged" if reason.startswith("the loss was ") else "raised", reason
