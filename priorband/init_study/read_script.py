"""Reading what a script takes, from its source alone."""

import ast
import tokenize
from pathlib import Path

from priorband.errors import FormatError
from priorband.init_study.argparse_options import argparse_options
from priorband.init_study.click_options import click_options
from priorband.init_study.dataclass_fields import dataclass_options
from priorband.init_study.function_options import function_options
from priorband.init_study.hydra_config import hydra_options
from priorband.init_study.literals import assigned_names
from priorband.init_study.local_modules import LocalModule, imported_modules
from priorband.init_study.option import ScriptOptions
from priorband.init_study.script_draft import ScriptSource
from priorband.values import replaced


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
    """The options of a script, without running it.

    Where the script itself declares none, the modules beside it that it imports are read.
    """
    names = assigned_names(script.tree.body)
    configured = hydra_options(script.tree, names, script.path)
    if configured is not None:
        return configured
    found = module_options(script.tree)
    if found.options:
        return found
    for module in imported_modules(script.path, script.tree):
        inner = module_options(module.tree)
        if inner.options:
            return _from_module(inner, module)
    return found


def _from_module(found: ScriptOptions, module: LocalModule) -> ScriptOptions:
    name = module.path.name
    unclear = tuple(f"{name}, {text}" for text in found.unclear)
    return replaced(found, read_from=f"{found.read_from} in {name}", unclear=unclear)


def module_options(tree: ast.Module) -> ScriptOptions:
    """The options that a module declares, in whatever way."""
    names = assigned_names(tree.body)
    declared = argparse_options(tree, names)
    for read in (dataclass_options, function_options):
        found = read(tree, names)
        if found is not None and len(found.options) >= len(declared.options):
            return replaced(found, options=(*found.options, *declared.options))
    clicked = click_options(tree, names)
    return clicked if len(clicked.options) > len(declared.options) else declared
