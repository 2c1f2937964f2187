"""The metrics of a script: found in what it prints, and in the file that it reports to."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

from priorband.values import frozen

_NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)"
VALUE, STEP = "value", "step"


@final
@frozen
class ReportedPoint:
    """What a script has reported at once: numbers by name, and the step if there is one."""

    metrics: dict[str, float]
    step: float | None = None


@final
@frozen
class PrintedMetric:
    """How to find a metric in a printed line.

    Without a pattern, `val_loss=0.31` and `val_loss: 0.31` are found, and the step if the same line
    has one: `epoch 3`, `step=3`, or the fidelity by its name.
    """

    name: str
    pattern: str | None = None
    fidelity: str | None = None

    def find(self, line: str) -> ReportedPoint | None:
        """The last value in a line; None if there is none.

        >>> PrintedMetric("val_loss", fidelity="epochs").find("Epoch 3/27 - val_loss: 0.31")
        ReportedPoint(metrics={'val_loss': 0.31}, step=3)
        """
        if self.pattern is None and self.name not in line:
            return None
        matches = [*re.finditer(self.pattern or usual_pattern(self.name), line)]
        if not matches:
            return None
        last = matches[-1]
        groups = last.groupdict()
        value = _number(groups[VALUE] if VALUE in groups else last[1])
        if value is None:
            return None
        step = _number(groups[STEP]) if STEP in groups else self._step(line)
        return ReportedPoint({self.name: value}, step)

    def _step(self, line: str) -> float | None:
        names = dict.fromkeys(["step", "epoch", *self._fidelity_names()])
        either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        match = re.search(rf"(?i)(?<![\w-])(?:{either})['\"]?\s*[=: ]\s*(\d+(?:\.\d+)?)\b", line)
        return _number(match[1]) if match else None

    def _fidelity_names(self) -> list[str]:
        return [self.fidelity, self.fidelity.removesuffix("s")] if self.fidelity else []


def usual_pattern(name: str) -> str:
    """The pattern that finds `name=value` and `name: value` in a line."""
    return rf"(?<![\w./-]){re.escape(name)}['\"]?\s*[=:]\s*({_NUMBER})(?![\w.])"


def printed_names(line: str) -> list[str]:
    """The names of all numbers in a line that are printed as `name=value` or `name: value`.

    >>> printed_names("Epoch: 3, val_loss=0.31, took: 3s")
    ['Epoch', 'val_loss']
    """
    return re.findall(rf"(?<![\w./-])([A-Za-z_][\w./-]*)['\"]?\s*[=:]\s*{_NUMBER}(?![\w.])", line)


@final
class ReportFile:
    """The file that a script appends JSON lines to, read as it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0
        self.rejected = ""
        """The last line that is no report; empty if there was none."""

    def new_points(self) -> Iterator[ReportedPoint]:
        """What was added since the last call, in complete lines."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._read)
                text = file.read()
        except OSError:
            return
        complete = text[: text.rfind(b"\n") + 1]
        self._read += len(complete)
        for line in complete.splitlines():
            point = _point(line.decode(errors="replace"))
            if point is None:
                self.rejected = line.decode(errors="replace")[:200]
            else:
                yield point


def _point(line: str) -> ReportedPoint | None:
    """The report in a line of JSON; None if it is none."""
    try:
        data = json.loads(line)
    except ValueError:
        return None
    if not isinstance(data, dict):
        return None
    numbers = {str(name): _number(value) for name, value in data.items()}
    step = numbers.pop(STEP, None)
    metrics = {name: value for name, value in numbers.items() if value is not None}
    return ReportedPoint(metrics, step) if metrics else None


def _number(value: Any) -> float | None:
    """A number, as an int if it is written as one; None if it is no number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, str):
        try:
            return int(value) if re.fullmatch(r"[-+]?\d+", value) else float(value)
        except ValueError:
            return None
    return value
