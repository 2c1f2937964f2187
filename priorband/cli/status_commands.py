"""`priorband status`, `best`, `replay` and `methods`: commands that change nothing."""

import argparse
import json
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from typing import Any

from priorband.cli.argument_types import STUDY, Command
from priorband.cli.read_study import custom_method, open_for_reading
from priorband.display.best_trial import checkpoint_text, full_training, full_training_text
from priorband.display.displays import display
from priorband.display.failure_reports import failure_lines, shown_study
from priorband.display.overview import (
    Overview,
    Result,
    as_json,
    result_json,
    study_overview,
)
from priorband.display.polling import StudyWatcher
from priorband.display.summary import (
    best_text,
    budget_text,
    prior_text,
    result_text,
    running_cells,
    startup_text,
    trials_text,
    workers_text,
)
from priorband.display.text import (
    config_lines,
    fidelity_text,
    jsonable,
    moment,
    printable,
    wrapped,
)
from priorband.durable.budget import limit_text
from priorband.durable.open import open_study
from priorband.durable.study import DurableStudy
from priorband.errors import StorageError, TrialError
from priorband.named_methods import methods, optimizer
from priorband.replay import Step

_PAUSE = 0.25
_COLUMNS = ("trial", "attempt", "rung", "step", "value", "elapsed", "origin", "worker")
_RIGHT = _COLUMNS[:6]


def grammar(command: Command) -> None:
    """Add the parsers of the commands."""
    status = _study_command(command, "status", "show the progress of a study")
    status.add_argument(
        "--watch", action="store_true", help="keep watching until the budget is used up"
    )
    status.set_defaults(command=_status)
    best = _study_command(command, "best", "print the best configuration")
    best.add_argument("--full", action="store_true", help="consider only full trainings")
    best.add_argument(
        "--train-in-full",
        action="store_true",
        help="put its configuration first in line for a full training",
    )
    best.set_defaults(command=_best)
    replay = _study_command(
        command, "replay", "recompute every decision, and compare it with what was recorded"
    )
    replay.set_defaults(command=_replay)
    listing = command("methods", "list the methods")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(command=_methods)


def _study_command(command: Command, name: str, summary: str) -> argparse.ArgumentParser:
    parser = command(name, summary)
    parser.add_argument("study", metavar="STUDY", help=STUDY)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _status(args: argparse.Namespace) -> int:
    with open_for_reading(args.study) as study:
        if args.watch:
            return _watch(study, "json" if args.json else None)
        overview = StudyWatcher(study).read()
        if args.json:
            _print_json(as_json(overview) | {"method": _method(study), "seed": study.problem.seed})
        else:
            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
            lines = status_lines(study, overview, width)
            print(*(wrapped(lines, width) if width else lines), sep="\n")
    return 0


def _watch(study: DurableStudy, show: str | None) -> int:
    with display(study, show) as shown:
        while not (reason := _end_reason(study)):
            shown.tick()
            time.sleep(_PAUSE)
        shown.finish(reason)
    return 0


def _end_reason(study: DurableStudy) -> str:
    """Why the study is over; empty if it is not."""
    try:
        leases = study.journal.leases()
        overview = study_overview(study, leases, study.journal.now())
    except StorageError:  # the display keeps trying
        return ""
    if not overview.over:
        return ""
    limits = overview.budget.limits
    spent = " and ".join(limit_text(limits[name], name) for name in overview.reached)
    return f"The budget of {spent} is spent."


def status_lines(
    study: DurableStudy, overview: Overview, width: int | None = None
) -> Iterator[str]:
    """What `priorband status` prints, in a terminal of a width or into a pipe."""
    problem = study.problem
    aim = "maximise" if overview.maximize else "minimise"
    low, high = fidelity_text(problem.fidelity.low), fidelity_text(problem.fidelity.high)
    description = f"{aim}, {printable(overview.fidelity)} {low} to {high}, {_method(study)}"
    created = f"{moment(overview.created)[:19].replace('T', ' ')} UTC"
    yield printable(overview.where)
    yield f"study    {description}, seed {problem.seed}"
    yield f"created  {created}"
    if overview.prior_changes:
        yield f"prior    {prior_text(overview)}"
    yield f"budget   {budget_text(overview)}"
    yield f"trials   {trials_text(overview)}"
    yield f"best     {best_text(overview)}"
    startup = startup_text(overview)
    yield f"workers  {workers_text(overview)}" + (f", {startup}" if startup else "")
    failures = (*overview.recent.failures, *overview.recent.given_back)
    for number, line in enumerate(failure_lines(failures, overview.maximize)):
        yield f"{'' if number else 'failed':<9}{line}"
    if overview.running:
        yield ""
        yield from _table(overview, width)


def _table(overview: Overview, width: int | None) -> Iterator[str]:
    """The running trials, with as many columns as there is room for."""
    titles = {name: name for name in _COLUMNS}
    titles["step"] = printable(overview.fidelity)
    titles["value"] = "value" if overview.maximize else "loss"
    rows = [titles, *(running_cells(running) for running in overview.running)]
    widths = {name: max(len(row[name]) for row in rows) for name in _COLUMNS}
    names = [*_COLUMNS]
    while width and len(names) > 1 and sum(widths[name] + 2 for name in names) - 2 > width:
        names.pop()
    for row in rows:
        parts = [
            row[name].rjust(widths[name]) if name in _RIGHT else row[name].ljust(widths[name])
            for name in names
        ]
        yield "  ".join(parts).rstrip()


def _method(study: DurableStudy) -> str:
    """The name of the study's method, if it has one."""
    used, own = study.problem.optimizer, custom_method(study)
    return own or next((name for name in methods() if optimizer(name) == used), "a custom method")


def _best(args: argparse.Namespace) -> int:
    if args.train_in_full:
        return _train_in_full(args.study)
    with open_for_reading(args.study) as study:
        overview = study_overview(study, [], study.journal.now())
        found = study.best_in_full if args.full else study.best
        texts = ("", "")
        if found is not None:
            texts = checkpoint_text(study, found), full_training_text(study, found)
        folder = None if found is None else study.checkpoint(found.trial)
    best = overview.best_in_full if args.full else overview.best
    if best is None:
        what = "full training" if args.full else "trial"
        hint = "Try again later."
        if overview.failures:
            place = printable(shlex.quote(shown_study(overview.where)))
            hint = f"`priorband status {place}` shows why trials failed."
        raise TrialError(f"No {what} has succeeded yet: {trials_text(overview)}. {hint}")
    if args.json:
        direction = "maximize" if overview.maximize else "minimize"
        data = (result_json(best) or {}) | {"checkpoint": None if folder is None else str(folder)}
        _print_json(data | {"full": best.fidelity == overview.full, "direction": direction})
    else:
        print(*_best_lines(best, overview), *filter(None, texts), sep="\n")
        full = overview.best_in_full
        if full is not None and full.trial != best.trial:
            print(f"Best in full: {result_text(full, overview)}; see --full.")
    return 0


def _train_in_full(where: str) -> int:
    """Queue the best configuration for a full training."""
    with open_study(where) as study:
        best, full = study.best, study.fidelity.high
        at = f"{printable(study.fidelity.name)}={fidelity_text(full)}"
        if best is None:
            raise TrialError("No trial has succeeded yet, so there is nothing to train in full.")
        if (done := full_training(study, best)) is not None:
            print(
                f"The best configuration was trained in full already: trial {done.trial.id}, {at}."
            )
            return 0
        study.queue(best.config, full)
        reached = study.spending().reached(study.budget)
    print(f"Queued: the configuration of trial {best.trial.id} at {at}, from scratch.")
    more = f", with a larger budget ({' and '.join(reached)} used up)" if reached else ""
    print(f"It is trained first when the study runs again{more}.")
    return 0


def _best_lines(best: Result, overview: Overview) -> Iterator[str]:
    yield result_text(best, overview)
    yield from config_lines(best.config, best.parents)


def _replay(args: argparse.Namespace) -> int:
    with open_study(args.study, read_only=True) as study:
        replay = study.replay()
    differing = replay.differing
    if args.json:
        changed = [{"trial": step.trial.id, "differs": _differences(step)} for step in differing]
        _print_json({"exact": replay.exact, "decisions": len(replay.steps), "differing": changed})
    elif replay.exact:
        print(f"Exact: all {len(replay.steps)} decisions came out as recorded.")
    else:
        print(f"Not exact: {len(differing)} of {len(replay.steps)} decisions came out differently.")
        for step in differing:
            for name, (old, new) in _differences(step).items():
                both = f"{printable(repr(old))} in the study, {printable(repr(new))} recomputed"
                print(f"  trial {step.trial.id}: {printable(name)} {both}")
    return 0 if replay.exact else 1


def _differences(step: Step) -> dict[str, list[Any]]:
    """What differs between a recorded decision and the recomputed one: the old and new value."""
    names = ("fidelity", "slot", "parent", "origin", "root")
    both = {name: [getattr(step.trial, name), getattr(step.again, name)] for name in names}
    old, new = step.trial.config, step.again.config
    both |= {f"config.{name}": [old.get(name), new.get(name)] for name in old | new}
    return {name: [jsonable(x) for x in pair] for name, pair in both.items() if pair[0] != pair[1]}


def _methods(args: argparse.Namespace) -> int:
    descriptions = methods()
    if args.json:
        _print_json(descriptions)
    else:
        width = max(map(len, descriptions))
        print(*(f"{name:<{width}}  {line}" for name, line in descriptions.items()), sep="\n")
    return 0


def _print_json(data: object) -> None:
    print(json.dumps(data, indent=2, allow_nan=False))
