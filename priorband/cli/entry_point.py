"""Where the command line begins and ends: words in, an exit code out.

0    done
1    an error that a person must mend
2    wrong usage
3    stopped early, because the objective always fails in the same way
4    storage is out of reach
130  stopped by SIGINT, 143 by SIGTERM: the trial was handed back
"""

import argparse
import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import TextIO

from priorband.cli.parser import parsed
from priorband.display.text import paragraphs, printable
from priorband.errors import HaltedError, PriorbandError, StorageError

DEBUG = "PRIORBAND_DEBUG"


def main(words: Sequence[str] | None = None) -> int:
    """Do what the words say; the exit code."""
    args = parsed(sys.argv[1:] if words is None else words)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as standard error does by itself
    with warnings.catch_warnings():
        warnings.showwarning = _note
        code = _done(args)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go()
    return code


def _done(args: argparse.Namespace) -> int:
    try:
        code: int = args.command(args)
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _let_go()
        return 141
    except Exception as error:
        return _failed(error)


def _let_go() -> None:
    """Write into nothing from here on: the reader has seen enough."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)


def _failed(error: Exception) -> int:
    """Say what was wrong, without a traceback unless it is asked for."""
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        traceback.print_exception(error)
    said = paragraphs(error) if isinstance(error, PriorbandError | OSError) else _unexpected(error)
    print(f"priorband: {said}", file=sys.stderr)
    if isinstance(error, StorageError):
        return 4
    return 3 if isinstance(error, HaltedError) else 1


def _unexpected(error: Exception) -> str:
    text = printable(f"{type(error).__name__}: {error}")
    return f"An error that was not foreseen: {text}. {DEBUG}=1 shows where."


def _note(  # noqa: PLR0913  # as the standard library calls it
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning as a person wants to read it."""
    del category, filename, lineno, file, line
    print(f"Note: {paragraphs(message)}", file=sys.stderr)
