"""`priorband status`, `best`, `replay`, `methods` and `export`: right, loadable and harmless."""

import csv
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import no_control_codes, priorband

import priorband as pb
from priorband.cli.entry_point import main
from priorband.cli.export_command import write
from priorband.durable.messages import Assignment, Report

EVIL = "\x1b[2J[red]\u202e"
SPACE = pb.Space(
    {
        "x": pb.Float(-1, 1, prior=-0.5),
        "[bold]y[/bold]": pb.Categorical([EVIL, "=1+1", (1, 2), None]),
        "depth": pb.Constant(10),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 9)
METHODS = 53


def work(study: pb.DurableStudy, number: int) -> None:
    for word in range(number):
        claim = study.turn(None, f"{word}")
        assert isinstance(claim, Assignment)
        trial, details = claim.trial, {"cost": 0.5, "metrics": {"=m": "@evil", "-n": -2.5}}
        if trial.id % 5 == 4:
            report = Report(trial.id, 1, None, "raised", f"ValueError: {EVIL}\nline two")
        else:
            loss = -abs(trial.config["x"]) * trial.fidelity
            report = Report(trial.id, 1, loss, details=details)
        study.turn(report, "")


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A study that maximises, with hostile names and errors, and two trials under way."""
    place = tmp_path_factory.mktemp("looking") / "study"
    with pb.open_study(place, SPACE, EPOCHS, maximize=True) as study:
        study.limit(8)
        work(study, 12)
        study.add({"x": 0.5, "[bold]y[/bold]": "=1+1", "depth": 10}, 3.0)
        given_back = study.turn(None, "again")
        assert isinstance(given_back, Assignment)
        study.turn(Report(given_back.trial.id, 1, None, "preempted", "SIGTERM"), "")
        claim = study.turn(None, "a")
        assert isinstance(claim, Assignment) and claim.attempt == 2
        assert isinstance(study.turn(None, "b"), Assignment)
        yield str(place)


def test_status_says_how_a_study_stands(where: str) -> None:
    done = priorband("status", where)
    assert (done.returncode, done.stderr) == (0, "")
    for said in (
        "maximise, epochs 1 to 9, priorband, seed 0\ncreated  20",
        "of 8 trainings (",
        "13 ended (2 failed: raised), 2 running",
        "failed   trial 9, raised: ValueError: \\x1b[2J[red]\\u202e line two",
        "trial  attempt  rung  epochs  value  elapsed  origin",
    ):
        assert said in done.stdout, done.stdout
    assert no_control_codes(done.stdout)


def test_status_as_json_can_be_loaded(where: str) -> None:
    data = json.loads(priorband("status", where, "--json").stdout)
    assert data["trials"]["ended"] == 13 and data["failures"] == {"raised": 2}
    assert [one["attempt"] for one in data["running"]] == [2, 1]
    assert data["best"]["value"] > 0 and data["direction"] == "maximize"
    assert data["method"] == "priorband" and data["budget"]["trainings"]["limit"] == 8


def test_watching_ends_with_the_study(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=2))
        work(study, 2)
    plain = priorband("status", tmp_path, "--watch")
    assert plain.returncode == 0 and "The budget of 2 trials is spent." in plain.stdout
    assert no_control_codes(plain.stdout)
    data = priorband("status", tmp_path, "--watch", "--json").stdout.splitlines()
    assert json.loads(data[-1])["over"] is True


def test_best_prints_a_configuration(where: str) -> None:
    done = priorband("best", where)
    assert done.returncode == 0 and no_control_codes(done.stdout)
    first, *config = done.stdout.splitlines()
    assert " at epochs=9 (trial " in first
    assert [line.split("  ")[0] for line in config] == ["x", "[bold]y[/bold]", "depth"]


def test_best_as_json_is_a_configuration_of_the_space(where: str) -> None:
    for words in ((), ("--full",)):
        data = json.loads(priorband("best", where, "--json", *words).stdout)
        assert data["full"] and data["direction"] == "maximize" and data["value"] > 0
        assert data["config"]["depth"] == 10 and -1 <= data["config"]["x"] <= 1


def test_there_may_be_no_best_yet(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=2))
    done = priorband("best", tmp_path, "--full")
    assert done.returncode == 1 and "No full training has succeeded yet" in done.stderr


def test_replay_says_exact(where: str) -> None:
    done = priorband("replay", where)
    assert (done.returncode, done.stdout) == (
        0,
        "Exact: all 14 decisions came out as recorded.\n",
    )
    data = json.loads(priorband("replay", where, "--json").stdout)
    assert data == {"exact": True, "decisions": 14, "differing": []}


def test_replay_says_what_came_out_otherwise(
    where: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    decide = pb.Optimizer.decide

    def otherwise(self: pb.Optimizer, state: pb.State, seed: int) -> pb.optimizers.Decision:
        return decide(self, state, seed + 1)

    monkeypatch.setattr(pb.Optimizer, "decide", otherwise)
    assert main(["replay", where]) == 1
    said = capsys.readouterr().out
    assert "Not exact: " in said and "  trial 1: config.x " in said and " in the study, " in said
    assert no_control_codes(said)
    assert main(["replay", where, "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert not data["exact"] and data["differing"][0]["trial"] == 1


def test_methods_are_listed(capsys: Any) -> None:
    assert main(["methods"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == METHODS == len(pb.methods())
    assert main(["methods", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == pb.methods()


def test_a_table_has_a_row_for_each_trial(where: str) -> None:
    done = priorband("export", where)
    assert done.returncode == 0 and no_control_codes(done.stdout)
    table = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [int(row["trial"]) for row in table] == list(range(15))
    status = [row["status"] for row in table]
    assert [status.count(s) for s in ("succeeded", "failed", "running")] == [11, 2, 2]
    failed = table[4]
    assert (failed["kind"], failed["reason"]) == (
        "raised",
        "ValueError: \\x1b[2J[red]\\u202e\\nline two",
    )
    assert failed["value"] == failed["loss"] == failed["metrics.=m"] == ""
    good = table[0]
    assert float(good["value"]) == -float(good["loss"]) and float(good["cost"]) == 0.5
    assert good["asked"] <= good["ended"] and good["asked"].endswith("+00:00")
    assert table[13]["attempts"] == "2" and table[12]["origin"] == "imported"


def test_no_text_in_a_table_is_a_formula(where: str) -> None:
    table = list(csv.DictReader(io.StringIO(priorband("export", where).stdout)))
    choices = {row["config.[bold]y[/bold]"] for row in table}
    assert choices <= {"\\x1b[2J[red]\\u202e", "'=1+1", "[1, 2]", ""} and "'=1+1" in choices
    assert table[0]["metrics.=m"] == "'@evil"
    assert table[0]["metrics.-n"] == "-2.5" and table[0]["config.x"] == "-0.5"
    for row in table:
        for name, cell in row.items():
            if cell[:1] in ("=", "+", "-", "@"):
                float(cell)
            assert name[0] not in "=+-@"


def test_a_table_as_json_can_be_loaded(where: str, tmp_path: Path) -> None:
    done = priorband("export", where, "--json", "-o", tmp_path / "table.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    table = json.loads((tmp_path / "table.json").read_text())
    assert len(table) == 15 and table[0]["config"]["depth"] == 10
    assert table[0]["metrics"] == {"=m": "@evil", "-n": -2.5}
    assert os.listdir(tmp_path) == ["table.json"]


def test_a_file_is_replaced_completely_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"
    write(path, "one\n")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            write(path, "two\n")
    assert path.read_text() == "one\n" and os.listdir(tmp_path) == ["table.csv"]
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write(tmp_path / "pipe", "three\n")
    assert os.read(reader, 99) == b"three\n" and not (tmp_path / "pipe").is_file()
    os.close(reader)


def test_an_empty_study_has_an_empty_table(tmp_path: Path, capsys: Any) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS):
        pass
    assert main(["export", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["export", str(tmp_path)]) == 0
    [head] = capsys.readouterr().out.splitlines()
    assert head.startswith(
        "trial,parent,bracket,rung,origin,fidelity,status,outcome,kind,reason,value,"
    )
    assert head.endswith(",config.x,config.[bold]y[/bold],config.depth")


def test_the_best_trial_is_queued_for_a_full_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "s")
    with pb.open_study(place, pb.Space(x=pb.Float(0, 1)), EPOCHS, "sh") as study:
        assert main(["best", place, "--train-in-full"]) == 1
        assert "No trial has succeeded yet" in capsys.readouterr().err
        study.add({"x": 0.75}, 3.0)
        best = study.ask()
        study.tell(best, 0.5)
        main(["best", place])
        said = capsys.readouterr().out
        assert (
            "Trial 1 was trained up to epochs=1 of 9. To train its configuration in full: "
            f"priorband best {place} --train-in-full\n"
        ) in said
        assert "Best in full: 3 at epochs=9 (trial 0); see --full." in said
        assert main(["best", place, "--train-in-full"]) == 0
        assert capsys.readouterr().out == (
            "Queued: the configuration of trial 1 at epochs=9, from scratch.\n"
            "It is trained first when the study runs again.\n"
        )
        again = study.ask()
        assert (again.config, again.fidelity) == (best.config, 9)
        study.tell(again, 0.75)  # worse than before
        study.limit(1)
    assert main(["best", place, "--train-in-full"]) == 0
    assert capsys.readouterr().out == (
        "The best configuration was trained in full already: trial 2, epochs=9.\n"
    )
    main(["best", place])
    assert "To train" not in capsys.readouterr().out


def test_best_points_to_the_failures_if_all_trials_have_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "s")
    with pb.open_study(place, pb.Space(x=pb.Float(0, 1)), EPOCHS) as study:
        trial = study.ask()
        assert main(["best", place]) == 1
        assert "1 running. Try again later." in capsys.readouterr().err
        study.fail(trial, "no such thing")
        assert main(["best", place]) == 1
    assert f"`priorband status {place}` shows why" in capsys.readouterr().err
