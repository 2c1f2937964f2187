"""Objectives for tests, where other processes can import them."""

import json
import time
from typing import Any

import priorband as pb

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


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


def slow(trial: pb.Attempt) -> float:
    for epoch in trial.steps():
        time.sleep(0.2)
        (trial.checkpoint_dir / "epoch").write_text(str(epoch))
    return value(trial)


def raises(trial: pb.Attempt) -> float:
    raise ValueError(f"no such thing as {trial.config['x']:.1f}")
