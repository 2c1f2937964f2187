"""`priorband show`: everything about one trial."""

import argparse
import json
import shutil
import sys

from priorband.cli.argument_types import STUDY, Command, trial_number
from priorband.cli.read_study import open_for_reading
from priorband.display.sparkline import ascii_only
from priorband.display.text import wrapped
from priorband.display.trial_details import trial_details
from priorband.display.trial_text import trial_json, trial_lines


def grammar(command: Command) -> None:
    """Add the parser of the command."""
    show = command("show", "print everything about one trial")
    show.add_argument("study", metavar="STUDY", help=STUDY)
    show.add_argument("trial", metavar="TRIAL", type=trial_number, help="number of the trial")
    show.add_argument("--json", action="store_true", help="print JSON")
    show.set_defaults(command=_show)


def _show(args: argparse.Namespace) -> int:
    with open_for_reading(args.study) as study:
        details = trial_details(study, args.trial)
    if args.json:
        print(json.dumps(trial_json(details), indent=2, allow_nan=False))
        return 0
    width = shutil.get_terminal_size().columns
    lines = trial_lines(details, width)
    text = "\n".join(wrapped(lines, width) if sys.stdout.isatty() else lines)
    print(text if _has_bars() else ascii_only(text))
    return 0


def _has_bars() -> bool:
    """Whether standard output can write the characters of a sparkline."""
    return (sys.stdout.encoding or "").lower().replace("-", "") in ("utf8", "utf16", "utf8sig")
