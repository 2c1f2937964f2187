"""Every plot shows what the analysis says: axes, series and values, read back from the figure."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch, Rectangle
from numpy.typing import NDArray
from stored_studies import SPACE as STORED
from stored_studies import fill, tell_some

import priorband as pb
from plots.figure_parts import axes_of, line_of, paths_of, points_of, said, texts, ticks, xs, ys
from plots.sample_studies import EPOCHS, SPACE, data, loss, one_rung, told
from priorband import plots
from priorband.errors import ArgumentError, TrialError
from priorband.plots.drawing.style import BLUE, RED
from priorband.plots.drawing.theme import LIGHT
from priorband.study_analysis import (
    ancestry,
    chances_over_budget,
    compare_incumbents,
    config_columns,
    incumbent_over_budget,
    learning_curves,
    parameter_importance,
    rung_agreement,
    rung_flow,
    study_data,
    study_points,
    worker_timeline,
)
from priorband.study_analysis.prior_densities import prior_densities
from priorband.study_analysis.ranked_configs import ranked_configs

SIGNS = pytest.mark.parametrize("maximize", [False, True])


def corners_of(bars: PathPatch) -> NDArray[np.float64]:
    """The corners of bars, four for each."""
    return np.asarray(bars.get_path().vertices, float).reshape(-1, 5, 2)[:, :4]


# The best over the budget


@SIGNS
def test_the_lines_of_the_incumbent_are_its_steps(maximize: bool) -> None:
    study = data(120, maximize=maximize)
    found = incumbent_over_budget(study)
    axes = axes_of(plots.incumbent(study))
    for steps, width in ((found.full, 1.9), (found.any_fidelity, 1.4)):
        line = line_of(axes, RED, width)
        assert line.get_drawstyle() == "steps-post"
        assert np.allclose(xs(line), [*steps.spent, found.spent])
        assert np.allclose(ys(line), [*steps.value, steps.value[-1]])


def test_each_result_is_a_point_where_it_ended() -> None:
    study = data(120)
    points = points_of(axes_of(plots.incumbent(study)))
    order = study.trials.order
    spent = np.cumsum(study.trials.units[order]) / study.full
    shown = [(x, y) for x, y in zip(spent, study.values[order], strict=True) if np.isfinite(y)]
    low, high = axes_of(plots.incumbent(study)).get_ylim()
    wanted = np.array(sorted((x, min(y, high)) for x, y in shown))
    assert low < wanted[:, 1].min()
    assert np.allclose(points[np.lexsort(points.T[::-1])], wanted)


def test_the_incumbent_says_what_it_shows() -> None:
    figure = plots.incumbent(data(120, maximize=True))
    assert "study: highest value so far" in texts(figure)
    assert {"best full training", "incumbent", "epochs 1", "27", "value"} <= set(texts(figure))
    assert "budget spent, in full trainings" in texts(figure)
    assert "107 results, 13 failed, 1 running." in said(figure)


def test_over_time_a_study_needs_a_clock(tmp_path: Path) -> None:
    assert "a study in memory has no clock" in said(plots.incumbent(data(30), over="time"))
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.tell(study.ask(), 0.5)
        study.tell(study.ask(), 0.25)
        read = study_data(study)
    steps = incumbent_over_budget(read).any_fidelity
    axes = axes_of(plots.incumbent(read, over="time"))
    assert xs(line_of(axes, RED, 1.4)) == pytest.approx([*steps.time, read.elapsed])
    wrong: Any = "tiem"
    with pytest.raises(ArgumentError, match=r"`over` must be .* Did you mean 'time'"):
        plots.incumbent(read, over=wrong)


# Learning curves


def test_curves_are_joined_along_promotions() -> None:
    study = data(120)
    found = learning_curves(study)
    axes = axes_of(plots.curves(study))
    wanted = {
        int(root): np.stack((found.step[own], found.value[own]), axis=1)
        for root in np.unique(found.root)
        if (own := found.root == root).any()
    }
    low, high = axes.get_ylim()
    drawn = paths_of(axes)
    several = [np.clip(path, None, (np.inf, high)) for path in wanted.values() if len(path) > 1]
    assert len(drawn) == len(several)
    for path in drawn:
        assert any(path.shape == each.shape and np.allclose(path, each) for each in several)
    assert len(points_of(axes)) == len(wanted) - len(several)
    [best] = [part for part in axes.collections if part.get_linewidth() == [2.4]][:1]
    root = int(study.trials.root[ranked_configs(study)[0]])
    assert np.allclose(best.get_paths()[0].vertices, wanted[root])
    assert axes.get_xscale() == "log" and list(ticks(axes, "x").values()) == ["1", "3", "9", "27"]


def reports(trial: pb.Attempt) -> float:
    for step in trial.steps():
        trial.report(step, loss=loss(trial.config, step))
    return loss(trial.config, trial.fidelity)


def test_a_stored_study_has_every_step_that_was_reported(tmp_path: Path) -> None:
    options: dict[str, Any] = {"show": "quiet", "start": "same-process", "study": tmp_path}
    pb.tune(reports, SPACE, pb.Fidelity("epochs", 1, 9), budget=3, method="sh", **options)
    with pb.open_study(tmp_path, read_only=True) as study:
        figure, read = plots.curves(study), study_data(study)
        found = learning_curves(read, study_points(study))
    longest = max(paths_of(axes_of(figure)), key=len)
    assert longest[:, 0].tolist() == [*range(1, 10)]
    drawn = sum(map(len, paths_of(axes_of(figure)))) + len(points_of(axes_of(figure)))
    assert drawn == len(found.value)
    assert len(learning_curves(read).value) < drawn


# Rungs


@SIGNS
def test_the_columns_of_the_flow_are_the_counts(maximize: bool) -> None:
    study = data(120, maximize=maximize)
    flow = rung_flow(study)
    figure = plots.rung_flow(study)
    bars = [part for part in axes_of(figure).patches if isinstance(part, Rectangle)]
    total = flow.started.sum(axis=1)
    for index, origin in enumerate(flow.origins):
        own = [
            bar for bar in bars if to_hex(bar.get_facecolor()) == LIGHT.origins([origin])[origin]
        ]
        for rung in range(len(total)):
            here = [bar for bar in own if round(bar.get_x() + bar.get_width() / 2) == rung]
            strong = [bar.get_height() for bar in here if bar.get_alpha() is None]
            weak = [bar.get_height() for bar in here if bar.get_alpha() is not None]
            gone = flow.promoted[rung, index] + flow.finished[rung, index]
            assert sum(strong) == pytest.approx(gone / total[rung])
            assert sum(strong + weak) == pytest.approx(flow.started[rung, index] / total[rung])
    rows = [column.split("\n") for column in ticks(axes_of(figure), "x").values()]
    assert [row[0] for row in rows] == ["1", "3", "9", "27"]
    assert [row[1] for row in rows] == [f"{count:,}" for count in total]
    assert any("started\npromoted" in text for text in texts(figure))


def test_bands_lead_to_the_next_rung() -> None:
    study = data(120)
    flow = rung_flow(study)
    bands = [
        part
        for part in axes_of(plots.rung_flow(study)).collections
        if isinstance(part, PolyCollection)
    ]
    assert len(bands) == np.count_nonzero(flow.promoted[:-1])


def test_agreement_has_a_row_for_each_pair_of_rungs() -> None:
    study = data(250)
    found = rung_agreement(study)
    figure = plots.rung_agreement(study)
    axes = axes_of(figure)
    assert axes.get_xlim() == (-1.05, 1.05)
    assert list(ticks(axes, "y").values())[:3] == ["epochs 1 → 3", "1 → 9", "1 → 27"]
    drawn = {
        float(ys(line)[0]): float(xs(line)[0])
        for line in axes.get_lines()
        if line.get_marker() == "o"
    }
    wanted = {float(row): tau for row, tau in enumerate(found.tau.tolist()) if found.enough[row]}
    assert drawn == pytest.approx(wanted) and wanted and len(wanted) < len(found.tau)
    spans = {tuple(xs(line)) for line in axes.get_lines() if len(xs(line)) == 2}
    assert {(found.lower[row], found.upper[row]) for row in map(int, wanted)} <= spans
    few = int(found.count[~found.enough][0])
    assert f"not enough: {few} of {found.least}" in texts(figure)
    assert "Lines are 95% intervals." in texts(figure)


def test_one_rung_agrees_with_nothing() -> None:
    assert "there is only one rung" in said(plots.rung_agreement(one_rung()))


# Where configurations come from


def test_the_areas_are_the_probabilities() -> None:
    study = data(120)
    found = chances_over_budget(study)
    figure = plots.chances(study)
    axes = axes_of(figure)
    tops = np.cumsum(found.probability, axis=0)
    areas = [part for part in axes.collections if isinstance(part, PolyCollection)][
        : len(found.sources)
    ]
    colours = LIGHT.origins(found.sources)
    for source, area, top in zip(found.sources, areas, tops, strict=True):
        assert to_hex(tuple(np.ravel(area.get_facecolor())[:3])) == colours[source]
        corners = np.asarray(area.get_paths()[0].vertices, float)
        highest = [corners[np.isclose(corners[:, 0], at + 0.0), 1].max() for at in range(len(top))]
        before = np.maximum(top, np.concatenate((top[:1], top[:-1])))  # a step has two corners
        assert highest == pytest.approx(before.tolist())
    assert axes.get_xlim() == (0, len(found.trial))
    assert {"uniform", "prior", "incumbent", "evidence", "probability"} <= set(texts(figure))


def test_the_evidence_is_that_of_the_scores() -> None:
    study = data(120)
    found = chances_over_budget(study)
    lower = axes_of(plots.chances(study), 1)
    for score, colour in ((found.prior_score, BLUE), (found.incumbent_score, RED)):
        drawn = ys(line_of(lower, colour, 1.5))
        assert np.allclose(drawn, [*score, score[-1]], equal_nan=True)


def test_a_method_with_one_source_has_one_colour() -> None:
    found = chances_over_budget(data(30, "hyperband"))
    assert found.sources == ("uniform",)
    figure = plots.chances(data(30, "hyperband"))
    assert len(figure.axes) == 1 and "evidence" not in texts(figure)


def test_ancestry_has_a_row_for_each_configuration() -> None:
    study = data(250, "asha+esp")
    found = ancestry(study)
    figure = plots.ancestry(study)
    axes = axes_of(figure)
    assert found.generation.max() >= 1, "the sample must have an incumbent near another one"
    places = sorted(map(tuple, points_of(axes).tolist()))
    rungs = np.searchsorted(study.ladder.fidelities, found.fidelity)
    assert places == sorted(zip(rungs.tolist(), found.generation.tolist(), strict=True))
    names = ticks(axes, "y")
    for row, name in names.items():
        first = int(np.flatnonzero(found.generation == row)[0])
        assert name == f"trial {found.trial[first]}, {found.origin[first]}"
    assert len(names) == found.generation.max() + 1
    assert f"{found.value[-1]:.4g}" in texts(figure)
    arrows = [part for part in axes.texts if getattr(part, "arrow_patch", None) is not None]
    assert len(arrows) == len(names) - 1


def test_ancestry_of_any_trial() -> None:
    assert "study: where trial 7 comes from" in texts(plots.ancestry(data(120), 7))
    with pytest.raises(TrialError, match="`trial` 999 is not in this study"):
        plots.ancestry(data(120), 999)


# Workers


def test_the_timeline_has_a_bar_for_each_attempt(tmp_path: Path) -> None:
    place = tmp_path / "runs"
    with pb.open_study(place, STORED, EPOCHS) as one, pb.open_study(place) as other:
        fill(one)
        tell_some(other, 3)
        read = study_data(one)
    spans = worker_timeline(read)
    figure = plots.timeline(read)
    axes = axes_of(figure)
    bars = [part for part in axes.patches if isinstance(part, PathPatch)]
    boxes = np.concatenate([corners_of(part) for part in bars])
    assert len(boxes) == len(spans.trial) > 20
    starts, ends = boxes[:, :, 0].min(axis=1), boxes[:, :, 0].max(axis=1)
    assert sorted(starts) == pytest.approx(sorted(spans.start))
    assert sorted(ends) == pytest.approx(sorted(spans.end))
    rows = np.sort(boxes[:, :, 1].mean(axis=1).round())
    assert rows.tolist() == np.sort(spans.worker).tolist()
    assert list(ticks(axes, "y").values()) == [*spans.workers]
    low, high = axes.get_ylim()
    assert len(spans.workers) == 2
    assert low > high, "the first worker is at the top"
    assert {"returned", "failed", "running"} <= set(texts(figure))
    assert f"{len(spans.trial)} attempts of {len(spans.workers)} workers" in said(figure)


def test_a_study_in_memory_has_no_timeline() -> None:
    assert "a study in memory has no clock and no workers" in said(plots.timeline(data(30)))


# Parameters


@SIGNS
def test_parallel_lines_are_the_configurations(maximize: bool) -> None:
    study = data(120, maximize=maximize)
    table, ranked = config_columns(study), ranked_configs(study)
    axes = axes_of(plots.parallel(study, best=4))
    paths = paths_of(axes)
    best, others = paths[-4:], paths[:-4]
    assert len(others) == len(ranked) - 4
    for trial, path in zip(ranked.tolist(), [*best, *others], strict=True):
        units = [parameter.unit[trial] for parameter in table.parameters]
        assert path[:-1, 1] == pytest.approx([-0.12 if np.isnan(u) else u for u in units])
    heights = [path[-1, 1] for path in [*best, *others]]
    assert heights == sorted(heights, reverse=maximize)
    assert [*ticks(axes, "x").values()][:3] == ["lr", "batch", "depth"]
    assert "inactive" in [text.get_text() for text in axes.texts]


def test_the_axes_of_parallel_have_the_scales_of_the_parameters() -> None:
    axes = axes_of(plots.parallel(data(120)))
    numbers = {
        (round(text.get_position()[0]), text.get_text()): text.get_position()[1]
        for text in axes.texts
    }
    for place, (name, values) in enumerate({"lr": (1e-5, 1e-3, 1e-1), "batch": (10, 100)}.items()):
        for value in values:
            text = "1e\N{MINUS SIGN}5" if value == 1e-5 else f"{value:g}"
            assert numbers[place, text] == pytest.approx(SPACE.searched[name].encode(value))
    assert (numbers[3, "sgd"], numbers[3, "$adam$"]) == (0, 1)


def test_the_number_of_best_ones_is_checked() -> None:
    wrong: Any = 2.5
    with pytest.raises(ArgumentError, match="`best` must be a whole number of at least 0, got 2.5"):
        plots.parallel(data(30), best=wrong)
    assert len(paths_of(axes_of(plots.parallel(data(30), best=0)))) == len(ranked_configs(data(30)))


def test_bars_of_importance_are_sorted_and_marked() -> None:
    study = data(250)
    found = parameter_importance(study)
    assert found.enough
    figure = plots.importance(study)
    axes = axes_of(figure)
    order = np.argsort(-found.importance, kind="stable")
    bars = [part for part in axes.patches if isinstance(part, Rectangle)]
    assert [bar.get_width() for bar in bars] == pytest.approx(found.importance[order].tolist())
    shades = [to_hex(bar.get_facecolor()) for bar in bars]
    assert shades == [BLUE if found.clear[index] else LIGHT.faint for index in order]
    names = [*ticks(axes, "y").values()]
    assert names[int(np.flatnonzero(order == 0)[0])] == "lr"
    fidelity = f"{found.fidelity:g}"
    assert f"PED-ANOVA on {found.used} configurations at epochs {fidelity}." in said(figure)
    spans = {tuple(xs(line)) for line in axes.get_lines() if len(xs(line)) == 2}
    assert {(found.lower[index], found.upper[index]) for index in order} <= spans


def test_importance_says_when_there_is_not_enough() -> None:
    assert "not enough evidence: " in said(plots.importance(data(5)))
    with pytest.raises(ArgumentError, match="rung"):
        plots.importance(data(120), rung=17)


def test_the_prior_stands_against_the_best() -> None:
    study = data(250)
    densities, table, ranked = prior_densities(study), config_columns(study), ranked_configs(study)
    best = ranked[: round(0.1 * len(ranked))]
    figure = plots.prior(study)
    lr = axes_of(figure, 0)
    curve = line_of(lr, BLUE, 1.0)
    assert np.allclose(ys(curve), densities[0].density)
    assert np.allclose(xs(curve), densities[0].position)
    assert xs(line_of(lr, RED, 1.5))[0] == table.parameters[0].unit[ranked[0]]
    assert xs(line_of(lr, BLUE, 1.5))[0] == pytest.approx(SPACE.searched["lr"].encode(1e-3))
    assert sorted(path[0, 0] for path in paths_of(lr)) == sorted(table.parameters[0].unit[best])
    bars = [part for part in lr.patches if isinstance(part, Rectangle)]
    assert sum(bar.get_width() * bar.get_height() for bar in bars) == pytest.approx(1)
    choices = [part for part in axes_of(figure, 2).patches if isinstance(part, Rectangle)]
    assert [bar.get_height() for bar in choices[:3]] == pytest.approx(densities[2].density.tolist())
    assert sum(bar.get_height() for bar in choices[3:]) == pytest.approx(1)
    assert "no belief" in texts(figure) and f"the best {len(best)} configurations" in texts(figure)


# Several studies


@SIGNS
def test_compared_studies_are_on_one_axis(maximize: bool) -> None:
    several = [data(120, "priorband", maximize), data(120, "hyperband", maximize)]
    found = compare_incumbents(several)
    figure = plots.compare(*several)
    for panel, table in enumerate((found.full, found.any_fidelity)):
        drawn = [line for line in axes_of(figure, panel).get_lines() if len(xs(line)) > 9]
        assert len(drawn) == 2
        for line, row in zip(drawn, table, strict=True):
            assert np.allclose(xs(line), found.spent)
            low, high = axes_of(figure, panel).get_ylim()
            assert np.allclose(ys(line), row, equal_nan=True)
    assert axes_of(figure, 0).get_ylim() == axes_of(figure, 1).get_ylim()
    assert {"study", "study (2)", "best full training"} <= set(texts(figure))


def test_studies_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(ArgumentError, match="all maximise or all minimise"):
        plots.compare(data(30), data(30, maximize=True))
    with pytest.raises(ArgumentError, match="at least one study"):
        plots.compare()


def test_a_study_without_a_result_is_named() -> None:
    figure = plots.compare(data(120), study_data(told(0)))
    assert "none yet: study (2)" in texts(figure)
