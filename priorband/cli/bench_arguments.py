"""The arguments of `priorband bench`; the commands themselves are imported when they run."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from priorband.cli.argument_types import STUDY, Command, above_zero, count
from priorband.experiments.cases import PRIORS, RULES
from priorband.experiments.presets import PRESETS

RESULTS = "bench-results"
_RUN_HELP = "such as paper/hartmann3-good/bad/priorband/1/0, or a pattern with *"


def grammar(command: Command) -> None:
    """Add the commands and their arguments."""
    list_parser = command("bench list", "list the benchmarks, and what is missing to run them")
    list_parser.add_argument(
        "--all", action="store_true", help="also list tasks that the paper does not use"
    )
    list_parser.set_defaults(command=_imported_later("list_benchmarks"))
    run = command("bench run", "run methods on benchmarks; finished runs are not repeated")
    presets = "; ".join(f"{name}: {preset.description}" for name, preset in PRESETS.items())
    run.add_argument("--preset", metavar="NAME", help=presets.replace("%", "%%"))
    for option, text in (
        ("--benchmarks", "default: all available ones of the paper, or of the preset"),
        ("--methods", "default: those of the preset"),
        (
            "--priors",
            f"any of {', '.join(PRIORS)} (default: the preset's, or the paper's)",
        ),
        ("--rules", f"any of {', '.join(RULES)} (default: those of the preset, or paper)"),
    ):
        run.add_argument(option, nargs="+", metavar="NAME", help=text)
    run.add_argument(
        "--seeds", type=count, metavar="N", help="number of seeds per benchmark, method and prior"
    )
    run.add_argument(
        "--dry-run",
        action="store_true",
        help="print the number of runs and how much CPU time they take, and run nothing",
    )
    run.add_argument("--budget", type=above_zero, help="full trainings per worker")
    run.add_argument(
        "--workers", type=count, metavar="N", help="number of workers, in simulated time"
    )
    cores = os.cpu_count() or 1
    run.add_argument(
        "--processes", type=count, default=cores, help=f"number of processes (default {cores})"
    )
    run.set_defaults(command=_imported_later("run"))
    report = command("bench report", "write a page with the tables and figures of results")
    report.add_argument(
        "--also", metavar="FOLDER", nargs="+", type=Path, help="more folders with results"
    )
    report.set_defaults(command=_imported_later("write_report"))
    replay = command("bench replay", "repeat every decision and loss of runs, and compare")
    replay.add_argument(
        "runs", metavar="RUN", nargs="?", default="*", help=f"{_RUN_HELP} (default all)"
    )
    replay.set_defaults(command=_imported_later("replay_runs"))
    open_parser = command("bench open", "write a run as a study, for `status`, `replay` and others")
    open_parser.add_argument("runs", metavar="RUN", help=_RUN_HELP)
    open_parser.add_argument("study", metavar="STUDY", help=STUDY)
    open_parser.set_defaults(command=_imported_later("open_run"))
    for parser in (list_parser, run, report, replay, open_parser):
        add_folder_options(parser)


def add_folder_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the folders."""
    for option, text in (
        ("--data", "the benchmarks' data (default: PRIORBAND_DATA)"),
        ("--paper", "the paper's own results (default: PRIORBAND_PAPER, or `paper` beside --data)"),
        ("--jahs", "pickles of JAHS-Bench-201, if you trust them (default: PRIORBAND_JAHS)"),
    ):
        parser.add_argument(option, metavar="FOLDER", help=text)
    parser.add_argument(
        "--results",
        metavar="FOLDER",
        type=Path,
        default=Path(RESULTS),
        help=f"the results (default: {RESULTS})",
    )


def _imported_later(name: str) -> Callable[[argparse.Namespace], int]:
    """A function of `bench_commands`, which is imported when the command runs."""

    def command(args: argparse.Namespace) -> int:
        from priorband.cli import bench_commands

        status: int = getattr(bench_commands, name)(args)
        return status

    return command
