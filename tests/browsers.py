"""A real browser, dashboards to open in it, and the checks that hold for every page."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from browser_studies import write_studies

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

BROWSER = os.environ.get("PRIORBAND_BROWSER", "")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP evil.example 127.0.0.1",
)
WAIT = 60_000  # milliseconds until what a test waits for counts as never
FOLDER = Path(__file__).parent / "browser"


def skip_without_browser(items: list[pytest.Item]) -> None:
    """Mark the tests that need a browser, and skip them unless the script runs them."""
    skipped = pytest.mark.skip(reason="needs a browser: run scripts/test-browser")
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if not BROWSER:
                item.add_marker(skipped)


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    """Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with studies that no test changes."""
    folder = tmp_path_factory.mktemp("browser") / "runs"
    write_studies(folder)
    return folder


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., str]]:
    """A function that starts a dashboard over a folder, and returns its address with the token."""
    started = list["subprocess.Popen[str]"]()

    def start(*arguments: str | Path) -> str:
        command = [sys.executable, "-m", "priorband", "dashboard", *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        return process.stdout.readline().split()[-1]

    yield start
    for process in started:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(scope="session")
def address(serve: Callable[..., str], runs: Path) -> str:
    """The address of a read-only dashboard over the studies that no test changes."""
    return serve(runs)


@pytest.fixture
def open_page(browser: "Browser") -> Iterator[Callable[..., "Page"]]:
    """A function that opens a page and signs in. Whatever goes wrong in it fails the test.

    `refused` is the status of answers that the test expects, which a browser reports as errors.
    """
    contexts, problems = list["BrowserContext"](), list[str]()

    def opened(address: str, place: str = "", **options: Any) -> "Page":
        size, refused = options.pop("size", (1280, 800)), options.pop("refused", None)
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        contexts.append(context)
        context.set_default_timeout(WAIT)
        context.add_init_script(
            "addEventListener('securitypolicyviolation', (event) => console.error("
            "`refused by the policy: ${event.violatedDirective} ${event.blockedURI}`))"
        )
        page = context.new_page()
        page.on("console", lambda said: _note(problems, said.type, said.text, refused))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: _note_foreign(problems, address, request.url))
        page.goto(address)
        if place:
            page.goto(address.partition("?")[0] + place)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not problems, "\n".join(problems)


def _note(problems: list[str], kind: str, text: str, refused: int | None) -> None:
    expected = refused is not None and f"responded with a status of {refused}" in text
    if kind in ("error", "warning") and not expected:
        problems.append(f"console {kind}: {text}")


def _note_foreign(problems: list[str], address: str, url: str) -> None:
    if not url.startswith(("data:", "blob:")) and urlsplit(url).netloc != urlsplit(address).netloc:
        problems.append(f"request to {url}")


@pytest.fixture
def study_at(address: str) -> Callable[[str], str]:
    """A function that returns the id of a study of the read-only dashboard, by its name."""
    from http.client import HTTPConnection
    from json import loads

    parts = urlsplit(address)

    def found(name: str) -> str:
        link = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        token = re.sub("^token=", "", parts.query)
        link.request("GET", "/api/studies", headers={"authorization": f"Bearer {token}"})
        listed = loads(link.getresponse().read())
        link.close()
        return str(next(one["id"] for one in listed if one["name"] == name))

    return found
