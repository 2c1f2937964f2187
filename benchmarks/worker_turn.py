"""How many files one turn of a worker runs through, and how often it goes from one to another.

    python benchmarks/worker_turn.py

A turn is what happens between the beginning of one trial's objective and the beginning of the
next: the result is handed in, written and acknowledged, the next trial is decided on, written and
handed out. Calls are counted with `sys.setprofile`, in the worker's own process.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import priorband as pb

PACKAGE = Path(pb.__file__).parent
FIRST = 20  # the trial with which the turn begins
hops: Counter[tuple[str, str]] = Counter()
depths: list[int] = []
files: set[str] = set()


def _file(frame: FrameType | None) -> str:
    """The file of the package that a frame is in, or of the nearest frame below that is."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            return str(path.relative_to(PACKAGE))
        frame = frame.f_back
    return ""


def _profile(frame: FrameType, event: str, argument: Any) -> None:
    del argument
    if event != "call" or not Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
        return
    here, before = _file(frame), _file(frame.f_back)
    files.add(here)
    if before and before != here:
        hops[before, here] += 1
    crossed, current = 0, frame.f_back
    while current is not None:  # how many files lie between this call and the worker's loop
        name = _file(current)
        if name and name != here:
            crossed, here = crossed + 1, name
        current = current.f_back
    depths.append(crossed)


def objective(trial: Any) -> float:
    """Cheap; turns the counting on with one trial and off with the next."""
    if trial.id == FIRST:
        sys.setprofile(_profile)
    elif trial.id == FIRST + 1:
        sys.setprofile(None)
    return float(trial.config["x"]) + 1.0 / float(trial.fidelity)


def main() -> None:
    """Run a small study and print the counts."""
    space = pb.Space({"x": pb.Float(0, 1, prior=0.3), "c": pb.Categorical(["a", "b"])})
    with tempfile.TemporaryDirectory() as folder:
        pb.tune(
            objective,
            space,
            pb.Fidelity("epochs", 1, 27),
            budget=pb.Budget(trials=FIRST + 3),
            study=folder,
            show="quiet",
            start="same-process",
        )
    print(f"files touched      {len(files)}")
    print(f"pairs of files     {len(hops)}")
    print(f"calls across files {sum(hops.values())}")
    print(f"mean hops          {sum(depths) / len(depths):.2f}")
    print("\n".join(sorted(files)))


if __name__ == "__main__":
    main()
