"""Reading a script's options by running it up to the point where it parses them.

The script runs in a process of its own. `argparse` is changed in that process only: the first call
of `parse_args` writes the options to a file and ends the process, before any training starts.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from priorband.errors import FormatError
from priorband.init_study.option import Kind, Option, ScriptOptions, kind_of_name, kind_of_value
from priorband.init_study.script_draft import ScriptSource

SECONDS = 60.0
"""How long a script may take until it parses its options: importing torch can take a while."""

_CHILD = r"""
import argparse, json, os, runpy, sys

def plain(value):
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    if isinstance(value, (list, tuple, set, range)) or type(value).__name__ == "dict_keys":
        return [plain(item) for item in value]
    return {"text": str(value)}

def told(parser, subcommand=""):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from told(inner, name)
            continue
        yield {
            "flags": list(action.option_strings),
            "dest": action.dest,
            "action": type(action).__name__,
            "nargs": action.nargs,
            "type": getattr(action.type, "__name__", None) if action.type else None,
            "default": None if action.default is argparse.SUPPRESS else plain(action.default),
            "choices": plain(list(action.choices)) if action.choices is not None else [],
            "required": bool(action.required),
            "help": action.help if isinstance(action.help, str) else "",
            "subcommand": subcommand,
        }

answer, script = sys.argv[1:]

def stop(self, *args, **kwargs):
    with open(answer, "w", encoding="utf-8") as file:
        json.dump(list(told(self)), file)
    os._exit(0)

argparse.ArgumentParser.parse_args = stop
argparse.ArgumentParser.parse_known_args = stop
sys.path[0] = os.path.dirname(os.path.abspath(script))
sys.argv = [script]
runpy.run_path(script, run_name="__main__")
"""


def worth_running(script: ScriptSource, found: ScriptOptions) -> bool:
    """Whether running a script would tell more of its options than its source does.

    Only what argparse parses can be stopped in time, so other scripts are never run.
    """
    parses = re.search(r"parse_(known_)?args|HfArgumentParser|TrlParser", script.text) is not None
    return parses and found.style == "flags" and bool(found.unclear or not found.options)


def options_by_running(script: Path) -> ScriptOptions:
    """The options of a script, from its own parser.

    Raises:
        FormatError: if the script fails, ends or takes too long before it parses its options.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "options.json"
        words = [sys.executable, "-c", _CHILD, str(answer), str(script)]
        errors = Path(folder) / "errors.txt"
        with open(errors, "wb") as sink, open(os.devnull, "rb") as nothing:
            process = subprocess.Popen(
                words, stdin=nothing, stdout=sink, stderr=sink, start_new_session=True
            )
            try:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(SECONDS)
            finally:
                _kill_group(process)
        if not answer.is_file():
            raise FormatError(_why_no_answer(script, process.returncode, errors))
        data = json.loads(answer.read_text(encoding="utf-8"))
    options = [_option(about) for about in data]
    return ScriptOptions("its parser", tuple(option for option in options if option is not None))


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """End the script and all that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _why_no_answer(script: Path, code: int, errors: Path) -> str:
    lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last = f" Its last words: {lines[-1]}" if lines else ""
    if code == -signal.SIGKILL:
        return (
            f"{script} did not read its options within {SECONDS:g} seconds and was stopped.{last}"
        )
    return f"{script} ended before it read its options (exit code {code}).{last}"


def _option(about: dict[str, Any]) -> Option | None:
    if about["action"] in ("_HelpAction", "_VersionAction"):
        return None
    flags = sorted(about["flags"], key=lambda flag: not flag.startswith("--"))
    kind = _kind(about)
    default = about["default"] if not isinstance(about["default"], dict) else None
    if kind == "float" and type(default) is int:
        default = float(default)
    return Option(
        name=flags[0].lstrip("-") if flags else about["dest"],
        flags=(flags[0], _off(flags)) if kind == "switch" else tuple(flags),
        kind=kind,
        default=default,
        choices=tuple(one for one in about["choices"] if not isinstance(one, dict | list)),
        required=about["required"],
        help=" ".join(about["help"].split()),
        subcommand=about["subcommand"],
    )


def _off(flags: list[str]) -> str:
    return next((flag for flag in flags if flag.startswith("--no-")), flags[-1])


def _kind(about: dict[str, Any]) -> Kind:
    action = about["action"]
    if action == "BooleanOptionalAction":
        return "switch"
    if action in ("_StoreTrueAction", "_StoreFalseAction", "_StoreConstAction", "_CountAction"):
        return "flag"
    if action in ("_AppendAction", "_ExtendAction") or about["nargs"] not in (None, "?"):
        return "list"
    default = about["default"]
    if about["type"] is None:
        return "text" if default is None or isinstance(default, str) else "unknown"
    if about["type"] == "bool":
        return "unknown"
    return kind_of_name(about["type"]) or kind_of_value(default)
