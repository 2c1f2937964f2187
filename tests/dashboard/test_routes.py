"""The routes: what the page is told about studies."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from clients import dashboard, study_id
from stored_studies import EPOCHS, SPACE, fill, tell_some
from test_binary_columns import read
from waiting import wait_until

import priorband as pb
from priorband.dashboard.analyses import ANALYSES

if TYPE_CHECKING:
    from starlette.testclient import TestClient

NAME = "<script>alert(1)</script>\"'"
HOSTILE = "<script>alert(1)</script>\"'\n\u202e"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    with pb.open_study(tmp_path / "runs" / "one", SPACE, EPOCHS) as study:
        fill(study, 24)
    with pb.open_study(tmp_path / "runs" / "group" / "two", SPACE, EPOCHS, maximize=True) as study:
        tell_some(study, 3)
    return tmp_path / "runs"


@pytest.fixture
def client(runs: Path) -> Iterator["TestClient"]:
    with dashboard(runs) as made:
        yield made


def columns(client: "TestClient", study: str, since: str = "") -> tuple[Any, dict[str, list[Any]]]:
    answer = client.get(f"/api/studies/{study}/trials", params={"since": since} if since else {})
    assert answer.status_code == 200
    return read(answer.content)


def test_all_studies_below_a_folder_are_listed(client: "TestClient") -> None:
    listed = client.get("/api/studies").json()
    assert {one["name"] for one in listed} == {"one", "two"}


def test_a_study_says_how_far_it_is_and_what_it_is_about(client: "TestClient", runs: Path) -> None:
    about = client.get(f"/api/studies/{study_id(client, 'two')}").json()
    with pb.open_study(runs / "group" / "two", read_only=True) as study:
        assert study.best is not None
        assert about["overview"]["best"]["value"] == -study.best.loss
    assert about["problem"]["maximize"] is True
    names = [one["name"] for one in about["problem"]["parameters"]]
    assert names == ["x", "n", "kind"] and about["problem"]["prior"] == {"x": 0.4}
    assert about["problem"]["fidelity"]["rungs"] == [1, 3, 9]


def test_the_columns_are_the_trials(client: "TestClient", runs: Path) -> None:
    header, found = columns(client, study_id(client, "one"))
    with pb.open_study(runs / "one", read_only=True) as study:
        records = study.trials()
    words = {one["name"]: one.get("words") for one in header["columns"]}
    assert header["about"]["rows"] == len(records) and header["about"]["full"]
    for record in records:
        row = record.id
        value = found["value"][row]
        assert (None if np.isnan(value) else value) == record.value
        assert words["status"][found["status"][row]] in (record.status, "running")
        assert words["outcome"][found["outcome"][row]] == record.outcome
        assert words["origin"][found["origin"][row]] == record.origin
        assert found["config.x"][row] == record.config["x"]
        assert words["config.kind"][found["config.kind"][row]] == str(record.config["kind"])
        assert found["attempts"][row] == (0 if record.origin == "imported" else record.attempts)
        if record.status == "failed":
            assert words["reason"][found["reason"][row]] == record.reason


def test_only_rows_that_changed_are_sent_again(client: "TestClient", runs: Path) -> None:
    one = study_id(client, "two")
    header, _ = columns(client, one)
    version = header["about"]["version"]
    assert columns(client, one, version)[1]["trial"] == []
    with pb.open_study(runs / "group" / "two") as study:
        asked = study.ask()
    header, found = _until_changed(client, one, version)
    assert found["trial"] == [asked.id] and not header["about"]["full"]
    with pb.open_study(runs / "group" / "two") as study:
        study.tell(asked.id, 0.75)
    header, found = _until_changed(client, one, header["about"]["version"])
    assert found["trial"] == [asked.id] and found["value"] == [0.75]


def _until_changed(
    client: "TestClient", study: str, version: str
) -> tuple[Any, dict[str, list[Any]]]:
    """The columns once the server has looked again, which it does at most once a second."""

    def changed() -> bool:
        client.get(f"/api/studies/{study}")
        return bool(columns(client, study, version)[0]["about"]["version"] != version)

    wait_until(changed, "the change to be seen")
    return columns(client, study, version)


def test_a_version_of_another_server_means_all_rows(client: "TestClient") -> None:
    header, found = columns(client, study_id(client, "two"), "another:7")
    assert header["about"]["full"] and len(found["trial"]) == 3


def test_a_trial_is_told_with_why_and_its_files(client: "TestClient", runs: Path) -> None:
    one = study_id(client, "one")
    details = client.get(f"/api/studies/{one}/trials/3").json()
    with pb.open_study(runs / "one", read_only=True) as study:
        assert details["why"]["sentence"] == study.why(3).sentence
    assert details["trial"] == 3 and details["status"] == "failed"
    assert details["failure"]["reason"] == "it was not to be"
    assert details["files"] == [] and details["lineage"]["trial"][-1] == 3
    missing = client.get(f"/api/studies/{one}/trials/999")
    assert missing.status_code == 404 and "no trial 999" in missing.json()["error"]


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_is_answered_as_json_and_as_columns(client: "TestClient", name: str) -> None:
    address = f"/api/studies/{study_id(client, 'one')}/analysis/{name}"
    plain = client.get(address)
    assert plain.status_code == 200, plain.text
    header, found = read(client.get(address, params={"form": "columns"}).content)
    for field, numbers in found.items():
        same = [None if isinstance(x, float) and np.isnan(x) else x for x in numbers]
        assert same == plain.json()[field]
    assert set(header["about"]) | set(found) == set(plain.json())


def test_an_analysis_sees_the_trials_that_pass_the_filter(client: "TestClient") -> None:
    address = f"/api/studies/{study_id(client, 'one')}/analysis/incumbent"
    everything = client.get(address).json()["any_fidelity"]["trial"]
    some = client.get(address, params={"filter": "trial > 9"}).json()["any_fidelity"]["trial"]
    assert min(everything) <= 9 < min(some)
    wrong = client.get(address, params={"filter": "nothing > 9"})
    assert wrong.status_code == 200 and "no column nothing" in wrong.json()["error"]


@pytest.mark.parametrize("options", [{"trial": "999"}, {"trial": "-1"}, {"trial": "x"}])
def test_wrong_options_of_an_analysis_are_refused(
    client: "TestClient", options: dict[str, str]
) -> None:
    address = f"/api/studies/{study_id(client, 'one')}/analysis/ancestry"
    assert list(client.get(address, params=options).json()) == ["error"]


def test_what_is_unknown_is_not_found(client: "TestClient") -> None:
    one = study_id(client, "one")
    for path in ("none", f"{one}/analysis/none", f"{one}/none", f"{one}/trials/x"):
        assert client.get(f"/api/studies/{path}").status_code == 404


def test_hostile_names_and_reasons_are_only_ever_json(tmp_path: Path) -> None:
    space = pb.Space({NAME: pb.Float(0, 1), "k": pb.Categorical([HOSTILE, "b"])})
    with pb.open_study(tmp_path / "bad", space, EPOCHS, "random") as study:
        study.fail(study.ask(), HOSTILE * 500)
        study.note(HOSTILE)
    with dashboard(tmp_path) as client:
        one = study_id(client, "bad")
        header, _ = columns(client, one)
        assert f"config.{NAME}" in [column["name"] for column in header["columns"]]
        reason = client.get(f"/api/studies/{one}/trials/0").json()["failure"]["reason"]
        assert reason == HOSTILE * 500
        assert client.get(f"/api/studies/{one}/notes").json()[0]["text"] == HOSTILE
        for path in ("", "/notes", "/trials/0"):
            answer = client.get(f"/api/studies/{one}{path}")
            assert answer.headers["content-type"] == "application/json"


def test_a_damaged_study_is_shown_with_its_error_beside_the_others(runs: Path) -> None:
    (runs / "broken").mkdir()
    (runs / "broken" / "study.db").write_bytes(b"nothing of the kind")
    with dashboard(runs) as client:
        broken = study_id(client, "broken")
        answer = client.get(f"/api/studies/{broken}")
        assert answer.status_code in (409, 503) and answer.json()["error"]
        assert client.get(f"/api/studies/{study_id(client, 'one')}").status_code == 200


def test_a_password_is_never_shown() -> None:
    secret = "hunter2hunter2"
    where = f"postgresql://ann:{secret}@127.0.0.1:9/lab#resnet"
    with dashboard(where) as client:
        listed = client.get("/api/studies")
        [one] = listed.json()
        answer = client.get(f"/api/studies/{one['id']}")
        assert answer.status_code >= 400
        assert secret not in json.dumps([listed.text, answer.text, client.get("/api/studies").text])
        assert "***" in one["where"]
