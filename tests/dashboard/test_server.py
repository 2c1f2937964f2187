"""The server as people start it: its address, its end, and what it says."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from stored_studies import EPOCHS, SPACE, tell_some

import priorband as pb
from priorband.cli import main
from priorband.dashboard.server import is_loopback

pytest.importorskip("uvicorn", reason="needs priorband[dashboard]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with pb.open_study(tmp_path / "one", SPACE, EPOCHS) as study:
        tell_some(study, 4)
    return tmp_path / "one"


@pytest.fixture
def server(folder: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    command = [sys.executable, "-m", "priorband", "dashboard", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        yield process, line.split()[-1]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def get(address: str, path: str, **headers: str) -> http.client.HTTPResponse:
    """An answer; one that ends was read, and its connection is closed."""
    parts = urlsplit(address)
    link = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    link.request("GET", path, headers={**headers, "connection": "close"})
    return link.getresponse()


def test_the_server_prints_its_address_tells_of_changes_and_ends_on_ctrl_c(
    server: tuple["subprocess.Popen[str]", str], folder: Path
) -> None:
    process, address = server
    parts = urlsplit(address)
    assert parts.hostname == "127.0.0.1" and re.fullmatch(r"token=[\w-]{32,}", parts.query)
    with get(address, "/") as refused:
        assert refused.status == 401
    with get(address, f"/?{parts.query}") as first:
        cookie = first.headers["set-cookie"].partition(";")[0]
        assert first.status == 303
    with get(address, "/", cookie=cookie) as page:
        assert b"main.js" in page.read()
    events = get(address, "/api/events", cookie=cookie)
    assert events.headers["content-type"].startswith("text/event-stream")
    assert _next_summary(events)["overview"]["trials"]["ended"] == 4
    with pb.open_study(folder) as study:
        tell_some(study, 1)
    while _next_summary(events)["overview"]["trials"]["ended"] != 5:
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    events.close()


def _next_summary(events: http.client.HTTPResponse) -> dict[str, dict[str, dict[str, int]]]:
    for line in iter(events.readline, b""):
        if line.startswith(b"data: "):
            found: dict[str, dict[str, dict[str, int]]] = json.loads(line[6:])
            return found
    pytest.fail("the stream has ended")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "There is no study in nowhere"),
        (["--port", "99999", "."], "from 0 to 65535"),
        (["--host", "198.51.100.7", "."], "cannot be used"),
        ([], "PATH is missing"),
    ],
)
def test_mistakes_are_explained(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code: object
    try:
        code = main(["dashboard", *arguments])
    except SystemExit as end:
        code = end.code
    assert code and message in capsys.readouterr().err.replace("\n", " ")


def test_a_missing_extra_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["dashboard", str(folder)]) != 0
    assert "priorband[dashboard]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("gpu", False)],
)
def test_which_hosts_only_this_machine_can_reach(host: str, expected: bool) -> None:
    assert is_loopback(host) == expected


def test_a_host_for_others_warns(folder: Path) -> None:
    command = [sys.executable, "-m", "priorband", "dashboard", str(folder), "--host", "0.0.0.0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        said = [process.stdout.readline() for _ in range(3)]
        assert "token=" in said[0] and said[2].startswith("Warning: other machines can connect")
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
