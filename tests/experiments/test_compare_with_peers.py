"""The comparison with peers: what is stored, what is run again, and its command."""

import json
from itertools import product
from pathlib import Path

import pytest

from priorband.analysis.curves import value_at
from priorband.benchmarks import Hartmann
from priorband.errors import FormatError
from priorband.experiments.cases import FIRST_CONFIRMATION_SEED, FLAT_PRIOR, Case
from priorband.experiments.compare_with_peers import (
    BEGIN,
    END,
    FILE,
    METHODS,
    PROBLEMS,
    TABLE_FILE,
    main,
    missing_cases,
    run_values,
    stored_runs,
    with_tables,
)
from priorband.experiments.peers.comparison_table import BUDGETS, PRIORS
from priorband.experiments.report.results import _curve
from priorband.experiments.run_record import run_case

PROBLEM = "hartmann3-good"
VALUES = [-1.0, -2.0, -3.0]
SEED = FIRST_CONFIRMATION_SEED


def line(method: str, prior: str) -> str:
    key = {"method": method, "problem": PROBLEM, "prior": prior, "seed": SEED}
    about = {"values": VALUES, "seconds": 0.5, "error": "", "package": "other 1.0"}
    return json.dumps(key | about) + "\n"


def case(method: str, prior: str) -> Case:
    return Case("paper", PROBLEM, prior, method, 1, SEED, max(BUDGETS))


def test_only_what_is_missing_or_torn_is_run(tmp_path: Path) -> None:
    lines = [line(method, prior) for prior, method in product(PRIORS, METHODS)]
    lines.remove(line("hyperband", FLAT_PRIOR))
    path = tmp_path / FILE
    path.write_text("".join(lines) + line("hyperband", FLAT_PRIOR)[:-9])
    main(["--results", str(tmp_path), "--problems", PROBLEM, "--seeds", "1"])
    stored = stored_runs(path)
    run = stored.pop(("hyperband", PROBLEM, FLAT_PRIOR, SEED))
    assert run.values == run_values(case("hyperband", FLAT_PRIOR), Hartmann(3), {})
    assert run.package.startswith("priorband ")
    assert [each.values for each in stored.values()] == [VALUES] * len(lines)
    text = (tmp_path / TABLE_FILE).read_text()
    assert "| near-optimum | priorband |" in text
    assert f"other 1.0, {run.package}. Not run: nothing." in text


def test_a_method_that_ignores_the_prior_is_run_once() -> None:
    cases = list(missing_cases([], [PROBLEM], ["hyperband", "priorband"], [SEED]))
    assert [each.prior for each in cases if each.method == "hyperband"] == [FLAT_PRIOR]
    assert [each.prior for each in cases if each.method == "priorband"] == list(PRIORS)


def test_our_methods_have_the_values_of_the_experiments() -> None:
    flat = case("guardband", FLAT_PRIOR)
    curve = _curve(run_case(flat, Hartmann(3), {}))
    assert run_values(flat, Hartmann(3), {}) == [value_at(curve, budget) for budget in BUDGETS]


def test_confirmation_seeds_are_run_on_eight_problems() -> None:
    assert len(set(PROBLEMS)) == 8
    assert {each.seed for each in missing_cases([], PROBLEMS, METHODS, [SEED])} == {1000}


def test_the_number_of_seeds_is_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="`seeds` must be"):
        main(["--results", str(tmp_path), "--seeds", "0"])


def test_tables_go_between_the_marks_of_a_document() -> None:
    document = f"# Peers\n\n{BEGIN}\nold\n{END}\n\nMore.\n"
    once = with_tables(document, "| a |\n")
    assert once == f"# Peers\n\n{BEGIN}\n\n| a |\n\n{END}\n\nMore.\n"
    assert with_tables(once, "| a |\n") == once
    with pytest.raises(FormatError, match="needs two lines"):
        with_tables("# Peers", "| a |")
