"""The failure of a script that a study file runs: its exit code, and what it said last."""

import re
from collections.abc import Iterable
from typing import Any, final

from priorband.failures import FailureKind

SCRIPT_OUTPUT = "output"
"""The name among the details of a script's failure of the last lines that it printed."""
_LAST_LINES, _LONGEST_LINE = 5, 200


@final
class CommandFailed(Exception):  # noqa: N818  # it says what happened
    """A script that ended without a result.

    Args:
        kind: the kind of failure.
        reason: what happened, in a sentence.
        output: the last lines that the script printed.
    """

    def __init__(self, kind: FailureKind, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.kind = kind
        self.output = output

    @property
    def details(self) -> dict[str, Any]:
        """What is recorded with the failure."""
        last = [line[:_LONGEST_LINE] for line in self.output.splitlines()[-_LAST_LINES:]]
        return {"traceback": self.output or str(self), SCRIPT_OUTPUT: last}


PREEMPTED = 75
"""The exit code with which a script hands its trial back; EX_TEMPFAIL of sysexits.h."""
FRUITLESS = 5
"""After how many times in a row that a script hands its trial back, and has come no further than
before, the trial has failed."""

_HANDED_BACK = f"the script ended with exit code {PREEMPTED}"


def handed_back(step: float | None) -> str:
    """Why a trial is handed back whose script ended with `PREEMPTED`.

    >>> handed_back(3), handed_back(None)
    ('the script ended with exit code 75 at step 3', 'the script ended with exit code 75')
    """
    return _HANDED_BACK if step is None else f"{_HANDED_BACK} at step {step!r}"


def fruitless_reason(reasons: Iterable[str]) -> str:
    """Why a trial has failed whose attempts ended for these reasons; empty if it may go on.

    Attempts that ended in another way, such as with their worker, do not count.

    >>> fruitless_reason([handed_back(None)] * 4), fruitless_reason([handed_back(4), "SIGTERM"] * 5)
    ('', '')
    >>> fruitless_reason([handed_back(3)] * 6)
    'the script ended with exit code 75 at step 3, for the 5th time in a row without coming further'
    """
    furthest, fruitless, last = 0.0, 0, ""
    for reason in reasons:
        if not reason.startswith(_HANDED_BACK):
            continue
        step, last = _step(reason), reason
        fruitless = 0 if step > furthest else fruitless + 1
        furthest = step if step > furthest else furthest
    if fruitless < FRUITLESS:
        return ""
    return f"{last}, for the {fruitless}th time in a row without coming further"


def _step(reason: str) -> float:
    found = re.fullmatch(rf"{_HANDED_BACK} at step (\S+)", reason)
    try:
        return float(found[1]) if found else 0.0
    except ValueError:
        return 0.0
