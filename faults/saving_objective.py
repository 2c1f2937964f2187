"""An objective for `priorband run --objective faults.saving_objective:saves`.

It saves whose training it is, and logs whose checkpoint it was given. Environment variables say who
it is, how it saves, and which trial waits in the middle for as long as the file `hold-WHO` exists.
"""

import json
import os
import time
from pathlib import Path

import priorband as pb
from faults.commands import FOLDER, PLANT, shared_log
from faults.planted_bugs import plant_bug
from faults.study_setup import EPOCHS, SPACE
from faults.training import loss

FIDELITY = EPOCHS
__all__ = ["FIDELITY", "SPACE", "saves"]

WHO, HOW, HOLD = "PRIORBAND_FAULTS_WHO", "PRIORBAND_FAULTS_HOW", "PRIORBAND_FAULTS_HOLD"

plant_bug(os.environ.get(PLANT, ""))


def saves(trial: pb.Attempt) -> float:
    """Save in each step, to the path of the first step, as many objectives do."""
    who, log = os.environ[WHO], shared_log()
    mine = json.dumps([who, dict(trial.config)])
    log.write("start", trial.id, trial.attempt, who=who, worker_pid=0)
    if trial.resume_from:
        found = (trial.resume_from / "owner").read_text()
        log.write("resumed", trial.id, trial.attempt, who=who, right=found == mine, found=found)
    kept = trial.checkpoint_dir
    for step in trial.steps():
        _wait_at(int(step), trial)
        if os.environ[HOW] == "creates":
            kept.mkdir(parents=True, exist_ok=True)
        if os.environ[HOW] != "if it exists" or kept.exists():
            (kept / "owner").write_text(mine)
        trial.report(step, loss=1 / step)
        print(f"{who}, step {step}")
    result = loss(trial)
    log.write("done", trial.id, trial.attempt, who=who, loss=result)
    return result


def _wait_at(step: int, trial: pb.Attempt) -> None:
    hold = Path(os.environ[FOLDER]) / f"hold-{os.environ[WHO]}"
    middle = (int(trial.start) + 1 + int(trial.fidelity)) // 2
    if hold.exists() and trial.id == int(os.environ[HOLD]) and step == middle:
        shared_log().write("holding", trial.id, trial.attempt, who=os.environ[WHO])
        while hold.exists():
            time.sleep(0.02)
