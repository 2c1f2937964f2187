"""The commands of `priorband bench`, for the paper's experiments and the user's own."""

import argparse
import os
import sys
from collections.abc import Sequence

from priorband.benchmarks.catalogue import CatalogueEntry, catalogue_entries, catalogue_entry
from priorband.benchmarks.folder import data_folder, paper_folder
from priorband.benchmarks.jahs import JAHS_FOLDER, jahs_folder
from priorband.benchmarks.priors import QUALITIES
from priorband.errors import DataError, MethodError, SpaceError, suggestion
from priorband.experiments.cases import PRIORS, RULES, CaseGrid
from priorband.experiments.expected_cost import cost_text
from priorband.experiments.open_runs import (
    losses_match,
    matching_records,
    recorded_studies,
    write_study,
)
from priorband.experiments.presets import cases_by_seed, preset, preset_grids
from priorband.experiments.progress import Progress
from priorband.experiments.report import full_report
from priorband.experiments.result_store import ResultStore
from priorband.experiments.runner import Folders, run_cases
from priorband.named_methods import optimizer
from priorband.storage import addresses
from priorband.values import replaced


def experiment_folders(args: argparse.Namespace) -> Folders:
    """The folders from the options; the one of JAHS goes to other processes by the environment."""
    if args.jahs is not None:
        os.environ[JAHS_FOLDER] = str(jahs_folder(args.jahs))
    data = data_folder(args.data)
    return Folders(args.results, data, paper_folder(args.paper, data))


def list_benchmarks(args: argparse.Namespace) -> int:
    """List the benchmarks and what they need."""
    folder = experiment_folders(args).data
    entries = catalogue_entries().values()
    shown = [
        entry for entry in entries if args.all or entry.paper_name or entry.family != "LCBench"
    ]
    width = max(len(entry.name) for entry in shown)
    for entry in shown:
        missing = entry.missing(folder)
        state = f"missing: {missing}" if missing else "available"
        print(f"{entry.name:<{width}}  {entry.title}: {state}")
    return 0


def run(args: argparse.Namespace) -> int:
    """Run a preset or a grid of benchmarks and methods."""
    folders = experiment_folders(args)
    grids = _with_options(args, _grids(args, folders))
    if not args.benchmarks:
        _print_missing(args.preset, folders)
    cases = cases_by_seed(grids)
    if args.dry_run:
        store = ResultStore(folders.results)
        todo = [case for case in cases if not store.has(case)]
        print(f"{len(todo)} of {len(cases)} runs to do. {cost_text(todo)}".rstrip())
        return 0
    progress = Progress(args.processes)
    try:
        run_cases(cases, folders, args.processes, progress)
    except KeyboardInterrupt:
        progress.stop()
        print("Stopped. Finished runs are kept: run the same command to continue.", file=sys.stderr)
        raise
    finally:
        progress.stop()
    print(f"The results are in {args.results}. `priorband bench report` shows them.")
    return 0


def write_report(args: argparse.Namespace) -> int:
    """Write the report on results."""
    page = full_report.write_report(
        experiment_folders(args), args.also or (), lambda text: print(text, file=sys.stderr)
    )
    print(f"The report is {page}. The same folder has Markdown, CSV and SVG files.")
    return 0


def replay_runs(args: argparse.Namespace) -> int:
    """Repeat the decisions and evaluations of runs, and compare them with the records."""
    folders = experiment_folders(args)
    records = matching_records(ResultStore(folders.results), args.runs)
    problems = []
    for record, study, benchmark in recorded_studies(folders, records):
        if not study.replay().exact:
            problems.append(f"other decisions: {record.case.name}")
        if not losses_match(record, study, benchmark):
            problems.append(f"other losses: {record.case.name}")
    if problems:
        print(*problems, sep="\n")
        return 1
    print(f"{len(records)} runs: all decisions and losses are the same as recorded.")
    return 0


def open_run(args: argparse.Namespace) -> int:
    """Write a run as a study."""
    folders = experiment_folders(args)
    records = matching_records(ResultStore(folders.results), args.runs)
    if len(records) > 1:
        raise DataError(f"{len(records)} runs match {args.runs!r}. Name a single run.")
    [(record, study, _)] = recorded_studies(folders, records)
    write_study(study, args.study)
    print(f"The run {record.case.name} is now the study {addresses.shown(args.study)}.")
    return 0


def _grids(args: argparse.Namespace, folders: Folders) -> list[CaseGrid]:
    _check_names(args)
    if args.preset is not None:
        available = [entry.name for entry in preset_benchmarks(args.preset, folders)]
        return preset_grids(args.preset, args.benchmarks or available)
    if not args.benchmarks or not args.methods:
        raise MethodError("Use --preset, or both --benchmarks and --methods.")
    return [
        CaseGrid(rules, (), QUALITIES, (), range(10), 1, 12.0) for rules in args.rules or ("paper",)
    ]


def _print_missing(name: str | None, folders: Folders) -> None:
    """Print which benchmarks of a preset are missing, and which have stand-ins."""
    available = preset_benchmarks(name, folders)
    wanted = preset(name).benchmarks if name is not None else ()
    if wanted:
        missing = sorted(set(wanted) - {entry.name for entry in available})
    else:
        names = {entry.paper_name for entry in catalogue_entries().values() if entry.paper_name}
        missing = sorted(names - {entry.paper_name for entry in available})
    stand_ins = [entry.title for entry in available if entry.is_stand_in]
    notes = [f"Missing: {', '.join(missing)}."] * bool(missing)
    notes += [f"Replaced by stand-ins: {', '.join(stand_ins)}."] * bool(stand_ins)
    notes += ["The Hartmann functions are run instead."] * (not available)
    if notes:
        print(f"{' '.join(notes)} `priorband bench list` says what they need.", file=sys.stderr)


def _check_names(args: argparse.Namespace) -> None:
    """Raise an error for an unknown method, benchmark, prior or set of rules."""
    for name in args.methods or ():
        optimizer(name)
    for name in args.benchmarks or ():
        catalogue_entry(name)
    for name in args.priors or ():
        if name not in PRIORS:
            raise SpaceError(f"Unknown prior {name!r}. {suggestion(name, PRIORS)}")
    for name in args.rules or ():
        if name not in RULES:
            raise MethodError(f"Unknown rules {name!r}. {suggestion(name, RULES)}")


def preset_benchmarks(name: str | None, folders: Folders) -> Sequence[CatalogueEntry]:
    """The benchmarks of a preset that can be run."""
    wanted = preset(name).benchmarks if name is not None else ()
    if not wanted:
        return available_benchmarks(folders)
    entries = map(catalogue_entry, wanted)
    return [entry for entry in entries if not entry.missing(folders.data)]


def available_benchmarks(folders: Folders) -> Sequence[CatalogueEntry]:
    """The paper's benchmarks that can be run; a stand-in only where the real one is missing."""
    available: dict[str, CatalogueEntry] = {}
    for entry in catalogue_entries().values():
        if entry.paper_name and not entry.missing(folders.data):
            available.setdefault(entry.paper_name, entry)
    return list(available.values())


def _with_options(args: argparse.Namespace, grids: list[CaseGrid]) -> list[CaseGrid]:
    """The grids with the values from the options instead of their own."""
    changes = {
        name: value
        for name in ("benchmarks", "methods", "priors", "budget", "workers")
        if (value := getattr(args, name)) is not None
    }
    wanted = [
        replaced(grid, seeds=_first_seeds(grid, args.seeds), **changes)
        for grid in grids
        if grid.rules in (args.rules or RULES)
    ]
    if not wanted:
        rules = ", ".join(dict.fromkeys(grid.rules for grid in grids))
        raise DataError(
            f"With the available benchmarks, the preset {args.preset} has only runs under the "
            f"rules {rules}. `priorband bench list` says what is missing."
        )
    return wanted


def _first_seeds(grid: CaseGrid, number: int | None) -> Sequence[int]:
    """The seeds of a grid, or another number of seeds that starts with the same one."""
    first = grid.seeds[0]
    return grid.seeds if number is None else range(first, first + number)
