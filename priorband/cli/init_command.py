"""`priorband init`: write the first study file of a training script."""

import argparse
import os
import shlex
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from priorband.cli.argument_types import Command
from priorband.cli.export_command import write
from priorband.display.text import printable
from priorband.errors import ArgumentError, FormatError, suggestion
from priorband.init_study.draft import Draft, study_file_text
from priorband.init_study.option import ScriptOptions
from priorband.init_study.read_script import script_options, script_source
from priorband.init_study.run_parser import options_by_running, worth_running
from priorband.init_study.script_draft import ScriptSource, script_draft
from priorband.init_study.sweep_yaml import sweep_draft
from priorband.values import replaced

_WIDTH = 80


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
    init.usage = "%(prog)s [-h] [-o FILE] [--yes] [--force] SOURCE [-- OPTION ...]"
    init.epilog = (
        "Options after -- are for the script: every trial passes them on as they are, as in "
        "priorband init train.py -- --samples 1000."
    )
    init.set_defaults(command=_init, takes_words=True)


def _init(args: argparse.Namespace) -> int:
    _check_places(args)
    draft = _draft(args)
    if not draft.searched:
        raise ArgumentError(_nothing_found(args.source, draft))
    write(args.output, [study_file_text(draft)])
    _report(args, draft)
    return 0


def _draft(args: argparse.Namespace) -> Draft:
    if args.source.suffix.lower() in (".yaml", ".yml"):
        if args.words:
            raise ArgumentError(
                "Options after -- are for scripts. Write those of a sweep into its `command`."
            )
        return sweep_draft(args.source, args.output.parent)
    script = script_source(args.source, _word(args.source, args.output))
    found = _options(args, script)
    _check_words(args.words, found)
    return script_draft(script, found, tuple(args.words))


def _check_words(words: Sequence[str], found: ScriptOptions) -> None:
    """Refuse options after `--` that the script does not have, if all of its own were read."""
    known = [flag for option in found.options for flag in option.flags]
    if found.style == "overrides" or found.unclear:
        return
    for word in words:
        name = word.partition("=")[0]
        if name.startswith("--") and name not in known:
            raise ArgumentError(f"The script has no option {name}. {suggestion(name, known)}")


def _options(args: argparse.Namespace, script: ScriptSource) -> ScriptOptions:
    """The options from the source, or from a run of the script if the user allows one."""
    found = script_options(script)
    if not worth_running(script, found):
        return found
    if not (args.yes or _is_allowed(script, found)):
        return _with_note(found, "the script was not run to read the rest: pass --yes to allow it")
    try:
        return options_by_running(script.path)
    except FormatError as error:
        if not found.options:
            raise
        return _with_note(found, str(error).rstrip("."))


def _with_note(found: ScriptOptions, text: str) -> ScriptOptions:
    return replaced(found, unclear=(*found.unclear, text))


def _is_allowed(script: ScriptSource, found: ScriptOptions) -> bool:
    """Ask whether the script may be run; no if nobody can answer."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    print(printable(f"The source of {script.path} does not tell all of its options:"))
    for text in found.unclear or ("none were found",):
        print(printable(f"  {text}"))
    print("priorband can run it up to the point where it parses them, and stop it there.")
    try:
        return input("Run it now? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


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
    losses = "".join(f" {text}" for text in draft.losses)
    if not draft.left_out and not draft.entries:
        return (
            f"No options were found in {name}, so there is nothing to tune and no file was "
            f"written.{losses} A script must take its hyperparameters from the command line, "
            "for example with argparse: parser.add_argument('--lr', type=float, default=1e-3)."
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
    print(printable(f"Wrote {args.output}."))
    _say("Searched", f"{count} parameter{'s' * (count != 1)}: {names}")
    length = draft.fidelity.value
    if length is None:
        _say("Fidelity", "none; every trial is a full training (see the file)")
    else:
        _say("Fidelity", f"{length['name']} from {length['min']} to {length['max']}")
    if draft.metric.value is not None:
        _say("Metric", f"{draft.metric.value['name']}, {draft.metric.value['goal']}")
    for text in draft.losses:
        _say("Note", text)
    for text in draft.to_do:
        _say("To do", text)
    print("Then check the ranges and type:" if draft.to_do else "Check the ranges, then type:")
    print(printable(f"  priorband run {shlex.quote(str(args.output))}"))


def _say(what: str, text: str) -> None:
    """Print a line with a label, wrapped at 80 columns."""
    lines = textwrap.wrap(
        printable(text), _WIDTH - 13, break_long_words=False, break_on_hyphens=False
    )
    print(f"  {what + ':':<11}" + f"\n{' ' * 13}".join(lines))
