"""The dashboard's application from outside: what it refuses, and how it answers."""

import os
from pathlib import Path

import pytest
from clients import BASE, TOKEN, dashboard
from stored_studies import EPOCHS, SPACE, tell_some

import priorband as pb
from priorband.dashboard.gate import LARGEST_BODY

PATHS = ("/", "/static/main.js", "/api/session", "/api/studies", "/api/events", "/api/nothing")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    with pb.open_study(tmp_path / "runs" / "one", SPACE, EPOCHS) as study:
        tell_some(study, 5)
    return tmp_path / "runs"


@pytest.mark.parametrize("path", PATHS)
def test_everything_needs_the_token(runs: Path, path: str) -> None:
    with dashboard(runs, signed_in=False) as client:
        answer = client.get(path)
        assert answer.status_code == 401 and "priorband dashboard" in answer.text


def test_the_token_in_the_address_becomes_a_cookie(runs: Path) -> None:
    with dashboard(runs, signed_in=False) as client:
        answer = client.get(f"/?token={TOKEN}", follow_redirects=False)
        assert answer.status_code == 303 and answer.headers["location"] == "/"
        assert TOKEN not in answer.headers["location"]
        assert "HttpOnly" in answer.headers["set-cookie"]
        assert client.get("/api/session").status_code == 200


@pytest.mark.parametrize("query", ["token=wrong", "token=", "token=the-token2"])
def test_a_wrong_token_in_the_address_is_refused(runs: Path, query: str) -> None:
    with dashboard(runs, signed_in=False) as client:
        assert client.get(f"/?{query}").status_code == 401
        assert client.get(f"/api/studies?token={TOKEN}").status_code == 401


def test_a_foreign_host_or_page_gets_nothing_even_with_the_token(runs: Path) -> None:
    with dashboard(runs) as client:
        assert client.get("/api/studies", headers={"host": "evil.example"}).status_code == 421
        foreign = {"origin": "http://evil.example"}
        assert client.get("/api/studies", headers=foreign).status_code == 403
        bad = client.get(f"/?token={TOKEN}", headers={"host": "evil.example"})
        assert bad.status_code == 421 and "set-cookie" not in bad.headers


@pytest.mark.parametrize("path", PATHS[:-2])
def test_every_answer_has_the_headers(runs: Path, path: str) -> None:
    with dashboard(runs) as client:
        for answer in (client.get(path), client.get(path, headers={"host": "evil.example"})):
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert answer.headers["cache-control"] == "no-store"
            assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/server.py",
        "/static/....//server.py",
        "/static//etc/passwd",
        "/static/vendor/../../routes.py",
        "/static/README.md",
        "/static/",
        "/api/studies/..%2f..%2fetc",
        "/api/studies/../../etc/passwd",
        "/api/studies/%2Fetc%2Fpasswd/trials",
        "/api/studies/one/trials/..%2f0",
    ],
)
def test_no_path_leads_out(runs: Path, path: str) -> None:
    with dashboard(runs) as client:
        assert client.get(path).status_code == 404


def test_a_large_or_endless_body_is_refused(runs: Path) -> None:
    with dashboard(runs, edits=True) as client:
        address = "/api/studies/one/edit/note"
        assert client.post(address, content=b"x" * (LARGEST_BODY + 1)).status_code == 413
        assert client.post(address, content=iter([b"{}"])).status_code == 413


def test_a_read_only_dashboard_changes_nothing(runs: Path) -> None:
    with dashboard(runs) as client:
        study = client.get("/api/studies").json()[0]["id"]
        assert client.get("/api/session").json()["edit"] is None
        for name in ("note", "budget", "queue", "retry", "stop", "remove-note"):
            address = f"/api/studies/{study}/edit/{name}"
            answer = client.post(address, json={"text": "x"}, headers={"origin": BASE})
            assert answer.status_code == 403 and "--allow-edit" in answer.text
    with pb.open_study(runs / "one", read_only=True) as one:
        assert one.notes() == []


def test_a_change_without_the_second_token_or_from_elsewhere_is_refused(runs: Path) -> None:
    with dashboard(runs, edits=True) as client:
        study = client.get("/api/studies").json()[0]["id"]
        address, note = f"/api/studies/{study}/edit/note", {"text": "hello"}
        assert (
            client.post(address, json=note, headers={"x-priorband-edit": "no"}).status_code == 403
        )
        assert client.post(address, json=note, headers={"origin": "http://x"}).status_code == 403
        plain = {"content-type": "text/plain"}
        assert client.post(address, content=b"{}", headers=plain).status_code == 415
        assert client.get(address).status_code == 405
        assert client.post(address, json=note).status_code == 200


def test_links_are_not_followed(runs: Path, tmp_path: Path) -> None:
    os.symlink(runs / "one", tmp_path / "runs" / "two")
    with dashboard(runs) as client:
        assert [one["name"] for one in client.get("/api/studies").json()] == ["one"]
