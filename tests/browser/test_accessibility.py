"""axe-core finds nothing serious on any view, light and dark, wide and narrow."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

Open = Callable[..., "Page"]
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
VIEWS = "async () => (await import('/static/views/index.js')).VIEWS.map((one) => one.id)"


def findings(page: "Page") -> list[str]:
    """What axe-core finds that is serious or critical."""
    page.evaluate(AXE)
    found: dict[str, Any] = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['impact']} {one['id']}: {node['target']} {node['failureSummary']}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 900), (375, 740)], ids=["wide", "phone"])
def test_axe_finds_nothing_serious(
    scheme: str,
    size: tuple[int, int],
    address: str,
    open_page: Open,
    study_at: Callable[[str], str],
) -> None:
    page = open_page(address, color_scheme=scheme, size=size)
    page.get_by_role("link", name="resnet").wait_for()
    page.locator("progress").first.wait_for()
    found = {"list": findings(page)}
    for view in page.evaluate(VIEWS):
        rest = "/4" if view == "trial" else ""
        page.goto(f"{address.partition('?')[0]}#/{study_at('resnet')}/{view}{rest}")
        page.locator("main").get_by_text(re.compile(r"\w")).first.wait_for()
        page.wait_for_timeout(300)
        found[view] = findings(page)
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    found["keys"] = findings(page)
    assert {view: said for view, said in found.items() if said} == {}


def test_every_chart_is_read_without_seeing_it(
    address: str, open_page: Open, study_at: Callable[[str], str]
) -> None:
    page = open_page(address, f"#/{study_at('trained')}/trial/3")
    chart = page.locator(".chart-drawing").first
    chart.focus()
    page.keyboard.press("ArrowRight")
    region = page.locator("[role=status][aria-live]")
    region.get_by_text(re.compile(r"epochs \d+, value 0\.\d+")).wait_for()
    page.keyboard.press("t")
    page.get_by_role("region", name="Learning curve, as a table").get_by_role("row").nth(
        1
    ).wait_for()
