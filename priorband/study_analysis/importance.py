"""Parameter importance: which parameters decide whether a configuration is good.

The method is PED-ANOVA (Watanabe, Bansal and Hutter, IJCAI 2023): a parameter is important if its
values among the best configurations are distributed otherwise than among all that were evaluated.
The measure is the Pearson divergence of these two densities, and a parameter's importance is its
share of their sum. This is what suits a study of ours:

- Rungs: losses of different fidelities cannot be compared, so one rung is used: by default that
  with the most configurations, which is the lowest in most studies. What is evaluated on a higher
  rung was selected by the rungs below, and there is little left to tell apart: there, importance
  says what matters among configurations that are good already.
- Priors and incumbents: how values are drawn must not count as importance. A draw from the prior
  has all values near the prior's, a draw near the incumbent has all values near that: if the prior
  is right about one parameter, its draws are the best, and their other values come along. Therefore
  the best are compared with configurations of the same sources: uniform, prior, each incumbent that
  was drawn around, and so on, in the shares that these have among the best. Within a source, values
  are drawn independently. That is not so for what a model proposes: `model_share` says how many of
  the best are from one, and for those a parameter may be called important that only came along.
- Conditions: a parameter is judged where it is active. With a the share of the best in which it is
  active, and b that of all, its divergence counts a^2 / b times: that is its part of the divergence
  of the whole, as in Conditional PED-ANOVA (2026). Whether it is active counts for its parent.

Densities are estimated on cells of the parameter's scale, with normal kernels for numbers. Both
have the bandwidth of the best ones (Scott's rule), so that the best do not differ from all others
merely because they are fewer. For uniform draws this is PED-ANOVA as published.
"""

from typing import Any, final

import numpy as np

from priorband.arguments import checked_count
from priorband.errors import ArgumentError
from priorband.failures import FAILURE_KINDS
from priorband.numeric import whole
from priorband.samplers.base import MODEL
from priorband.streams import Generator, generator
from priorband.study_analysis.ancestry import INCUMBENT
from priorband.study_analysis.cell_densities import ParameterCells, parameter_cells
from priorband.study_analysis.config_columns import config_columns
from priorband.study_analysis.incumbent import ended_before, leaders
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.trial_columns import FAILED, NONE, SUCCEEDED, Bools, Floats, Ints
from priorband.values import frozen

METHOD = "PED-ANOVA"
LEAST = 20
"""From how many configurations on a rung importance is given."""
REPEATS = 200
_LEVEL = 0.95
_TENTH, _FEWEST = 10, 5
_DIVERGED = FAILURE_KINDS.index("diverged")


@final
@frozen
class ParameterImportance:
    """One entry for each searched parameter, in the space's order."""

    names: tuple[str, ...]
    importance: Floats
    """The share of the parameter, from 0 to 1; they sum to 1. NaN if there is not enough."""
    lower: Floats
    """The lower end of the interval."""
    upper: Floats
    """The upper end of the interval."""
    divergence: Floats
    """The Pearson divergence behind it."""
    chance: Floats
    """What this divergence would be at most in 95 of 100 cases if the losses were random."""
    clear: Bools
    """Whether it is above that: if not, the parameter may well be unimportant."""
    count: Ints
    """How many of the configurations have the parameter: it is active in them."""
    enough: bool
    """Whether there are enough configurations; if not, all numbers above are NaN."""
    method: str
    """The name of the method."""
    rung: int
    """The rung whose results were used."""
    fidelity: float
    """Its fidelity."""
    used: int
    """How many configurations have results there."""
    best: int
    """How many of them count as the best."""
    model_share: float
    """The share of the best that a model proposed."""
    least: int
    """How many configurations are enough."""
    level: float
    """The level of the intervals."""


def parameter_importance(
    data: StudyData, rung: int | None = None, least: int = LEAST
) -> ParameterImportance:
    """Return which parameters decide whether a configuration is among the best.

    The best are a tenth of the configurations on a rung, and at least five. A trial that diverged
    counts among the others: its configuration was tried and was bad.

    Intervals are made of configurations that are drawn again with replacement, from a fixed random
    stream: the same study always has the same ones.

    Args:
        data: the study.
        rung: the rung whose results to use; None for the one with the most configurations.
        least: from how many configurations on a rung importance is given; at least 10.

    Raises:
        ArgumentError: if there is no such rung, or `least` is not a whole number of at least 10.

    >>> from priorband import Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1), y=Float(0, 1)), method="random")
    >>> for _ in range(100):
    ...     trial = study.ask()
    ...     _ = study.tell(trial, trial.config["x"])
    >>> found = parameter_importance(study_data(study))
    >>> found.names, found.importance.round(1).tolist(), found.clear.tolist()
    (('x', 'y'), [1.0, 0.0], [True, False])
    """
    if checked_count("least", least) < 2 * _FEWEST:
        raise ArgumentError(f"`least` must be at least {2 * _FEWEST}, got {least!r}.")
    chosen, ids = _chosen(data, rung)
    cells = [
        parameter_cells(column.kind, parameter, column.unit[ids], column.value[ids])
        for column, parameter in zip(
            config_columns(data).parameters, data.problem.space.searched.values(), strict=True
        )
    ]
    best = max(-(-len(ids) // _TENTH), _FEWEST)
    if len(ids) < least:
        return _not_enough(data, cells, chosen, len(ids), least)
    numbers = _numbers(cells, draw_sources(data)[ids], best, generator(0, chosen, "importance"))
    models = data.trials.origin[ids[:best]] == _code(data, MODEL)
    return ParameterImportance(
        names=data.problem.space.names,
        **numbers,
        count=np.array([each.count for each in cells]),
        enough=True,
        method=METHOD,
        rung=chosen,
        fidelity=float(data.ladder.fidelities[chosen]),
        used=len(ids),
        best=best,
        model_share=float(models.mean()),
        least=least,
        level=_LEVEL,
    )


def _chosen(data: StudyData, rung: int | None) -> tuple[int, Ints]:
    """The rung to use, and the trials there, one for each configuration, the best first."""
    top = data.ladder.top
    if rung is not None:
        if not whole(rung) or not 0 <= rung <= top:
            raise ArgumentError(f"`rung` must be a whole number from 0 to {top}, got {rung!r}.")
        return int(rung), _ranked(data, int(rung))
    found = [_ranked(data, each) for each in range(top + 1)]
    most = max(range(top + 1), key=lambda each: (len(found[each]), each))
    return most, found[most]


def _ranked(data: StudyData, rung: int) -> Ints:
    """The trials on a rung that say something, best first, one for each configuration."""
    trials = data.trials
    diverged = (trials.status == FAILED) & (trials.failure == _DIVERGED)
    here = np.flatnonzero((trials.rung == rung) & ((trials.status == SUCCEEDED) | diverged))
    ranked = here[np.lexsort((here, trials.loss[here]))]
    _, first = np.unique(trials.same[ranked], return_index=True)
    once: Ints = ranked[np.sort(first)]
    return once


def draw_sources(data: StudyData) -> Ints:
    """Of each trial: a number for how its configuration was drawn.

    Those with the same number have the same origin and, if they were drawn near the incumbent, the
    same incumbent.
    """
    trials, near = data.trials, _code(data, INCUMBENT)
    leader, ended = np.concatenate(([-1], leaders(data))), ended_before(data)
    around = np.where(trials.origin == near, trials.same[leader[ended[trials.root]]], -1)
    _, numbers = np.unique(np.stack((trials.origin, around)), axis=1, return_inverse=True)
    return np.asarray(numbers, np.int64).reshape(len(trials))


def _code(data: StudyData, origin: str) -> int:
    origins = data.trials.origins
    return origins.index(origin) if origin in origins else NONE


def _numbers(
    cells: list[ParameterCells], source: Ints, best: int, rng: Generator
) -> dict[str, Any]:
    """Importance, interval, divergence and chance of each parameter; the best come first."""
    used = len(source)
    every = np.ones(used)
    first = _first(every, best)
    divergence = _divergences(cells, source, first, every)
    resamples = (_resampled(used, rng) for _ in range(REPEATS))
    repeats = [_divergences(cells, source, _first(w, best), w) for w in resamples]
    picks = (_same_sources(source, first, rng) for _ in range(REPEATS))
    by_chance = [_divergences(cells, source, picked, every) for picked in picks]
    shares, tails = _shares(divergence), 100 * (1 - _LEVEL) / 2
    ends = np.percentile([_shares(each) for each in repeats], (tails, 100 - tails), axis=0)
    chance = np.percentile(by_chance, 100 * _LEVEL, axis=0)
    return {
        "importance": shares,
        "lower": np.minimum(ends[0], shares),
        "upper": np.maximum(ends[1], shares),
        "divergence": divergence,
        "chance": chance,
        "clear": divergence > chance,
    }


def _divergences(cells: list[ParameterCells], source: Ints, best: Floats, every: Floats) -> Floats:
    """The divergence of each parameter, given the weights of configurations in both groups.

    All are weighted so that each source has the share that it has among the best.
    """
    wanted, present = np.bincount(source, best), np.bincount(source, every)
    factor = np.divide(wanted, present, out=np.zeros(len(present)), where=present > 0)
    alike = every * factor[source] * (every.sum() / best.sum())
    return np.array([each.divergence(best, alike) for each in cells])


def _first(weights: Floats, best: int) -> Floats:
    """The weights of the first `best`, if each configuration counts as often as it weighs."""
    return np.clip(best - (np.cumsum(weights) - weights), 0.0, weights)


def _resampled(count: int, rng: Generator) -> Floats:
    """How often each of some configurations is drawn, with replacement."""
    drawn = (rng.random(count) * count).astype(np.int64)
    return np.bincount(drawn, minlength=count).astype(float)


def _same_sources(source: Ints, best: Floats, rng: Generator) -> Floats:
    """A weight of 1 for configurations at random, as many of each source as among the best."""
    order = np.lexsort((rng.random(len(source)), source))
    sizes = np.bincount(source)
    place = np.arange(len(source)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    weights = np.zeros(len(source))
    weights[order] = place < np.bincount(source, best)[source[order]]
    return weights


def _shares(divergence: Floats) -> Floats:
    """The parts of the sum; equal parts if nothing diverges."""
    total = divergence.sum()
    return divergence / total if total > 0 else np.full(len(divergence), 1 / len(divergence))


def _not_enough(
    data: StudyData, cells: list[ParameterCells], rung: int, used: int, least: int
) -> ParameterImportance:
    unknown = np.full(len(cells), np.nan)
    return ParameterImportance(
        names=data.problem.space.names,
        importance=unknown,
        lower=unknown,
        upper=unknown,
        divergence=unknown,
        chance=unknown,
        clear=np.zeros(len(cells), bool),
        count=np.array([each.count for each in cells]),
        enough=False,
        method=METHOD,
        rung=rung,
        fidelity=float(data.ladder.fidelities[rung]),
        used=used,
        best=0,
        model_share=np.nan,
        least=least,
        level=_LEVEL,
    )
