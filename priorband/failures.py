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


_ADVICE: dict[FailureKind, str] = {
    "raised": "Fix the error and run the same again. `priorband retry STUDY --failed` queues the "
    "failed trials again.",
    "diverged": "A few such configurations do no harm: they rank last. If most of them diverge, "
    "look for a mistake in the objective, or narrow the space, such as the learning rate.",
    "memory": "Let trials use less memory (smaller batches or models in the space), or run fewer "
    "workers at once.",
    "timeout": "Raise `trial_seconds` or `step_seconds`, or train for less. The log shows where "
    "the trial was.",
    "crashed": "The end of the log shows what happened. Typical causes: a crash in native code, "
    "`os._exit`, `sys.exit`.",
    "lost": "The objective need not be changed: its worker was killed, or its machine stopped or "
    "lost its connection. Look for the reason on that machine.",
    "preempted": "Nothing needs to be done: the next worker continues the trial.",
}
_SCRIPT_ADVICE: dict[FailureKind, str] = {
    "raised": "Fix the script or its `command` and run the same again. `priorband retry STUDY "
    "--failed` repeats the trials that have failed.",
    "invalid": "Correct `metric` in the study file, or what the script prints, and run the same "
    "again.",
    "crashed": "The end of the log shows what the script printed last. A typical cause is a crash "
    "in native code.",
}
_RETURN = """\
Return the {what} as a number, or in a dict with metrics of your choice:
    def train(trial):
        return {example}  # or {{"{key}": {example}, "seconds": 12.5}}"""


def advice(kind: FailureKind, maximize: bool = False, script: bool = False) -> str:
    """What a person can do about a failure, of a script or of a function.

    For a function that returns no loss, with an example.

    >>> print(advice("invalid", maximize=True))
    Return the value to maximise as a number, or in a dict with metrics of your choice:
        def train(trial):
            return 0.93  # or {"value": 0.93, "seconds": 12.5}
    """
    if script and kind in _SCRIPT_ADVICE:
        return _SCRIPT_ADVICE[kind]
    if kind != "invalid":
        return _ADVICE[kind]
    if maximize:
        return _RETURN.format(what="value to maximise", key="value", example="0.93")
    return _RETURN.format(what="loss", key="loss", example="0.25")
