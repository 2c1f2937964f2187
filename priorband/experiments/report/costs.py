"""The CPU time of runs."""

import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from priorband.experiments.cases import RULES
from priorband.experiments.report.blocks import Cell, ReportTable, Section
from priorband.experiments.runner import TIMES_FILE
from priorband.plots.drawing.style import display_name

PUBLISHED_HOURS = 0.2
"""About how many core-hours one published run took."""


def cost_section(result_folders: Sequence[Path]) -> Section | None:
    """The CPU time per run of each method, compared with the published runs."""
    seconds: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for folder in result_folders:
        path = folder / TIMES_FILE
        if path.is_file():
            with open(path, encoding="utf-8", newline="") as lines:
                for row in filter(_is_complete, csv.reader(lines)):
                    seconds[row[0], row[3], int(row[4])].append(float(row[6]))
    if not seconds:
        return None
    rows, numbers = [], list[Sequence[object]]()
    for (rules, method, workers), taken in sorted(seconds.items()):
        mean, total = float(np.mean(taken)), float(np.sum(taken))
        texts = (display_name(method), rules, f"{workers}", f"{len(taken)}", f"{mean:.3f}")
        factor = f"{PUBLISHED_HOURS * 3600 / mean:,.0f}" if mean else "–"
        rows.append([Cell(text) for text in (*texts, factor)])
        numbers.append([method, rules, workers, len(taken), f"{mean:.4f}", f"{total:.1f}"])
    times = [time for taken in seconds.values() for time in taken]
    heads = ["method", "rules", "workers", "runs", "seconds per run", "times faster than published"]
    fields = ["method", "rules", "workers", "runs", "seconds_a_run", "seconds_in_all"]
    caption = "CPU time per run, including the benchmark and the records"
    return Section(
        "CPU time",
        [
            f"{len(times)} runs took {sum(times):,.0f} seconds of CPU time, "
            f"{np.mean(times):.3f} seconds each. The published runs took about {PUBLISHED_HOURS} "
            f"core-hours each, which is {PUBLISHED_HOURS * 3600:.0f} seconds.",
        ],
        [ReportTable("costs", caption, heads, rows, fields, numbers)],
    )


def _is_complete(row: list[str]) -> bool:
    """Whether a line is complete: not interrupted, and not joined with the next one."""
    if len(row) != 7 or row[0] not in RULES or not row[4].isdecimal():
        return False
    try:
        return float(row[6]) >= 0
    except ValueError:
        return False
