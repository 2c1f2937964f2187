"""Types of command-line arguments, each a function that checks and converts the text."""

import argparse
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from priorband.storage.addresses import is_address, shown

Command = Callable[[str, str], argparse.ArgumentParser]
"""Creates the parser of a command from its name and a one-line summary."""

STUDY = (
    "a folder, such as runs/resnet, a study file, such as study.toml, or "
    "postgresql://user@host/database#resnet. Anyone on this machine can see a password that is "
    "part of a command: set PGPASSWORD, write it to ~/.pgpass, or name a service in "
    "~/.pg_service.conf, as in postgresql:///?service=lab#resnet"
)

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def number(text: str) -> float:
    """A finite number, as an int if it is written as one.

    >>> number("12"), number("0.5")
    (12, 0.5)
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"it must be a number, such as 12 or 0.5, got {text!r}")
    return value


def whole_number(text: str) -> int:
    """A whole number.

    >>> whole_number("-3")
    -3
    """
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"it must be a whole number, such as 2, got {text!r}"
        ) from None


def trial_number(text: str) -> int:
    """The number of a trial.

    >>> trial_number("17")
    17
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"it must be the number of a trial, such as 17, got {text!r}"
        )
    return int(text)


def above_zero(text: str) -> float:
    """A number above 0."""
    value = number(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"it must be above 0, got {text}")
    return value


def at_least_zero(text: str) -> float:
    """A number of at least 0."""
    value = number(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"it must be at least 0, got {text}")
    return value


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it must be a whole number of at least 1, got {text!r}")
    return int(text)


def object_name(text: str) -> str:
    """The name of an object in a module or a file: `module:name` or `file.py:name`."""
    refuse_address(text)
    path, _, name = text.rpartition(":")
    in_file = path.endswith(".py") and _NAME.fullmatch(f"file:{name}")
    if not in_file and (path.endswith(".py") or not _NAME.fullmatch(text)):
        file = path or text
        hint = f", such as {file}:train" if file.endswith(".py") else ""
        raise argparse.ArgumentTypeError(
            f"{text!r} has neither the form module:name nor file.py:name{hint}"
        )
    return text


def method_name(text: str) -> str:
    """The name of a built-in method, or `module:name` of another."""
    return object_name(text) if ":" in text else text


def space_name(text: str) -> str:
    """A space: `module:name`, or the path of a JSON file."""
    return text if text.endswith(".json") else object_name(text)


def fidelity_name(text: str) -> str:
    """A fidelity: `name:low:high`, or `module:name`."""
    refuse_address(text)
    parts = text.split(":")
    if len(parts) == 3 and parts[0]:
        for name, part in zip(("low", "high"), parts[1:], strict=True):
            try:
                number(part)
            except argparse.ArgumentTypeError as error:
                raise argparse.ArgumentTypeError(f"`{name}` of {text!r}: {error}") from None
        if number(parts[1]) > number(parts[2]):
            swapped = ":".join((parts[0], parts[2], parts[1]))
            raise argparse.ArgumentTypeError(
                f"the shortest training comes first, as in {swapped}, got {text!r}"
            )
        return text
    if len(parts) != 2 or not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither name:low:high, such as epochs:1:81, nor module:name"
        )
    return text


def retries(text: str) -> dict[str, int]:
    """How many attempts each kind of failure gets.

    >>> retries("raised=2,memory=1")
    {'raised': 2, 'memory': 1}
    """
    refuse_address(text)
    attempts = {}
    for part in text.split(","):
        kind, _, number_text = part.partition("=")
        if not kind.strip() or not number_text.strip().isdecimal():
            raise argparse.ArgumentTypeError(
                f"{part!r} does not have the form kind=attempts, such as raised=2,memory=1"
            )
        attempts[kind.strip()] = int(number_text)
    return attempts


def refuse_address(text: str) -> None:
    """Raise an error without a password if the address of a study is given for something else."""
    if is_address(text):
        raise argparse.ArgumentTypeError(f"it cannot be the address of a study, {shown(text)}")


def without_secrets(text: str, words: Iterable[str]) -> str:
    """The text, with the addresses among the words of the command line as they may be shown."""
    forms = dict[str, str]()
    for word in words:
        name, _, setting = word.partition("=")
        for address in filter(is_address, (word, name, setting)):
            written = (address, repr(address)[1:-1], str(Path(address)))
            forms |= dict.fromkeys(written, shown(address))
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, forms[form])
    return text
