"""`priorband retry` and `priorband journal`: commands for when something went wrong."""

import argparse
from collections.abc import Iterable, Iterator

from priorband.cli.argument_types import STUDY, Command
from priorband.display.text import printable
from priorband.durable.open import open_study
from priorband.durable.study import DurableStudy
from priorband.events import Failed, Queued
from priorband.failures import FAILURE_KINDS
from priorband.repair.scan import Finding
from priorband.storage.high_water import salvage_hint
from priorband.trial import IMPORTED


def grammar(command: Command) -> None:
    """What `retry` takes."""
    retry = command("retry", "put the configurations of failed trials first in line")
    retry.add_argument("study", metavar="STUDY", help=STUDY)
    retry.add_argument("trials", metavar="TRIAL", nargs="*", type=_trial, help="by number")
    retry.add_argument("--failed", action="store_true", help="all that failed")
    retry.add_argument("--kind", choices=FAILURE_KINDS, help="all that failed in this way")
    retry.set_defaults(command=_retry, parser=retry)


def journal_grammar(command: Command) -> None:
    """What `journal check` and `journal salvage` take."""
    check = command("journal check", "look for damage, without changing anything")
    check.add_argument("study", metavar="STUDY", help=STUDY)
    check.set_defaults(command=_check)
    salvage = command("journal salvage", "write a new study from what is intact of another")
    salvage.add_argument("study", metavar="STUDY", help=STUDY)
    salvage.add_argument("new", metavar="NEW", help="a place at which there is no study")
    salvage.set_defaults(command=_salvage)


def _trial(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a trial is a number, got {text!r}")
    return int(text)


def _retry(args: argparse.Namespace) -> int:
    if bool(args.trials) == bool(args.failed or args.kind):
        args.parser.error("name trials by number, or give --failed or --kind")
    with open_study(args.study) as study:
        if args.trials:
            chosen, skipped = args.trials, 0
        else:
            failed = list(_failed(study, args.kind))
            chosen = [number for number, again in failed if not again]
            skipped = len(failed) - len(chosen)
        study.retry(chosen)
        full = study.spending().reached(study.budget)
    print(f"Put first in line: {_many(len(chosen))}.")
    if skipped:
        print(f"Left out, because they are tried again already: {_many(skipped)}.")
    if full and chosen:
        print(f"The budget is handed out ({', '.join(full)}): give the next run a larger one.")
    return 0


def _failed(study: DurableStudy, kind: str | None) -> Iterator[tuple[int, bool]]:
    """The trials that failed, in some way or in any, and whether each was queued again since."""
    history = study.state.history
    since: dict[object, int] = {}
    ended: dict[int, int] = {}
    for place, event in enumerate(history.events):
        if isinstance(event, Queued):
            since[event.config] = place
        elif isinstance(event, Failed):
            ended[event.trial] = place
    for number, place in ended.items():
        outcome = history.outcome(number)
        assert outcome is not None
        if outcome.trial.origin == IMPORTED or kind not in (None, outcome.reason.split(":")[0]):
            continue
        yield number, since.get(outcome.config, -1) > place


def _check(args: argparse.Namespace) -> int:
    from priorband.repair.check import check

    found = check(args.study)
    intact = f"{found.records} records of {_many(found.trials)}"
    if found.sound:
        print(f"{printable(found.where)} is sound: {intact}.")
        return 0
    print(f"{printable(found.where)} is damaged; intact are {intact}. Found:")
    _list(found.findings)
    print(salvage_hint(printable(found.where)).partition("; ")[2])
    return 1


def _salvage(args: argparse.Namespace) -> int:
    from priorband.repair.salvage import salvage

    made = salvage(args.study, args.new)
    print(f"{printable(made.where)} is made of {made.kept} intact records.")
    for what, findings in (("Left out", made.dropped), ("Changed", made.changed)):
        if findings:
            print(f"{what}:")
            _list(findings)
    return 0


def _list(findings: Iterable[Finding]) -> None:
    for one in findings:
        print(f"  {printable(one)}")


def _many(number: int) -> str:
    return f"{number} trial{'' if number == 1 else 's'}"
