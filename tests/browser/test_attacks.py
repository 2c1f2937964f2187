"""Attacks from a browser: other sites, other host names, no token, paths that lead out."""

import http.client
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from browser_studies import EPOCHS, SPACE, tell

import priorband as pb

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ATTACK = """
async (target) => {
  const tries = {};
  const attempt = async (name, run) => {
    try { tries[name] = await run(); } catch { tries[name] = 'refused'; }
  };
  const note = `${target}/api/studies/x/edit/note`;
  const included = { credentials: 'include' };
  const json = { 'content-type': 'application/json' };
  await attempt('read', async () => (await fetch(`${target}/api/studies`, included)).status);
  await attempt('change', async () => (await fetch(note, {
    ...included, method: 'POST', mode: 'no-cors', body: '{"text": "hacked"}' })).type);
  await attempt('json', async () => (await fetch(note, {
    ...included, method: 'POST', headers: json, body: '{}' })).status);
  await attempt('script', () => new Promise((done) => {
    const script = document.createElement('script');
    script.src = `${target}/static/app.js`;
    script.onload = () => done('loaded');
    script.onerror = () => done('refused');
    document.head.append(script);
  }));
  await attempt('stream', () => new Promise((done) => {
    const events = new EventSource(`${target}/api/events`, { withCredentials: true });
    events.onopen = () => { events.close(); done('open'); };
    events.onerror = () => { events.close(); done('refused'); };
  }));
  await attempt('frame', () => new Promise((done) => {
    const frame = document.createElement('iframe');
    frame.src = target;
    frame.onload = () => done(frame.contentDocument === null ? 'refused' : 'readable');
    document.body.append(frame);
  }));
  return tries;
}
"""


class _EvilPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>evil</title><body>evil")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def evil() -> Iterator[int]:
    """The port of another site on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _EvilPage)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("site", ["evil.example", "127.0.0.1"], ids=["cross-site", "other port"])
def test_a_page_of_another_site_gets_nothing_and_changes_nothing(
    site: str,
    browser: "Browser",
    serve: Callable[..., str],
    evil: int,
    tmp_path: Path,
) -> None:
    with pb.open_study(tmp_path / "runs" / "one", SPACE, EPOCHS) as study:
        tell(study, 3)
    address = serve(tmp_path / "runs", "--allow-edit")
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.get_by_role("link", name="one", exact=True).wait_for()
    page.goto(f"http://{site}:{evil}/")
    tries = page.evaluate(ATTACK, address.partition("/?")[0])
    context.close()
    ways = ("read", "change", "json", "script", "stream", "frame")
    assert tries == dict.fromkeys(ways, "refused")
    with pb.open_study(tmp_path / "runs" / "one", read_only=True) as study:
        assert study.notes() == []


def test_another_name_for_this_machine_is_refused(browser: "Browser", address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    parts = urlsplit(address)
    answer = page.goto(f"http://evil.example:{parts.port}/?{parts.query}")
    assert answer is not None and answer.status == 421
    assert context.cookies() == []
    context.close()


def test_the_token_is_needed_and_not_kept_in_the_address(browser: "Browser", address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    base = address.partition("?")[0]
    for path in ("", "api/studies", "static/app.js", "?token=wrong"):
        answer = page.goto(base + path)
        assert answer is not None and answer.status == 401
    page.goto(address)
    assert page.url == base
    [cookie] = context.cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
    assert page.evaluate("document.cookie") == ""
    context.close()


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2f..%2fserver.py",
        "/static/%2e%2e/%2e%2e/errors.py",
        "//etc/passwd",
        "/static/%00",
        "/api/studies/..%2f..%2f..%2fetc%2fpasswd",
    ],
)
def test_paths_do_not_lead_out(address: str, path: str) -> None:
    parts = urlsplit(address)
    link = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    token = parts.query.removeprefix("token=")
    link.request("GET", path, headers={"authorization": f"Bearer {token}"})
    answer = link.getresponse()
    body = answer.read()
    link.close()
    assert answer.status == 404 and b"root:" not in body and b"import" not in body
