"""`priorband why` explains one trial on one screen."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import no_control_codes, run_here

import priorband as pb
from priorband.cli.read_study import open_for_reading
from priorband.study_analysis import chances_over_budget, rung_flow, study_data
from priorband.study_analysis.statuses import statuses
from priorband.study_analysis.why import explanation

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("why") / "study"
    with pb.open_study(place, SPACE, EPOCHS, "priorband", seed=1, maximize=True) as study:
        for number in range(13):
            trial = study.ask()
            if number == 4:
                study.fail(trial, "oh \x1b[2J\n" + "no " * 500)
            else:
                study.tell(trial, trial.config["x"])
    return place


def asked(
    where: Path, words: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, capsys: object
) -> "tuple[int, str, str]":
    done = run_here(("why", where, *words), monkeypatch, capsys)  # type: ignore[arg-type]  # a fixture
    assert no_control_codes(done.stdout + done.stderr)
    return done.returncode, done.stdout, done.stderr


def test_each_trial_fits_one_screen_and_the_first_line_answers(
    where: Path, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    with pb.open_study(where, read_only=True) as study:
        words = [record.outcome for record in study.trials()]
    assert {*words} >= {"promoted", "stopped", "failed", "finished"}
    for number, word in enumerate(words):
        code, said, _ = asked(where, (number,), monkeypatch, capsys)
        lines = said.splitlines()
        assert code == 0 and max(map(len, lines)) <= 80 and len(lines) <= 24
        wanted = {"finished": "was trained in full", "open": "may still go on"}
        assert said.startswith(f"Trial {number} ") and wanted.get(word, word) in said[:40]


def test_json_has_all_facts(where: Path, monkeypatch: pytest.MonkeyPatch, capsys: object) -> None:
    _, said, _ = asked(where, (4, "--json"), monkeypatch, capsys)
    facts = json.loads(said)
    assert (facts["trial"], facts["outcome"], facts["failure"]["kind"]) == (4, "failed", "raised")
    assert facts["source"]["probabilities"] == {"uniform": 0.5, "prior": 0.5, "incumbent": 0.0}
    with pb.open_study(where, read_only=True) as study:
        assert facts == study.why(4).data


@pytest.mark.parametrize(
    ("word", "said"),
    [("99", "There is no trial 99 in "), ("x", "must be the number of a trial, such as 17")],
)
def test_a_trial_that_does_not_exist_is_an_error(
    where: Path, word: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    code, nothing, error = asked(where, (word,), monkeypatch, capsys)
    assert code != 0 and not nothing and said in " ".join(error.split())


def test_a_method_of_ones_own_is_explained_from_what_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    class Mine:
        """A sampler that no record can name."""

        sample = pb.samplers.FromUniform().sample

    method = pb.Optimizer(pb.schedulers.ASHA(), Mine())
    with pb.open_study(tmp_path, SPACE, EPOCHS, method) as study:
        for trial in study.ask(3):
            study.tell(trial, trial.id)
        study.ask()
    _, said, _ = asked(tmp_path, (0,), monkeypatch, capsys)
    assert said.startswith("Trial 0 was promoted as trial 3: it was 1st of 3 on rung 0 of bracket")
    assert "so no decision was made again" in " ".join(said.split())


class OwnPrior:
    """A prior that no record can name."""

    def __init__(self, inner: pb.Prior) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


@pytest.mark.parametrize("method", ["priorband", "guardband"])
def test_a_prior_of_ones_own_is_replaced_by_no_other(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    prior: Any = OwnPrior(pb.prior(SPACE, {"x": 0.7}))
    with pb.open_study(tmp_path, SPACE, EPOCHS, method, prior=prior) as study:
        for number in range(40):
            if number == 30:
                study.set_prior({"x": 0.2})
            trial = study.ask()
            study.tell(trial, abs(trial.config["x"] - 0.9))
        truth = [study.why(number) for number in range(40)]
    with open_for_reading(str(tmp_path)) as study:
        seen = [study.why(number) for number in range(40)]
        data = study_data(study)
    assert [explanation(data, number) for number in range(40)] == seen
    chances = chances_over_budget(data)
    unknown = dict(zip(chances.trial.tolist(), np.isnan(chances.probability[0]), strict=True))
    for known, shown in zip(truth, seen, strict=True):
        assert (shown.outcome, shown.place) == (known.outcome, known.place)
        if known.source.trial < 30:
            assert shown.source.probabilities is None and shown.source.exact is None
        else:
            assert shown.source == known.source
        assert unknown.get(shown.trial, known.source.trial < 30) == (known.source.trial < 30)
    _, said, _ = asked(tmp_path, (5,), monkeypatch, capsys)
    assert "chances" not in said and "prior is of a class of your own" in " ".join(said.split())
    done = run_here(("show", tmp_path, 5, "--json"), monkeypatch, capsys)  # type: ignore[arg-type]  # a fixture
    assert json.loads(done.stdout)["prior"] == {}
    done = run_here(("export", tmp_path, "--json"), monkeypatch, capsys)  # type: ignore[arg-type]  # a fixture
    assert [row["outcome"] for row in json.loads(done.stdout)] == [each.outcome for each in truth]


def test_the_analysis_of_a_method_of_ones_own_says_what_is_not_known(tmp_path: Path) -> None:
    class Mine:
        """A sampler that no record can name."""

        sample = pb.samplers.FromUniform().sample

    with pb.open_study(
        tmp_path, SPACE, EPOCHS, pb.Optimizer(pb.schedulers.ASHA(), Mine())
    ) as study:
        for trial in study.ask(3):
            study.tell(trial, trial.id)
        study.ask()
    with open_for_reading(str(tmp_path)) as study:
        data = study_data(study)
    assert statuses(data) == ("promoted", "open", "open", "running")
    assert rung_flow(data).open[0].tolist() == [2]
    assert np.all(np.isnan(chances_over_budget(data).probability))
    assert explanation(data, 0).continued is not None
    assert explanation(data, 1).source.exact is None
