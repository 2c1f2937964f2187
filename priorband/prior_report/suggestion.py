"""A prior for the next study, from the best full trainings of this one.

The centre of a number is its value in the best configuration. Its width, as a fraction of the (log)
range, is sqrt(0.2^2 + s^2), where s is the standard deviation among the five best configurations.
So it is never below 0.2: after 20 full trainings the optimum is about that far from the best
configuration, even where the best ones agree (docs/prior-report.md has the figures). Where the
width would be above 0.5, the parameter gets no belief. A choice gets one more than the number of
times that it is in the five best configurations.
"""

from collections.abc import Iterator, Mapping
from math import floor, log10
from typing import Any

import numpy as np

from priorband.errors import ConfigError, FormatError
from priorband.prior_report.report import SuggestedPrior
from priorband.space.base import Parameter
from priorband.space.beliefs import Normal
from priorband.space.choices import Ordinal
from priorband.space.densities import Array
from priorband.space.space import Space
from priorband.toml_text import toml_key, toml_value
from priorband.trial import Observation

TOP = 5
LEAST_WIDTH = 0.2
MOST_WIDTH = 0.5
DIGITS = 3

Beliefs = Mapping[str, Normal | dict[Any, int]]


def suggested_prior(space: Space, best: list[Observation], rows: Array) -> SuggestedPrior:
    """The prior to begin the next study with; `rows` are the encoded configurations."""
    beliefs = suggested_beliefs(space, best, rows)
    return SuggestedPrior(_python(beliefs), _toml(space, beliefs), tuple(beliefs))


def suggested_beliefs(space: Space, best: list[Observation], rows: Array) -> Beliefs:
    """The beliefs by parameter, for the argument `prior` of a study."""
    return dict(_beliefs(space, best[:TOP], rows[:TOP]))


def _beliefs(
    space: Space, best: list[Observation], rows: Array
) -> Iterator[tuple[str, Normal | dict[Any, int]]]:
    for column, (name, parameter) in enumerate(space.searched.items()):
        codes = rows[:, column]
        active = ~np.isnan(codes)
        if not active.any():
            continue
        if parameter.size is not None:
            counts = np.bincount(codes[active].astype(np.intp), minlength=parameter.size) + 1
            yield name, dict(zip(parameter.choices, counts.tolist(), strict=True))
            continue
        width = float(np.hypot(LEAST_WIDTH, codes[active].std()))
        if width <= MOST_WIDTH:
            value = best[int(active.argmax())].config[name]
            yield name, Normal(rounded(parameter, value), round(width, 2))


def rounded(parameter: Parameter, value: Any) -> Any:
    """A number with few digits, if that is still one of the parameter's values.

    On a log scale three digits are kept, else thousandths of the range.
    """
    if isinstance(parameter, Ordinal) or not isinstance(value, float):
        return value
    low, high = parameter.decode(0.0), parameter.decode(1.0)
    if getattr(parameter, "log", False):
        short = float(f"{value:.{DIGITS}g}")
    else:
        short = round(value, DIGITS - floor(log10(high - low)))
    try:
        return parameter.check(min(max(short, low), high))
    except ConfigError:  # it is not a multiple of the step
        return value


def _python(beliefs: Beliefs) -> str:
    lines = (f"    {name!r}: {_python_belief(belief)}," for name, belief in beliefs.items())
    return "\n".join(["prior = {", *lines, "}"])


def _python_belief(belief: Normal | dict[Any, int]) -> str:
    if isinstance(belief, Normal):
        return f"pb.Normal({belief.centre!r}, sigma={belief.sigma!r})"
    return repr(belief)


def _toml(space: Space, beliefs: Beliefs) -> str:
    """The section `[prior]`; a comment in place of what TOML cannot hold."""
    lines = ["[prior]"]
    for name, belief in beliefs.items():
        try:
            lines.append(f"{toml_key(name)} = {toml_value(_toml_belief(belief))}")
        except FormatError:
            lines.append(f"# {toml_key(name)}: its choices cannot be written in TOML")
    return "\n".join(lines)


def _toml_belief(belief: Normal | dict[Any, int]) -> dict[str, Any]:
    if isinstance(belief, Normal):
        return {"normal": belief.centre, "sigma": belief.sigma}
    return {"weights": list(belief.values())}
