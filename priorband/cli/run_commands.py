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
    fidelity,
    method,
    place,
    retries,
    space,
)
from priorband.cli.load_objects import (
    current_folder_first,
    fidelity_named,
    method_named,
    module_of,
    objective_named,
    space_named,
)
from priorband.display.displays import Show
from priorband.display.text import paragraphs, printable
from priorband.durable.budget import Budget
from priorband.durable.messages import allowed_attempts
from priorband.durable.open import creation, journal_at
from priorband.durable.records import FailedRecord, decode
from priorband.durable.serialize import to_plain
from priorband.durable.study import LEASE
from priorband.errors import FormatError, HaltedError, SpaceError
from priorband.fidelity import Fidelity
from priorband.space.space import Space
from priorband.storage.postgres_url import shown
from priorband.workers.tuning import tune

_BUDGET = ("trainings", "trials", "cost", "hours")
_SHOWN = {
    "plain": "lines without control codes, as when piped",
    "json": "a JSON object a line",
    "quiet": "nothing but what needs action",
}
_OPTIONS = ("trial_seconds", "step_seconds", "grace", "patience", "keep", "show_output")


def grammar(command: Command) -> None:
    """What the two commands take."""
    run = command("run", "start a study, or resume it, and work until its budget is spent")
    _working(run)
    about = run.add_argument_group("the study, when it is new")
    about.add_argument(
        "--space",
        type=space,
        metavar="WHERE",
        help="module:name or space.json; without, SPACE or space in the objective's module",
    )
    about.add_argument(
        "--fidelity",
        type=fidelity,
        metavar="WHAT",
        help="name:low:high, such as epochs:1:81, or "
        "module:name; without, FIDELITY or fidelity in the objective's module",
    )
    about.add_argument("--seed", type=int, metavar="S")
    about.add_argument(
        "--maximize", action="store_true", default=None, help="higher values are better"
    )
    limits = run.add_argument_group("the budget of all workers together")
    limits.add_argument(
        "--budget", dest="trainings", type=above_zero, metavar="N", help="full trainings"
    )
    limits.add_argument("--trials", type=count, metavar="N")
    limits.add_argument("--cost", type=above_zero, metavar="C", help="of what trials report")
    limits.add_argument("--hours", type=above_zero, metavar="H", help="with somebody at work")
    run.set_defaults(command=_run)
    worker = command("worker", "work on a study that exists, together with others")
    _working(worker)
    worker.add_argument(
        "--leave",
        action="store_true",
        help="go when nothing is left to hand out; without, stay "
        "while others are at work on the last trials",
    )
    worker.set_defaults(command=_worker)


def _working(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help=STUDY)
    parser.add_argument(
        "--objective",
        type=place,
        required=True,
        metavar="module:function",
        help="called with a trial, returns its loss",
    )
    parser.add_argument(
        "--method",
        type=method,
        metavar="NAME",
        help="see `priorband methods`; module:name for one of your own",
    )
    here = parser.add_argument_group("workers on this machine")
    here.add_argument("--workers", type=count, default=1, metavar="N")
    here.add_argument("--gpus-per-trial", type=_gpus, metavar="K")
    here.add_argument("--folder", metavar="DIR", help="checkpoints of a study in a database")
    here.add_argument(
        "--trial-seconds", type=above_zero, metavar="S", help="a trial that takes longer has failed"
    )
    here.add_argument(
        "--step-seconds",
        type=above_zero,
        metavar="S",
        help="a trial without a report for so long has failed",
    )
    here.add_argument(
        "--grace",
        type=at_least_zero,
        metavar="S",
        help="a running step is given when the worker is stopped",
    )
    here.add_argument(
        "--patience",
        type=at_least_zero,
        metavar="S",
        help="to wait for storage that is out of reach",
    )
    here.add_argument(
        "--lease",
        type=above_zero,
        default=LEASE,
        metavar="S",
        help="until a silent worker's trial goes to another",
    )
    here.add_argument(
        "--retries",
        type=retries,
        metavar="LIST",
        help="attempts by kind of failure: raised=2,memory=1",
    )
    here.add_argument("--keep", choices=("promotable", "all"), help="which checkpoints stay")
    here.add_argument(
        "--same-process",
        action="store_true",
        help="no process for each trial: quicker, but nothing holds a trial that hangs or crashes",
    )
    here.add_argument(
        "--show-output",
        action="store_true",
        default=None,
        help="what trials print goes to the terminal, not to a file",
    )
    showing(parser)


def showing(parser: argparse.ArgumentParser) -> None:
    """How to show what goes on."""
    group = parser.add_mutually_exclusive_group()
    for name in _SHOWN:
        group.add_argument(
            f"--{name}", dest="show", action="store_const", const=name, help=_SHOWN[name]
        )


def _gpus(text: str) -> int:
    return 0 if text == "0" else count(text)


def _run(args: argparse.Namespace) -> int:
    current_folder_first()
    limits = {name: getattr(args, name) for name in _BUDGET if getattr(args, name) is not None}
    budget = Budget(**limits) if limits else None
    objective = objective_named(args.objective)
    problem = _problem(args)
    if problem.pop("new") and budget is None:
        raise SpaceError(
            f"{printable(_place(args))} is a new study and needs a budget, such as --budget 12 "
            "full trainings; or --trials, --cost or --hours."
        )
    problem |= {"seed": args.seed, "maximize": args.maximize}
    return _work(args, objective, problem | {"budget": budget})


def _worker(args: argparse.Namespace) -> int:
    current_folder_first()
    return _work(args, objective_named(args.objective), {"wait": not args.leave})


def _work(args: argparse.Namespace, objective: Any, more: dict[str, Any]) -> int:
    allowed_attempts(args.retries)
    how = None if args.method is None else method_named(args.method)
    options = {name: getattr(args, name) for name in _OPTIONS if getattr(args, name) is not None}
    options |= {"workers": args.workers, "gpus_per_trial": args.gpus_per_trial}
    options |= {"folder": args.folder, "lease": args.lease, "retries": args.retries}
    show: Show | None = args.show or ("plain" if args.show_output else None)
    try:
        tune(
            objective,
            study=args.study,
            method=how,
            fresh_process=not args.same_process,
            show=show,
            **options,
            **more,
        )
    except (KeyboardInterrupt, SystemExit) as stopped:
        code = stopped.code if isinstance(stopped, SystemExit) else 130
        print(f"To resume: {_again(args)}", file=sys.stderr)
        return code if isinstance(code, int) else 1
    except HaltedError:
        _show_last_traceback(args.study)
        if sys.stdout.isatty() and show not in ("quiet", "json"):
            return 3  # it has been said, right above
        raise
    return 0


def _problem(args: argparse.Namespace) -> dict[str, Any]:
    """The space and the fidelity: as given, or for a new study from the objective's module."""
    given = None if args.space is None else space_named(args.space)
    upto = None if args.fidelity is None else fidelity_named(args.fidelity)
    module = module_of(args.objective)
    found = _attribute(module, "space", Space)
    stored = _stored(args.study)
    if stored is not None:
        if given is None and found is not None and to_plain(found) != stored.get("space"):
            print(
                f"Note: the space in {module.__name__} is not the study's own, which counts. "
                "--space compares the two.",
                file=sys.stderr,
            )
        return {"space": given, "fidelity": upto, "new": False}
    if given is None and found is None:
        raise FormatError(
            f"There is no study in {printable(_place(args))}, and {module.__name__} has no SPACE "
            "to begin one with. Give --space module:name or --space space.json, or mend the path."
        )
    own = _attribute(module, "fidelity", Fidelity)
    return {"space": given or found, "fidelity": upto or own, "new": True}


def _attribute(module: Any, name: str, kind: type) -> Any:
    found = [getattr(module, spelling, None) for spelling in (name.upper(), name)]
    return next((one for one in found if isinstance(one, kind)), None)


def _stored(where: str) -> Mapping[str, Any] | None:
    """The data of a study's problem; None if there is no study."""
    journal = journal_at(where, read_only=True)
    try:
        return creation(journal).problem if journal.exists() else None
    finally:
        journal.close()


def _place(args: argparse.Namespace) -> str:
    return shown(args.study)


def _again(args: argparse.Namespace) -> str:
    """The same command, without a password."""
    words = [_place(args) if word == args.study else word for word in args.words]
    return printable(shlex.join(["priorband", *words]))


def _show_last_traceback(where: str) -> None:
    """Print what the objective raised last, since it is the objective that must be fixed."""
    journal = journal_at(where, read_only=True)
    try:
        failed = [row for row in journal.read(0) if row.kind == "failed"]
    finally:
        journal.close()
    for record in map(decode, failed[-1:]):
        trace = record.details.get("traceback") if isinstance(record, FailedRecord) else None
        if isinstance(trace, str):
            print(f"Trial {record.trial}:\n{paragraphs(trace.rstrip())}", file=sys.stderr)
