"""The comparison with peers: what is stored, what is run again, and its table."""

import json
import math
from itertools import product
from pathlib import Path

from priorband.analysis.scale import RegretScale
from priorband.benchmarks import Hartmann
from priorband.experiments.compare_with_peers import (
    FILE,
    FLAT,
    METHODS,
    PRIORS,
    TABLE_FILE,
    Key,
    StoredRun,
    main,
    run_values,
    stored_runs,
    table,
)

PROBLEM = "hartmann3-good"
VALUES = [-1.0, -2.0, -3.0]


def line(method: str, prior: str) -> str:
    key = {"method": method, "problem": PROBLEM, "prior": prior, "seed": 0}
    return json.dumps(key | {"values": VALUES, "seconds": 0.5, "error": ""}) + "\n"


def test_only_what_is_missing_or_torn_is_run(tmp_path: Path) -> None:
    lines = [line(method, prior) for prior, method in product(PRIORS, METHODS)]
    lines.remove(line("hyperband", FLAT))
    path = tmp_path / FILE
    path.write_text("".join(lines) + line("hyperband", FLAT)[:-9])
    main(["--results", str(tmp_path), "--problems", PROBLEM, "--seeds", "1"])
    stored = stored_runs(path)
    run = stored.pop(("hyperband", PROBLEM, FLAT, 0))
    assert run.values == run_values("hyperband", Hartmann(3), FLAT, 0)
    assert [each.values for each in stored.values()] == [VALUES] * len(lines)
    assert "| near-optimum | priorband |" in (tmp_path / TABLE_FILE).read_text()


def test_the_prior_does_not_change_a_method_that_ignores_it() -> None:
    first, second = (run_values("hyperband", Hartmann(3), prior, 0) for prior in (FLAT, "bad"))
    assert first == second


def test_regret_is_averaged_over_seeds_and_then_over_problems() -> None:
    # Best known 0 and median 2: 1 is 50 points. Problem a has 50 and 150, b has 20.
    runs: dict[Key, StoredRun] = {
        ("priorband", "a", "bad", 0): StoredRun([1.0, 1.0, 0.0], 1.0, ""),
        ("priorband", "a", "bad", 1): StoredRun([3.0, 1.0, 0.0], 3.0, ""),
        ("priorband", "b", "bad", 0): StoredRun([0.4, 1.0, 0.0], 2.0, ""),
        ("priorband", "b", "bad", 1): StoredRun([math.nan] * 3, 2.0, "ValueError: broken"),
    }
    scale = RegretScale(0.0, 2.0)
    [_, _, row] = table(runs, {"a": scale, "b": scale})
    # Means 100 and 20: 60, with a standard error of 40.
    assert row == ("| bad | priorband | 60.0 ± 40.0 | 50.0 ± 0.0 | 0.0 ± 0.0 | 2 | 2 | 1 | 2.00 |")
