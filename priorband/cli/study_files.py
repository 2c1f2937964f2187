"""Study files on the command line: a `study.toml` in place of STUDY, and `priorband schema`."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from priorband.cli.argument_types import Command
from priorband.cli.load_objects import load_fidelity, load_objective, load_space
from priorband.display.text import printable
from priorband.durable.budget import Budget
from priorband.errors import MismatchError
from priorband.study_file.read import StudyFile, is_study_file, read_study_file, study_place
from priorband.study_file.schema import study_file_schema
from priorband.study_file.tables import Source

_BUDGET = ("trainings", "trials", "cost", "hours")


def grammar(command: Command) -> None:
    """Add the parser of `schema`."""
    schema = command("schema", "print the JSON schema of study files, for editors")
    schema.set_defaults(command=_schema)


def _schema(args: argparse.Namespace) -> int:
    del args
    print(json.dumps(study_file_schema(), indent=2))
    return 0


def use_study_file(args: argparse.Namespace) -> None:
    """Replace a study file in the place of STUDY by its study.

    `run`, `worker` and `plan` get the whole file as `study_file`. The other commands need only its
    place, and work if something else is wrong with it.
    """
    args.study_file = None
    study = getattr(args, "study", None)
    if not isinstance(study, str) or not is_study_file(study):
        return
    if getattr(args, "runs_trials", False) or getattr(args, "plans", False):
        args.study_file = read_study_file(study)
        args.study = args.study_file.study
        if getattr(args, "show", None) != "quiet":
            for note in args.study_file.notes:
                print(f"Note: {printable(note)}", file=sys.stderr)
    else:
        args.study = study_place(Path(study))


def file_objective(file: StudyFile) -> Callable[[Any], Any]:
    """The objective of a study file: its command, or a function that is imported."""
    if file.objective is None:
        return file.command_objective()
    module, _, function = file.objective.partition(":")
    folder = file.directory
    if module.endswith(".py"):
        script = folder / module
        if not script.is_file():
            source = Source(file.path)
            source.mistake(("objective",), f"There is no file {script}.")
            source.raise_mistakes()
        folder, module = script.parent, script.stem
    sys.path.insert(0, str(folder.absolute()))
    return load_objective(f"{module}:{function}")


def file_problem(args: argparse.Namespace, file: StudyFile) -> dict[str, Any]:
    """The problem of a study file, with what the command line says instead."""
    names = ("space", "fidelity", "seed", "maximize")
    said = {name: getattr(args, name, None) for name in names}  # `worker` has no such options
    problem = {name: getattr(file, name) for name in (*names, "prior")}
    loaders: dict[str, Callable[[Any], Any]] = {"space": load_space, "fidelity": load_fidelity}
    for name, value in said.items():
        if value is not None:
            problem[name] = loaders.get(name, lambda same: same)(value)
    return problem


def limits(args: argparse.Namespace) -> Budget | None:
    """The budget of the command line; limits that it does not have are those of the file."""
    file: StudyFile | None = args.study_file
    found = dict(file.budget.limits) if file is not None and file.budget is not None else {}
    found |= {name: getattr(args, name) for name in _BUDGET if getattr(args, name) is not None}
    return Budget(**found) if found else None  # type: ignore[arg-type]  # which checks each limit


def mismatch_of_file(error: MismatchError, file: StudyFile) -> MismatchError:
    """The error of a study that differs from its file, with what to do about it."""
    problem, _, advice = str(error).rpartition("\n")
    change = ""
    if "prior set" in advice:
        command = f"priorband prior set {file.path} --file {file.path}"
        change = f", run `{command}` to change the prior of the study"
    return MismatchError(
        f"{problem or error}\nUndo the change in {file.path}{change}, or set `study` in it to "
        "another place."
    )
