"""Reading what a script takes, from its source alone."""

import ast
import tokenize
from pathlib import Path

from priorband.errors import FormatError
from priorband.init_study.argparse_options import argparse_options
from priorband.init_study.literals import assigned_names
from priorband.init_study.option import ScriptOptions
from priorband.init_study.script_draft import ScriptSource


def script_source(path: Path, word: str) -> ScriptSource:
    """A script that is parsed, but not run.

    Raises:
        FormatError: if it is not Python, or of a version that this Python does not know.
    """
    try:
        with tokenize.open(path) as file:
            text = file.read()
        return ScriptSource(path, word, ast.parse(text), text)
    except (SyntaxError, UnicodeDecodeError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        raise FormatError(
            f"{path}{line}: this is not Python source that can be read: {error}. `init` reads a "
            "Python script or a W&B sweep (YAML); for any other program, write the study file by "
            "hand."
        ) from error


def script_options(script: ScriptSource) -> ScriptOptions:
    """The options of a script, without running it."""
    names = assigned_names(script.tree.body)
    return argparse_options(script.tree, names)
