"""How `tune` ends if it finds nothing, or is stopped: what it says, and what it raises."""

import shlex
import sys
from collections.abc import Sequence
from typing import final

from priorband.display.displays import checked_show
from priorband.display.failure_reports import failure_lines, latest_failures, shown_study
from priorband.display.text import printable
from priorband.durable.study import DurableStudy
from priorband.workers.worker import WorkerEnd

_LAST_FAILURES = 3


@final
class TuningStopped(KeyboardInterrupt, SystemExit):
    """Raised by `tune` after Ctrl-C.

    Code that handles `KeyboardInterrupt` handles it. If nothing does, Python ends a script with
    exit code 130 and without a traceback, as for any `SystemExit`.
    """


def interruption() -> KeyboardInterrupt:
    """What Ctrl-C raises: in a script `TuningStopped`, at a prompt what people expect there.

    A `SystemExit` would close the prompt or, in a notebook, be taken for a mistake.
    """
    if hasattr(sys, "ps1"):
        return KeyboardInterrupt()
    stopped = TuningStopped()
    stopped.code = 130
    return stopped


def stop_text(signal: str, where: str) -> str:
    """Why tuning has ended, and on a second line, which is shown last, how to resume."""
    by = "Ctrl-C" if signal == "SIGINT" else signal
    return f"Stopped by {by}.\nRun the same again to resume {where}."


def without_success(study: DurableStudy, ends: Sequence[WorkerEnd]) -> list[WorkerEnd]:
    """An end with the reason, if a study has ended and all of its trials have failed."""
    failed = sum(study.ledger.failures.values())
    done = all(end.status == "done" for end in ends)
    if not done or not failed or study.best is not None or study.ledger.running:
        return []
    why = " ".join(dict.fromkeys(end.reason for end in ends))
    trials = "its only trial" if failed == 1 else f"all {failed} trials"
    return [WorkerEnd("halted", f"{why.rstrip('.')}, but {trials} failed.")]


def failure_text(study: DurableStudy, show: str | None) -> str:
    """The last failures as further lines of a message; empty if there are none.

    The live view shows them itself, right above the message.
    """
    if checked_show(show) == "live":
        command = f"priorband status {shlex.quote(shown_study(study.where))}"
        return f"\nThe failures are shown above, and again by: {printable(command)}"
    lines = failure_lines(latest_failures(study, _LAST_FAILURES), study.maximize)
    return "".join(f"\n  {line}" for line in lines)
