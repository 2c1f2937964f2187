"""A client of the dashboard's application, and studies to ask it about."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from priorband.dashboard.access import Access
from priorband.dashboard.application import application
from priorband.dashboard.studies import Studies

if TYPE_CHECKING:
    from starlette.testclient import TestClient

TOKEN, PORT = "the-token", 8000
BASE = f"http://localhost:{PORT}"


@contextmanager
def dashboard(
    *wheres: Path | str, edits: bool = False, signed_in: bool = True
) -> Iterator["TestClient"]:
    """A client of a dashboard over some places."""
    testclient = pytest.importorskip("starlette.testclient", reason="needs priorband[dashboard]")
    studies = Studies([str(where) for where in wheres])
    access = Access(TOKEN, PORT, edits=edits)
    try:
        with testclient.TestClient(application(studies, access), BASE) as client:
            if signed_in:
                client.cookies.set(access.cookie, TOKEN)
            if edits:
                session = client.get("/api/session").json()
                client.headers.update({"x-priorband-edit": session["edit"], "origin": BASE})
            yield client
    finally:
        studies.close()


def study_id(client: "TestClient", name: str) -> str:
    """The id of the study with a name."""
    [found] = [one["id"] for one in client.get("/api/studies").json() if one["name"] == name]
    return str(found)
