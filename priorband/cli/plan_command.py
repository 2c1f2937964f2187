"""`priorband plan`: what a study will do, or what is left of one, before anything is trained."""

import argparse
import json
import shutil
import sys
from typing import Any

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
from priorband.durable.open import open_study
from priorband.errors import ArgumentError
from priorband.planning.left import plan_of_study
from priorband.planning.plan import Plan, plan, plan_json
from priorband.storage.addresses import shown

_WORKERS = 4
_NEW_ONLY = ("fidelity", "method", "space", "budget", "trials")


def grammar(command: Command) -> None:
    """Add the parser of the command."""
    parser = command("plan", "show what a study will do, or what is left of it")
    parser.add_argument(
        "study", nargs="?", metavar="STUDY", help=f"an existing study: {STUDY} (default: a new one)"
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
        "--budget", type=above_zero, metavar="N", help="number of full trainings (default 12)"
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
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the study")
    parser.add_argument(
        "--from-scratch",
        action="store_true",
        help="promotions start from scratch instead of from a checkpoint",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(command=_plan)


def _plan(args: argparse.Namespace) -> int:
    add_current_folder_to_path()
    if args.study is not None:
        return _print(_study_plan(args), args.json)
    if args.fidelity is None:
        raise ArgumentError(
            "`priorband plan` needs --fidelity, such as --fidelity epochs:1:81, or a study."
        )
    limits: dict[str, Any] = {"trainings": args.budget, "trials": args.trials}
    if args.budget is None and args.trials is None:
        limits["trainings"] = 12
    planned = plan(
        load_fidelity(args.fidelity),
        load_method(args.method or "priorband"),
        Budget(**limits),
        args.workers or _WORKERS,
        args.seconds_per_unit,
        None if args.space is None else load_space(args.space),
        args.seed,
        not args.from_scratch,
    )
    return _print(planned, args.json)


def _study_plan(args: argparse.Namespace) -> Plan:
    """The plan of an existing study."""
    # The plan of a study file, `priorband plan study.toml`, begins here: read the file, and call
    # `plan` with what it says.
    given = [name for name in _NEW_ONLY if getattr(args, name) is not None]
    if given:
        raise ArgumentError(
            f"--{given[0]} is for a new study: {shown(args.study)} has its own. Leave it out."
        )
    with open_study(args.study, read_only=True) as study:
        return plan_of_study(study, args.workers or _WORKERS, args.seconds_per_unit)


def _print(planned: Plan, as_json: bool) -> int:
    if as_json:
        print(json.dumps(plan_json(planned), indent=2, allow_nan=False))
    else:
        print(planned.text(_columns()))
    return 0


def _columns() -> int:
    """The width of the terminal; 80 if the output goes elsewhere."""
    return max(shutil.get_terminal_size((80, 24)).columns, 40) if sys.stdout.isatty() else 80
