"""`priorband init`: write the first study file of a training script."""

import argparse
import os
import shlex
import sys
from pathlib import Path

from priorband.cli.argument_types import Command
from priorband.cli.export_command import write
from priorband.display.text import paragraphs, printable
from priorband.errors import ArgumentError
from priorband.init_study.draft import Draft, study_file_text
from priorband.init_study.read_script import script_options, script_source
from priorband.init_study.script_draft import script_draft


def grammar(command: Command) -> None:
    """What the command takes."""
    init = command("init", "write a first study file from a script's own options")
    init.add_argument(
        "source", metavar="SOURCE", type=Path, help="train.py, or a W&B sweep such as sweep.yaml"
    )
    init.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        default=Path("study.toml"),
        help="where to write it (default study.toml)",
    )
    init.add_argument(
        "--yes",
        action="store_true",
        help="run the script up to the point where it reads its options, if its source alone "
        "does not tell them, without asking",
    )
    init.add_argument("--force", action="store_true", help="replace FILE if it exists")
    init.set_defaults(command=_init)


def _init(args: argparse.Namespace) -> int:
    _check_places(args)
    script = script_source(args.source, _word(args.source, args.output))
    draft = script_draft(script, script_options(script))
    if not draft.searched:
        raise ArgumentError(_nothing_found(args.source, draft))
    write(args.output, [study_file_text(draft)])
    _report(args, draft)
    return 0


def _check_places(args: argparse.Namespace) -> None:
    if not args.source.exists():
        raise ArgumentError(f"There is no file {printable(args.source)}.")
    if args.source.is_dir():
        raise ArgumentError(
            f"{printable(args.source)} is a folder. Name the script that trains, such as "
            f"{printable(args.source / 'train.py')}."
        )
    if args.output.is_dir():
        raise ArgumentError(
            f"{printable(args.output)} is a folder. Name a file, such as -o "
            f"{printable(args.output / 'study.toml')}."
        )
    if args.output.exists() and not args.force:
        raise ArgumentError(
            f"{printable(args.output)} exists. Pass --force to replace it, or -o FILE to write "
            "another file."
        )


def _word(source: Path, output: Path) -> str:
    """The path of the script as the command of the study file needs it."""
    return Path(os.path.relpath(source, output.parent)).as_posix()


def _nothing_found(source: Path, draft: Draft) -> str:
    name = printable(source)
    if not draft.left_out and not draft.entries:
        return (
            f"No options were found in {name}, so there is nothing to tune and no file was "
            "written. A script must take its hyperparameters from the command line, for example "
            "with argparse: parser.add_argument('--lr', type=float, default=1e-3)."
        )
    others = ", ".join([*(made.name for made in draft.entries), *(o for o, _ in draft.left_out)])
    return (
        f"None of the options of {name} is known as a hyperparameter, so no file was written. "
        f"Found: {others}."
    )


def _report(args: argparse.Namespace, draft: Draft) -> None:
    """Say what was written, what is missing, and what to type next."""
    names = ", ".join(made.name for made in draft.searched)
    count = len(draft.searched)
    lines = [f"Wrote {args.output}."]
    lines.append(f"  Searched:  {count} parameter{'s' * (count != 1)}: {names}")
    length = draft.fidelity.value
    if length is None:
        lines.append("  Fidelity:  none; every trial is a full training (see the file)")
    else:
        lines.append(f"  Fidelity:  {length['name']} from {length['min']} to {length['max']}")
    if draft.metric.value is not None:
        metric = draft.metric.value
        lines.append(f"  Metric:    {metric['name']}, {metric['goal']}")
    lines += [f"  To do:     {text}" for text in draft.to_do]
    print(paragraphs("\n".join(lines)))
    if draft.to_do:
        print("Then check the ranges and type:")
    else:
        print("Check the ranges, then type:")
    print(printable(f"  priorband run {shlex.quote(str(args.output))}"))
    sys.stdout.flush()
