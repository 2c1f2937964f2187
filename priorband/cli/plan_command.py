"""`priorband plan`: what a study will do, or what is left of one, before anything is trained."""

import argparse
import json
import shutil
import sys

from priorband.arguments import checked_fidelity
from priorband.cli.argument_types import (
    STUDY,
    Command,
    above_zero,
    count,
    fidelity_name,
    method_name,
    space_name,
)
from priorband.cli.load_objects import (
    add_current_folder_to_path,
    load_fidelity,
    load_method,
    load_space,
)
from priorband.durable.budget import Budget
from priorband.durable.open import journal_at, open_study
from priorband.errors import ArgumentError
from priorband.fidelity import Fidelity
from priorband.planning.left import plan_of_study
from priorband.planning.plan import Plan, plan, plan_json
from priorband.space.space import Space
from priorband.storage.addresses import shown
from priorband.study_file.read import StudyFile

_WORKERS, _TRAININGS = 4, 12
_NEW_ONLY = ("fidelity", "method", "space", "budget", "trials")


def grammar(command: Command) -> None:
    """Add the parser of the command."""
    parser = command("plan", "show what a study will do, or what is left of it")
    parser.add_argument(
        "study",
        nargs="?",
        metavar="STUDY",
        help=f"an existing study, or a study file: {STUDY} (default: a new one)",
    )
    parser.add_argument(
        "--fidelity",
        type=fidelity_name,
        metavar="WHAT",
        help="name:low:high, such as epochs:1:81, or module:name",
    )
    parser.add_argument(
        "--method",
        type=method_name,
        metavar="NAME",
        help="one of `priorband methods`, or module:name",
    )
    parser.add_argument(
        "--space", type=space_name, metavar="WHERE", help="module:name or space.json"
    )
    parser.add_argument(
        "--budget",
        type=above_zero,
        metavar="N",
        help=f"number of full trainings (default {_TRAININGS})",
    )
    parser.add_argument("--trials", type=count, metavar="N", help="number of trials")
    parser.add_argument(
        "--workers", type=count, metavar="N", help=f"how many trials at once (default {_WORKERS})"
    )
    parser.add_argument(
        "--seconds-per-unit",
        type=above_zero,
        metavar="S",
        help="seconds that a unit of fidelity takes, such as an epoch",
    )
    parser.add_argument("--seed", type=int, metavar="S", help="seed of the study (default 0)")
    parser.add_argument(
        "--from-scratch",
        action="store_true",
        help="promotions start from scratch instead of from a checkpoint",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=_plan, plans=True)


def _plan(args: argparse.Namespace) -> int:
    add_current_folder_to_path()
    file: StudyFile | None = args.study_file
    if args.study is None or (file is not None and not _exists(args.study)):
        return _print(_new_plan(args, file), args.json)
    return _print(_study_plan(args), args.json)


def _exists(where: str) -> bool:
    """Whether there is a study."""
    journal = journal_at(where, read_only=True)
    try:
        return journal.exists()
    finally:
        journal.close()


def _new_plan(args: argparse.Namespace, file: StudyFile | None) -> Plan:
    """The plan of a study that does not exist yet; options override what its file says."""
    if args.fidelity is None and file is None:
        raise ArgumentError(
            "`priorband plan` needs --fidelity, such as --fidelity epochs:1:81, or a study."
        )
    method = args.method or (file and file.method)
    return plan(
        _fidelity(args, file),
        method and load_method(method),
        _budget(args, file),
        _workers(args),
        args.seconds_per_unit,
        _space(args, file),
        args.seed if args.seed is not None else (file and file.seed) or 0,
        not args.from_scratch,
    )


def _fidelity(args: argparse.Namespace, file: StudyFile | None) -> Fidelity:
    if file is None or args.fidelity is not None:
        return load_fidelity(args.fidelity)
    return file.fidelity or checked_fidelity(None, file.space)


def _space(args: argparse.Namespace, file: StudyFile | None) -> Space | None:
    if args.space is not None:
        return load_space(args.space)
    return None if file is None else file.space


def _budget(args: argparse.Namespace, file: StudyFile | None) -> Budget:
    limits = {} if file is None or file.budget is None else dict(file.budget.limits)
    given = {"trainings": args.budget, "trials": args.trials}
    limits |= {name: limit for name, limit in given.items() if limit is not None}
    limits = limits or {"trainings": _TRAININGS}
    return Budget(**limits)  # type: ignore[arg-type]  # which checks each limit


def _workers(args: argparse.Namespace) -> int:
    """How many workers the command line says, or the file, in which one is the default."""
    usual = _WORKERS if args.study_file is None else args.study_file.options.get("workers", 1)
    return int(args.workers or usual)


def _study_plan(args: argparse.Namespace) -> Plan:
    """The plan of what is left of an existing study."""
    given = [name for name in _NEW_ONLY if getattr(args, name) is not None]
    if given:
        raise ArgumentError(
            f"--{given[0]} is for a new study: {shown(args.study)} has its own. Leave it out."
        )
    with open_study(args.study, read_only=True) as study:
        return plan_of_study(study, _workers(args), args.seconds_per_unit)


def _print(planned: Plan, as_json: bool) -> int:
    if as_json:
        print(json.dumps(plan_json(planned), indent=2, allow_nan=False))
    else:
        print(planned.text(_columns()))
    return 0


def _columns() -> int:
    """The width of the terminal; 80 if the output goes elsewhere."""
    return max(shutil.get_terminal_size((80, 24)).columns, 40) if sys.stdout.isatty() else 80
