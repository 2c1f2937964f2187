"""The results of faults: what was done, what came of it, and the goal."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

ALL_SKIPPED = 77
"""The exit code if this machine lacks what every fault needs."""


class MissingRequirement(Exception):
    """This machine lacks something that a fault needs; the message says what."""


@final
@dataclass(frozen=True)
class Check:
    """Something that was counted or measured, and whether it meets its goal."""

    text: str
    goal: str
    passed: bool
    timed: bool = False
    """Whether it depends on how busy the machine is."""


@final
@dataclass(frozen=True)
class Result:
    """A row of the table: one check of one fault."""

    fault: str
    storage: str
    action: str
    """What was done to the study."""
    outcome: str
    goal: str
    passed: bool | None
    """None if the fault could not be tried on this machine."""
    timed: bool = False
    """Whether the outcome depends on how busy the machine is."""

    @property
    def verdict(self) -> str:
        """The result in one word."""
        return {True: "pass", False: "FAIL", None: "skipped"}[self.passed]

    def without_times(self) -> "Result":
        """The result as a short run counts it: outcomes that depend on time always pass."""
        if self.passed is not False or not self.timed:
            return self
        return replace(self, goal=f"{self.goal}, not counted in the short form", passed=True)


def results_of(fault: str, storage: str, action: str, checks: Iterable[Check]) -> Iterator[Result]:
    """The rows of the table for the checks of one fault."""
    for check in checks:
        outcome = (check.text, check.goal, check.passed, check.timed)
        yield Result(fault, storage, action, *outcome)


def expect_finished(finished: bool) -> Check:
    """A check that all workers came to their end in time."""
    return Check("finished" if finished else "did not finish", "finished", finished)


def expect_none(problems: Sequence[str], what: str, total: object = "") -> Check:
    """A check that there are no problems, out of a total; the first problems are shown."""
    text = f"{len(problems)}{f' of {total}' if total != '' else ''} {what}"
    if problems:
        text += ": " + "; ".join(" ".join(problem.split()) for problem in problems[:3])
    return Check(text, "0", not problems)


def expect_below(value: float, limit: float, what: str, unit: str = " s") -> Check:
    """A check that a measured value is below a limit."""
    return Check(f"{what} {value:.2f}{unit}", f"< {limit:g}{unit}", value < limit, timed=True)


def table(results: Iterable[Result]) -> str:
    """Results as a table in plain text."""
    header = ("fault", "storage", "what was done", "outcome", "goal", "")
    rows = [header] + [
        (r.fault, r.storage, r.action, r.outcome, r.goal, r.verdict) for r in results
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def exit_code(results: Sequence[Result]) -> int:
    """1 if a check failed, `ALL_SKIPPED` if no fault could be tried, otherwise 0."""
    if any(result.passed is False for result in results):
        return 1
    return ALL_SKIPPED if all(result.passed is None for result in results) else 0
