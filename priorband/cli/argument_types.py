"""What words on the command line mean: numbers, limits, fidelities."""

import argparse
import math
import re
from collections.abc import Callable

Command = Callable[[str, str], argparse.ArgumentParser]
"""Makes the parser of a command from its words and what it does."""

STUDY = "a folder, such as runs/resnet, or postgresql://host/database#resnet"

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def number(text: str) -> float:
    """A finite number, whole where it is written so.

    >>> number("12"), number("0.5")
    (12, 0.5)
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        made = float(text)
    except ValueError:
        made = math.nan
    if not math.isfinite(made):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return made


def above_zero(text: str) -> float:
    """A number above 0."""
    made = number(text)
    if made <= 0:
        raise argparse.ArgumentTypeError(f"it must be above 0, got {text}")
    return made


def at_least_zero(text: str) -> float:
    """A number of at least 0."""
    made = number(text)
    if made < 0:
        raise argparse.ArgumentTypeError(f"it must be at least 0, got {text}")
    return made


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it must be a whole number of at least 1, got {text!r}")
    return int(text)


def place(text: str) -> str:
    """The name of something in a module: `module:name`."""
    path, _, name = text.partition(":")
    if path.endswith(".py") or not _NAME.fullmatch(text):
        hint = ""
        if ".py" in path or "/" in path:
            module = path.removesuffix(".py").strip("./").replace("/", ".")
            hint = f"; for a file in this folder write {module}:{name or 'function'}"
        raise argparse.ArgumentTypeError(f"{text!r} is not module:name{hint}")
    return text


def method(text: str) -> str:
    """A method: its name, or where it is, as `module:name`."""
    return place(text) if ":" in text else text


def space(text: str) -> str:
    """Where a space is: `module:name`, or a JSON file."""
    return text if text.endswith(".json") else place(text)


def fidelity(text: str) -> str:
    """A fidelity: `name:low:high`, or where it is, as `module:name`."""
    parts = text.split(":")
    if len(parts) == 3 and parts[0]:
        number(parts[1]), number(parts[2])
        return text
    if len(parts) != 2 or not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither name:low:high, such as epochs:1:81, nor module:name"
        )
    return text


def retries(text: str) -> dict[str, int]:
    """How many attempts each kind of failure is given.

    >>> retries("raised=2,memory=1")
    {'raised': 2, 'memory': 1}
    """
    made = {}
    for part in text.split(","):
        kind, _, times = part.partition("=")
        if not kind.strip() or not times.strip().isdecimal():
            raise argparse.ArgumentTypeError(
                f"{part!r} is not kind=attempts, such as raised=2,memory=1"
            )
        made[kind.strip()] = int(times)
    return made
