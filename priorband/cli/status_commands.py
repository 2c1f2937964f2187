"""`priorband status`, `best`, `replay` and `methods`: commands that change nothing."""

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

from priorband.cli.argument_types import STUDY, Command
from priorband.cli.read_study import custom_method, open_for_reading
from priorband.display.displays import display
from priorband.display.overview import Overview, Result, as_json, overview, result_json
from priorband.display.polling import StudyWatcher
from priorband.display.summary import best, cells, counts, spent, standing, workers
from priorband.display.text import config_lines, jsonable, level, moment, printable
from priorband.durable.open import open_study
from priorband.durable.study import DurableStudy
from priorband.errors import StorageError, TrialError
from priorband.named_methods import methods, optimizer
from priorband.replay import Step
from priorband.trial import Observation

_PAUSE = 0.25
_COLUMNS = ("trial", "attempt", "rung", "step", "value", "elapsed", "origin", "worker")
_RIGHT = _COLUMNS[:6]
_LAST_FAILURES = 3
_LONGEST = 160


def grammar(command: Command) -> None:
    """What the commands take."""
    status = _of_a_study(command, "status", "show how a study stands")
    status.add_argument("--watch", action="store_true", help="until the study is over")
    status.set_defaults(command=_status)
    found = _of_a_study(command, "best", "print the best configuration")
    found.add_argument("--full", action="store_true", help="of the full trainings only")
    found.set_defaults(command=_best)
    again = _of_a_study(command, "replay", "make every decision again, and compare")
    again.set_defaults(command=_replay)
    known = command("methods", "list the methods")
    known.add_argument("--json", action="store_true", help="as JSON")
    known.set_defaults(command=_methods)


def _of_a_study(command: Command, name: str, does: str) -> argparse.ArgumentParser:
    parser = command(name, does)
    parser.add_argument("study", metavar="STUDY", help=STUDY)
    parser.add_argument("--json", action="store_true", help="as JSON")
    return parser


def _status(args: argparse.Namespace) -> int:
    with open_for_reading(args.study) as study:
        if args.watch:
            return _watch(study, "json" if args.json else None)
        seen = StudyWatcher(study).look()
        if args.json:
            _print_json(as_json(seen) | {"method": _method(study), "seed": study.problem.seed})
        else:
            print(*_lines(study, seen), sep="\n")
    return 0


def _watch(study: DurableStudy, show: str | None) -> int:
    with display(study, show) as shown:
        while not (reason := _over(study)):
            shown.tick()
            time.sleep(_PAUSE)
        shown.finish(reason)
    return 0


def _over(study: DurableStudy) -> str:
    """Why there is nothing more to watch; empty while there may be."""
    try:
        seen = overview(study, [], study.journal.now())
    except StorageError:  # the display goes on looking
        return ""
    return f"The budget is used up: {' and '.join(seen.reached)}." if seen.over else ""


def _lines(study: DurableStudy, seen: Overview) -> Iterator[str]:
    problem = study.problem
    aim = "maximise" if seen.maximize else "minimise"
    low, high = level(problem.fidelity.low), level(problem.fidelity.high)
    about = f"{aim}, {printable(seen.fidelity)} {low} to {high}, {_method(study)}"
    yield printable(seen.where)
    yield f"study    {about}, seed {problem.seed}, begun {moment(seen.created)[:19]} UTC"
    yield f"budget   {spent(seen)}"
    yield f"trials   {counts(seen)}"
    yield f"best     {best(seen)}"
    yield f"workers  {workers(seen)}"
    for outcome in _failures(study.state.history.observations):
        yield f"failed   trial {outcome.trial.id}, {_short(outcome.reason)}"
    if seen.running:
        yield ""
        yield from _table(seen)


def _failures(ended: tuple[Observation, ...]) -> list[Observation]:
    """The latest failures."""
    return [outcome for outcome in ended if outcome.failed][-_LAST_FAILURES:]


def _short(text: str) -> str:
    made = printable(" ".join(text.split()))
    return made if len(made) <= _LONGEST else made[: _LONGEST - 3] + "..."


def _table(seen: Overview) -> Iterator[str]:
    titles = {name: name for name in _COLUMNS}
    titles |= {"step": printable(seen.fidelity), "value": "value" if seen.maximize else "loss"}
    rows = [titles, *(cells(one) for one in seen.running)]
    widths = {name: max(len(row[name]) for row in rows) for name in _COLUMNS}
    for row in rows:
        parts = [
            row[name].rjust(widths[name]) if name in _RIGHT else row[name].ljust(widths[name])
            for name in _COLUMNS
        ]
        yield "  ".join(parts).rstrip()


def _method(study: DurableStudy) -> str:
    """What the study's method is called, if it has a name."""
    how, own = study.problem.optimizer, custom_method(study)
    return own or next((name for name in methods() if optimizer(name) == how), "a custom method")


def _best(args: argparse.Namespace) -> int:
    with open_for_reading(args.study) as study:
        seen = overview(study, [], study.journal.now())
    found = seen.best_in_full if args.full else seen.best
    if found is None:
        what = "full training" if args.full else "trial"
        raise TrialError(f"No {what} has succeeded yet: {counts(seen)}. Try again later.")
    if args.json:
        direction = "maximize" if seen.maximize else "minimize"
        about = result_json(found) or {}
        _print_json(about | {"full": found.fidelity == seen.full, "direction": direction})
    else:
        print(*_found(found, seen), sep="\n")
    return 0


def _found(found: Result, seen: Overview) -> Iterator[str]:
    yield standing(found, seen)
    yield from config_lines(found.config)


def _replay(args: argparse.Namespace) -> int:
    with open_study(args.study, read_only=True) as study:
        replay = study.replay()
    differing = replay.differing
    if args.json:
        unlike = [{"trial": step.trial.id, "differs": _differs(step)} for step in differing]
        _print_json({"exact": replay.exact, "decisions": len(replay.steps), "differing": unlike})
    elif replay.exact:
        print(f"Exact: all {len(replay.steps)} decisions came out as recorded.")
    else:
        print(f"Not exact: {len(differing)} of {len(replay.steps)} decisions came out otherwise.")
        for step in differing:
            for name, (was, now) in _differs(step).items():
                parts = f"{printable(repr(was))} in the study, {printable(repr(now))} again"
                print(f"  trial {step.trial.id}: {printable(name)} {parts}")
    return 0 if replay.exact else 1


def _differs(step: Step) -> dict[str, list[Any]]:
    """What a decision has now that it had otherwise before."""
    names = ("fidelity", "slot", "parent", "origin", "root")
    both = {name: [getattr(step.trial, name), getattr(step.again, name)] for name in names}
    old, new = step.trial.config, step.again.config
    both |= {f"config.{name}": [old.get(name), new.get(name)] for name in old}
    return {name: [jsonable(x) for x in pair] for name, pair in both.items() if pair[0] != pair[1]}


def _methods(args: argparse.Namespace) -> int:
    known = methods()
    if args.json:
        _print_json(known)
    else:
        width = max(map(len, known))
        print(*(f"{name:<{width}}  {line}" for name, line in known.items()), sep="\n")
    return 0


def _print_json(data: object) -> None:
    print(json.dumps(data, indent=2, allow_nan=False))
