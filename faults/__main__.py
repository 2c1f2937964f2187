"""The command: `python -m faults`."""

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from faults import (
    calls,
    cut,
    database,
    elsewhere,
    frozen,
    full,
    grid,
    objectives,
    race,
    signals,
    storm,
)
from faults.findings import Finding, Lacking, exit_code, table
from faults.plants import PLANTS
from faults.scene import Setting

BOTH = ("sqlite", "postgres")


@final
@dataclass(frozen=True)
class Fault:
    """Something to be done to a study, in which storages, and how much of it."""

    run: Callable[..., Iterator[Finding]]
    sizes: Mapping[str, tuple[float, float]]
    """The size of the full form and of the short one, by option."""
    storages: tuple[str, ...] = BOTH


FAULTS = {
    "storm": Fault(storm.run, {"kills": (1000, 24), "fresh": (60, 3), "workers": (8, 4)}),
    "race": Fault(race.run, {"queue": (2000, 100), "births": (200, 8), "workers": (8, 4)}),
    "calls": Fault(calls.run, {"stride": (1, 11)}),
    "cut": Fault(cut.run, {"cuts": (30, 2), "births": (30, 2), "workers": (4, 2)}, ("sqlite",)),
    "full": Fault(
        full.run, {"seconds": (20.0, 2.0), "trials": (600, 150), "workers": (4, 4)}, ("sqlite",)
    ),
    "database": Fault(
        database.run,
        {"kills": (4, 2), "longest": (30.0, 1.0), "trials": (600, 80), "workers": (4, 4)},
        ("postgres",),
    ),
    "frozen": Fault(frozen.run, {"times": (6, 1), "inside": (1, 0)}),
    "elsewhere": Fault(elsewhere.run, {"lease": (8.0, 2.0)}),
    "objectives": Fault(objectives.run, {"cases": (99, 99)}, ("sqlite",)),
    "grid": Fault(grid.run, {"kills": (20, 4), "seeds": (60, 12)}, ("sqlite",)),
    "signals": Fault(signals.run, {"cases": (99, 99), "tune": (2, 1)}),
}


def main(words: list[str] | None = None) -> int:
    """Do what was asked for, and print the table; the exit code."""
    given = _parser().parse_args(words)
    findings: list[Finding] = []
    for name in [given.fault] if given.fault else FAULTS:
        fault = FAULTS[name]
        for storage in [given.storage] if given.storage else fault.storages:
            if storage in fault.storages:
                setting = Setting(storage, given.plant, given.seed)
                for finding in _tried(name, fault, setting, given):
                    found = finding.untimed() if given.short else finding
                    print(f"{found.verdict:8}{name} {storage}: {found.figure}", file=sys.stderr)
                    findings.append(found)
    print(table(findings))
    return exit_code(findings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    _common(parser)
    parser.set_defaults(fault="")
    each = parser.add_subparsers(metavar="fault")
    for name, fault in FAULTS.items():
        about = sys.modules[fault.run.__module__].__doc__
        one = each.add_parser(name, help=about, description=about)
        one.set_defaults(fault=name)
        _common(one)
        for option, (usual, short) in fault.sizes.items():
            kind = type(usual)
            one.add_argument(f"--{option}", type=kind, help=f"{usual:g}, or {short:g} with --short")
    return parser


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--short",
        action="store_true",
        help="the short form, in which times are shown and not judged",
    )
    parser.add_argument("--storage", choices=BOTH, help="only this one")
    parser.add_argument("--plant", default="", choices=PLANTS, help="a bug that must be found")
    parser.add_argument("--seed", type=int, default=0)


def _tried(name: str, fault: Fault, setting: Setting, given: Any) -> Iterator[Finding]:
    sizes = {}
    for option, (usual, short) in fault.sizes.items():
        chosen = getattr(given, option, None)
        sizes[option] = chosen if chosen is not None else short if given.short else usual
    try:
        yield from fault.run(setting, **sizes)
    except Lacking as reason:
        yield Finding(name, setting.storage, "", str(reason), "", None)
    except Exception as error:
        traceback.print_exc()
        told = f"{type(error).__name__}: {error}"
        yield Finding(name, setting.storage, "the fault itself ended", told, "", False)


if __name__ == "__main__":
    sys.exit(main())
