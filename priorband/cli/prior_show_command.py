"""`priorband prior show`: whether the prior of a study helped, and what to believe next."""

import argparse
import json

from priorband.cli.argument_types import STUDY, Command
from priorband.cli.read_study import custom_method, open_for_reading
from priorband.display.text import jsonable, printable
from priorband.errors import ArgumentError
from priorband.prior_report.report import PriorReport, SuggestedPrior
from priorband.study_analysis.json_form import as_json
from priorband.study_analysis.prior_report import prior_report
from priorband.study_analysis.source import study_data


def grammar(command: Command) -> None:
    """Add the parser of the command."""
    show = command("prior show", "print whether the prior helped, by parameter, and a better one")
    show.add_argument("study", metavar="STUDY", help=STUDY)
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--toml", action="store_true", help="print the suggested prior as TOML")
    form.add_argument("--python", action="store_true", help="print the suggested prior as Python")
    show.set_defaults(command=_show)


def _show(args: argparse.Namespace) -> int:
    with open_for_reading(args.study) as study:
        report, custom = prior_report(study_data(study)), custom_method(study)
    if args.json:
        print(json.dumps(as_json(report), indent=2, allow_nan=False, default=jsonable))
    elif args.toml:
        print(_suggestion(report).toml)
    elif args.python:
        print(_suggestion(report).python)
    else:
        print(report)
        if report.suggestion is not None:
            print("\nWith --toml, the suggested prior is printed for a study file.")
        if custom:
            print(f"The method {printable(custom)} is your own, so its trust is not shown.")
    return 0


def _suggestion(report: PriorReport) -> SuggestedPrior:
    if report.suggestion is None:
        raise ArgumentError(
            f"There is no prior to suggest yet: {report.results} trials have succeeded, "
            f"{report.full_trainings} of them full trainings. It needs a first bracket and three "
            "full trainings of different configurations."
        )
    return report.suggestion
