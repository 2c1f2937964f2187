"""What `priorband bench` does: the paper's evaluation, and one's own."""

import argparse
import os
import sys
from collections.abc import Sequence

from priorband.benchmarks.catalogue import CatalogueEntry, catalogue_entries, catalogue_entry
from priorband.benchmarks.folder import data_folder, paper_folder
from priorband.benchmarks.jahs import JAHS_FOLDER, jahs_folder
from priorband.benchmarks.priors import QUALITIES
from priorband.errors import DataError, MethodError, SpaceError, suggestion
from priorband.experiments.cases import RULES, CaseGrid
from priorband.experiments.open_runs import losses_hold, named, studies, unpack
from priorband.experiments.presets import cases, preset
from priorband.experiments.progress import Progress
from priorband.experiments.report.report import report
from priorband.experiments.running import Places, run_cases
from priorband.experiments.store import Store
from priorband.named_methods import optimizer
from priorband.values import replaced


def placed(args: argparse.Namespace) -> Places:
    """Where things are. Processes that run cases learn of the JAHS folder by the environment."""
    if args.jahs is not None:
        os.environ[JAHS_FOLDER] = str(jahs_folder(args.jahs))
    data = data_folder(args.data)
    return Places(args.results, data, paper_folder(args.paper, data))


def list_benchmarks(args: argparse.Namespace) -> int:
    """Show the benchmarks."""
    folder = placed(args).data
    every = catalogue_entries().values()
    shown = [one for one in every if args.all or one.paper_name or one.family != "LCBench"]
    width = max(len(one.name) for one in shown)
    for one in shown:
        missing = one.missing(folder)
        state = f"missing: {missing}" if missing else "here"
        print(f"{one.name:<{width}}  {one.title}: {state}")
    return 0


def run(args: argparse.Namespace) -> int:
    """Run a preset or a grid of one's own."""
    where = placed(args)
    grids = _narrowed(args, _grids(args, where))
    if not args.benchmarks:
        _note_missing(here(where))
    progress = Progress(args.processes)
    try:
        run_cases(cases(grids), where, args.processes, progress)
    except KeyboardInterrupt:
        progress.stop()
        print("Stopped. What is done is kept: the same command goes on.", file=sys.stderr)
        raise
    finally:
        progress.stop()
    print(f"Results are in {args.results}. `priorband bench report` shows them.")
    return 0


def write_report(args: argparse.Namespace) -> int:
    """Write the report of results."""
    page = report(placed(args), args.also or (), lambda said: print(said, file=sys.stderr))
    print(f"The report is {page}; beside it are Markdown, CSV and SVG files.")
    return 0


def replay_runs(args: argparse.Namespace) -> int:
    """Decide and evaluate runs again."""
    where = placed(args)
    found = named(Store(where.results), args.runs)
    wrong = []
    for record, study, benchmark in studies(where, found):
        if not study.replay().exact:
            wrong.append(f"decided otherwise: {record.case.name}")
        if not losses_hold(record, study, benchmark):
            wrong.append(f"other losses: {record.case.name}")
    if wrong:
        print(*wrong, sep="\n")
        return 1
    print(f"{len(found)} runs: all decisions and losses came out as recorded.")
    return 0


def open_run(args: argparse.Namespace) -> int:
    """Write a run as a study."""
    where = placed(args)
    found = named(Store(where.results), args.runs)
    if len(found) > 1:
        raise DataError(f"{len(found)} runs are called {args.runs!r}. Name one.")
    [(record, study, _)] = studies(where, found)
    unpack(study, args.study)
    print(f"{record.case.name} is the study {args.study}.")
    return 0


def _grids(args: argparse.Namespace, where: Places) -> list[CaseGrid]:
    _check(args)
    if args.preset is not None:
        return preset(args.preset, args.benchmarks or [one.name for one in here(where)])
    if not args.benchmarks or not args.methods:
        raise MethodError("Name a --preset, or --benchmarks and --methods of your own.")
    return [
        CaseGrid(rules, (), QUALITIES, (), range(10), 1, 12.0) for rules in args.rules or ("paper",)
    ]


def _note_missing(known: Sequence[CatalogueEntry]) -> None:
    """Say which of the paper's benchmarks are not run, and which by a stand-in."""
    whole = {one.paper_name for one in catalogue_entries().values() if one.paper_name}
    missing = sorted(whole - {one.paper_name for one in known})
    stand_ins = [one.title for one in known if one.is_stand_in]
    said = [f"Not here: {', '.join(missing)}."] * bool(missing)
    said += [f"By models that stand in: {', '.join(stand_ins)}."] * bool(stand_ins)
    said += ["So the Hartmann functions are run."] * (not known)
    if said:
        print(f"{' '.join(said)} `priorband bench list` says what they need.", file=sys.stderr)


def _check(args: argparse.Namespace) -> None:
    """Refuse names that mean nothing."""
    for name in args.methods or ():
        optimizer(name)
    for name in args.benchmarks or ():
        catalogue_entry(name)
    for name in args.priors or ():
        if name not in QUALITIES:
            raise SpaceError(f"Unknown prior {name!r}. {suggestion(name, QUALITIES)}")
    for name in args.rules or ():
        if name not in RULES:
            raise MethodError(f"Unknown rules {name!r}. {suggestion(name, RULES)}")


def here(where: Places) -> Sequence[CatalogueEntry]:
    """The paper's benchmarks that can be run, the real ones before their stand-ins."""
    found: dict[str, CatalogueEntry] = {}
    for one in catalogue_entries().values():
        if one.paper_name and not one.missing(where.data):
            found.setdefault(one.paper_name, one)
    return list(found.values())


def _narrowed(args: argparse.Namespace, grids: list[CaseGrid]) -> list[CaseGrid]:
    """The grids with what was asked for instead of their own."""
    changes = {
        name: value
        for name in ("benchmarks", "methods", "priors", "budget", "workers")
        if (value := getattr(args, name)) is not None
    }
    if args.seeds is not None:
        changes["seeds"] = range(args.seeds)
    wanted = [replaced(grid, **changes) for grid in grids if grid.rules in (args.rules or RULES)]
    if not wanted:
        told = ", ".join(dict.fromkeys(grid.rules for grid in grids))
        raise DataError(
            f"Without other benchmarks the preset {args.preset} has no runs under these rules, "
            f"only {told}. `priorband bench list` says what is missing."
        )
    return wanted
