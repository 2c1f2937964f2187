"""Tables: values at horizons computed by hand, and how they compare with the printed ones."""

import csv
import io
import math
from collections.abc import Sequence

import numpy as np
import pytest

from priorband.analysis.curves import value_at
from priorband.analysis.summary import Summary, summarised
from priorband.benchmarks.catalogue import catalogue_entry
from priorband.benchmarks.priors import QUALITIES
from priorband.experiments.cases import NO_PRIOR, Case
from priorband.experiments.paper_results import PaperCell, PaperCellKey
from priorband.experiments.report import method_comparison, paper_comparison
from priorband.experiments.report.blocks import ReportTable
from priorband.experiments.report.method_comparison import rank_table, regret_figures
from priorband.experiments.report.pages import as_csv
from priorband.experiments.report.paper_comparison import first_table_section, trace_section
from priorband.experiments.report.results import Results, benchmark_prior_pairs
from priorband.experiments.report.tables import (
    MeasuredCell,
    Scope,
    agreement,
    agreement_text,
    measured_cells,
    performance_table,
    rounded_text,
    seed_count_text,
)
from priorband.experiments.run_record import COLUMNS, RunRecord

TASK, STAND_IN = "lcbench-126026", "pd1-wmt-standin"
ROOT = math.sqrt

Trial = tuple[float, ...]
"""A cost, a loss, the loss after full training if it differs, and the worker."""


def record(case: Case, trials: Sequence[Trial]) -> RunRecord:
    """A run of trials in the order they ended."""
    columns = {name: np.zeros(len(trials), dtype=kind) for name, kind in COLUMNS.items()}
    for place, (cost, loss, *more) in enumerate(trials):
        full, worker = [*more, *[loss, 0][len(more) :]]
        row = {"cost": cost, "loss": loss, "full": full, "worker": worker, "ended": place}
        for name, value in row.items():
            columns[name][place] = value
    return RunRecord(case, columns, np.zeros((len(trials), 1)))


def cell_records(
    method: str, prior: str, *runs: Sequence[Trial], name: str = TASK, rules: str = "published"
) -> list[RunRecord]:
    """Runs of one cell that reach a budget of 20, with seeds from 0."""
    return [
        record(Case(rules, name, prior, method, 1, seed, 20.0), run)
        for seed, run in enumerate(runs)
    ]


# At 5: 0.32, since the loss fell to 0.35 while the loss in full rose; nothing yet; and 0.5.
# At 12: 0.1, 0.2 and 0.3, the last of which ends at 12 exactly.
PRIORBAND = cell_records(
    "priorband",
    "good",
    [(2, 0.4, 0.3), (3, 0.35, 0.32), (6, 0.2, 0.1)],
    [(6, 0.2, 0.2)],
    [(1, 0.5), (11, 0.3)],
)
RANDOM = cell_records("random", NO_PRIOR, *[[(1, 0.25)]] * 3)
SCOPE = Scope("published", ("random", "priorband"))
PRINTED = {PaperCellKey("LC-126026", "good", "PriorBand", 12.0, 1): PaperCell(0.3, 0.2, 4)}


def cells(
    horizon: float, records: Sequence[RunRecord] = (*PRIORBAND, *RANDOM)
) -> list[MeasuredCell]:
    return measured_cells(Results(records), PRINTED, SCOPE, horizon)


def cell(horizon: float, prior: str, method: str) -> MeasuredCell:
    [found] = [c for c in cells(horizon) if (c.prior, c.method) == (prior, method)]
    return found


def table(horizon: float) -> ReportTable:
    return performance_table("name", "caption", SCOPE, cells(horizon))


def rows_of(table: ReportTable) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(as_csv(table))))


def test_a_cell_has_the_incumbents_values_at_its_horizon() -> None:
    at_12 = cell(12.0, "good", "priorband").ours
    assert [at_12.mean, at_12.sd, at_12.sem] == pytest.approx([0.2, 0.1, 0.1 / ROOT(3)])
    assert (at_12.n, at_12.missing) == (3, 0)


def test_a_run_with_nothing_within_the_budget_is_missing() -> None:
    at_5 = cell(5.0, "good", "priorband").ours
    assert [at_5.mean, at_5.sd, at_5.sem] == pytest.approx([0.41, 0.18 / ROOT(2), 0.09])
    assert (at_5.n, at_5.missing) == (2, 1)
    [row] = [row for row in table(5.0).rows if row[1].text == "good"]
    assert row[3].text == "0.410 ± 0.127 (0.090), 1 missing"
    assert [row["missing"] for row in rows_of(table(5.0)) if row["method"] == "priorband"] == ["1"]


def test_the_difference_is_in_standard_errors_of_both_means() -> None:
    # (0.2 - 0.3) / sqrt(0.01 / 3 + 0.04 / 4)
    assert cell(12.0, "good", "priorband").difference_in_se == pytest.approx(-0.1 / ROOT(0.04 / 3))
    assert math.isnan(cell(12.0, "good", "random").difference_in_se)
    assert cell(5.0, "good", "priorband").printed is None


def test_the_lowest_mean_is_bold_and_the_papers_mean_is_below() -> None:
    by_prior = {row[1].text: row for row in table(12.0).rows}
    assert table(12.0).heads == ["benchmark", "prior", "RS", "PriorBand"]
    _, _, random, priorband = by_prior["good"]
    assert (random.text, random.bold) == ("0.250 ± 0.000 (0.000)", False)
    assert (priorband.text, priorband.bold) == ("0.200 ± 0.100 (0.058)", True)
    assert priorband.below == "paper 0.300 ± 0.200, -0.9 se"


def test_a_method_that_ignores_the_prior_is_in_every_row() -> None:
    rows = table(12.0).rows
    assert [row[1].text for row in rows] == list(QUALITIES)
    assert {row[2].text for row in rows} == {"0.250 ± 0.000 (0.000)"}
    assert [row[3].text != "" for row in rows] == [False, True, False]
    assert [row[2].bold for row in rows] == [True, False, True]


def test_the_csv_file_has_the_numbers_of_the_cells() -> None:
    found = {(row["prior"], row["method"]): row for row in rows_of(table(12.0))}
    assert len(found) == 4
    for row in table(12.0).rows:
        for method, shown in zip(SCOPE.methods, row[2:], strict=True):
            numbers = found.get((row[1].text, method))
            if numbers is None:
                assert shown.text == ""
                continue
            mean, sd, se = (rounded_text(float(numbers[name])) for name in ("mean", "sd", "se"))
            assert shown.text == f"{mean} ± {sd} ({se})"
            assert numbers["best"] == str(int(shown.bold))
    ours = found["good", "priorband"]
    assert float(ours["mean"]) == pytest.approx(0.2) and ours["seeds"] == "3"
    published = [ours[f"published_{name}"] for name in ("mean", "sd", "seeds")]
    assert (published, ours["difference_in_se"]) == (["0.3", "0.2", "4"], "-0.866")
    assert (ours["benchmark"], ours["stand_in"], ours["horizon"]) == ("LC-126026", "0", "12")


def test_a_single_run_has_no_spread_and_no_difference() -> None:
    [alone] = cells(12.0, PRIORBAND[:1])
    single = performance_table("name", "caption", SCOPE, [alone])
    [[_, _, shown]] = single.rows
    assert (shown.text, shown.below) == ("0.100 ± – (–)", "paper 0.300 ± 0.200")
    [numbers] = rows_of(single)
    assert (numbers["sd"], numbers["difference_in_se"]) == ("", "")
    assert agreement([alone]) == (0, 0, 0)


def test_runs_that_did_not_reach_the_horizon_have_no_cell() -> None:
    short = Case("published", TASK, "good", "priorband", 1, 3, 8.0)
    records = [*PRIORBAND, record(short, [(1, 0.5)])]
    assert cells(12.0, records) == []
    assert [c.ours.n for c in cells(8.0, records)] == [4]


def test_other_rules_and_other_numbers_of_workers_are_other_cells() -> None:
    results = Results(PRIORBAND)
    assert measured_cells(results, {}, Scope("paper", ("priorband",)), 12.0) == []
    assert measured_cells(results, {}, Scope("published", ("priorband",), 4), 12.0) == []


def test_a_horizon_of_several_workers_counts_each_workers_own_budget() -> None:
    # In total 3.3 trainings; but the first worker paid 0.6, then 1.2, the others 0.5 and 1.0.
    run: list[Trial] = [
        (0.5, 0.3, 0.31, 1),
        (0.6, 0.5, 0.5, 0),
        (1.0, 0.2, 0.21, 2),
        (0.6, 0.1, 0.11, 0),
        (0.6, 0.05, 0.06, 3),
    ]
    asha = record(Case("published", STAND_IN, NO_PRIOR, "asha", 4, 0, 5.0), run)
    printed = {PaperCellKey("PD1-WMT", "bad", "ASHA", 5.0, 4): PaperCell(0.06, 0.1, 10)}
    scope = Scope("published", ("asha",), 4)
    for horizon, value in ((0.5, 0.31), (0.55, 0.31), (1.0, 0.06), (5.0, 0.06)):
        found = measured_cells(Results([asha]), printed, scope, horizon)
        assert [c.ours.mean for c in found] == [value] * 3
    assert [c.printed is not None for c in found] == [False, False, True]  # by the paper's names


def test_a_stand_in_is_compared_with_the_real_benchmark_and_marked() -> None:
    records = cell_records("async-hyperband", NO_PRIOR, [(1, 0.5)], [(1, 0.7)], name=STAND_IN)
    printed = {PaperCellKey("PD1-WMT", "bad", "AsyncHB", 12.0, 1): PaperCell(0.5, 0.1, 25)}
    scope = Scope("published", ("async-hyperband",))
    found = measured_cells(Results(records), printed, scope, 12.0)
    assert [c.printed for c in found] == [None, None, PaperCell(0.5, 0.1, 25)]
    table = performance_table("name", "caption", scope, found)
    assert {row[0].text for row in table.rows} == {"PD1-WMT (stand-in)"}
    assert {(r["benchmark"], r["stand_in"]) for r in rows_of(table)} == {
        ("PD1-WMT (stand-in)", "1")
    }


def test_two_users_tables_with_the_same_file_name_are_not_mixed() -> None:
    names = ("table:a/runs.csv", "table:b/runs.csv")
    records = [
        cell_records("random", NO_PRIOR, [(1, loss)], name=name)
        for name, loss in zip(names, (1, 2), strict=True)
    ]
    found = measured_cells(Results(sum(records, [])), {}, SCOPE, 12.0)
    table = performance_table("name", "caption", SCOPE, found)
    assert [row[2].text for row in table.rows] == 3 * ["1.000 ± – (–)"] + 3 * ["2.000 ± – (–)"]
    assert all(row[2].bold for row in table.rows)


# How many agree


def judged(method: str, prior: str, mean: float, printed: PaperCell | None) -> MeasuredCell:
    ours = Summary(mean, 0.1, 0.0, 4)
    return MeasuredCell(catalogue_entry(TASK), prior, method, 12.0, ours, printed)


def test_agreement_counts_cells_within_one_and_two_standard_errors() -> None:
    printed = PaperCell(0.0, 1.0, 1)
    means = (0.5, -1.0, 1.5, -2.0, 2.5, math.nan)
    every = [judged("priorband", f"p{i}", mean, printed) for i, mean in enumerate(means)]
    assert agreement(every) == (2, 4, 5)
    assert agreement([judged("priorband", "good", 0.0, None)]) == (0, 0, 0)


@pytest.mark.parametrize("method", ["random", "hyperband", "bohb", "asha"])
def test_agreement_counts_a_method_that_ignores_the_prior_once(method: str) -> None:
    alike = [judged(method, prior, 0.5, PaperCell(0.0, 1.0, 1)) for prior in QUALITIES]
    assert agreement(alike) == (1, 1, 1)


def test_agreement_counts_it_again_if_the_paper_prints_other_numbers() -> None:
    several = [
        judged("async-hyperband", prior, 0.5, PaperCell(mean, 1.0, 1))
        for prior, mean in zip(QUALITIES, (0.0, 0.0, 2.0), strict=True)
    ]
    assert agreement(several) == (1, 2, 2)


def test_agreement_counts_a_method_under_every_prior_that_it_uses() -> None:
    each = [judged("priorband", prior, 0.5, PaperCell(0.0, 1.0, 1)) for prior in QUALITIES]
    assert agreement(each) == (3, 3, 3)


# The first table


def test_the_first_table_shows_all_rules_side_by_side() -> None:
    by_text = cell_records("priorband", "good", [(1, 0.9)], [(1, 0.9)], [(1, 0.9)], rules="paper")
    printed = PRINTED | {
        PaperCellKey("LC-126026", prior, "RS", 12.0, 1): PaperCell(0.3, 0.2, 4)
        for prior in QUALITIES
    }
    results = Results([*PRIORBAND, *RANDOM, *by_text])
    section = first_table_section(results, printed, ("random", "priorband"), (5.0, 12.0))
    assert section is not None
    [found] = section.blocks
    assert isinstance(found, ReportTable)
    texts = [[shown.text for shown in row] for row in found.rows]
    about = ["LC-126026", "12x"]
    assert texts == [
        [*about, "RS", "any", "0.300 ± 0.200", "0.250 ± 0.000 (0.000)", "-0.50 se", *[""] * 4],
        [
            *(*about, "PriorBand", "good", "0.300 ± 0.200", "0.200 ± 0.100 (0.058)", "-0.87 se"),
            *("", "", "0.900 ± 0.000 (0.000)", "+6.00 se"),
        ],
    ]
    assert [shown.bold for shown in found.rows[1]] == 10 * [False] + [True]
    assert (
        "LCBench under the published rules: 2 of 2 printed cells within one standard error"
        in str(section.paragraphs)
    )
    random, priorband = rows_of(found)
    assert (
        priorband["printed_mean"] == "0.3" and priorband["published_difference_in_se"] == "-0.866"
    )
    assert (priorband["paper_difference_in_se"], priorband["authors_mean"]) == ("6.000", "")
    ours = [float(priorband[f"published_{name}"]) for name in ("mean", "sd", "se")]
    assert ours == pytest.approx([0.2, 0.1, 0.1 / ROOT(3)])
    assert len(set(found.fields)) == len(found.fields)
    assert random["prior"] == "any"


def test_without_printed_cells_there_is_no_first_table() -> None:
    assert first_table_section(Results(PRIORBAND), {}, ("priorband",), (5.0, 12.0)) is None


# Traces


def test_traces_without_spread_are_equal_to_five_digits_or_show_the_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(paper_comparison, "curves", lambda panels, frame, name: "<svg></svg>")
    ours = cell_records("random", NO_PRIOR, [(1, 0.5), (2, 0.3)], [(1, 0.5)])
    theirs = np.empty((2, 24))
    theirs[:, 0], theirs[:, 1], theirs[:, 2:] = 0.500004, 0.6, [[0.7], [0.9]]
    theirs[:, 19] = math.nan
    section = trace_section(
        Results(ours), {("LC-126026", "near-optimum", "RS"): theirs}, ("random", "priorband")
    )
    assert section is not None
    found = section.blocks[0]
    assert isinstance(found, ReportTable)
    [row] = found.rows
    assert [shown.text for shown in row[:3]] == ["LC-126026", "RS", "any"]
    # from 3x on: (0.4 - 0.8) / sqrt(0.1^2 + 0.1^2)
    assert [shown.text for shown in row[3:]] == ["=", "(-0.100)", *["-2.8"] * 17, "–"]
    assert [shown.bold for shown in row[3:]] == [False, False, *[True] * 17, False]
    assert section.paragraphs[-1] == (
        "LCBench: 0 of 17 within one standard error, 0 within two; "
        "of 2 without any spread, 1 agree."
    )
    numbers = rows_of(found)
    assert [r["difference_in_se"] for r in numbers[:2]] == ["", ""]
    assert float(numbers[2]["difference_in_se"]) == pytest.approx(-0.4 / ROOT(0.02))
    assert [float(numbers[2][f"our_{name}"]) for name in ("mean", "se")] == pytest.approx(
        [0.4, 0.1]
    )


def test_traces_need_runs_that_reach_their_last_budget() -> None:
    short = record(Case("published", TASK, NO_PRIOR, "random", 1, 0, 19.0), [(1, 0.5)])
    theirs = {("LC-126026", "near-optimum", "RS"): np.ones((2, 24))}
    assert trace_section(Results([short]), theirs, ("random",)) is None


# Results


def test_a_group_has_the_seeds_and_benchmarks_that_all_methods_share() -> None:
    elsewhere = cell_records("priorband", "good", [(1, 0.5)], name=STAND_IN)
    results = Results([*PRIORBAND[1:], *RANDOM, *elsewhere])
    where = benchmark_prior_pairs(results.benchmarks)
    assert [(one.name) for one in results.benchmarks] == [TASK, STAND_IN]
    group = results.group("published", ("random", "priorband"), where)
    assert {method: list(runs) for method, runs in group.items()} == {
        "random": [f"{TASK}/good"],
        "priorband": [f"{TASK}/good"],
    }
    [curves] = group["priorband"].values()
    assert [curve.values[-1] for curve in curves] == [0.2, 0.3]  # seeds 1 and 2
    assert results.group("published", ("random", "grid"), where) == {}
    assert results.group("paper", ("random",), where) == {}


def test_the_published_bo_is_stored_with_its_prior() -> None:
    results = Results(cell_records("bo", "bad", [(1, 0.5)]))
    assert results.cell_key("published", TASK, "bad", "bo")[2] == "bad"
    assert results.cell_key("paper", TASK, "bad", "bo")[2] == NO_PRIOR
    assert summarised([1.0]).n == len(
        results.curves(results.cell_key("published", TASK, "bad", "bo"))
    )


@pytest.mark.parametrize(
    ("ours", "printed", "alike"),
    [(0.2234, 0.223, True), (0.2236, 0.223, False), (0.2234, 0.2236, True)],
)
def test_means_without_spread_are_compared_by_the_printed_digits(
    ours: float, printed: float, alike: bool
) -> None:
    summary, paper = Summary(ours, 0.0, 0.0, 10), PaperCell(printed, 0.0, 10)
    cell = MeasuredCell(catalogue_entry("hartmann3-good"), "good", "priorband", 1.0, summary, paper)
    assert math.isnan(cell.difference_in_se) and cell.means_agree is alike
    assert agreement([cell]) == (0, 0, 0)
    assert agreement_text([cell]).endswith(
        f"of 1 without any spread, {alike:d} agree to the printed digits."
    )


def test_a_cell_with_failed_runs_says_so_and_is_never_the_best() -> None:
    failed = summarised([0.1, math.inf, math.inf])
    assert (failed.n, failed.failed, failed.missing, failed.complete) == (1, 2, 0, False)
    cells = [
        MeasuredCell(catalogue_entry("hartmann3-good"), "good", method, 1.0, summary, None)
        for method, summary in (("random", failed), ("priorband", summarised([0.2, 0.2, 0.2])))
    ]
    table = performance_table("t", "", Scope("paper", ("random", "priorband")), cells)
    lone, three = table.rows[0][2:]
    assert (lone.text.endswith(", 2 failed"), lone.bold) == (True, False)
    assert (three.text, three.bold) == ("0.200 ± 0.000 (0.000)", True)


def test_methods_are_ranked_up_to_the_budget_that_all_reached() -> None:
    short = record(Case("published", TASK, NO_PRIOR, "random", 1, 0, 6.0), [(1, 0.5)])
    found = rank_table(Results([short, *PRIORBAND]), SCOPE, {}, "ranks", (5.0, 12.0))
    assert found is not None
    assert {row["horizon"] for row in rows_of(found)} == {"5"}


def test_a_run_without_a_value_counts_among_the_seeds() -> None:
    assert seed_count_text(cells(5.0)) == "3 seeds"


def test_a_difference_below_two_standard_errors_is_not_bold() -> None:
    printed = {
        PaperCellKey("LC-126026", q, "RS", 12.0, 1): PaperCell(0.4, 0.2, 4) for q in QUALITIES
    }
    section = first_table_section(Results(RANDOM), printed, ("random",), (12.0,))
    assert section is not None and isinstance(section.blocks[0], ReportTable)
    [row] = section.blocks[0].rows
    assert (row[6].text, row[6].bold) == ("-1.50 se", False)


def test_methods_are_ranked_on_the_papers_benchmarks_if_there_are_any() -> None:
    where = {"name": "hartmann3-good"}
    others = [
        *cell_records("random", NO_PRIOR, [(1, 0.1)], **where),
        *cell_records("priorband", "good", [(1, 0.9)], **where),
    ]
    ours = [
        *cell_records("random", NO_PRIOR, [(1, 0.9)]),
        *cell_records("priorband", "good", [(1, 0.1)]),
    ]
    for records, rank in (([*ours, *others], 1.0), (others, 2.0)):
        found = rank_table(Results(records), SCOPE, {}, "ranks", (12.0,))
        assert found is not None
        means = {float(r["mean_rank"]) for r in rows_of(found) if r["method"] == "priorband"}
        assert means == {rank}


def test_regret_names_the_benchmarks_of_the_mean_only_if_it_shows_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(method_comparison, "curves", lambda panels, frame, name: "<svg></svg>")
    elsewhere = [
        *cell_records("random", NO_PRIOR, [(1, 0.1)], name="hartmann3-good", rules="paper"),
        *cell_records("priorband", "good", [(1, 0.9)], name="hartmann3-good", rules="paper"),
    ]
    results = Results([*PRIORBAND, *RANDOM, *elsewhere])
    [figure] = regret_figures(results, SCOPE, "regret", (12.0,))
    assert figure.caption.endswith("The first panel is the mean over LC-126026.")
    [figure] = regret_figures(results, Scope("paper", SCOPE.methods), "regret", (12.0,))
    assert figure.caption.endswith("of the methods shown on the benchmark.")


def test_a_configuration_whose_promotion_failed_is_no_longer_the_incumbent() -> None:
    run = record(PRIORBAND[0].case, [(1, 0.3), (1, 0.5), (1, math.nan)])
    run.columns["parent"][:] = [-1, -1, 0]
    results = Results([run])
    curve = results.curves(results.cell_key("published", TASK, "good", "priorband"))[0]
    assert [value_at(curve, budget) for budget in (2.0, 3.0)] == [0.3, 0.5]


def test_the_longest_of_several_runs_with_one_key_is_shown() -> None:
    runs = [
        record(Case("published", TASK, "good", "priorband", 1, 0, budget), [(1, 0.5)])
        for budget in (5.0, 12.0)
    ]
    for some in (runs, runs[::-1]):
        results = Results(some)
        assert (
            results.reached_budget(results.cell_key("published", TASK, "good", "priorband")) == 12.0
        )
