"""`priorband prior show` prints the report card of a stored study's prior."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from commands import no_control_codes, run_here

import priorband as pb

SPACE = pb.Space(
    {
        "lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-4),
        "kind": pb.Categorical(["\x1b[2J", "b"], prior="b"),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 9)


def stored(where: Path, budget: float) -> Path:
    with pb.open_study(where, SPACE, EPOCHS, maximize=True) as study:
        pb.simulate(study, lambda config, z: -config["lr"] + 0.01 / z, budget=budget)
    return where


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(tmp_path_factory.mktemp("prior") / "study", 15)


def said(
    words: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> tuple[int, str, str]:
    done = run_here(("prior", "show", *words), monkeypatch, capsys)
    assert no_control_codes(done.stdout + done.stderr)
    return done.returncode, done.stdout, done.stderr


def test_the_text_is_that_of_the_report(
    where: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    with pb.open_study(where, read_only=True) as study:
        report = study.prior_report()
    code, text, _ = said((where,), monkeypatch, capsys)
    assert code == 0 and text.startswith(str(report))
    assert report.verdict == "harms" and "`lr` wants to be higher than 0.0001" in " ".join(
        text.split()
    )


def test_json_has_the_whole_report(
    where: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    code, text, _ = said((where, "--json"), monkeypatch, capsys)
    data = json.loads(text)
    assert code == 0 and data["verdict"] == "harms" and data["best_value"] > 0
    assert [one["name"] for one in data["parameters"]] == ["lr", "kind"]
    assert data["parameters"][0]["wants"] == "higher" and len(data["clues"]) == 4
    assert set(data["suggestion"]) == {"python", "toml", "names"}


def test_the_suggested_prior_alone(
    where: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    _, text, _ = said((where, "--toml"), monkeypatch, capsys)
    beliefs = tomllib.loads(text)["prior"]
    assert beliefs["lr"]["normal"] > 1e-3 and sum(beliefs["kind"]["weights"]) == 7
    _, text, _ = said((where, "--python"), monkeypatch, capsys)
    assert text.startswith("prior = {\n    'lr': pb.Normal(")


def test_early_there_is_nothing_to_suggest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    early = stored(tmp_path / "study", 1.5)
    code, text, _ = said((early,), monkeypatch, capsys)
    assert code == 0 and text.startswith("There is not enough evidence about your prior yet")
    code, text, error = said((early, "--toml"), monkeypatch, capsys)
    assert code == 1 and not text and "There is no prior to suggest yet" in error
