"""Ticks and limits of the axes, with few and short numbers that do not overlap."""

from math import log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Limits = tuple[float, float]
_FEW, _DECADES = 6, 1.5


def scale_x(axes: "Axes", limits: Limits, numbers: bool = True) -> None:
    """Set the limits of the x-axis and whether it shows numbers."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_xlim(*limits)
    axes.xaxis.set_major_locator(MaxNLocator(_FEW, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(number))
    axes.tick_params(axis="x", labelbottom=numbers)


def scale_y(axes: "Axes", limits: Limits, log: bool, numbers: bool = True) -> None:
    """Set the limits and the scale of the y-axis and whether it shows numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    if log:
        axes.set_yscale("log")
        narrow = log10(limits[1] / limits[0]) < _DECADES
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.yaxis.set_major_locator(MaxNLocator(_FEW, steps=[1, 2, 4, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(number))
    axes.set_ylim(*limits)
    axes.tick_params(axis="y", which="both", labelleft=numbers)


def number(value: float, _: object = None) -> str:
    """A number as short text.

    >>> number(0.1 + 0.2), number(-0.0), number(1e-5), number(-250000.0)
    ('0.3', '0', '1e\N{MINUS SIGN}5', '\N{MINUS SIGN}250000')
    """
    digits, _, power = f"{round(float(value), 12) + 0.0:g}".partition("e")
    short = f"{digits}e{int(power)}" if power else digits
    return short.replace("-", "\N{MINUS SIGN}")
