"""Changes from the page: each is a record of the study, and a wrong one changes nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from clients import dashboard, study_id
from stored_studies import EPOCHS, SPACE, tell_some

import priorband as pb


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    with pb.open_study(tmp_path / "one", SPACE, EPOCHS) as study:
        study.limit(10)
        tell_some(study, 5)
    return tmp_path


def edit(runs: Path, name: str, body: Any) -> tuple[int, dict[str, Any]]:
    with dashboard(runs, edits=True) as client:
        answer = client.post(
            f"/api/studies/{study_id(client, 'one')}/edit/{name}",
            content=json.dumps(body),
            headers={"content-type": "application/json"},
        )
        return answer.status_code, answer.json()


def reopened(runs: Path) -> pb.DurableStudy:
    return pb.open_study(runs / "one")


def test_a_queued_configuration_is_tried_next(runs: Path) -> None:
    config = {"x": 0.5, "n": 7, "kind": [1, 2]}
    assert edit(runs, "queue", {"config": config, "fidelity": 3})[0] == 200
    with reopened(runs) as study:
        trial = study.ask()
        assert trial.config == {"x": 0.5, "n": 7, "kind": (1, 2)} and trial.fidelity == 3
        assert study.replay().exact


def test_a_failed_trial_is_tried_again(runs: Path) -> None:
    assert edit(runs, "retry", {"trials": [3]})[0] == 200
    with reopened(runs) as study:
        assert study.ask().config == study.state.history.trial(3).config


def test_a_running_trial_is_stopped(runs: Path) -> None:
    with reopened(runs) as study:
        trial = study.ask()
        assert edit(runs, "stop", {"trial": trial.id})[0] == 200
        study.refresh()
        outcome = study.state.history.outcome(trial.id)
        assert outcome is not None and outcome.failed and "stopped by hand" in outcome.reason


def test_the_budget_is_changed_as_a_whole(runs: Path) -> None:
    status, summary = edit(runs, "budget", {"trainings": None, "trials": 40, "hours": 1.5})
    assert status == 200 and summary["overview"]["budget"]["trials"]["limit"] == 40
    with reopened(runs) as study:
        assert study.budget == pb.Budget(trials=40, hours=1.5)


def test_the_prior_is_changed_for_what_comes(runs: Path) -> None:
    body = {"beliefs": {"x": 0.9, "kind": [1, 2]}, "confidence": "high"}
    status, summary = edit(runs, "prior", body)
    assert status == 200 and summary["prior_changes"] == 1
    with reopened(runs) as study:
        assert study.prior.mode["x"] == 0.9 and study.prior.mode["kind"] == (1, 2)
        tell_some(study, 5)
        assert study.replay().exact


def test_notes_are_kept_and_removed(runs: Path) -> None:
    assert edit(runs, "note", {"text": "a", "trial": 2})[0] == 200
    assert edit(runs, "note", {"text": "b"})[0] == 200
    with dashboard(runs) as client:
        first, second = client.get(f"/api/studies/{study_id(client, 'one')}/notes").json()
    assert (first["text"], first["trial"], second["trial"]) == ("a", 2, None)
    assert edit(runs, "remove-note", {"number": first["number"]})[0] == 200
    with reopened(runs) as study:
        assert [note.text for note in study.notes()] == ["b"]
        assert study.replay().exact


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("queue", {"config": {"x": 7, "n": 7, "kind": "a"}}),
        ("queue", {"config": "x"}),
        ("queue", {"config": {"x": 0.5, "n": 7, "kind": "a"}, "fidelity": "9"}),
        ("queue", {"config": {"x": 0.5, "n": 7, "kind": "a"}, "fidelity": 5000}),
        ("retry", {"trials": [0]}),
        ("retry", {"trials": []}),
        ("retry", {"trials": "all"}),
        ("retry", {"trials": [True]}),
        ("stop", {"trial": 0}),
        ("stop", {"trial": 99}),
        ("stop", {}),
        ("budget", {"trials": -1}),
        ("budget", {"trials": "9"}),
        ("budget", {"trials": True}),
        ("budget", {"money": 3}),
        ("prior", {}),
        ("prior", {"beliefs": {}}),
        ("prior", {"beliefs": {"x": 7}}),
        ("prior", {"beliefs": {"y": 0.5}}),
        ("prior", {"beliefs": {"x": "a"}}),
        ("prior", {"beliefs": {"x": {"normal": 0.5}}}),
        ("prior", {"beliefs": {"x": 0.5}, "confidence": "total"}),
        ("note", {"text": ""}),
        ("note", {"text": 3}),
        ("note", {"text": "x" * 20_001}),
        ("note", {"text": "x", "trial": 99}),
        ("note", {"text": "\ud800"}),
        ("remove-note", {"number": 1}),
        ("remove-note", {"number": "1"}),
        ("note", ["text"]),
        ("note", None),
        ("shutdown", {}),
    ],
)
def test_a_wrong_change_is_refused_and_changes_nothing(runs: Path, name: str, body: Any) -> None:
    with reopened(runs) as study:
        before = study.ledger.seq
    status, answer = edit(runs, name, body)
    assert status in (404, 409) and answer["error"]
    with reopened(runs) as study:
        assert study.ledger.seq == before
