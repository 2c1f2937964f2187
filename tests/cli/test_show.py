"""`priorband show` prints everything about one trial."""

import json
from pathlib import Path

import pytest
from commands import no_control_codes, run_here

import priorband as pb
from priorband.display.trial_details import trial_details

SPACE = pb.Space(
    {
        "x": pb.Float(0, 1, prior=0.4),
        "kind": pb.Categorical(["\x1b[2J", "b"], prior="b"),
        "depth": pb.Integer(1, 9, when={"kind": "\x1b[2J"}),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 3)


def objective(trial: pb.Attempt) -> dict[str, float]:
    if trial.id == 2:
        raise ValueError("two \x1b[2J")
    for step in trial.steps():
        trial.report(step, value=step / 10)
        (trial.checkpoint_dir / "weights").write_text("w")
    return {"value": trial.config["x"], "f1": 0.5}


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("show") / "study"
    how = {"maximize": True, "show": "quiet", "start": "same-process", "keep": "all"}
    pb.tune(objective, SPACE, EPOCHS, budget=pb.Budget(trials=5), study=place, **how)  # type: ignore[arg-type]  # mixed
    return place


def shown(
    where: Path, words: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, capsys: object
) -> "tuple[int, str, str]":
    done = run_here(("show", where, *words), monkeypatch, capsys)  # type: ignore[arg-type]  # a fixture
    assert no_control_codes(done.stdout + done.stderr)
    return done.returncode, done.stdout, done.stderr


def test_a_trial_that_was_promoted_names_its_relatives(
    where: Path, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    with pb.open_study(where, read_only=True) as study:
        child = next(trial for trial in study.state.history.trials if trial.parent is not None)
        value = study.state.history.outcome(child.id)
        assert value is not None
    _, said, _ = shown(where, (child.id,), monkeypatch, capsys)
    assert f"\nresult      value {-value.loss:.5g}\ntrained     epochs=3 of 3, rung 1\n" in said
    assert f"origin      {child.origin}, continues trial {child.parent}\n" in said
    assert "curve       ▁█ 0.2 → 0.3 (2 points)\nmetric      f1 = 0.5\n" in said
    assert f"/trials/{child.id}/1-" in said and "\nattempt 1   succeeded (" in said
    _, said, _ = shown(where, (child.parent,), monkeypatch, capsys)
    assert f"\ncontinued   by trial {child.id}\n" in said and ", place 1 of 3 ended" in said


def test_the_configuration_is_beside_the_prior(
    where: Path, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    _, said, _ = shown(where, (0,), monkeypatch, capsys)
    config = said.split("\n\n")[1].splitlines()
    assert [line.split() for line in config] == [
        ["config", "value", "prior"],
        ["x", "0.4", "0.4"],
        ["kind", "'b'", "'b'"],
        ["depth", "(inactive)", "-"],
    ]
    assert config[3].startswith("  depth")


def test_a_failed_trial_has_its_traceback(
    where: Path, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    _, said, _ = shown(where, (2,), monkeypatch, capsys)
    assert "\nfailed      raised: ValueError: two \\x1b[2J\n" in said
    assert 'in objective: raise ValueError("two \\x1b[2J")\n' in said
    assert said.count(f"{where}/trials/2/log-1.txt\n") == 1
    assert "  Fix the error and run the same again. " in said
    assert said.rstrip().endswith("ValueError: two \\x1b[2J") and "Traceback (most recent" in said


def test_everything_is_in_the_json(
    where: Path, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    data = [json.loads(shown(where, (n, "--json"), monkeypatch, capsys)[1]) for n in range(5)]
    assert [one["status"] for one in data] == [
        "succeeded",
        "succeeded",
        "failed",
        "succeeded",
        "succeeded",
    ]
    assert data[0]["prior"] == {"x": 0.4, "kind": "b"} and data[0]["inactive"] == ["depth"]
    assert data[0]["curve"] == [[1.0, 0.1], [2.0, 0.2], [3.0, 0.3]]
    assert data[2]["failure"]["kind"] == "raised" and "Traceback" in data[2]["failure"]["traceback"]
    assert [one["kind"] for one in data[2]["attempts"]] == ["raised"]


def test_an_unknown_trial_says_which_exist(
    where: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    code, _, said = shown(where, (99,), monkeypatch, capsys)
    assert (code, said) == (
        1,
        f"priorband: There is no trial 99 in {where}: it has trials 0 to 4.\n",
    )
    code, _, said = shown(where, ("best",), monkeypatch, capsys)
    assert code == 2 and "must be the number of a trial, such as 17, got 'best'" in said
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        with pytest.raises(pb.errors.TrialError, match="it has none yet"):
            trial_details(study, 0)
        study.ask()
        with pytest.raises(pb.errors.TrialError, match="it has trial 0 only"):
            trial_details(study, 1)
        assert trial_details(study, 0).attempts[0].ended is None
