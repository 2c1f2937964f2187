"""`priorband report`: studies as one file of HTML, to be mailed, kept or printed."""

import argparse
from pathlib import Path

from priorband.cli.argument_types import STUDY, Command
from priorband.cli.export_command import write
from priorband.study_file.read import is_study_file, study_place


def grammar(command: Command) -> None:
    """Add the parser of the command."""
    report = command("report", "write studies as one file of HTML, with all charts")
    report.add_argument(
        "studies", metavar="STUDY", nargs="+", help=f"{STUDY}; or a folder with studies in it"
    )
    report.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        default=Path("report.html"),
        help="the file to write; an existing one is replaced (default: report.html)",
    )
    report.set_defaults(command=_report)


def _report(args: argparse.Namespace) -> int:
    from priorband.dashboard.report_page import report_page  # with all analyses

    places = [study_place(Path(one)) if is_study_file(one) else one for one in args.studies]
    text = report_page(places)
    write(args.output, [text])
    print(f"Wrote {args.output} ({len(text.encode()) / 1e6:.1f} MB).")
    return 0
