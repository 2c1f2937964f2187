"""Who may ask: hosts, origins, tokens and changes, one request after another."""

import pytest

from priorband.dashboard.access import EDIT_HEADER, HEADERS, Access, new_token

ACCESS = Access("secret", 8000)
EDITABLE = Access("secret", 8000, edits=True)
OWN = {"host": "localhost:8000", "cookie": "priorband-8000=secret"}
CHANGE = {
    **OWN,
    "origin": "http://localhost:8000",
    "content-type": "application/json",
    EDIT_HEADER: EDITABLE.edit_token,
}


def status(access: Access, method: str = "GET", path: str = "/api/x", **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    refused = access.refusal(method, path, {**OWN, **named})
    return 200 if refused is None else refused.status


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8000", "LOCALHOST:9", "127.0.0.1:8000", "[::1]:8000", "localhost."],
)
def test_its_own_names_are_answered_also_through_a_tunnel(host: str) -> None:
    assert status(ACCESS, host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example"),
        *("", "192.168.0.7:8000", "localhost:8000@evil.example", "localhost evil", "[::2]:8000"),
    ],
)
def test_another_name_is_refused(host: str) -> None:
    assert status(ACCESS, host=host) == 421


def test_a_server_for_others_is_asked_by_address_or_by_its_own_name() -> None:
    access = Access("secret", 8000, frozenset({"gpu-3"}), any_address=True)
    assert status(access, host="192.168.0.7:8000") == status(access, host="gpu-3:8000") == 200
    assert status(access, host="evil.example") == 421


@pytest.mark.parametrize(
    "origin",
    [
        *("http://evil.example", "null", "http://localhost:9000", "http://127.0.0.1:8000"),
        *("file://localhost:8000", "localhost:8000", "http://[", ""),
    ],
)
def test_a_page_of_another_origin_is_refused(origin: str) -> None:
    assert status(ACCESS, origin=origin) == 403
    assert status(EDITABLE, "POST", **(CHANGE | {"origin": origin})) == 403


@pytest.mark.parametrize(
    ("site", "expected"),
    [("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403)],
)
def test_a_request_that_another_site_has_caused_is_refused(site: str, expected: int) -> None:
    assert status(ACCESS, sec_fetch_site=site) == expected


def test_a_link_on_another_page_may_open_the_first_page_only() -> None:
    link = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    assert status(ACCESS, path="/", **link) == 200
    assert status(ACCESS, path="/api/studies", **link) == 403
    assert status(ACCESS, path="/", sec_fetch_site="cross-site", sec_fetch_mode="no-cors") == 403


@pytest.mark.parametrize(
    "cookie",
    [
        *("", "priorband-8000=wrong", "priorband-8000=", "priorband-9000=secret"),
        *("other=secret", "priorband-8000=secrets", "\x00", "priorband-8000=sécret"),
    ],
)
def test_the_token_is_needed(cookie: str) -> None:
    assert status(ACCESS, cookie=cookie) == 401


def test_a_script_may_send_the_token_as_a_header() -> None:
    assert status(ACCESS, cookie="", authorization="Bearer secret") == 200
    assert status(ACCESS, cookie="", authorization="Bearer wrong") == 401


def test_a_change_needs_everything() -> None:
    assert status(EDITABLE, "POST", **CHANGE) == 200
    assert status(ACCESS, "POST", **CHANGE) == 403
    assert status(EDITABLE, "POST", **(CHANGE | {"content-type": "text/plain"})) == 415
    for header in ("origin", EDIT_HEADER):
        without = {name: value for name, value in CHANGE.items() if name != header}
        refused = EDITABLE.refusal("POST", "/", without)
        assert refused is not None and refused.status == 403
    assert status(EDITABLE, "POST", **(CHANGE | {EDIT_HEADER: "secret"})) == 403
    assert status(EDITABLE, "DELETE", **(CHANGE | {EDIT_HEADER: ""})) == 403


def test_tokens_differ_and_the_second_does_not_tell_the_first() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert len(new_token()) >= 32
    assert ACCESS.token not in ACCESS.edit_token


def test_the_cookie_is_for_the_server_alone() -> None:
    parts = ACCESS.set_cookie().split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(parts)


def test_the_policy_allows_nothing_unsafe_and_no_other_host() -> None:
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    assert {"default-src 'none'", "frame-ancestors 'none'"} <= set(policy.split("; "))
