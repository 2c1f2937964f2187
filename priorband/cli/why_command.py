"""`priorband why`: how a trial was chosen, how it ranks, and why it went on or was stopped."""

import argparse
import json
import shutil
import sys

from priorband.cli.argument_types import STUDY, Command, trial_number
from priorband.cli.read_study import custom_method, open_for_reading
from priorband.display.text import paragraphs, wrapped
from priorband.display.trial_details import require_trial

_WIDTH = 80


def grammar(command: Command) -> None:
    """Add the parser of the command."""
    why = command("why", "explain why a trial was chosen, promoted or stopped")
    why.add_argument("study", metavar="STUDY", help=STUDY)
    why.add_argument("trial", metavar="TRIAL", type=trial_number, help="number of the trial")
    why.add_argument("--json", action="store_true", help="print JSON")
    why.set_defaults(command=_why)


def _why(args: argparse.Namespace) -> int:
    with open_for_reading(args.study) as study:
        require_trial(study, args.trial)
        custom = custom_method(study)
        why = study.why(args.trial)
    if args.json:
        print(json.dumps(why.data, indent=2, allow_nan=False))
        return 0
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH
    print(*wrapped(paragraphs(why).split("\n"), width), sep="\n")
    note = ""
    if custom:
        note = f"The method is one of your own, {custom}, so no decision was made again."
    elif not study.prior_known and why.source.exact is None:
        note = "The prior is of a class of your own, so the draw was not made again."
    if note:
        print(*wrapped([f"note        {note}"], width), sep="\n")
    return 0
