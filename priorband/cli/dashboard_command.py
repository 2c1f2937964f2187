"""`priorband dashboard`: a local web page over one or many studies."""

import argparse
from pathlib import Path

from priorband.cli.argument_types import STUDY, Command, whole_number
from priorband.study_file.read import is_study_file, study_place


def grammar(command: Command) -> None:
    """Add the parser of the command."""
    dashboard = command("dashboard", "show studies in the browser, live")
    dashboard.add_argument(
        "studies", metavar="PATH", nargs="+", help=f"{STUDY}; or a folder with studies in it"
    )
    dashboard.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default: 127.0.0.1, which only this machine can reach)",
    )
    dashboard.add_argument(
        "--port", type=_port, default=0, help="port to listen on (default: one that is free)"
    )
    dashboard.add_argument(
        "--allow-edit",
        action="store_true",
        help="allow the page to change studies: notes, queue, retry, stop, budget, prior",
    )
    dashboard.set_defaults(command=_dashboard)


def _port(text: str) -> int:
    port = whole_number(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"it must be a number from 0 to 65535, got {text}")
    return port


def _dashboard(args: argparse.Namespace) -> int:
    from priorband.dashboard.server import serve  # with the analysis, which others do not need

    serve([_place(path) for path in args.studies], args.host, args.port, args.allow_edit, _say)
    return 0


def _place(path: str) -> str:
    return study_place(Path(path)) if is_study_file(path) else path


def _say(line: str) -> None:
    print(line, flush=True)
