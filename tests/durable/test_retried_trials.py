"""Retried trials in storage: the format, older libraries, snapshots, salvage and checkpoints."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from stored_studies import rows, tell_some

import priorband as pb
from priorband.cli.entry_point import main
from priorband.durable import snapshot
from priorband.errors import FormatError
from priorband.repair.check import check
from priorband.repair.salvage import salvage

SPACE = pb.Space(x=pb.Float(0, 1, prior=0.4))
EPOCHS = pb.Fidelity("epochs", 1, 9)


def version(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "study.db")) as connection:
        [number] = connection.execute("PRAGMA user_version").fetchone()
        return int(number)


def study_with_failures(folder: Path) -> pb.DurableStudy:
    study = pb.open_study(folder, SPACE, EPOCHS, "sh", seed=2)
    for number in range(11):
        trial = study.ask()
        if number in (4, 9):
            study.fail(trial, "out of memory", kind="memory")
        else:
            study.tell(trial, number)
    return study


def retried(folder: Path) -> Path:
    """A study with two retried trials, one of them a promotion, of which one is handed out."""
    with study_with_failures(folder) as study:
        study.retry([9, 4])
        assert study.ask().parent == 0
    return folder


def test_only_a_study_with_a_retry_gets_the_new_format(tmp_path: Path) -> None:
    with study_with_failures(tmp_path) as study:
        assert version(tmp_path) == 1
        with pytest.raises(pb.PriorbandError):
            study.retry([0])
        assert version(tmp_path) == 1
        study.retry([9])
    assert version(tmp_path) == 3
    assert '"retry":9}' in rows(tmp_path)[-1].body


def test_an_older_library_refuses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    retried(tmp_path)
    for module in ("sqlite_file", "journal"):
        monkeypatch.setattr(f"priorband.storage.{module}.FORMAT", 2)
    with pytest.raises(FormatError, match="has format 3, this library reads up to 2"):
        pb.open_study(tmp_path)


def test_it_is_opened_again_and_goes_on(tmp_path: Path) -> None:
    retried(tmp_path)
    with pb.open_study(tmp_path) as study:
        queued = study.state.history.queued
        assert queued is not None and queued.retry == 4
        assert study.ask().config == study.state.history.trial(4).config
        tell_some(study, 20)
        assert study.replay().exact
        happened = study.state.history.events
        assert len(study.trials()) == len(study.state.history)
    memory = pb.Study(SPACE, EPOCHS, "sh", seed=2)
    memory.follow(happened)
    assert memory.replay().exact and check(tmp_path).sound
    with pb.open_study(tmp_path / "copy", SPACE, EPOCHS, "sh", seed=2) as copy:
        copy.follow(happened)
        assert copy.state.history.events == happened
    assert version(tmp_path / "copy") == 3


def test_a_snapshot_from_before_a_retry_leads_to_the_same_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "EVERY", 8)
    monkeypatch.setattr(snapshot, "ON_CLOSE", 1)
    study_with_failures(tmp_path).close()
    with pb.open_study(tmp_path) as study:
        assert study._snapshots._used  # a snapshot was written, and is read
        study.retry([9, 4])
        tell_some(study, 10)
        happened = study.state.history.events
    with pb.open_study(tmp_path) as study:
        assert study.state.history.events == happened
        following = study.optimizer.propose(study.state, study.seed)
        assert study.replay().exact
    memory = pb.Study(SPACE, EPOCHS, "sh", seed=2)
    memory.follow(happened)
    assert memory.ask() == following


def test_it_is_salvaged_as_it_is_and_after_a_loss(tmp_path: Path) -> None:
    retried(tmp_path / "study")
    salvage(tmp_path / "study", tmp_path / "same")
    assert version(tmp_path / "same") == 3 and check(tmp_path / "same").sound
    with pb.open_study(tmp_path / "same", read_only=True) as study:
        assert study.state.history.queued is not None and study.replay().exact
    with closing(sqlite3.connect(tmp_path / "study" / "study.db")) as connection, connection:
        connection.execute("UPDATE record SET body = '{' WHERE seq = 10")
    salvage(tmp_path / "study", tmp_path / "new")
    assert check(tmp_path / "new").sound
    with pb.open_study(tmp_path / "new") as study:
        assert study.replay().exact
        tell_some(study, 5)


def test_a_wrong_version_is_found(tmp_path: Path) -> None:
    retried(tmp_path)
    with closing(sqlite3.connect(tmp_path / "study.db")) as connection:
        connection.execute("PRAGMA user_version = 1")
    findings = check(tmp_path).findings
    assert ["but a retried trial needs 3" in str(found) for found in findings] == [True]


def fails_once(trial: pb.Attempt) -> float:
    """Save, and fail at 3 epochs for as long as the test says so."""
    begun = [int((trial.resume_from / "epochs").read_text())] if trial.resume_from else [0]
    with open(trial.task.root / "begun.txt", "a") as file:
        file.write(f"{trial.id} {begun[0]} {trial.fidelity}\n")
    if trial.fidelity == 3 and (trial.task.root / "broken").exists():
        raise RuntimeError("broken")
    (trial.checkpoint_dir / "epochs").write_text(str(trial.fidelity))
    return float(trial.config["x"] / trial.fidelity)


def test_a_retried_promotion_resumes_the_checkpoint_of_its_parent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken").touch()
    options = {"study": tmp_path, "method": "sh", "show": "quiet", "start": "same-process"}
    pb.tune(fails_once, SPACE, EPOCHS, budget=pb.Budget(trials=15), **options)  # type: ignore[arg-type]  # mixed
    (tmp_path / "broken").unlink()
    assert main(["retry", str(tmp_path), "--kind", "raised"]) == 0
    assert capsys.readouterr().out.startswith(
        "Queued to be tried first when the study runs again: 3 trials.\n"
    )
    pb.tune(fails_once, budget=pb.Budget(trials=18), **options)  # type: ignore[arg-type]  # mixed
    begun = (tmp_path / "begun.txt").read_text().split("\n")
    assert begun[9:12] == ["9 1 3", "10 1 3", "11 1 3"]
    assert begun[15:18] == ["15 1 3", "16 1 3", "17 1 3"], "they begin with the saved epoch"
    with pb.open_study(tmp_path) as study:
        again = study.trials()[15:18]
        assert [trial.slot for trial in again] == [(0, 1)] * 3
        assert study.replay().exact
        study.limit(pb.Budget(trials=19))
        assert study.ask().slot == (0, 2), "their bracket goes on"
    assert main(["retry", str(tmp_path), "--failed"]) == 1
    said = capsys.readouterr().err
    assert "Nothing to retry: 3 trials, but they were retried already." in said
