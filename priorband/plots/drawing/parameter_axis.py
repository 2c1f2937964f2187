"""The scale of a parameter as positions from 0 to 1, with the ticks that fit on it."""

import numpy as np

from priorband.plots.drawing.texts import short
from priorband.plots.drawing.ticks import number
from priorband.space.base import Parameter
from priorband.space.parameters import Float, Integer

_MOST_CHOICES = 9


def parameter_ticks(parameter: Parameter, most: int = 5, width: int = 12) -> dict[float, str]:
    """The positions of the ticks and their texts, each text at most `width` characters long.

    >>> import priorband as pb
    >>> list(parameter_ticks(pb.Float(1e-4, 1, log=True)).values())
    ['0.0001', '0.001', '0.01', '0.1', '1']
    >>> parameter_ticks(pb.Categorical(["relu", "gelu"]))
    {0.0: 'relu', 1.0: 'gelu'}
    """
    if not isinstance(parameter, Float | Integer):
        return _choice_ticks(tuple(map(str, parameter.choices)), most, width)
    low, high = float(parameter.low), float(parameter.high)
    if not low < high:
        return {float(parameter.encode(parameter.low)): number(low)}
    values = np.array(_powers(low, high, most) if parameter.log else _round(low, high, most))
    start, end = np.log([low, high]) if parameter.log else (low, high)
    codes = ((np.log(values) if parameter.log else values) - start) / (end - start)
    exact = [
        _nearest(parameter, *each) for each in zip(values.tolist(), codes.tolist(), strict=True)
    ]
    return {
        float(parameter.encode(value)): number(float(f"{value:.4g}"))
        for value in dict.fromkeys(exact)
    }


def _nearest(parameter: Float | Integer, value: float, code: float) -> float:
    """The value of the parameter that is nearest to another, or nearly so on a grid."""
    if parameter.grid is not None:
        return parameter.decode(code)
    return value if isinstance(parameter, Float) else round(value)


def _choice_ticks(labels: tuple[str, ...], most: int, width: int) -> dict[float, str]:
    count = len(labels)
    if count == 1:
        return {0.5: short(labels[0], width)}
    step = -(-count // max(most, _MOST_CHOICES))
    return {i / (count - 1): short(labels[i], width) for i in range(0, count, step)}


def _powers(low: float, high: float, most: int) -> list[float]:
    """Powers of ten from low to high, or the ends and the middle if there are fewer than two."""
    first, last = int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9))
    if last - first < 1:
        return [low, float(np.sqrt(low * high)), high]
    step = -(-(last - first) // (most - 1))
    return [float(f"1e{power}") for power in range(first, last + 1, step)]


def _round(low: float, high: float, most: int) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(most - 1, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [float(value) for value in ticks if low <= value <= high]
