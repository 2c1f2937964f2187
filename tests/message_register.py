"""Every message that a new user is likely to meet: what was done, and what is said.

`python tests/message_register.py` prints them all, to be read in one go by someone who has not seen
the code. `test_messages.py` holds each of them to its text in `data/messages.json`;
`python tests/message_register.py --write` writes that file.
"""

import contextlib
import importlib
import io
import json
import os
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import priorband as pb
from priorband.cli.entry_point import main as command

lib: Any = pb  # a person in a hurry has no type checker
DATA = Path(__file__).parent / "data" / "messages.json"
FOLDER = "FOLDER"
"""What stands for the temporary folder in the texts."""
MODULE = """
import priorband as pb
SPACE = pb.Space({"lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3)})
FIDELITY = pb.Fidelity("epochs", 1, 9)
def train(trial):
    return trial.config["lr"]
"""
FAULTY = """
def returns_nothing(trial):
    loss = 0.3
def returns_tuple(trial):
    return 0.3, 0.9
def returns_array(trial):
    import numpy
    return numpy.array([0.3, 0.2])
def returns_other_dict(trial):
    return {"val_loss": 0.3, "accuracy": 0.9}
def returns_nan(trial):
    return float("nan")
def raises(trial):
    raise ValueError("no such file: data.npz")
def takes_two(trial, model):
    return 0.3
def reports_both(trial):
    trial.report(1, loss=0.3, value=0.7)
def reports_text(trial):
    trial.report(1, "low")
"""

SPACE = pb.Space({"lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3)})
EPOCHS = pb.Fidelity("epochs", 1, 9)
QUICK: dict[str, Any] = {"show": "quiet"}


def train(trial: Any) -> float:
    """An objective."""
    return float(trial.config["lr"])


def tune(*args: Any, **options: Any) -> Any:
    """`tune` with what is not the mistake."""
    given = args or (train, SPACE, EPOCHS)
    return lib.tune(*given, **{"study": "new", "budget": 1, **QUICK, **options})


def tuned(name: str, **options: Any) -> Any:
    """What comes of a faulty objective."""
    objective = getattr(importlib.import_module("faulty"), name)
    given = {"study": f"runs/{name}", "budget": 3, "start": "same-process", **QUICK, **options}
    return lib.tune(objective, SPACE, EPOCHS, **given)


def local_objective() -> Any:
    """An objective that other processes cannot import, where cloudpickle is not installed."""
    with mock.patch.dict(sys.modules, cloudpickle=None):
        return tune(lambda trial: 0.3, SPACE, EPOCHS)


def told(loss: Any) -> Any:
    """A study that is told a loss."""
    study = lib.Study(SPACE, EPOCHS)
    return study.tell(study.ask(), loss)


def told_backwards() -> Any:
    """A study that is told with its arguments the wrong way round."""
    study = lib.Study(SPACE, EPOCHS)
    return study.tell(0.31, study.ask())


def reopened(**options: Any) -> Any:
    """The study of another problem."""
    given = {"space": SPACE, "fidelity": EPOCHS, **options}
    return lib.open_study("old", **given)


def space(parameter: Any) -> Any:
    """A space of one parameter."""
    return lib.Space({"lr": parameter})


CALLS: dict[str, Callable[[], Any]] = {
    "Float(1, 0)": lambda: lib.Float(1, 0),
    'Float("0", 1)': lambda: lib.Float("0", 1),
    "Float(0, 1, log=True)": lambda: lib.Float(0, 1, log=True),
    "Float(0, 1, prior=2)": lambda: lib.Float(0, 1, prior=2),
    'Float(0, 1, confidence="high")': lambda: lib.Float(0, 1, confidence="high"),
    'Float(0, 1, prior=0.5, confidence="hgh")': lambda: lib.Float(
        0, 1, prior=0.5, confidence="hgh"
    ),
    "Integer(0.5, 3)": lambda: lib.Integer(0.5, 3),
    'Categorical("adam")': lambda: lib.Categorical("adam"),
    'Categorical(["a", "a"])': lambda: lib.Categorical(["a", "a"]),
    'Categorical(["a", "b"], prior="c")': lambda: lib.Categorical(["a", "b"], prior="c"),
    "Space([...])": lambda: lib.Space([pb.Float(0, 1)]),
    "Space({})": lambda: lib.Space({}),
    'Space({"lr": (0, 1)})': lambda: space((0, 1)),
    'Space({"lr": 0.1})': lambda: space(0.1),
    'Space({"lr": ["a", "b"]})': lambda: space(["a", "b"]),
    'Space({"lr": Float})': lambda: space(pb.Float),
    'Space({"lr": Constant(0.1)})': lambda: space(pb.Constant(0.1)),
    'Fidelity("epochs", 81, 1)': lambda: lib.Fidelity("epochs", 81, 1),
    'Fidelity("epochs", 0, 81)': lambda: lib.Fidelity("epochs", 0, 81),
    'Fidelity("epochs", "1", 81)': lambda: lib.Fidelity("epochs", "1", 81),
    'Fidelity(1, 81, "epochs")': lambda: lib.Fidelity(1, 81, "epochs"),
    "Study(fidelity, space)": lambda: lib.Study(EPOCHS, SPACE),
    'Study(space, ("epochs", 1, 9))': lambda: lib.Study(SPACE, ("epochs", 1, 9)),
    'Study(space, fidelity, "priorbnd")': lambda: lib.Study(SPACE, EPOCHS, "priorbnd"),
    'Study(space, fidelity, "tpe")': lambda: lib.Study(SPACE, EPOCHS, "tpe"),
    "Study(space, fidelity, method=3)": lambda: lib.Study(SPACE, EPOCHS, method=3),
    'Study(space, fidelity, seed="a")': lambda: lib.Study(SPACE, EPOCHS, seed="a"),
    "Study(space, fidelity, prior=0.3)": lambda: lib.Study(SPACE, EPOCHS, prior=0.3),
    'Study(space, fidelity, prior={"rate": 1})': lambda: lib.Study(
        SPACE, EPOCHS, prior={"rate": 1}
    ),
    "Study(space, fidelity, n_trials=9)": lambda: lib.Study(SPACE, EPOCHS, n_trials=9),
    "study.tell(trial, None)": lambda: told(None),
    'study.tell(trial, {"loss": 0.3})': lambda: told({"loss": 0.3}),
    "study.tell(0.31, trial)": told_backwards,
    "study.tell(7, 0.31)": lambda: lib.Study(SPACE, EPOCHS).tell(7, 0.31),
    'study.queue({"rate": 1})': lambda: lib.Study(SPACE, EPOCHS).queue({"rate": 1}),
    "tune(space, train, fidelity)": lambda: tune(SPACE, train, EPOCHS),
    "tune(train(trial), space, fidelity)": lambda: tune(0.3, SPACE, EPOCHS),
    "tune(..., n_trials=9)": lambda: tune(n_trials=9),
    "tune(..., timeout=600)": lambda: tune(timeout=600),
    "tune(..., n_jobs=4)": lambda: tune(n_jobs=4),
    'tune(..., direction="maximize")': lambda: tune(direction="maximize"),
    'tune(..., metric="accuracy")': lambda: tune(metric="accuracy"),
    'tune(..., storage="sqlite:///x")': lambda: tune(storage="sqlite:///x"),
    "tune(..., budget=0)": lambda: tune(budget=0),
    'tune(..., budget={"trial": 3})': lambda: tune(budget={"trial": 3}),
    "tune(...) of a new study, without budget": lambda: tune(budget=None),
    "tune(train) of a new study, without space": lambda: tune(train),
    "tune(..., workers=0)": lambda: tune(workers=0),
    "tune(..., gpus_per_trial=1), no GPU": lambda: tune(gpus_per_trial=1),
    'tune(..., study="train.py")': lambda: tune(study="module.py"),
    'tune(..., study="old/study.db")': lambda: tune(study="old/study.db"),
    'open_study("odl")': lambda: lib.open_study("odl"),
    'open_study("old", method="asha")': lambda: reopened(method="asha"),
    'open_study("old", fidelity=Fidelity("epochs", 1, 27))': lambda: reopened(
        fidelity=pb.Fidelity("epochs", 1, 27)
    ),
    'open_study("old", seed=3)': lambda: reopened(seed=3),
    'open_study("old", maximize=True)': lambda: reopened(maximize=True),
    "an objective that returns nothing": lambda: tuned("returns_nothing"),
    "an objective that returns a tuple": lambda: tuned("returns_tuple"),
    "an objective that returns an array": lambda: tuned("returns_array"),
    "an objective that returns a dict without loss": lambda: tuned("returns_other_dict"),
    "an objective that returns NaN": lambda: tuned("returns_nan"),
    "an objective that raises": lambda: tuned("raises"),
    "an objective with two arguments": lambda: tuned("takes_two"),
    "trial.report(1, loss=0.3, value=0.7), maximize=True": lambda: tuned(
        "reports_both", maximize=True
    ),
    'trial.report(1, "low")': lambda: tuned("reports_text"),
    "a local function, without cloudpickle": local_objective,
    'tune(..., study="/proc/foo")': lambda: tune(study="/proc/foo"),
    "study.prune()": lambda: lib.Study(SPACE, EPOCHS).prune(),
    "study.optimize(train)": lambda: lib.Study(SPACE, EPOCHS).optimize(train),
    "trial.suggest_float(...)": lambda: lib.Study(SPACE, EPOCHS).ask().suggest_float("lr", 0, 1),
    "pb.create_study()": lambda: lib.create_study(),
    'optimizer("asha", etas=3)': lambda: lib.optimizer("asha", etas=3),
    'optimizer("random+prior(200%)")': lambda: lib.optimizer("random+prior(200%)"),
}
"""Calls in Python."""

RUN = "run new --objective module:train --budget 1 "
COMMANDS = (
    "",
    "rum new",
    "run",
    "run new",
    "run new --objective module:train",
    "run new --objective module:trian --budget 1",
    "run new --objective modul:train --budget 1",
    "run new --objective module:SPACE --budget 1",
    "run new --objective module:train --budget twelve",
    "run new --objective module:train --budget 0",
    "run new --objective module:train --n-trials 9",
    "run new --objective module:train --timeout 600",
    "run new --objective module:train --storage sqlite",
    RUN + "--workers 0",
    RUN + "--seed x",
    RUN + "--gpus-per-trial 1.5",
    RUN + "--method priorbnd",
    RUN + "--fidelity epochs",
    RUN + "--fidelity epochs:1:x",
    RUN + "--fidelity epochs:81:1",
    RUN + "--space no.json",
    RUN + "--retries raised",
    RUN + "--keep none",
    RUN + "more",
    "run module.py --objective module:train --budget 1",
    "worker new --objective module:train",
    "worker odl --objective module:train",
    "status",
    "status odl",
    "status .",
    "best odl",
    "status far/away",
    "best old",
    "best runs/raises",
    "run module.py",
    "run new --show quiet",
    "show old 3",
    "show old best",
    "why old 3",
    "why old best",
    "plan",
    "retry old",
    "retry old --failed",
    "retry old 0",
    "retry old --kind lots",
    "export odl",
    "plot incumbant old -o a.svg",
    "plot incumbent old -o a.sgv",
    "plot incumbent old",
    "plot incumbent old odl -o a.svg",
    "plot curves old -o a.svg --over time",
    "plot all old -o module.py",
    "status old --wat",
)
"""Command lines."""


def register() -> dict[str, str]:
    """What is said, by what was done; run in a folder of its own, without GPUs."""
    before = Path.cwd(), list(sys.path)
    with tempfile.TemporaryDirectory() as made, mock.patch.dict(os.environ, clear=False):
        for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
            os.environ.pop(name, None)
        folder = str(Path(made).resolve())
        try:
            os.chdir(folder)
            sys.path.insert(0, folder)
            Path("module.py").write_text(MODULE)
            Path("faulty.py").write_text(FAULTY)
            lib.open_study("old", SPACE, EPOCHS).close()
            with mock.patch("priorband.workers.tuning.gpus_found", return_value=0):
                said = {what: _raised(call) for what, call in CALLS.items()}
                said |= {f"$ priorband {line}".rstrip(): _printed(line) for line in COMMANDS}
        finally:
            os.chdir(before[0])
            sys.path[:] = before[1]
            sys.modules.pop("module", None)
            sys.modules.pop("faulty", None)
    return {what: text.replace(folder, FOLDER) for what, text in said.items()}


def _raised(call: Callable[[], Any]) -> str:
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "(nothing was said)"


def _printed(line: str) -> str:
    errors = io.StringIO()
    with (
        contextlib.redirect_stderr(errors),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(SystemExit),
    ):
        command(line.split())
    return errors.getvalue().strip() or "(nothing was said)"


def page() -> str:
    """All messages, for reading."""
    return "\n\n".join(
        what + "\n" + textwrap.indent("\n".join(map(_wrapped, text.split("\n"))), "    ")
        for what, text in register().items()
    )


def _wrapped(line: str) -> str:
    return textwrap.fill(line, 92, subsequent_indent=" " * (len(line) - len(line.lstrip())))


if __name__ == "__main__":
    if "--write" in sys.argv:
        DATA.parent.mkdir(exist_ok=True)
        DATA.write_text(json.dumps(register(), indent=1, ensure_ascii=False) + "\n")
    else:
        print(page())
