"""`priorband run` and `priorband worker`: the two commands that evaluate trials."""

import argparse
import shlex
import sys
from collections.abc import Mapping
from typing import Any

from priorband.cli.argument_types import (
    STUDY,
    Command,
    above_zero,
    at_least_zero,
    count,
    fidelity_name,
    method_name,
    object_name,
    retries,
    space_name,
    whole_number,
)
from priorband.cli.changed_module import changed_module_note
from priorband.cli.load_objects import (
    add_current_folder_to_path,
    load_fidelity,
    load_method,
    load_module,
    load_objective,
    load_space,
)
from priorband.cli.study_files import (
    file_objective,
    file_problem,
    limits,
    mismatch_of_file,
)
from priorband.display.displays import Show
from priorband.display.text import paragraphs, printable
from priorband.durable.messages import allowed_attempts
from priorband.durable.open import creation, journal_at
from priorband.durable.study import LEASE
from priorband.errors import FormatError, HaltedError, MismatchError, SpaceError
from priorband.fidelity import Fidelity
from priorband.space.space import Space
from priorband.storage.addresses import shown
from priorband.storage.study_folder import nearby_studies
from priorband.workers.open_with_retry import retried
from priorband.workers.trial_starter import STARTS
from priorband.workers.tuning import tune

_SHOWN = {
    "plain": "print lines without control codes, as when output is piped",
    "json": "print one JSON object per line",
    "quiet": "print nothing, except for an error that ends the command",
}
_OPTIONS = (
    *("trial_seconds", "step_seconds", "grace", "patience", "keep", "show_output"),
    *("workers", "gpus_per_trial", "folder", "lease", "retries", "start"),
)
_OVERRIDE = "With a study file in place of STUDY, options override what the file says."


def grammar(command: Command) -> None:
    """Add the parsers of the two commands."""
    run = command("run", "start or resume a study, and run trials until its budget is used up")
    _add_worker_arguments(run)
    run.description = f"{run.description}. {_OVERRIDE}"
    new = run.add_argument_group("the study, if it is new")
    new.add_argument(
        "--space",
        type=space_name,
        metavar="WHERE",
        help="module:name or space.json (default: SPACE or space in the objective's module)",
    )
    new.add_argument(
        "--fidelity",
        type=fidelity_name,
        metavar="WHAT",
        help="name:low:high, such as epochs:1:81, or module:name (default: FIDELITY or fidelity "
        "in the objective's module)",
    )
    new.add_argument("--seed", type=whole_number, metavar="S", help="seed of all random decisions")
    new.add_argument(
        "--maximize", action="store_true", default=None, help="higher values are better"
    )
    limits = run.add_argument_group("the budget of all workers together")
    limits.add_argument(
        "--budget", dest="trainings", type=above_zero, metavar="N", help="number of full trainings"
    )
    limits.add_argument("--trials", type=count, metavar="N", help="number of trials")
    limits.add_argument(
        "--cost", type=above_zero, metavar="C", help="total cost, as returned by the objective"
    )
    limits.add_argument(
        "--hours", type=above_zero, metavar="H", help="hours during which any worker is active"
    )
    run.set_defaults(command=_run, parser=run, runs_trials=True)
    worker = command("worker", "add workers to an existing study")
    _add_worker_arguments(worker)
    worker.add_argument(
        "--leave",
        action="store_true",
        help="exit when no trial is left to start (default: stay while other workers run the "
        "last trials, in case one is given back)",
    )
    worker.description = f"{worker.description}. {_OVERRIDE}"
    worker.set_defaults(command=_worker, parser=worker, runs_trials=True)


def _add_worker_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help=STUDY)
    parser.add_argument(
        "--objective",
        type=object_name,
        metavar="WHERE",
        help="function that is called with a trial and returns its loss: file.py:function or "
        "module:function; not needed with a study file",
    )
    parser.add_argument(
        "--method",
        type=method_name,
        metavar="NAME",
        help="one of `priorband methods`, or module:name for one of your own",
    )
    here = parser.add_argument_group("workers on this machine")
    here.add_argument("--workers", type=count, metavar="N", help="how many (default 1)")
    here.add_argument("--gpus-per-trial", type=_gpus, metavar="K", help="GPUs for each worker")
    here.add_argument(
        "--folder", metavar="DIR", help="folder for checkpoints, if the study is in a database"
    )
    here.add_argument("--trial-seconds", type=above_zero, metavar="S", help="time limit of a trial")
    here.add_argument(
        "--step-seconds",
        type=above_zero,
        metavar="S",
        help="time limit between two reported steps of a trial",
    )
    here.add_argument(
        "--grace",
        type=at_least_zero,
        metavar="S",
        help="seconds that a running step gets to finish when the worker is stopped",
    )
    here.add_argument(
        "--patience",
        type=at_least_zero,
        metavar="S",
        help="seconds to wait for storage that does not respond",
    )
    here.add_argument(
        "--lease",
        type=above_zero,
        metavar="S",
        help=f"seconds until the trial of a silent worker goes to another (default {LEASE:g})",
    )
    here.add_argument(
        "--retries",
        type=retries,
        metavar="LIST",
        help="number of attempts by kind of failure, such as raised=2,memory=1",
    )
    here.add_argument("--keep", choices=("promotable", "all"), help="which checkpoints to keep")
    here.add_argument(
        "--start",
        choices=STARTS,
        help="how trials start: in a process of their own, forked where the objective's module is "
        "imported already (warm, the default), or from nothing (cold); or in the worker's own, so "
        "that a trial that hangs or crashes takes the worker with it (same-process)",
    )
    here.add_argument(
        "--same-process",
        dest="start",
        action="store_const",
        const="same-process",
        help=argparse.SUPPRESS,
    )
    here.add_argument(
        "--show-output",
        action="store_true",
        default=None,
        help="show what trials print, instead of writing it to a file",
    )
    _add_display_arguments(parser)


def _add_display_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    for name in _SHOWN:
        group.add_argument(
            f"--{name}", dest="show", action="store_const", const=name, help=_SHOWN[name]
        )


def _gpus(text: str) -> int:
    number = whole_number(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"it must be at least 0, got {text!r}")
    return number


def _run(args: argparse.Namespace) -> int:
    add_current_folder_to_path()
    budget, objective = limits(args), _objective(args)
    if args.study_file is None:
        problem = _problem(args) | {"seed": args.seed, "maximize": args.maximize}
    else:
        problem = file_problem(args, args.study_file) | {"new": _stored(args.study) is None}
    if problem.pop("new") and budget is None:
        in_file = "" if args.study_file is None else f" Or write budget = 12 in {args.argv[1]}."
        raise SpaceError(
            f"{printable(_place(args))} is a new study and needs a budget: --budget 12 for 12 "
            f"full trainings, or --trials, --cost or --hours.{in_file}"
        )
    return _work(args, objective, problem | {"budget": budget})


def _worker(args: argparse.Namespace) -> int:
    add_current_folder_to_path()
    objective = _objective(args)
    if _stored(args.study) is None:
        raise FormatError(
            f"There is no study in {printable(_place(args))}, and `worker` adds workers to one "
            f"that exists.{nearby_studies(args.study)} To create it: {_creating_command(args)}"
        )
    problem = {} if args.study_file is None else file_problem(args, args.study_file)
    wait = {"wait": False} if args.leave else {}
    return _work(args, objective, problem | wait)


def _creating_command(args: argparse.Namespace) -> str:
    """The command that creates the study that `worker` did not find."""
    if args.study_file is not None:
        return f"priorband run {printable(shlex.quote(args.argv[1]))}"
    place = printable(shlex.quote(_place(args)))
    return f"priorband run {place} --objective {args.objective} --budget 12"


def _objective(args: argparse.Namespace) -> Any:
    """The objective of the command line, or of the study file."""
    if args.objective is not None:
        return load_objective(args.objective)
    if args.study_file is None:
        if args.study.endswith(".py"):
            script = printable(shlex.quote(args.study))
            name = args.study.removesuffix(".py").rpartition("/")[2]
            args.parser.error(
                f"{script} is a script, not a study. `priorband init {script}` writes a study file "
                f"for it; `priorband run runs/{printable(name)} --objective {script}:train` tunes "
                "its function train."
            )
        args.parser.error(
            "--objective is missing: the function to tune, such as --objective train.py:train. "
            "With a study file, such as study.toml, it is not needed."
        )
    return file_objective(args.study_file)


def _work(args: argparse.Namespace, objective: Any, more: dict[str, Any]) -> int:
    allowed_attempts(args.retries)
    file = args.study_file
    method = args.method or (file and file.method)
    optimizer = None if method is None else load_method(method)
    options = dict(file.options) if file is not None else {}
    options |= {name: getattr(args, name) for name in _OPTIONS if getattr(args, name) is not None}
    shown_as = options.pop("show", None)
    options |= more
    show: Show | None = args.show or shown_as or ("plain" if options.get("show_output") else None)
    try:
        tune(
            objective,
            study=args.study,
            method=optimizer,
            show=show,
            **options,
        )
    except (KeyboardInterrupt, SystemExit) as stopped:
        code = stopped.code if isinstance(stopped, SystemExit) else 130
        return code if isinstance(code, int) else 1
    except MismatchError as error:
        raise error if file is None else mismatch_of_file(error, file) from None
    except HaltedError as halted:
        if show in ("quiet", "json"):
            raise
        if sys.stdout.isatty():
            return 3  # the display has just shown the message
        raise HaltedError(str(halted).partition("\n")[0]) from None  # and the failures
    return 0


def _problem(args: argparse.Namespace) -> dict[str, Any]:
    """The space and fidelity from the options, or for a new study from the objective's module."""
    space = None if args.space is None else load_space(args.space)
    fidelity = None if args.fidelity is None else load_fidelity(args.fidelity)
    module = load_module(args.objective)
    module_space = _attribute(module, "space", Space)
    module_fidelity = _attribute(module, "fidelity", Fidelity)
    stored = _stored(args.study)
    if stored is not None:
        unused = (None if space else module_space, None if fidelity else module_fidelity)
        note = changed_module_note(stored, module.__name__, *unused)
        if note and args.show != "quiet":
            print(paragraphs(note), file=sys.stderr)
        return {"space": space, "fidelity": fidelity, "new": False}
    if space is None and module_space is None:
        raise FormatError(
            f"There is no study in {printable(_place(args))}, and {module.__name__} has no SPACE "
            "to create one with. Pass --space module:name or --space space.json, or fix the path."
        )
    return {"space": space or module_space, "fidelity": fidelity or module_fidelity, "new": True}


def _attribute(module: Any, name: str, kind: type) -> Any:
    """The attribute NAME or name of a module, if it has one of this type."""
    values = [getattr(module, spelling, None) for spelling in (name.upper(), name)]
    return next((value for value in values if isinstance(value, kind)), None)


def _stored(where: str) -> Mapping[str, Any] | None:
    """The data of a study's problem; None if there is no study."""
    journal = journal_at(where, read_only=True)
    try:
        return retried(
            lambda: creation(journal).problem if journal.exists() else None,
            lambda text: print(printable(text), file=sys.stderr),
        )
    finally:
        journal.close()


def _place(args: argparse.Namespace) -> str:
    return shown(args.study)
