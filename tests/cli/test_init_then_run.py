"""What `priorband init` writes is a study file that `priorband run` can run."""

from pathlib import Path
from typing import Any

import pytest
from commands import priorband

import priorband as pb
from priorband.cli.entry_point import main
from priorband.durable.budget import Budget
from priorband.study_file.read import StudyFile, read_study_file
from priorband.workers.script_metrics import PrintedMetric

SCRIPT = """
import argparse
import json
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data", help="where the data is")
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--optimizer", choices=["sgd", "adam"], default="adam")
    parser.add_argument("--nesterov", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--resume", type=Path)
    args = parser.parse_args()
    done = 0
    if args.resume:
        done = json.loads((args.resume / "last.json").read_text())["epoch"]
    for epoch in range(done + 1, args.epochs + 1):
        loss = abs(args.lr - 3e-3) + args.dropout + 1 / epoch + (args.optimizer == "sgd")
        (args.out / "last.json").write_text(json.dumps({"epoch": epoch}))
        print(f"epoch {epoch}: val_loss={loss:.5f}")


if __name__ == "__main__":
    main()
"""
SWEEP = """
program: train.py
method: bayes
metric: {name: val_loss, goal: minimize}
early_terminate: {type: hyperband, min_iter: 3}
parameters:
  lr: {distribution: log_uniform_values, min: 1e-5, max: 1e-1}
  batch-size: {values: [16, 32, 64]}
  optimizer: {values: [sgd, adam], probabilities: [0.3, 0.7]}
  layers: {distribution: q_uniform, min: 2, max: 8, q: 2}
  width: {distribution: normal, mu: 64, sigma: 8}
  amp: {value: true}
  epochs: {value: 30}
  head:
    parameters:
      dropout: {min: 0.0, max: 0.5}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a script and a sweep of it."""
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(source: str) -> StudyFile:
    """The study file that `init` writes, read as `run` reads it."""
    assert main(["init", source]) == 0
    return read_study_file("study.toml")


@pytest.mark.usefixtures("folder")
def test_the_file_of_a_script_is_read_without_a_note(capsys: Any) -> None:
    file = written("train.py")
    names = {"lr", "dropout", "batch-size", "optimizer", "nesterov"}
    assert (file.notes, {*file.space.parameters}) == ((), names), capsys.readouterr().out
    assert file.command is not None and file.command[:2] == ("{python}", "train.py")
    assert file.fidelity is not None and (file.fidelity.low, file.fidelity.high) == (1, 9)
    assert file.budget == Budget(trainings=12)
    printed = PrintedMetric(file.metric, file.pattern, file.fidelity.name)
    point = printed.find("epoch 3: val_loss=0.25000")
    assert point is not None and (point.metrics, point.step) == ({"val_loss": 0.25}, 3)
    file.command_objective()  # whose program is there


@pytest.mark.usefixtures("folder")
def test_the_file_of_a_sweep_is_read_without_a_note() -> None:
    pytest.importorskip("yaml")
    file = written("sweep.yaml")
    assert file.notes == ()
    assert {*file.space.parameters} == {
        *("lr", "batch-size", "optimizer", "layers", "width", "amp", "head.dropout")
    }
    assert file.fidelity is not None and (file.fidelity.low, file.fidelity.high) == (3, 30)
    assert (file.metric, file.maximize) == ("val_loss", False)
    file.command_objective()


@pytest.mark.slow
def test_the_file_of_a_script_runs_to_the_end(folder: Path) -> None:
    assert priorband("init", "train.py", cwd=folder).returncode == 0
    done = priorband("run", "study.toml", "--budget", 4, "--workers", 2, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "The budget of 4 trainings is spent." in done.stdout
    with pb.open_study(folder / "runs" / "study", read_only=True) as study:
        ended = study.state.history.observations
    assert [one.reason for one in ended if one.failed] == []
    assert any(one.trial.parent is not None for one in ended)  # which read its parent's checkpoint
    assert {*ended[0].config} == {"lr", "dropout", "batch-size", "optimizer", "nesterov"}
