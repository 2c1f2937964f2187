"""A program that tunes, to send signals to: `STUDY=... python -m faults.tuning_program FOLDER`."""

import os
import sys
from pathlib import Path

import priorband as pb
from faults.signals import SteppedTraining
from faults.study_setup import Setting, StudySetup


def main(where: str, folder: str) -> None:
    """Tune with two workers."""
    setup = StudySetup(Path(folder), where, Setting())
    arguments = setup.open_arguments()
    arguments["study"] = arguments.pop("where")
    training = SteppedTraining(setup.log, 0.3)
    pb.tune(training, budget=9, workers=2, show="plain", grace=5.0, **arguments)


if __name__ == "__main__":
    main(os.environ["STUDY"], *sys.argv[1:])
