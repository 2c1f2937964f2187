"""What the analysis of a stored study of many trials costs, each function by itself.

    python benchmarks/study_analysis.py [--trials 50000] [--repeats 3] [--keep FOLDER]

CPU seconds, the least of several repeats, and the ratio to R: the time to apply all of the study's
events to an empty state, measured in the same run. `first read` reads the whole journal, `next
read` what one more trial has added. The goal for each function is 2 s for 50,000 trials.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import priorband as pb  # noqa: E402  # after the path
from benchmarks.large_study import make  # noqa: E402  # after the path
from priorband import study_analysis as analysis  # noqa: E402  # after the path

GOAL = 2.0
FUNCTIONS: dict[str, Callable[[analysis.StudyData], Any]] = {
    "incumbent_over_budget": analysis.incumbent_over_budget,
    "learning_curves": lambda data: analysis.learning_curves(data, most_points=10_000),
    "rung_flow": analysis.rung_flow,
    "chances_over_budget": analysis.chances_over_budget,
    "rung_agreement": analysis.rung_agreement,
    "parameter_importance": analysis.parameter_importance,
    "worker_timeline": analysis.worker_timeline,
    "ancestry": analysis.ancestry,
    "config_columns": analysis.config_columns,
    "compare_incumbents": lambda data: analysis.compare_incumbents([data, data]),
    "as_json(config_columns)": lambda data: analysis.as_json(analysis.config_columns(data)),
}


def cpu(function: Callable[[], object], repeats: int) -> float:
    """The least CPU seconds of several calls."""
    taken = []
    for _ in range(repeats):
        before = time.process_time()
        function()
        taken.append(time.process_time() - before)
    return min(taken)


def applied(data: analysis.StudyData) -> None:
    """Apply all events to an empty state."""
    state = data.problem.start()
    for event in data.state.history.events:
        state = state.after(event)


def measure(where: Path, repeats: int) -> bool:
    """Print what each function takes; whether all meet the goal."""
    with pb.open_study(where) as study:
        reader = analysis.StudyReader(study)
        first = cpu(reader.refresh, 1)
        study.tell(study.ask(), 0.5)
        following = cpu(reader.refresh, 1)
        data = reader.refresh()
        reference = cpu(lambda: applied(data), repeats)
        taken = {"first read": first, "next read": following}
        taken |= {name: cpu(partial(each, data), repeats) for name, each in FUNCTIONS.items()}
        print(f"{len(data.trials)} trials, {os.cpu_count()} cores, R = {reference:.3f} s")
    for name, seconds in taken.items():
        mark = "" if seconds < GOAL else f"  above {GOAL:g} s"
        print(f"  {name:<26}{seconds:8.3f} s{seconds / reference:8.2f} R{mark}")
    return max(taken.values()) < GOAL


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--keep", help="make the study in this folder, and leave it there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        where = Path(options.keep or made) / "large"
        make(where, options.trials)
        return 0 if measure(where, options.repeats) else 1


if __name__ == "__main__":
    sys.exit(main())
