"""`priorband plot`: figures of a study as files."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from priorband.cli.argument_types import STUDY, Command, whole_number
from priorband.cli.read_study import custom_method, open_for_reading
from priorband.errors import ArgumentError, MethodError, suggestion
from priorband.plots.names import FORMATS, NAMES
from priorband.study_file.read import is_study_file, study_place

if TYPE_CHECKING:
    from priorband.durable.study import DurableStudy

ALL = "all"
_OPTIONS = {"over": "incumbent", "trial": "ancestry", "format": ALL}
"""Options, and the one plot that takes each."""
_OF_THE_METHOD = ("chances",)
"""Plots that ask the study's method what it would do."""


def grammar(command: Command) -> None:
    """Add the parser of the command."""
    plot = command("plot", "draw a plot of a study, or all of them, as files")
    listed = "; ".join(f"{name}: {text}" for name, text in NAMES.items())
    plot.add_argument("name", metavar="NAME", help=f"{listed}; {ALL}: all of a study, to a folder")
    plot.add_argument("studies", metavar="STUDY", nargs="+", help=STUDY)
    plot.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        required=True,
        help=f"the file, whose ending is the format: .svg, .png or .pdf; for {ALL}, a folder",
    )
    plot.add_argument("--dark", action="store_true", help="draw on a dark background")
    plot.add_argument(
        "--over", choices=("budget", "time"), help="the x-axis of incumbent (default budget)"
    )
    plot.add_argument(
        "--trial", type=whole_number, metavar="ID", help="for ancestry (default: the incumbent)"
    )
    plot.add_argument("--format", choices=FORMATS, help=f"of the files of {ALL} (default svg)")
    plot.set_defaults(command=_plot)


def _plot(args: argparse.Namespace) -> int:
    from priorband import plots
    from priorband.plots.drawing.svg import need_matplotlib
    from priorband.plots.save_figure import checked_format

    args.name = args.name.replace("-", "_")
    _check(args)
    need_matplotlib()
    if args.name == ALL:
        return _plot_all(args)
    checked_format(args.output)
    studies, notes = [_opened(args, where) for where in args.studies], dict[str, object]()
    try:
        for option in ("over", "trial"):
            if getattr(args, option) is not None:
                notes[option] = getattr(args, option)
        figure = getattr(plots, args.name)(*studies, dark=args.dark, **notes)
    finally:
        for study in studies:
            study.close()
    plots.save(figure, args.output)
    print(f"Wrote {args.output}")
    return 0


def _plot_all(args: argparse.Namespace) -> int:
    """Write each plot of one study into a folder."""
    from priorband import plots
    from priorband.study_analysis.source import study_data

    if args.output.exists() and not args.output.is_dir():
        raise ArgumentError(f"`plot all` writes to a folder, and {args.output} is a file.")
    form = args.format or FORMATS[0]
    with _opened(args, args.studies[0]) as study:
        data = study_data(study)
        args.output.mkdir(parents=True, exist_ok=True)
        unknown = _OF_THE_METHOD if custom_method(study) else ()
        for name in (name for name in NAMES if name not in unknown):
            source = study if name == "curves" else data  # which reads what trials have reported
            place = args.output / f"{name}.{form}"
            plots.save(getattr(plots, name)(source, dark=args.dark), place)
            print(f"Wrote {place}")
    return 0


def _opened(args: argparse.Namespace, where: str) -> "DurableStudy":
    """Open a study, or the one of a study file."""
    args.study = study_place(Path(where)) if is_study_file(where) else where
    study = open_for_reading(args.study)
    own = custom_method(study)
    if own and args.name in (ALL, "rung_flow", *_OF_THE_METHOD):
        try:
            _say_what_is_unknown(args.name, own)
        except BaseException:
            study.close()
            raise
    return study


def _say_what_is_unknown(name: str, method: str) -> None:
    """What only a method with custom parts could tell: it is not known here."""
    how = "open the study in Python with its method, and call plots."
    if name in _OF_THE_METHOD:
        raise MethodError(
            f"`plot {name}` needs the method, and {method!r} has parts of your own, which are not "
            f"known here: {how}{name}(study)."
        )
    left_out = f" {', '.join(_OF_THE_METHOD)} is left out." if name == ALL else ""
    print(
        f"Note: the method {method!r} has parts of your own, which are not known here, so trials "
        f"that may still be promoted count as stopped.{left_out} To see it, {how}rung_flow(study).",
        file=sys.stderr,
    )


def _check(args: argparse.Namespace) -> None:
    """Refuse what does not go together, before anything is read."""
    known = (*NAMES, ALL)
    if args.name not in known:
        raise ArgumentError(f"There is no plot {args.name!r}. {suggestion(args.name, known)}")
    if len(args.studies) > 1 and args.name != "compare":
        raise ArgumentError(
            f"`plot {args.name}` takes one study, got {len(args.studies)}. `plot compare` draws "
            "several."
        )
    for option, name in _OPTIONS.items():
        if getattr(args, option) is not None and args.name != name:
            raise ArgumentError(f"--{option} is for `plot {name}`, not for `plot {args.name}`.")
