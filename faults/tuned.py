"""A program that tunes, for signals to be sent to: `python -m faults.tuned WHERE FOLDER`."""

import sys
from pathlib import Path

import priorband as pb
from faults.scene import Scene, Setting
from faults.signals import Stepping


def main(where: str, folder: str) -> None:
    """Tune with two workers."""
    here = Scene(Path(folder), where, Setting())
    opening = here.opening()
    opening["study"] = opening.pop("where")
    pb.tune(Stepping(here.diary, 0.3), budget=9, workers=2, show="plain", grace=5.0, **opening)


if __name__ == "__main__":
    main(*sys.argv[1:])
