"""The report in a browser: it opens from a file, asks for nothing, and shows texts as text."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_studies import HOSTILE_NAME, MARKUP

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Opened = tuple["Page", list[str]]
VIEWS = (
    *("overview", "trials", "curves", "parallel", "rungs", "prior", "importance", "workers"),
    *("ancestry", "compare", "all", "notes", "trial/0"),
)


@pytest.fixture(scope="session")
def report(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of all studies, written by the command."""
    out = tmp_path_factory.mktemp("report") / "report.html"
    command = [sys.executable, "-m", "priorband", "report", str(runs), "-o", str(out)]
    subprocess.run(command, check=True)
    return out


@pytest.fixture
def opened(browser: "Browser", report: Path) -> Iterator[Callable[..., Opened]]:
    """A function that opens the report from its file; any error or other request fails the test."""
    problems, contexts = list[str](), []

    def load(**options: Any) -> Opened:
        context = browser.new_context(**options)
        contexts.append(context)
        requests = list[str]()
        context.on("request", lambda request: requests.append(request.url))
        context.add_init_script(
            "addEventListener('securitypolicyviolation', (e) => console.error(e.blockedURI))"
        )
        page = context.new_page()
        page.on(
            "console", lambda said: problems.append(said.text) if said.type == "error" else None
        )
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.goto(report.as_uri())
        page.get_by_role("link", name="resnet").wait_for()
        return page, requests

    yield load
    for context in contexts:
        context.close()
    assert problems == []


def test_every_view_opens_from_the_file_without_a_request(
    opened: Callable[..., Opened], report: Path
) -> None:
    page, requests = opened()
    page.get_by_role("link", name="resnet").click()
    page.get_by_text("Best configuration").wait_for()
    start = page.evaluate("location.hash").split("?")[0]
    study = start.split("/")[1]
    for view in VIEWS:
        page.evaluate("(hash) => { location.hash = hash; }", f"#/{study}/{view}")
        page.locator("main").get_by_text(re.compile(r"\w")).first.wait_for()
        page.wait_for_function(
            "() => !document.querySelector('#app').textContent.includes('Computing…')"
        )
        assert page.locator(".error").count() == 0, view
        if view in ("overview", "curves", "rungs", "importance", "workers", "parallel"):
            page.locator(".chart-drawing").first.wait_for()
    assert {url.partition("#")[0] for url in requests if not url.startswith("data:")} == {
        report.as_uri()
    }


def test_filter_sort_and_brush_work_in_the_file(opened: Callable[..., Opened]) -> None:
    page, _ = opened()
    page.get_by_role("link", name="resnet").click()
    page.get_by_role("link", name="Parallel").click()
    page.get_by_label("Filter", exact=True).fill("origin = prior")
    page.locator("#filter-state").get_by_text(re.compile(r"^\d+ of \d+ trials$")).wait_for()
    page.get_by_role("slider", name="Axis lr").focus()
    page.keyboard.press("ArrowUp")
    page.get_by_role("button", name="Clear brushes").wait_for()
    page.get_by_role("link", name="Rungs").click()
    page.get_by_text("in a report, the filter does not change this").first.wait_for()


def test_hostile_names_are_text(opened: Callable[..., Opened]) -> None:
    page, _ = opened()
    page.get_by_role("link", name=re.compile("hostile")).click()
    page.get_by_text(HOSTILE_NAME).first.wait_for()
    for view in ("Trials", "Parallel", "Importance", "All charts", "Notes"):
        page.get_by_role("link", name=view, exact=True).click()
        page.locator("main").get_by_text(re.compile(r"\w")).first.wait_for()
        page.wait_for_timeout(200)
    page.get_by_role("link", name="Trials", exact=True).click()
    page.get_by_text(MARKUP[:20]).first.wait_for()
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main b[onclick]").count() == 0


def test_it_prints_light_and_without_controls(opened: Callable[..., Opened]) -> None:
    page, _ = opened(color_scheme="dark")
    page.get_by_role("link", name="resnet").click()
    page.get_by_role("link", name="All charts").click()
    page.get_by_role("heading", name="Worker timeline").wait_for()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert not page.locator(".tabs").is_visible() and not page.locator(".filter").is_visible()
    assert page.locator(".chart").first.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.evaluate(background) != "rgb(255, 255, 255)"
