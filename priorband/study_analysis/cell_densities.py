"""Densities of a parameter's values, estimated on the cells of its scale."""

import math
from functools import lru_cache
from typing import Any, final

import numpy as np

from priorband.space.base import Parameter
from priorband.space.normal import cdf
from priorband.space.parameters import Float, Integer
from priorband.study_analysis.trial_columns import Floats, Ints
from priorband.values import frozen

CELLS = 50
"""Into how many cells the scale of a number is divided at most."""
_SCOTT = 1.059
_SMALLEST = 0.3
"""The smallest bandwidth in cells: nearly all of a kernel's mass is then within its cell."""
_INACTIVE = -1


@final
@frozen
class ParameterCells:
    """The values of a parameter in some configurations, as cells of its scale."""

    cell: Ints
    """Of each configuration: its cell; -1 if the parameter is inactive."""
    size: int
    """The number of cells."""
    ordered: bool
    """Whether neighbours are alike: then densities are smoothed."""

    @property
    def count(self) -> int:
        """In how many configurations the parameter is active."""
        return int(np.count_nonzero(self.cell != _INACTIVE))

    def divergence(self, best: Floats, every: Floats) -> float:
        """The Pearson divergence of the best configurations from all, as weights of each.

        Where the parameter is active in a part of them only, it is that of these parts times
        a^2 / b: with a the share of the best in which it is active, and b that of all.
        """
        active = self.cell != _INACTIVE
        top: Any = np.bincount(self.cell[active], best[active], self.size)
        region: Any = np.bincount(self.cell[active], every[active], self.size)
        if not top.sum():
            return 0.0
        kernels = _kernels(self.size, _bandwidth(top)) if self.ordered else np.eye(self.size)
        p, q = _density(top, kernels), _density(region, kernels)
        a, b = top.sum() / best.sum(), region.sum() / every.sum()
        return float(a * a / b * (q @ (p / q - 1.0) ** 2))


def parameter_cells(kind: str, parameter: Parameter, unit: Floats, value: Floats) -> ParameterCells:
    """The cells of a parameter's values, given as positions from 0 to 1 and as numbers."""
    if isinstance(parameter, Float | Integer):
        size = min(_values(parameter), CELLS)
        place = np.minimum(np.floor(np.nan_to_num(unit) * size), size - 1)
    else:
        size, place = len(parameter.choices), np.nan_to_num(value)
    cell = np.where(np.isnan(unit), _INACTIVE, place).astype(np.int64)
    return ParameterCells(cell, size, kind != "categorical")


def _values(parameter: Float | Integer) -> int:
    """How many values a number can have, on a scale on which they are equally far apart."""
    if parameter.grid is not None:
        return parameter.grid.count
    if isinstance(parameter, Integer) and not parameter.log:
        return parameter.high - parameter.low + 1
    return CELLS


def _bandwidth(counts: Floats) -> float:
    """Scott's rule for the counts of cells; the spread is the smaller of two measures.

    It is in cells, to one decimal, so that kernels can be used again.
    """
    total = float(counts.sum())
    places = np.arange(len(counts))
    mean = float(places @ counts) / total
    deviation = math.sqrt(float((places - mean) ** 2 @ counts) / max(total - 1.0, 1.0))
    reached = np.cumsum(counts) / total
    low, high = (int(np.searchsorted(reached, share - 1e-12)) for share in (0.25, 0.75))
    spread = min(deviation, (high - low) / 1.34) if high > low else deviation
    return float(max(round(_SCOTT * spread * total**-0.2, 1), _SMALLEST))


@lru_cache(1000)
def _kernels(size: int, bandwidth: float) -> Floats:
    """Row i is the mass in each cell of a normal around cell i, truncated to all cells."""
    steps = [cdf((offset - 0.5) / bandwidth) for offset in range(1 - size, size + 1)]
    mass = np.diff(steps)  # of a cell at each distance
    rows = np.stack([mass[size - 1 - i : 2 * size - 1 - i] for i in range(size)])
    kernels: Floats = rows / rows.sum(axis=1, keepdims=True)
    return kernels


def _density(counts: Floats, kernels: Floats) -> Floats:
    """The probability of each cell; one more value is spread over all of them."""
    smooth: Floats = (counts @ kernels + 1.0 / len(counts)) / (counts.sum() + 1.0)
    return smooth
