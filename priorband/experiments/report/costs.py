"""What the runs cost to compute."""

import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from priorband.experiments.cases import RULES
from priorband.experiments.figures.style import display_name
from priorband.experiments.report.blocks import Cell, ReportTable, Section
from priorband.experiments.running import TIMES

PUBLISHED_HOURS = 0.2
"""Core-hours that one of the published runs took, about."""


def cost_section(folders: Sequence[Path]) -> Section | None:
    """Processor time by method, beside that of the published runs."""
    seconds: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for folder in folders:
        path = folder / TIMES
        if path.is_file():
            with open(path, encoding="utf-8", newline="") as lines:
                for row in filter(_whole, csv.reader(lines)):
                    seconds[row[0], row[3], int(row[4])].append(float(row[6]))
    if not seconds:
        return None
    rows, numbers = [], list[Sequence[object]]()
    for (rules, method, workers), taken in sorted(seconds.items()):
        mean, total = float(np.mean(taken)), float(np.sum(taken))
        texts = (display_name(method), rules, f"{workers}", f"{len(taken)}", f"{mean:.3f}")
        less = f"{PUBLISHED_HOURS * 3600 / mean:,.0f}" if mean else "–"
        rows.append([Cell(text) for text in (*texts, less)])
        numbers.append([method, rules, workers, len(taken), f"{mean:.4f}", f"{total:.1f}"])
    every = [one for taken in seconds.values() for one in taken]
    heads = ["method", "rules", "workers", "runs", "seconds a run", "times less than published"]
    fields = ["method", "rules", "workers", "runs", "seconds_a_run", "seconds_in_all"]
    caption = "Processor time of a run, benchmark and records included"
    return Section(
        "What it took",
        [
            f"{len(every)} runs took {sum(every):,.0f} seconds of processor time, "
            f"{np.mean(every):.3f} each. The published ones took about {PUBLISHED_HOURS} "
            f"core-hours each, {PUBLISHED_HOURS * 3600:.0f} seconds.",
        ],
        [ReportTable("costs", caption, heads, rows, fields, numbers)],
    )


def _whole(row: list[str]) -> bool:
    """Whether a line was not cut off, nor another one written onto its end."""
    if len(row) != 7 or row[0] not in RULES or not row[4].isdecimal():
        return False
    try:
        return float(row[6]) >= 0
    except ValueError:
        return False
