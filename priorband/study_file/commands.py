"""The command of a study file: its placeholders must name what there is."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from priorband.errors import MethodError
from priorband.space.space import Space
from priorband.study_file.mistakes import proposal
from priorband.study_file.tables import Source
from priorband.workers.command_words import ARGS, BUILT_IN, OVERRIDES, Placeholder, pieces

COMMAND = "command"


def check_command(
    source: Source, command: list[str], space: Space | None, fidelity: str | None
) -> None:
    """Note placeholders that name nothing, and parameters that the command does not use."""
    declared = source.data.get("space")
    if not isinstance(declared, Mapping):
        return  # what is wrong with it is noted elsewhere
    parameters = [*declared]
    named: set[str] = set()
    for number, word in enumerate(command):
        path = (COMMAND, number)
        try:
            parts = pieces(word)
        except MethodError as error:
            source.mistake_within(path, str(error)[0], f"The brace {error}")
            continue
        for part in parts:
            if isinstance(part, Placeholder):
                named.add(part.name)
                problem = _problem(part, len(parts), parameters, space, fidelity)
                if problem:
                    source.mistake_within(path, part.text, problem)
    if not source.mistakes and not named & {ARGS, OVERRIDES}:
        _note_unused(source, named, parameters, fidelity)


def _problem(
    part: Placeholder, parts: int, parameters: list[str], space: Space | None, fidelity: str | None
) -> str:
    """What is wrong with a placeholder; empty if nothing is."""
    name = part.name
    known = [*parameters, *([fidelity] if fidelity else []), *BUILT_IN]
    if name in (ARGS, OVERRIDES) and name not in parameters:
        return f"{part.text} becomes several words, so it must be a string of its own." * (
            parts > 1
        )
    if name not in known:
        hint = proposal(name, known)
        listed = ", ".join(f"{{{one}}}" for one in known)
        return f"{part.text} is neither a parameter nor the fidelity.{hint} Known are {listed}."
    conditional = space is not None and name in space.parameters and space.parameters[name].when
    if conditional and not part.optional:
        return (
            f"{part.text} is not always used: `{name}` has a `when`. Write {{{name}?}}, which "
            "leaves the option out, too."
        )
    return ""


def _note_unused(
    source: Source, named: set[str], parameters: list[str], fidelity: str | None
) -> None:
    for name in parameters:
        if name not in named:
            source.note(
                ("space", name), f"the command does not use `{name}`: add {{{name}}} to it."
            )
    if fidelity and not named & {fidelity, "fidelity"}:
        source.note(
            ("fidelity",),
            f"the command does not use `{fidelity}`, so every trial trains for the same time: add "
            f"{{{fidelity}}} to it.",
        )


def check_program(source: Source, command: tuple[str, ...], directory: Path) -> None:
    """Note a program, or a script of Python's, that is not there."""
    program = command[0]
    if re.fullmatch(r"\{python\}|(.*/)?python[0-9.]*", program):
        _check_script(source, command, directory)
    if "{" in program:
        return
    local = "/" in program
    found = (directory / program).exists() if local else shutil.which(program)
    if not found:
        where = f"in {directory}" if local else "on the PATH"
        hint = " Use {python} for the Python that runs priorband." * program.startswith("python")
        source.mistake((COMMAND, 0), f"There is no program `{program}` {where}.{hint}")


def _check_script(source: Source, command: tuple[str, ...], directory: Path) -> None:
    """Note a script that Python would not find: the first word that is no option of Python's."""
    for number, word in enumerate(command[1:], start=1):
        if word in ("-m", "-c", "-X", "-W") or "{" in word:
            return  # no file, or one that is not known yet
        if word.startswith("-"):
            continue
        if not (directory / word).exists():
            others = [path.name for path in directory.glob("*.py")]
            hint = proposal(word, others)
            source.mistake((COMMAND, number), f"There is no file `{word}` in {directory}.{hint}")
        return
