"""The grammar of `priorband bench`; what it does is loaded when it is asked for."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from priorband.benchmarks.priors import QUALITIES
from priorband.cli.argument_types import STUDY, Command, above_zero, count
from priorband.experiments.cases import RULES
from priorband.experiments.presets import PRESETS

RESULTS = "bench-results"
_NAME = "such as paper/hartmann3-good/bad/priorband/1/0, or a pattern with *"


def grammar(command: Command) -> None:
    """What the commands take."""
    listed = command("bench list", "show the benchmarks: what is here, what is missing, and where")
    listed.add_argument("--all", action="store_true", help="also those that the paper does not use")
    listed.set_defaults(command=_later("list_benchmarks"))
    run = command("bench run", "run methods on benchmarks; what is done is not run again")
    presets = "; ".join(f"{name}: {one.what}" for name, one in PRESETS.items())
    run.add_argument("--preset", metavar="NAME", help=presets.replace("%", "%%"))
    for option, what in (
        ("--benchmarks", "instead of all of the paper's that are here"),
        ("--methods", "instead of the preset's"),
        ("--priors", f"of {', '.join(QUALITIES)}"),
        ("--rules", f"of {', '.join(RULES)}"),
    ):
        run.add_argument(option, nargs="+", metavar="NAME", help=what)
    run.add_argument("--seeds", type=count, metavar="N", help="runs in each cell")
    run.add_argument("--budget", type=above_zero, help="in full trainings for each worker")
    run.add_argument("--workers", type=count, metavar="N", help="in simulated time")
    usual = os.cpu_count() or 1
    run.add_argument("--processes", type=count, default=usual, help=f"at once (default {usual})")
    run.set_defaults(command=_later("run"))
    told = command("bench report", "write the tables and figures of results as a page")
    told.add_argument("--also", metavar="FOLDER", nargs="+", type=Path, help="more results")
    told.set_defaults(command=_later("write_report"))
    again = command("bench replay", "make every decision of runs again, and compare")
    again.add_argument("runs", metavar="RUN", nargs="?", default="*", help=f"{_NAME} (default all)")
    again.set_defaults(command=_later("replay_runs"))
    opened = command("bench open", "write a run as a study, for `status`, `replay` and the others")
    opened.add_argument("runs", metavar="RUN", help=_NAME)
    opened.add_argument("study", metavar="STUDY", help=STUDY)
    opened.set_defaults(command=_later("open_run"))
    for one in (listed, run, told, again, opened):
        places(one)


def places(parser: argparse.ArgumentParser) -> None:
    """The options that say where things are."""
    for option, what in (
        ("--data", "of benchmarks' data (PRIORBAND_DATA)"),
        ("--paper", "of the published figures (PRIORBAND_PAPER)"),
        ("--jahs", "of JAHS-Bench-201's pickles, if you trust them (PRIORBAND_JAHS)"),
    ):
        parser.add_argument(option, metavar="FOLDER", help=what)
    parser.add_argument(
        "--results", metavar="FOLDER", type=Path, default=Path(RESULTS), help=f"(default {RESULTS})"
    )


def _later(name: str) -> Callable[[argparse.Namespace], int]:
    """A command of `bench_commands`, which is imported only when it runs."""

    def do(args: argparse.Namespace) -> int:
        from priorband.cli import bench_commands

        done: int = getattr(bench_commands, name)(args)
        return done

    return do
