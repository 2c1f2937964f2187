"""The dashboard in a browser: it loads, updates, filters, sorts, and is used by keyboard alone."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_studies import EPOCHS, HOSTILE, HOSTILE_NAME, MARKUP, SPACE, tell
from waiting import wait_until

import priorband as pb

if TYPE_CHECKING:
    from playwright.sync_api import Page

Open = Callable[..., "Page"]
Find = Callable[[str], str]

CASES = json.loads((Path(__file__).parent.parent / "data" / "filter_cases.json").read_text())
ALL_VIEWS = "async () => (await import('/static/views/index.js')).VIEWS.map((one) => one.id)"


def shown(page: "Page") -> int:
    """How many trials the page says that there are, or that pass the filter."""
    said = page.locator("#filter-state").inner_text()
    return int(re.sub(r"\D.*", "", said.replace(",", "")))


def wait_for_state(page: "Page", text: str) -> None:
    """Wait until the filter says how many trials there are."""
    page.locator("#filter-state", has_text=re.compile(f"^{re.escape(text)}$")).wait_for()


def first_cells(page: "Page", column: int) -> list[str]:
    """The texts of a column in the rows that are drawn, from the top."""
    rows = page.locator(".trial-row")
    found = rows.evaluate_all(
        "(rows, at) => rows.map((row) => [Number(row.getAttribute('aria-rowindex')),"
        " row.children[at].textContent]).sort((a, b) => a[0] - b[0]).map((pair) => pair[1])",
        column,
    )
    return [str(text) for text in found]


def test_the_list_shows_all_studies_with_value_and_progress(address: str, open_page: Open) -> None:
    page = open_page(address)
    page.get_by_role("link", name="resnet").wait_for()
    row = page.locator("tr", has=page.get_by_role("link", name="resnet"))
    row.get_by_text(re.compile(r"0\.\d+")).first.wait_for()
    assert "token" not in page.url
    assert page.locator("tbody tr").count() == 4
    page.get_by_label("Search the studies").fill("resn")
    assert page.locator("tbody tr").count() == 1
    row.get_by_role("link").click()
    page.get_by_text("Best configuration").wait_for()
    assert page.title().endswith("resnet – priorband")


def test_every_view_of_every_study_opens(address: str, open_page: Open, study_at: Find) -> None:
    page = open_page(address)
    views = page.evaluate(ALL_VIEWS)
    assert {"overview", "trials", "notes"} <= set(views)
    for name in ("resnet", "trained", "empty"):
        for view in views:
            rest = "/0" if view == "trial" else ""
            if name == "empty" and view == "trial":
                continue
            page.goto(f"{address.partition('?')[0]}#/{study_at(name)}/{view}{rest}")
            page.locator("main").get_by_text(re.compile(r"\w")).first.wait_for()
            page.wait_for_timeout(200)
            assert page.locator(".error").count() == 0, f"{name} {view}"


def test_the_page_updates_while_a_study_runs(
    serve: Callable[..., str], open_page: Open, tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    with pb.open_study(folder / "live", SPACE, EPOCHS) as study:
        tell(study, 1)
    page = open_page(serve(folder))
    page.get_by_role("link", name="live").click()
    wait_for_state(page, "1 trials")
    script = Path(__file__).parent.parent / "browser_studies.py"
    command = [sys.executable, str(script), str(folder / "live"), "2"]
    with subprocess.Popen(command) as running:
        wait_until(lambda: shown(page) > 1, "the first new trial")
        seen = shown(page)
        wait_until(lambda: shown(page) > seen, "more trials")
        assert running.wait(timeout=300) == 0
    with pb.open_study(folder / "live", read_only=True) as study:
        total = len(study.state.history)
    wait_for_state(page, f"{total} trials")
    page.get_by_text("done").first.wait_for()


def test_a_filter_is_obeyed_shared_by_its_address_and_refused_kindly(
    address: str, open_page: Open, study_at: Find
) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/trials")
    field = page.get_by_label("Filter", exact=True)
    field.wait_for()
    everything = shown(page)
    field.fill("lr < 1e-3 and origin = prior")
    page.locator("#filter-state", has_text=f"of {everything} trials").wait_for()
    some = shown(page)
    assert 0 < some < everything
    assert page.locator(".trials").get_attribute("aria-rowcount") == str(some + 1)
    assert "filter=lr" in page.url
    page.reload()
    wait_for_state(page, f"{some} of {everything} trials")
    page.get_by_role("link", name="Overview").click()
    wait_for_state(page, f"{some} of {everything} trials")
    field.fill("lr < and")
    page.get_by_text("Not applied:").wait_for()
    page.get_by_role("button", name="Clear the filter").click()
    wait_for_state(page, f"{everything} trials")
    page.get_by_role("button", name="Failed").click()
    page.locator("#filter-state", has_text=f"of {everything} trials").wait_for()
    assert "status" in page.url


def test_the_page_filters_as_the_server_does(address: str, open_page: Open) -> None:
    page = open_page(address)
    found = page.evaluate(
        """async (cases) => {
          const { filteredRows, FilterError } = await import('/static/filter.js');
          const { Table } = await import('/static/columns.js');
          const arrays = { f8: Float64Array, i4: Int32Array };
          const columns = new Map(cases.table.map((one) => [one.name, { ...one,
            data: arrays[one.type].from(one.data.map((x) => (x === null ? NaN : x))) }]));
          const table = new Table(columns, cases.table[0].data.length, '1');
          const rows = (text) => {
            try { return [...filteredRows(table, text)]; }
            catch (error) { if (error instanceof FilterError) return 'mistake'; throw error; }
          };
          return [cases.cases.map((one) => rows(one.filter)), cases.mistakes.map(rows)];
        }""",
        CASES,
    )
    assert found[0] == [case["rows"] for case in CASES["cases"]]
    assert found[1] == ["mistake"] * len(CASES["mistakes"])


def test_the_table_sorts_by_any_column_with_failed_trials_last(
    address: str, open_page: Open, study_at: Find
) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/trials")
    page.locator(".trial-row").first.wait_for()
    values = [float(text) for text in first_cells(page, 1)]
    assert values == sorted(values), "the best are first"
    page.get_by_role("columnheader", name="lr").get_by_role("button").click()
    head = page.get_by_role("columnheader", name="lr")
    wait_until(lambda: head.get_attribute("aria-sort") == "ascending", "the new order")
    assert "sort=config.lr" in page.url
    head.get_by_role("button").click()
    wait_until(lambda: head.get_attribute("aria-sort") == "descending", "the other order")
    assert "sort=-config.lr" in page.url
    page.locator(".trials").focus()
    page.keyboard.press("End")
    wait_until(lambda: first_cells(page, 2)[-1] == "failed", "the last rows")


def test_a_trial_is_opened_by_keyboard_alone(address: str, open_page: Open) -> None:
    page = open_page(address)
    page.get_by_role("link", name="resnet").wait_for()
    press = page.keyboard.press
    for _ in range(40):  # Tab goes to the study like to anything else
        press("Tab")
        if page.evaluate("document.activeElement.textContent") == "resnet":
            break
    press("Enter")
    page.get_by_text("Best configuration").wait_for()
    press("g")
    press("t")
    page.get_by_role("grid").wait_for()
    press("j")
    press("ArrowDown")
    press("ArrowDown")
    press("ArrowUp")
    wanted = first_cells(page, 0)[1]
    assert f"Trial {wanted}" in page.locator("[aria-live]").last.inner_text()
    press("Enter")
    page.get_by_role("heading", name=f"Trial {wanted}", exact=True).wait_for()
    page.get_by_role("heading", name="Why").wait_for()
    press("Escape")
    page.get_by_role("grid").wait_for()
    press("?")
    page.get_by_role("dialog").get_by_text("Type a filter").wait_for()
    press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    press("/")
    assert page.evaluate("document.activeElement.id") == "filter"


def test_dark_mode_follows_the_system_and_the_switch(address: str, open_page: Open) -> None:
    def background(page: "Page") -> Any:
        return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")

    dark = background(open_page(address, color_scheme="dark"))
    page = open_page(address, color_scheme="light")
    light = background(page)
    assert light == "rgb(255, 255, 255)" and dark == "rgb(20, 22, 26)"
    page.get_by_role("link", name="resnet").wait_for()
    for expected in (light, dark, light):  # light, dark, as the system says
        page.keyboard.press("d")
        assert background(page) == expected
    page.keyboard.press("d")
    page.keyboard.press("d")
    page.reload()
    assert background(page) == dark


def test_nothing_is_wider_than_a_phone(address: str, open_page: Open, study_at: Find) -> None:
    page = open_page(address, size=(375, 740), has_touch=True, is_mobile=True)
    page.get_by_role("link", name="resnet").wait_for()
    views = page.evaluate(ALL_VIEWS)
    places = [f"#/{study_at('trained')}/{view}{'/3' if view == 'trial' else ''}" for view in views]
    widths = dict[str, int]()
    for place in ("#/", *places):
        page.goto(address.partition("?")[0] + place)
        page.locator("main").get_by_text(re.compile(r"\w")).first.wait_for()
        page.wait_for_timeout(200)
        widths[place] = page.evaluate("document.documentElement.scrollWidth")
    assert {place: width for place, width in widths.items() if width > 375} == {}


def test_hostile_texts_are_shown_as_text(address: str, open_page: Open, study_at: Find) -> None:
    name = f"hostile {MARKUP.replace('/', '')}"
    page = open_page(address, refused=404)
    page.get_by_text("hostile <script>", exact=False).first.wait_for()
    views = page.evaluate(ALL_VIEWS)
    for view in views:
        rest = "/0" if view == "trial" else ""
        page.goto(f"{address.partition('?')[0]}#/{study_at(name)}/{view}{rest}")
        page.locator("main").get_by_text(re.compile(r"\w")).first.wait_for()
        page.wait_for_timeout(200)
        assert page.evaluate("window.hacked") is None
        assert page.locator("main script, main img").count() == 0
    page.goto(f"{address.partition('?')[0]}#/{study_at(name)}/trial/0")
    page.get_by_role("heading", name="Why").wait_for()
    assert page.locator(".reason").text_content() == HOSTILE
    page.locator(".note-text").wait_for()
    assert page.locator(".note-text").text_content() == HOSTILE
    assert page.get_by_role("rowheader", name=HOSTILE_NAME).count() == 1
    page.goto(f"{address.partition('?')[0]}#/{study_at(name)}/trials?filter=<img src=x onerror=1>")
    page.get_by_text("Not applied").wait_for()
    page.goto(f"{address.partition('?')[0]}#/<img src=x>/<script>?filter=%E0%A4%A")
    page.get_by_text("There is no such study").wait_for()
    assert page.evaluate("window.hacked") is None


def test_notes_and_changes_are_made_in_the_page(
    serve: Callable[..., str], open_page: Open, tmp_path: Path
) -> None:
    folder = tmp_path / "runs"
    with pb.open_study(folder / "one", SPACE, EPOCHS) as study:
        study.limit(10)
        tell(study, 6)
    page = open_page(serve(folder, "--allow-edit"), refused=409)
    page.get_by_role("link", name="one", exact=True).click()
    page.get_by_role("button", name="Budget…").click()
    page.get_by_label("Full trainings").fill("33")
    page.get_by_role("button", name="Set the budget").click()
    page.get_by_text("of 33 trainings").wait_for()
    page.get_by_role("button", name="Prior…").click()
    page.get_by_role("dialog").get_by_label("lr", exact=True).fill("0.005")
    page.get_by_role("button", name="Change the prior").click()
    page.get_by_text("prior 0.005").wait_for()
    page.get_by_role("button", name="Queue a variant").click()
    page.get_by_role("dialog").get_by_label("lr", exact=True).fill("7")
    page.get_by_role("button", name="Queue", exact=True).click()
    page.get_by_role("alert").get_by_text("lr").wait_for()
    page.get_by_role("dialog").get_by_label("lr", exact=True).fill("0.0123")
    page.get_by_role("button", name="Queue", exact=True).click()
    page.get_by_role("dialog").wait_for(state="detached")
    page.get_by_role("link", name="Notes").click()
    page.get_by_label("New note").fill(HOSTILE)
    page.get_by_role("button", name="Add note").click()
    page.locator(".note-text").wait_for()
    assert page.locator(".note-text").text_content() == HOSTILE
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Remove").click()
    page.get_by_text("There are no notes yet").wait_for()
    page.goto(
        f"{page.url.partition('#')[0]}{page.url[page.url.index('#') :].replace('notes', 'trial/4')}"
    )
    page.get_by_role("button", name="Retry").click()
    page.locator("[role=status][aria-live]", has_text="queued again").wait_for()
    with pb.open_study(folder / "one") as study:
        assert study.budget == pb.Budget(trainings=33) and study.notes() == []
        assert study.prior.mode["lr"] == 0.005 and study.prior.mode["momentum"] == 0.9
        configs = [trial.config for trial in study.ask(2)]
        assert study.state.history.trial(4).config in configs
        assert 0.0123 in [config["lr"] for config in configs]


def test_a_read_only_page_offers_no_change(address: str, open_page: Open, study_at: Find) -> None:
    page = open_page(address, f"#/{study_at('resnet')}")
    page.get_by_text("Best configuration").wait_for()
    assert page.get_by_role("button", name=re.compile("Budget…|Prior…|Queue")).count() == 0
    page.get_by_role("link", name="Notes").click()
    page.get_by_text("without augmentation").wait_for()
    assert page.get_by_role("button", name="Add note").count() == 0


@pytest.mark.parametrize("size", [(1280, 800), (375, 740)])
def test_a_large_table_draws_only_what_is_seen(
    size: tuple[int, int], address: str, open_page: Open, study_at: Find
) -> None:
    page = open_page(address, f"#/{study_at('resnet')}/trials", size=size)
    page.locator(".trial-row").first.wait_for()
    assert page.locator(".trial-row").count() < 60
    page.locator(".trials").focus()
    page.keyboard.press("End")
    last = page.locator(".trials").get_attribute("aria-rowcount")
    page.locator(f".trial-row[aria-rowindex='{last}']").wait_for()
