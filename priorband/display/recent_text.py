"""What has happened lately, as short lines for the live view."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from priorband.display.failure_reports import FailureReport, place_lines, summary_line
from priorband.display.recent import SAMPLED, Bracket, Finished, Recent
from priorband.display.sparkline import sparkline
from priorband.display.text import fidelity_text, printable, value_text

_LONGEST_VALUE = 24


def bests_text(recent: Recent, width: int) -> str:
    """The best value over time: `▇▅▂▁ 0.9 → 0.031`; empty if there was only one."""
    if not recent.bests or recent.bests[0] == recent.bests[-1]:
        return ""
    first, last = value_text(recent.bests[0]), value_text(recent.bests[-1])
    ends = f" {first} → {last}"
    return sparkline(recent.bests, max(min(width - len(ends), 40), 1)) + ends


def config_text(config: Mapping[str, Any], width: int, most: int) -> list[str]:
    """A configuration in at most `most` lines of a width: `lr=0.001, layers=2`."""
    settings = [f"{printable(name)}={setting_text(value)}" for name, value in config.items()]
    joined = ", ".join(setting.replace(" ", "\0") for setting in settings)  # break between them
    lines = textwrap.wrap(joined, max(width, 8), break_long_words=True, break_on_hyphens=False)
    if len(lines) > most:
        lines = [*lines[: most - 1], lines[most - 1][: max(width - 2, 1)].rstrip(", ") + " …"]
    return [line.replace("\0", " ") for line in lines]


def setting_text(value: Any) -> str:
    """A setting with few digits.

    >>> setting_text(0.00123456), setting_text("adam"), setting_text(64)
    ('0.001235', 'adam', '64')
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    text = printable(value if isinstance(value, str) else repr(value))
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def bracket_text(bracket: Bracket) -> str:
    """The rungs of a bracket with what is done: `27→4/9→0/3→0/1, 2 running`."""
    if bracket.over:
        return f"{'→'.join(map(str, bracket.planned))} done"
    if bracket.planned:
        both = zip(bracket.ended, bracket.planned, strict=True)
        rungs = [str(size) if ended == size else f"{ended}/{size}" for ended, size in both]
    else:
        rungs = [str(ended) for ended in bracket.ended]
    running = f", {bracket.running} running" if bracket.running else ""
    return "→".join(rungs) + running


def sampled_text(recent: Recent) -> str:
    """Where new configurations are from: `prior 52 %, uniform 48 % (of the last 100)`."""
    total = sum(recent.sampled.values())
    if not total:
        return ""
    shares = [f"{printable(name)} {n / total:.0%}" for name, n in recent.sampled.items()]
    last = f"of the last {SAMPLED}" if total >= SAMPLED else f"of {total}"
    return f"{', '.join(shares)} ({last})".replace("%", " %")


def finished_cells(finished: Finished) -> dict[str, str]:
    """A trial that has ended, as text by column."""
    place = "" if finished.place is None else f"{finished.place} of {finished.of}"
    return {
        "trial": str(finished.trial),
        "rung": "" if finished.rung is None else str(finished.rung),
        "step": fidelity_text(finished.fidelity),
        "value": finished.failure or value_text(finished.value),
        "place": place,
        "outcome": finished.outcome,
        "origin": printable(finished.origin),
    }


def latest_failure_lines(recent: Recent) -> Iterator[str]:
    """The newest failure with its place, and the others on a line each."""
    failures: list[FailureReport] = [*recent.failures, *reversed(recent.given_back)]
    shown: set[tuple[object, ...]] = set()
    for failure in failures:
        if failure.likeness not in shown:
            yield summary_line(failure)
            yield from (f"  {line}" for line in [*place_lines(failure)][-2:])
        shown.add(failure.likeness)
