"""Run faults against real studies, and print a table of what came of them."""

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from faults import (
    bad_objectives,
    database_outage,
    few_connections,
    folder_identity,
    frozen_worker,
    full_disk,
    killed_benchmarks,
    lost_files,
    no_space,
    power_cut,
    race,
    random_kills,
    read_only,
    remote_workers,
    signals,
    special_files,
    stray_processes,
    system_calls,
)
from faults.planted_bugs import PLANTED_BUGS
from faults.results import MissingRequirement, Result, exit_code, table
from faults.study_setup import Setting

STORAGES = ("sqlite", "postgres")


@final
@dataclass(frozen=True)
class Fault:
    """A kind of fault, the storages it applies to, and its sizes."""

    run: Callable[..., Iterator[Result]]
    sizes: Mapping[str, tuple[float, float]]
    """By option: the size in the full form and in the short form."""
    storages: tuple[str, ...] = STORAGES


FAULTS = {
    "storm": Fault(random_kills.run, {"kills": (1000, 24), "fresh": (60, 3), "workers": (8, 4)}),
    "race": Fault(race.run, {"queue": (2000, 100), "births": (200, 8), "workers": (8, 4)}),
    "calls": Fault(system_calls.run, {"stride": (1, 11)}),
    "cut": Fault(
        power_cut.run, {"cuts": (30, 2), "births": (30, 2), "workers": (4, 2)}, ("sqlite",)
    ),
    "full": Fault(
        full_disk.run,
        {"seconds": (20.0, 2.0), "trials": (600, 150), "workers": (4, 4)},
        ("sqlite",),
    ),
    "database": Fault(
        database_outage.run,
        {"kills": (4, 2), "longest": (30.0, 1.0), "trials": (600, 80), "workers": (4, 4)},
        ("postgres",),
    ),
    "connections": Fault(
        few_connections.run,
        {
            "workers": (90, 6),
            "slots": (100, 12),
            "trials": (900, 60),
            "lease": (30.0, 20.0),
            "outage": (15.0, 9.0),
        },
        ("postgres",),
    ),
    "frozen": Fault(frozen_worker.run, {"times": (6, 1), "inside": (1, 0)}),
    "elsewhere": Fault(remote_workers.run, {"lease": (8.0, 2.0)}),
    "objectives": Fault(bad_objectives.run, {"cases": (99, 99), "cold": (99, 2)}, ("sqlite",)),
    "grid": Fault(killed_benchmarks.run, {"kills": (20, 4), "seeds": (60, 12)}, ("sqlite",)),
    "identity": Fault(folder_identity.run, {"rounds": (12, 1), "trials": (14, 12)}),
    "unlinked": Fault(lost_files.run, {"rounds": (20, 1), "workers": (3, 2), "trials": (250, 200)}),
    "special": Fault(special_files.run, {"kinds": (4, 1), "places": (99, 99), "readers": (5, 1)}),
    "nospace": Fault(no_space.run, {"seconds": (20.0, 1.0), "trials": (60, 10), "workers": (3, 2)}),
    "readonly": Fault(read_only.run, {"trials": (40, 12), "times": (3, 1)}, ("sqlite",)),
    "strays": Fault(
        stray_processes.run, {"endings": (99, 99), "cold": (99, 1), "times": (5, 1)}, ("sqlite",)
    ),
    "signals": Fault(signals.run, {"cases": (99, 99), "cold": (99, 0), "tune": (2, 1)}),
}


def main(words: list[str] | None = None) -> int:
    """Run the faults that the command line asks for, and print a table; the exit code."""
    arguments = _parser().parse_args(words)
    results: list[Result] = []
    for name in [arguments.fault] if arguments.fault else FAULTS:
        fault = FAULTS[name]
        for storage in [arguments.storage] if arguments.storage else fault.storages:
            if storage in fault.storages:
                setting = Setting(storage, arguments.plant, arguments.seed)
                for measured in _results(name, fault, setting, arguments):
                    result = measured.without_times() if arguments.short else measured
                    print(f"{result.verdict:8}{name} {storage}: {result.outcome}", file=sys.stderr)
                    results.append(result)
    print(table(results))
    return exit_code(results)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    _add_common_options(parser)
    parser.set_defaults(fault="", plant="", seed=0)
    subparsers = parser.add_subparsers(metavar="fault")
    for name, fault in FAULTS.items():
        description = sys.modules[fault.run.__module__].__doc__
        subparser = subparsers.add_parser(
            name,
            help=description,
            description=description,
            argument_default=argparse.SUPPRESS,  # keep what was given before the name
        )
        subparser.set_defaults(fault=name)
        _add_common_options(subparser)
        for option, (full, short) in fault.sizes.items():
            text = f"default: {full:g}, or {short:g} with --short"
            subparser.add_argument(f"--{option}", type=type(full), help=text)
    return parser


def _add_common_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that can be given before or after the name of a fault."""
    parser.add_argument(
        "--short", action="store_true", help="run the short form, in which times do not count"
    )
    parser.add_argument("--storage", choices=STORAGES, help="run in this storage only")
    parser.add_argument("--plant", choices=PLANTED_BUGS, help="a bug to plant, which must be found")
    parser.add_argument("--seed", type=int, help="of the random choices")


def _results(name: str, fault: Fault, setting: Setting, arguments: Any) -> Iterator[Result]:
    sizes = {}
    for option, (full, short) in fault.sizes.items():
        chosen = getattr(arguments, option, None)
        sizes[option] = chosen if chosen is not None else short if arguments.short else full
    try:
        yield from fault.run(setting, **sizes)
    except MissingRequirement as reason:
        yield Result(name, setting.storage, "", str(reason), "", None)
    except Exception as error:
        traceback.print_exc()
        message = f"{type(error).__name__}: {error}"
        yield Result(name, setting.storage, "the fault itself raised an error", message, "", False)


if __name__ == "__main__":
    sys.exit(main())
