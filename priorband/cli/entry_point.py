"""Run a command, print errors, and turn its outcome into an exit code.

0    success
1    an error that the user must fix
2    wrong usage
3    the objective always fails: stopped early, or ended without a single success
4    storage cannot be reached
130  stopped by SIGINT, or 143 by SIGTERM; running trials were given back
"""

import argparse
import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import TextIO

from priorband.cli.argument_types import without_secrets
from priorband.cli.parser import parse
from priorband.cli.study_files import use_study_file
from priorband.display.text import paragraphs, printable
from priorband.errors import HaltedError, PriorbandError, StorageError

DEBUG = "PRIORBAND_DEBUG"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    args = parse(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error does by default
    with warnings.catch_warnings():
        warnings.showwarning = _print_warning
        if getattr(args, "show", None) == "quiet":
            warnings.simplefilter("ignore")
        code = _run(args)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
    return code


def _run(args: argparse.Namespace) -> int:
    try:
        use_study_file(args)
        code: int = args.command(args)
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard_output()
        return 141
    except Exception as error:
        place = getattr(args, "study", None)  # a study file may hold an address, too
        return _report_error(error, [*args.argv, *([place] if isinstance(place, str) else [])])


def _discard_output() -> None:
    """Send further output nowhere, since the reader has closed the pipe."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _report_error(error: Exception, words: Sequence[str]) -> int:
    """Print an error, with its traceback if that is asked for, and return the exit code."""
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        trace = "".join(traceback.format_exception(error))
        print(without_secrets(trace, words), end="", file=sys.stderr)
    expected = isinstance(error, PriorbandError | OSError)
    text = paragraphs(without_secrets(str(error), words)) if expected else _unexpected(error, words)
    print(f"priorband: {text}", file=sys.stderr)
    if isinstance(error, StorageError):
        return 4
    return 3 if isinstance(error, HaltedError) else 1


def _unexpected(error: Exception, words: Sequence[str]) -> str:
    text = printable(f"{type(error).__name__}: {without_secrets(str(error), words)}")
    return f"Unexpected error: {text}. Set {DEBUG}=1 to see the traceback."


def _print_warning(  # noqa: PLR0913  # as the standard library calls it
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning without its place in our code."""
    del category, filename, lineno, file, line
    print(f"Note: {paragraphs(message)}", file=sys.stderr)
