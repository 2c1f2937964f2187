"""`priorband retry` and `priorband journal`: commands for when something went wrong."""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from priorband.cli.argument_types import STUDY, Command
from priorband.display.text import printable
from priorband.durable.open import open_study
from priorband.durable.study import DurableStudy
from priorband.errors import TrialError
from priorband.events import Failed, Queued, Told
from priorband.failures import FAILURE_KINDS
from priorband.repair.scan import Finding
from priorband.storage.high_water import salvage_hint
from priorband.trial import IMPORTED

QUEUED_AGAIN = "they are already queued"
RETRIED = "they were retried already"
ADDED_LATER = "their result was added later"


def grammar(command: Command) -> None:
    """Add the parser of `retry`."""
    retry = command("retry", "run failed trials again, before any others and in their old places")
    retry.add_argument("study", metavar="STUDY", help=STUDY)
    retry.add_argument("trials", metavar="TRIAL", nargs="*", type=_trial, help="number of a trial")
    retry.add_argument("--failed", action="store_true", help="retry all failed trials")
    retry.add_argument("--kind", choices=FAILURE_KINDS, help="retry all that failed in this way")
    retry.set_defaults(command=_retry, parser=retry)


def journal_grammar(command: Command) -> None:
    """Add the parsers of `journal check` and `journal salvage`."""
    check = command("journal check", "look for damage, without changing anything")
    check.add_argument("study", metavar="STUDY", help=STUDY)
    check.set_defaults(command=_check)
    salvage = command("journal salvage", "write what is intact of a damaged study to a new one")
    salvage.add_argument("study", metavar="STUDY", help=STUDY)
    salvage.add_argument(
        "new", metavar="NEW", help="where to write the new study: a folder or URL without one"
    )
    salvage.set_defaults(command=_salvage)


def _trial(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"it must be the number of a trial, such as 17, got {text!r}"
        )
    return int(text)


def _retry(args: argparse.Namespace) -> int:
    if bool(args.trials) == bool(args.failed or args.kind):
        args.parser.error(
            "Say which trials to retry: their numbers, such as 3 7, or --failed for all that "
            "failed, or --kind for those that failed in one way."
        )
    with open_study(args.study) as study:
        if args.trials:
            chosen, skipped = args.trials, Counter[str]()
        else:
            failed = list(_failed_trials(study, args.kind))
            chosen = [number for number, reason in failed if not reason]
            skipped = Counter(reason for _, reason in failed if reason)
        if not chosen:
            raise TrialError(_nothing_to_retry(args.kind, skipped))
        study.retry(chosen)
        reached = study.spending().reached(study.budget)
    print(f"Queued to be tried first when the study runs again: {_trials(len(chosen))}.")
    for reason, count in skipped.items():
        print(f"Skipped, because {reason}: {_trials(count)}.")
    if reached:
        print(f"The budget is used up ({', '.join(reached)}): give the next run a larger one.")
    return 0


def _nothing_to_retry(kind: str | None, skipped: Mapping[str, int]) -> str:
    if not skipped:
        how = f" in this way ({kind})" if kind else ""
        return f"Nothing to retry: no trial has failed{how}."
    why = "; ".join(f"{_trials(count)}, but {reason}" for reason, count in skipped.items())
    return f"Nothing to retry: {why}."


def _failed_trials(study: DurableStudy, kind: str | None) -> Iterator[tuple[int, str]]:
    """The trials that failed in this way, or in any, each with a reason not to try it again."""
    history = study.state.history
    queued_at: dict[object, int] = {}
    added_at: dict[object, int] = {}
    failed_at: dict[int, int] = {}
    for index, event in enumerate(history.events):
        match event:
            case Queued(config, _, None):  # as versions before format 3 retried
                queued_at[config] = index
            case Failed(number):
                failed_at[number] = index
            case Told(number) if (trial := history.trial(number)).origin == IMPORTED:
                added_at[trial.config, trial.fidelity] = index
    for number, index in failed_at.items():
        outcome = history.outcome(number)
        assert outcome is not None
        if outcome.trial.origin == IMPORTED or kind not in (None, outcome.reason.split(":")[0]):
            continue
        if history.retried(number):
            yield number, RETRIED
            continue
        queued = queued_at.get(outcome.config, -1) > index
        added = added_at.get((outcome.config, outcome.fidelity), -1) > index
        yield number, QUEUED_AGAIN if queued else ADDED_LATER if added else ""


def _check(args: argparse.Namespace) -> int:
    from priorband.repair.check import check

    inspection = check(args.study)
    where = printable(inspection.where)
    intact = f"{inspection.records} records of {_trials(inspection.trials)}"
    if inspection.sound:
        print(f"{where} is not damaged: {intact}.")
    else:
        print(f"{where} is damaged. Still intact: {intact}. Damage found:")
        _print_findings(inspection.findings)
        print(salvage_hint(where).partition("; ")[2])
    if inspection.not_checked:
        print("Not checked:")
        _print_findings(inspection.not_checked)
    return 0 if inspection.sound else 1


def _salvage(args: argparse.Namespace) -> int:
    from priorband.repair.salvage import salvage

    result = salvage(args.study, args.new)
    print(f"Wrote {result.kept} intact records to {printable(result.where)}.")
    for title, findings in (("Left out", result.dropped), ("Changed", result.changed)):
        if findings:
            print(f"{title}:")
            _print_findings(findings)
    return 0


def _print_findings(findings: Iterable[Finding]) -> None:
    for finding in findings:
        print(f"  {printable(finding)}")


def _trials(number: int) -> str:
    return f"{number} trial{'' if number == 1 else 's'}"
