"""How a script reports: `report_metric` appends JSON lines to the file in `PRIORBAND_REPORT`.

Scripts import this module. It must not import numpy, nor anything else that takes time.
"""

import json
import os
from typing import Any, SupportsFloat

REPORT = "PRIORBAND_REPORT"


def report_metric(*, step: SupportsFloat | None = None, **metrics: SupportsFloat) -> None:
    """Report numbers from a training script that a study file runs.

    The last value of the study's metric is the result of the trial. Values with a step are also
    points of its learning curve. A metric called `cost` counts towards the cost of the study.
    Outside of a study this does nothing, so the script also runs by itself.

    Args:
        step: how far the training has come, such as the number of epochs so far, in total.
        metrics: numbers by name, such as `val_loss=0.31`.

    Raises:
        TypeError: if something is not a number.

    >>> report_metric(val_loss=0.31, step=3)
    """
    if not metrics:
        raise TypeError("report_metric needs a number with its name, such as val_loss=0.31.")
    line = {name: _number(name, value) for name, value in metrics.items()}
    if step is not None:
        line["step"] = _number("step", step)
    place = os.environ.get(REPORT)
    if place:
        with open(place, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def _number(name: str, value: Any) -> float:
    """A number of Python, numpy or torch as one that JSON can hold."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, bool | str | bytes) or not hasattr(plain, "__float__"):
        raise TypeError(f"report_metric needs a number for `{name}`, got {plain!r}.")
    return plain if isinstance(plain, int) else float(plain)
