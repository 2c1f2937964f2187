"""Objectives for tests, where other processes can import them."""

import json
import os
import time
from pathlib import Path
from typing import Any

import priorband as pb

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
EPOCHS = pb.Fidelity("epochs", 1, 9)
GATE = "PRIORBAND_TEST_GATE"
"""The variable that names the folder of `waits`."""


def value(trial: pb.Attempt) -> float:
    return float((trial.config["x"] - 0.3) ** 2 + 1 / trial.fidelity)


def counted(trial: pb.Attempt) -> dict[str, Any]:
    """Trains epoch by epoch, goes on from checkpoints, and says which epochs it ran."""
    done = []
    if trial.resume_from:
        done = json.loads((trial.resume_from / "done.json").read_text())
    ran = []
    for epoch in trial.steps():
        assert epoch == len(done) + 1
        done.append(epoch)
        ran.append(epoch)
        trial.report(epoch, loss=1 / epoch)
        (trial.checkpoint_dir / "done.json").write_text(json.dumps(done))
    return {"loss": value(trial), "cost": len(ran), "ran": ran}


def waits(trial: pb.Attempt) -> float:
    """Waits in its second step, or in its only one, until `go` is in the folder GATE names.

    It stops as soon as it is asked to, unless the folder holds `ignore-stop`; then it writes
    `asked` there, and waits on.
    """
    gate = Path(os.environ[GATE])
    for epoch in trial.steps():
        (trial.checkpoint_dir / "epoch").write_text(str(epoch))
        while epoch >= min(2, trial.fidelity) and not (gate / "go").exists():
            if trial.should_stop:
                if not (gate / "ignore-stop").exists():
                    break
                (gate / "asked").touch()
            time.sleep(0.02)
    return value(trial)


def raises(trial: pb.Attempt) -> float:
    raise ValueError(f"no such thing as {trial.config['x']:.1f}")


def saves(trial: pb.Attempt) -> float:
    """Saves a large checkpoint to the disk of the study in each step."""
    (Path(os.environ[GATE]) / f"attempt-{trial.id}-{trial.attempt}").touch()
    for epoch in trial.steps():
        with open(trial.checkpoint_dir / "weights", "wb") as file:
            file.write(bytes(2_000_000))
        (trial.checkpoint_dir / "epoch").write_text(str(epoch))
    return value(trial)
