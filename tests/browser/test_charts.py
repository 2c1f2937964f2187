"""The chart views in a browser: right values, brushes, keys, the filter, the address."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import priorband as pb
from priorband.study_analysis import (
    StudyData,
    ancestry,
    chances_over_budget,
    config_columns,
    incumbent_over_budget,
    parameter_importance,
    prior_changes,
    rung_agreement,
    rung_flow,
    study_data,
    worker_timeline,
)

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

Open = Callable[..., "Page"]
Find = Callable[[str], str]

DRAWN = "() => [...document.querySelectorAll('.parallel canvas')].every((one) => one.dataset.drawn)"


@pytest.fixture(scope="session")
def resnet(runs: Path) -> StudyData:
    """The usual study, read by the analysis itself."""
    with pb.open_study(runs / "resnet", read_only=True) as study:
        return study_data(study)


def chart(page: "Page", title: str) -> "Locator":
    """The frame of a chart."""
    return page.locator("figure.chart", has=page.get_by_role("heading", name=title, exact=True))


def table_of(page: "Page", title: str) -> list[list[str]]:
    """The data of a chart, as the table that it offers."""
    frame = chart(page, title)
    frame.get_by_role("button", name="Table", exact=True).click()
    frame.locator("tbody tr").first.wait_for()
    rows = frame.locator("tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    frame.get_by_role("button", name="Chart", exact=True).click()
    return [[str(cell).replace("−", "-").replace(",", "") for cell in row] for row in rows]


def close_to(shown: str, value: float) -> bool:
    """Whether a cell shows a number, to four digits."""
    return float(shown) == pytest.approx(value, rel=1e-3, abs=1e-6)


def test_best_value(address: str, open_page: Open, study_at: Find, resnet: StudyData) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/overview")
    rows = table_of(page, "Best value")
    steps = incumbent_over_budget(resnet)
    for name, expected in (("any fidelity", steps.any_fidelity), ("in full", steps.full)):
        own = [row for row in rows if row[0] == name]
        assert [int(row[1]) for row in own] == expected.trial.tolist()
        assert all(map(close_to, [row[2] for row in own], expected.value.tolist()))
        assert all(map(close_to, [row[4] for row in own], expected.spent.tolist()))
    page.get_by_role("button", name="Time", exact=True).click()
    page.wait_for_url(re.compile("over=time"))


def test_rung_flow_and_agreement(
    address: str, open_page: Open, study_at: Find, resnet: StudyData
) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/rungs")
    flow, agreement = rung_flow(resnet), rung_agreement(resnet)
    shown = {(float(row[0]), row[1]): row for row in table_of(page, "Rung flow, by origin")}
    cells = 0
    for rung, fidelity in enumerate(flow.fidelities.tolist()):
        for column, origin in enumerate(flow.origins):
            if flow.started[rung, column]:
                row, cells = shown[fidelity, origin], cells + 1
                assert int(row[2]) == flow.started[rung, column]
                assert int(row[3]) == flow.promoted[rung, column]
                assert int(row[8]) == flow.failed[rung, column]
    assert cells == len(shown)
    pairs = table_of(page, "Agreement of rungs")
    assert [int(row[6]) for row in pairs] == agreement.count.tolist()
    for row, tau in zip(pairs, agreement.tau.tolist(), strict=True):
        assert row[2] == "–" if tau != tau else close_to(row[2], tau)


def test_chances(address: str, open_page: Open, study_at: Find, resnet: StudyData) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/prior")
    found = chances_over_budget(resnet)
    rows = table_of(page, "Chances of new configurations")
    assert [int(row[0]) for row in rows] == found.trial.tolist()
    for place, row in enumerate(rows):
        assert all(map(close_to, row[3:-1], found.probability[:, place].tolist()))
        assert row[-1] == found.origin[place]
    page.get_by_label("Filter", exact=True).fill("origin = prior")
    frame = chart(page, "Chances of new configurations")
    frame.get_by_role("application", name=re.compile("Chances")).wait_for()
    page.wait_for_url(re.compile("filter="))
    assert {row[-1] for row in table_of(page, "Chances of new configurations")} == {"prior"}


def test_the_report_card(address: str, open_page: Open, study_at: Find, runs: Path) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/prior")
    with pb.open_study(runs / "resnet", read_only=True) as study:
        report = study.prior_report()
    page.get_by_text(report.sentence).wait_for()
    verdicts = table_of(page, "Belief and finding, by parameter")
    assert [(row[0], row[1]) for row in verdicts] == [
        (one.name, one.verdict) for one in report.parameters
    ]


def test_importance(address: str, open_page: Open, study_at: Find, resnet: StudyData) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/importance")
    found = parameter_importance(resnet)
    shown = {row[0]: row for row in table_of(page, "Importance of parameters")}
    for place, name in enumerate(found.names):
        assert close_to(shown[name][1], float(found.importance[place]))
        assert shown[name][6] == ("yes" if found.clear[place] else "no")
    page.get_by_role("combobox", name="at epochs").select_option("0")
    page.get_by_text("PED-ANOVA at epochs 1:").wait_for()
    assert "rung=0" in page.url


def test_ancestry(address: str, open_page: Open, study_at: Find, resnet: StudyData) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/ancestry")
    found = ancestry(resnet)
    assert [int(row[0]) for row in table_of(page, "Ancestry")] == found.trial.tolist()
    page.get_by_label("trial", exact=True).fill("3")
    page.keyboard.press("Enter")
    page.get_by_text("Trial 3:").wait_for()
    assert [int(row[0]) for row in table_of(page, "Ancestry")] == ancestry(resnet, 3).trial.tolist()


def test_curves(address: str, open_page: Open, study_at: Find) -> None:
    page = open_page(address, f"#/{study_at('trained')}/curves")
    rows = table_of(page, "Learning curves")
    by_curve: dict[str, list[float]] = {}
    for row in rows:
        by_curve.setdefault(row[0], []).append(float(row[2]))
    assert max(map(len, by_curve.values())) > 1  # what was reported, step by step
    assert all(steps == sorted(steps) for steps in by_curve.values())
    page.get_by_label("Filter", exact=True).fill("trial = 0")
    page.get_by_text(re.compile("^1 curves")).wait_for()
    assert {row[0] for row in table_of(page, "Learning curves")} == {"0"}


def test_workers(address: str, open_page: Open, study_at: Find, runs: Path) -> None:
    with pb.open_study(runs / "trained", read_only=True) as study:
        spans = worker_timeline(study_data(study))
    page = open_page(address, f"#/{study_at('trained')}/workers")
    rows = table_of(page, "Worker timeline")
    assert [int(row[1]) for row in rows] == spans.trial.tolist()
    assert [row[7] for row in rows] == [spans.endings[code] for code in spans.ending]
    seconds = (spans.end - spans.start).tolist()
    assert all(map(close_to, [row[5] for row in rows], seconds))
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url(re.compile("from=.*to="))
    page.get_by_role("button", name="All", exact=True).click()
    page.wait_for_function("() => !location.hash.includes('from=')")


def test_comparison(address: str, open_page: Open, study_at: Find) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/compare")
    page.get_by_label("trained").check()
    page.wait_for_url(re.compile("with=trained"))
    page.get_by_text("has the best value so far").wait_for()
    head = chart(page, "Best value of each study")
    head.get_by_role("button", name="Table", exact=True).click()
    assert head.locator("th").all_inner_texts() == ["trainings", "resnet", "trained"]


def chosen(page: "Page") -> int:
    """How many trials parallel coordinates have chosen, when they are drawn."""
    page.wait_for_function(DRAWN)
    said = chart(page, "Parallel coordinates").locator("p").first.inner_text()
    return int(said.split()[0].replace(",", ""))


def test_brushing_by_keyboard_filters_and_is_in_the_address(
    address: str, open_page: Open, study_at: Find, resnet: StudyData
) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/parallel")
    axis = page.get_by_role("slider", name="Axis lr")
    axis.focus()
    assert chosen(page) == len(resnet.trials)
    page.keyboard.press("ArrowDown")
    page.wait_for_url(re.compile("brush="))
    lr = next(one for one in config_columns(resnet).parameters if one.name == "lr")
    low, high = 1e-5, 1e-4  # the lowest quarter of the logarithmic axis
    expected = int(((lr.value >= low) & (lr.value <= high)).sum())
    assert 0 < expected < len(resnet.trials)
    page.get_by_text(f"{expected} of {len(resnet.trials)} trials", exact=False).first.wait_for()
    assert chosen(page) == expected
    page.reload()
    page.get_by_role("slider", name="Axis lr").wait_for()
    assert chosen(page) == expected
    page.get_by_role("button", name="Use as filter").click()
    page.wait_for_url(re.compile("filter="))
    page.locator("#filter-state").get_by_text(f"{expected} of").wait_for()
    page.get_by_role("slider", name="Axis lr").focus()
    page.keyboard.press("l")
    page.wait_for_url(re.compile("log=config.lr"))


def test_brushing_by_pointer_and_top_share(
    address: str, open_page: Open, study_at: Find, resnet: StudyData
) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/parallel")
    axis = page.get_by_role("slider", name="Axis momentum")
    box = axis.bounding_box()
    assert box is not None
    assert chosen(page) == len(resnet.trials)
    x, middle = box["x"] + 9, box["y"] + box["height"] / 2
    page.mouse.move(x, box["y"] + 1)
    page.mouse.down()
    page.mouse.move(x, middle)
    page.mouse.up()
    page.wait_for_url(re.compile("brush="))
    upper = chosen(page)
    momentum = next(one for one in config_columns(resnet).parameters if one.name == "momentum")
    expected = int((momentum.value >= 0.495).sum())
    assert abs(upper - expected) <= 1  # a pixel is wider than the gap between some trials
    page.mouse.click(x, middle + 40)  # a click without a drag clears it
    page.wait_for_function("() => !location.hash.includes('brush=')")
    page.get_by_label("best of each rung").select_option("10")
    page.wait_for_url(re.compile("top=10"))
    assert 4 <= chosen(page) < len(resnet.trials) / 5


@pytest.mark.parametrize("view", ["overview", "curves", "prior", "rungs", "workers", "parallel"])
def test_arrow_keys_go_through_points_and_enter_opens_a_trial(
    view: str, address: str, open_page: Open, study_at: Find
) -> None:
    page = open_page(address, f"#/{study_at('trained')}/{view}")
    drawing = page.locator(".chart-drawing").first
    drawing.focus()
    page.keyboard.press("ArrowRight")
    region = page.locator("body > [role=status]")
    said = region.inner_text()
    assert re.search(r"\d", said)
    page.keyboard.press("End")
    page.wait_for_function(
        "(said) => document.querySelector('body > [role=status]').textContent !== said", arg=said
    )
    if view not in ("prior", "rungs"):  # whose first points are no trials
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"/trial/\d+"))


@pytest.mark.parametrize("name", ["empty", "one", "many"])
def test_every_chart_is_sensible_with_any_number_of_trials(
    name: str, serve: Callable[..., str], open_page: Open, tmp_path: Path
) -> None:
    from browser_studies import EPOCHS, SPACE, tell

    with pb.open_study(tmp_path / "runs" / name, SPACE, EPOCHS) as study:
        tell(study, {"empty": 0, "one": 1, "many": 150}[name])
    page = open_page(serve(tmp_path / "runs"), size=(375, 740), color_scheme="dark")
    page.get_by_role("link", name=name).click()
    page.get_by_role("link", name="All charts").click()
    page.get_by_role("heading", name="Worker timeline").wait_for()
    page.wait_for_function("() => !document.body.textContent.includes('Computing…')")
    assert page.locator(".error").count() == 0
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    assert not page.get_by_text(re.compile("NaN|undefined|Infinity")).count()


def test_a_change_of_the_prior_is_marked(
    serve: Callable[..., str], open_page: Open, tmp_path: Path
) -> None:
    from browser_studies import EPOCHS, SPACE, tell

    with pb.open_study(tmp_path / "runs" / "changed", SPACE, EPOCHS) as study:
        tell(study, 40)
        study.set_prior({"lr": 5e-3})
        tell(study, 40)
        spent = prior_changes(study_data(study)).spent.tolist()
    page = open_page(serve(tmp_path / "runs"))
    page.get_by_role("link", name="changed").click()
    page.get_by_role("link", name="Prior", exact=True).click()
    said = chart(page, "Chances of new configurations").get_by_text("The prior was changed after")
    said.first.wait_for()
    shown = re.search(r"changed after ([\d.]+) trainings", said.first.inner_text())
    assert shown is not None and float(shown[1]) == pytest.approx(spent[0], rel=1e-2)
