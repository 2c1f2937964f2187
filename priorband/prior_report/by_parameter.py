"""What the results say about the belief in each parameter.

Two things are asked about the values that a belief prefers:

- Are they better? One parameter is moved over its range in the best configurations, while the
  others stay. The effect of the belief is the mean of the fitted surface with the belief's weights,
  less the mean with equal weights, over its standard error.
- Are they those of the best full trainings? The log odds of a value are the log of the belief's
  density there, less that of uniform draws; the n-th best training has weight 1/n.

Both are combined into log odds that the belief helps. The weights are those of a logistic
regression on benchmarks: see docs/prior-report.md.
"""

from math import exp, nan, tanh
from typing import Any, NamedTuple

import numpy as np

from priorband.prior_report.overall import weighted_mean
from priorband.prior_report.report import ParameterReport, Verdict
from priorband.prior_report.surface import Difference, Surface
from priorband.space.base import Parameter
from priorband.space.densities import Array, Density
from priorband.space.prior import Independent, says_nothing
from priorband.space.space import Space
from priorband.trial import Observation

LEAST_FULL = 5
"""A verdict needs this many full trainings of configurations with the parameter."""
BASES = 3
"""How many of the best configurations the parameter is moved in."""
POINTS = 21
"""How many values of a number are compared."""
BASE_LOG_ODDS = 1.04
EFFECT_WEIGHT, EFFECT_BOUND = 0.30, 4.0
BEST_WEIGHT = 1.08
HELPS = 1.4
"""Log odds above this: the belief helps. Below 0 it harms."""
_FINE = 2001


class BeliefCase(NamedTuple):
    """The belief in one parameter, and the best full trainings that have it, best first."""

    column: int
    name: str
    parameter: Parameter
    density: Density
    best: list[Observation]
    rows: Array

    @property
    def codes(self) -> Array:
        """The parameter's values in these full trainings, encoded."""
        return np.asarray(self.rows[:, self.column])


def parameter_reports(
    prior: Independent, best: list[Observation], rows: Array, surface: Surface | None
) -> tuple[ParameterReport, ...]:
    """A report on each searched parameter; without a surface, there is not enough evidence."""
    return tuple(
        _report(prior.space, belief, prior.densities, surface)
        for belief in _beliefs(prior, best, rows)
    )


def _beliefs(prior: Independent, best: list[Observation], rows: Array) -> list[BeliefCase]:
    beliefs = []
    for column, (name, parameter) in enumerate(prior.space.searched.items()):
        having = np.flatnonzero(~np.isnan(rows[:, column])).tolist()
        with_it = [best[i] for i in having]
        density = prior.densities[column]
        beliefs.append(BeliefCase(column, name, parameter, density, with_it, rows[having]))
    return beliefs


def _report(
    space: Space, belief: BeliefCase, densities: tuple[Density, ...], surface: Surface | None
) -> ParameterReport:
    enough = surface is not None and len(belief.best) >= LEAST_FULL
    flat = says_nothing(belief.density)
    effect, log_odds = Difference(nan, nan), nan
    verdict: Verdict = "no belief" if flat else "not enough evidence"
    if enough and not flat and surface is not None:
        effect = effect_of(space, belief, densities, surface)
        log_odds = combined(effect, weighted_mean(log_ratios(belief, belief.codes)))
        verdict = "harms" if log_odds < 0 else "helps" if log_odds > HELPS else "neutral"
    wants, better = _wish(belief) if enough and not flat else ("", None)
    first = belief.codes[:1]
    return ParameterReport(
        name=belief.name,
        verdict=verdict,
        full_trainings=len(belief.best),
        log_odds=log_odds,
        effect=effect.mean,
        error=effect.error,
        believed=belief.parameter.decode(belief.density.mode),
        best=belief.best[0].config[belief.name] if belief.best else None,
        quantile=_quantile(belief, float(first[0])) if len(first) else nan,
        odds=exp(float(log_ratios(belief, first)[0])) if len(first) and not flat else nan,
        wants=wants,
        better=better,
    )


def combined(effect: Difference, best: float) -> float:
    """The log odds that a belief helps, from its effect and the log odds of the best values."""
    ratio = min(max(effect.ratio, -EFFECT_BOUND), EFFECT_BOUND)
    return BASE_LOG_ODDS - EFFECT_WEIGHT * ratio + BEST_WEIGHT * tanh(best / 2.0)


def log_ratios(belief: BeliefCase, codes: Array) -> Array:
    """How much likelier the belief makes values than uniform draws do, as logs."""
    size = belief.parameter.size
    return belief.density.logpdf(codes) + (0.0 if size is None else float(np.log(size)))


def effect_of(
    space: Space, belief: BeliefCase, densities: tuple[Density, ...], surface: Surface
) -> Difference:
    """What the belief adds to the scores of the best configurations, against equal weights."""
    size = belief.parameter.size
    codes = np.linspace(0.0, 1.0, POINTS) if size is None else np.arange(float(size))
    logs = belief.density.logpdf(codes)
    chances = np.exp(logs - logs.max())
    bases = belief.rows[:BASES]
    weights = np.tile(chances / chances.sum() - 1.0 / len(codes), len(bases)) / len(bases)
    rows = np.repeat(bases, len(codes), axis=0)
    rows[:, belief.column] = np.tile(codes, len(bases))
    if space.conditional:  # other values of a parent make other parameters active
        modes = np.array([density.mode for density in densities])
        rows = space.marked(np.where(np.isnan(rows), modes, rows))
    return surface.difference(rows, weights)


def _wish(belief: BeliefCase) -> tuple[str, Any]:
    """In which direction the best values are from the believed one, and what they are."""
    codes, weights = belief.codes, 1.0 / np.arange(1, len(belief.codes) + 1)
    if belief.parameter.size is not None:
        shares = np.bincount(codes.astype(np.intp), weights, belief.parameter.size)
        favourite = float(np.argmax(shares))
        wish = "another choice" if favourite != belief.density.mode else ""
        return wish, belief.parameter.decode(favourite)
    middle = float(weights @ codes / weights.sum())
    better = belief.parameter.decode(middle)
    if better == belief.parameter.decode(belief.density.mode):
        return "", better
    return ("higher" if middle > belief.density.mode else "lower"), better


def _quantile(belief: BeliefCase, code: float) -> float:
    """The probability of values below one, and half of its own; NaN for choices without order."""
    if belief.parameter.size is not None:
        return nan
    middles = (np.arange(_FINE) + 0.5) / _FINE
    chances = np.exp(belief.density.logpdf(middles))
    return float(chances[middles < code].sum() / chances.sum())
