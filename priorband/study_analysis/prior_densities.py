"""The prior as one density per parameter, at positions on the parameter's scale."""

import math
from typing import Any, final

import numpy as np

from priorband.space.base import Parameter
from priorband.space.densities import Choices, Density, Steps
from priorband.space.parameters import Float, Integer
from priorband.space.prior import Independent, Prior
from priorband.space.space import Space
from priorband.streams import generator
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import Floats
from priorband.values import frozen

_PLACES = 200
"""The number of positions at which a density is computed."""
_FINE = 200
"""The number of positions over which the probability of an ordinal's choice is summed."""
_SAME = 1e-9
_DRAWS = 5000
_BINS = 40
"""A prior of the user's own has no densities by parameter: they are counted from draws."""


@final
@frozen
class PriorDensity:
    """What the prior says of one searched parameter."""

    name: str
    position: Floats
    """Positions from 0 to 1 on the parameter's scale, as `ParameterColumn.unit`; of choices, their
    own, spread evenly."""
    density: Floats
    """Of a number: the density there, 1 if the prior says nothing. Of a choice: its probability."""
    mode: float
    """The position of the value that is expected to be best; NaN if it is inactive there."""
    flat: bool
    """Whether the prior says nothing about the parameter."""
    sampled: bool
    """Whether the density was counted from draws, and is only approximate."""


def prior_densities(data: StudyData) -> tuple[PriorDensity, ...]:
    """Return the density of the prior for each searched parameter, in the space's order.

    It is the prior of now: the last one, if it was changed.

    >>> from priorband import Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 2, prior=0.5)), method="random+prior")
    >>> [found] = prior_densities(study_data(study))
    >>> found.mode, found.flat, bool(found.density[50] > 1 > found.density[199])
    (0.25, False, True)
    """
    prior, space = data.state.prior, data.problem.space
    parts = prior.densities if isinstance(prior, Independent) else _counted(prior, space)
    return tuple(
        _described(prior, name, parameter, part)
        for (name, parameter), part in zip(space.searched.items(), parts, strict=True)
    )


def _described(prior: Prior, name: str, parameter: Parameter, part: Density) -> PriorDensity:
    if isinstance(parameter, Float | Integer):
        position = np.linspace(0, 1, _PLACES)
        density = np.exp(part.logpdf(position))
    else:
        position = _spread(np.arange(len(parameter.choices)), parameter)
        density = _probabilities(parameter, part)
    return PriorDensity(
        name=name,
        position=position,
        density=density,
        mode=_mode(prior, name, parameter),
        flat=bool(np.ptp(density) < _SAME),
        sampled=not isinstance(prior, Independent),
    )


def _probabilities(parameter: Parameter, part: Density) -> Floats:
    """The probability of each choice: of an ordinal's, the area over its share of [0, 1]."""
    count = len(parameter.choices)
    if parameter.size is not None:
        return np.exp(part.logpdf(np.arange(float(count))))
    places = (np.arange(count * _FINE) + 0.5) / (count * _FINE)
    areas: Floats = np.exp(part.logpdf(places)).reshape(count, _FINE).sum(axis=1)
    shares: Floats = areas / areas.sum()
    return shares


def _spread(index: Any, parameter: Parameter) -> Floats:
    """Positions of choices, spread evenly."""
    count = len(parameter.choices)
    positions: Floats = np.asarray(index, float) / (count - 1) if count > 1 else np.full(1, 0.5)
    return positions


def _mode(prior: Prior, name: str, parameter: Parameter) -> float:
    if name not in prior.mode:
        return math.nan
    value = prior.mode[name]
    if isinstance(parameter, Float | Integer):
        return float(parameter.encode(value))
    return float(_spread([list(parameter.choices).index(value)], parameter)[0])


def _counted(prior: Prior, space: Space) -> list[Density]:
    """Densities of each parameter, counted from draws where it is active."""
    rng = generator(0, 0, "prior densities")
    rows = np.array([prior.sample(rng) for _ in range(_DRAWS)])
    found = list[Density]()
    for column, size in zip(rows.T, space.sizes, strict=True):
        active = column[~np.isnan(column)]
        bins = np.histogram(active, _BINS if size is None else size, (0, size or 1))[0]
        shares = bins / len(active) if len(active) else np.full(len(bins), 1 / len(bins))
        heights = tuple((shares * _BINS).tolist())
        edges = tuple(np.linspace(0, 1, _BINS + 1).tolist())
        found.append(Steps(edges, heights) if size is None else Choices(tuple(shares.tolist())))
    return found
