"""Findings: what a fault did, the figure that came of it, and the goal it was to reach."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

ALL_SKIPPED = 77
"""The exit code where this machine lacks what every fault needs."""


class Lacking(Exception):
    """This machine cannot do a fault to anybody; the message says what it lacks."""


@final
@dataclass(frozen=True)
class Finding:
    """A line of the table. `good` is None for what could not be tried here."""

    fault: str
    storage: str
    done: str
    figure: str
    goal: str
    good: bool | None
    timed: bool = False
    """Whether the figure depends on how busy the machine is."""

    @property
    def verdict(self) -> str:
        """One word."""
        return {True: "pass", False: "FAIL", None: "skipped"}[self.good]

    def untimed(self) -> "Finding":
        """The finding as a short run counts it: a figure that depends on time is shown only."""
        if self.good is not False or not self.timed:
            return self
        return replace(self, goal=f"{self.goal}, not judged in the short form", good=True)


@final
@dataclass(frozen=True)
class Figure:
    """Something counted or measured, and whether it is what it should be."""

    shown: str
    goal: str
    good: bool
    timed: bool = False
    """Whether it depends on how busy the machine is."""


def found(fault: str, storage: str, done: str, figures: Iterable[Figure]) -> Iterator[Finding]:
    """Lines of the table from the figures of one fault."""
    for figure in figures:
        yield Finding(fault, storage, done, figure.shown, figure.goal, figure.good, figure.timed)


def finished(ended: bool) -> Figure:
    """Whether all that was begun came to its end."""
    return Figure("finished" if ended else "did not finish", "finished", ended)


def none_of(problems: Sequence[str], what: str, of: object = "") -> Figure:
    """A figure that must be 0; the first problems are shown."""
    shown = f"{len(problems)}{f' of {of}' if of != '' else ''} {what}"
    if problems:
        shown += ": " + "; ".join(problems[:3])
    return Figure(shown, "0", not problems)


def at_most(value: float, limit: float, what: str, unit: str = " s") -> Figure:
    """A figure that must stay below a limit."""
    return Figure(f"{what} {value:.2f}{unit}", f"< {limit:g}{unit}", value < limit, timed=True)


def table(findings: Iterable[Finding]) -> str:
    """Findings as plain text."""
    head = ("fault", "storage", "what was done", "figure", "goal", "")
    rows = [head] + [(f.fault, f.storage, f.done, f.figure, f.goal, f.verdict) for f in findings]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def exit_code(findings: Sequence[Finding]) -> int:
    """1 if anything failed, `ALL_SKIPPED` if nothing was tried, else 0."""
    if any(finding.good is False for finding in findings):
        return 1
    return ALL_SKIPPED if all(finding.good is None for finding in findings) else 0
