"""The probabilities of the sources of new configurations over budget, and what led to them.

They are not stored: they follow from what had happened before each decision. The state is built up
event by event once more, which is cheap, and the probabilities are computed at some of the draws
only. Nothing is drawn again where the probabilities do not depend on it, so a model is not fitted.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, final

import numpy as np

from priorband.arguments import checked_count
from priorband.events import Asked
from priorband.optimizers import Opening, Optimizer
from priorband.samplers.base import MODEL, Chances, Sampler
from priorband.samplers.combine import Mix, Staged
from priorband.samplers.gaussian import GPSearch
from priorband.samplers.grid import Grid
from priorband.samplers.local import Crossover, Hypersphere, Perturb
from priorband.samplers.parzen import TPE
from priorband.samplers.scores import Scores
from priorband.samplers.simple import FromPrior, FromUniform, PriorMode
from priorband.state import State
from priorband.streams import generator
from priorband.study_analysis.incumbent import ended_before
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.spread import spread_positions
from priorband.study_analysis.trial_columns import Floats, Ints
from priorband.trial import Trial
from priorband.values import frozen

MOST = 500
"""How many decisions are repeated by default."""
_SOURCES: Mapping[type, str] = {
    FromUniform: "uniform",
    FromPrior: "prior",
    **dict.fromkeys((Perturb, Crossover, Hypersphere), "incumbent"),
    **dict.fromkeys((GPSearch, TPE), MODEL),
    PriorMode: "mode",
    Grid: "grid",
}


@final
@frozen
class ChancesOverBudget:
    """One entry for each drawn configuration whose decision was repeated, in order."""

    trial: Ints
    """The trial that the configuration was drawn for."""
    rung: Ints
    origin: tuple[str, ...]
    """What was drawn in the end."""
    spent: Floats
    """What had been spent when it was drawn, in full trainings."""
    time: Floats
    """When it was drawn, in seconds since the study's creation; NaN if unknown."""
    sources: tuple[str, ...]
    """The names of the sources, such as "uniform", "prior" and "incumbent"."""
    probability: Floats
    """One row for each source, one column for each entry. NaN if they are not known: a sampler of
    one's own that is not a mixture, or a method or prior that cannot be made again."""
    prior_score: Floats
    """The log score of the prior on the best trials (Algorithm 2); NaN where none was used."""
    incumbent_score: Floats
    """The log score of the incumbent on the same trials."""
    scored_rung: Ints
    """The rung whose best trials were scored; -1 where none were."""
    scored: Ints
    """How many trials were scored."""
    decisions: int
    """How many configurations were drawn in all."""
    repeated: int
    """How many of these decisions were repeated: the number of entries."""


class _Odds(NamedTuple):
    """The probability of each source, and the scores behind them."""

    by_source: Mapping[str, float]
    scores: Scores | None


def chances_over_budget(data: StudyData, most: int = MOST) -> ChancesOverBudget:
    """Return with which probabilities configurations were drawn from each source.

    Args:
        data: the study.
        most: how many decisions to repeat at most. If more configurations were drawn, they are
            spread evenly over the drawn ones, the first and the last included.

    Returns:
        The probabilities, which are exactly those of the decisions, and the scores behind them.

    Raises:
        ArgumentError: if `most` is not a whole number of at least 1.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> from priorband.study_analysis import study_data
    >>> study = Study(Space(x=Float(0, 1, prior=0.3)), Fidelity("epochs", 1, 9), "priorband")
    >>> for _ in range(30):
    ...     trial = study.ask()
    ...     _ = study.tell(trial, (trial.config["x"] - 0.3) ** 2)
    >>> found = chances_over_budget(study_data(study))
    >>> found.sources, found.probability[:, 1].tolist()
    (('uniform', 'prior', 'incumbent', 'mode'), [0.5, 0.5, 0.0, 0.0])
    >>> bool(found.probability[2, -1] > 0)
    True
    """
    trials = data.trials
    drawn = np.flatnonzero(trials.drawn)
    ids = drawn[spread_positions(len(drawn), checked_count("most", most))]
    odds = list(_repeated(data, {*ids.tolist()}))
    known = {name for each in odds if each for name in each.by_source}
    sources = tuple(sorted(known, key=_place))
    spent = np.concatenate(([0.0], np.cumsum(trials.units[trials.order]))) / data.full
    scores = [each.scores if each else None for each in odds]
    return ChancesOverBudget(
        trial=ids,
        rung=trials.rung[ids],
        origin=tuple(trials.origins[code] for code in trials.origin[ids].tolist()),
        spent=spent[ended_before(data)[ids]],
        time=data.times.asked[ids],
        sources=sources,
        probability=_table(odds, sources),
        prior_score=np.array([np.nan if s is None else s.prior for s in scores], float),
        incumbent_score=np.array([np.nan if s is None else s.incumbent for s in scores], float),
        scored_rung=np.array([-1 if s is None else s.rung for s in scores], np.int64),
        scored=np.array([0 if s is None else s.top for s in scores], np.int64),
        decisions=len(drawn),
        repeated=len(ids),
    )


def _place(source: str) -> tuple[int, str]:
    """The sort key of a source: those that are known come first, in a fixed order."""
    names = list(dict.fromkeys(_SOURCES.values()))
    return (names.index(source) if source in names else len(names)), source


def _table(odds: list[_Odds | None], sources: tuple[str, ...]) -> Floats:
    """One row for each source, one column for each draw."""
    table = np.full((len(sources), len(odds)), np.nan)
    for column, each in enumerate(odds):
        if each is not None:
            table[:, column] = [each.by_source.get(name, 0.0) for name in sources]
    return table


def _repeated(data: StudyData, wanted: set[int]) -> Iterator[_Odds | None]:
    """The odds of some draws, in order."""
    problem = data.problem
    state = problem.start()
    for event in data.state.history.events:
        if isinstance(event, Asked) and event.trial.id in wanted:
            trial = event.trial
            sampler = _sampler(problem.optimizer, state, trial)
            rung = int(data.trials.rung[trial.id])
            known = data.prior_known or state.history.changed_prior is not None
            if data.method_known and known:
                yield _odds(sampler, state, rung, trial.id, problem.seed)
            else:
                yield None
        state = state.after(event)


def _sampler(optimizer: Optimizer, state: State, trial: Trial) -> Sampler:
    """The part of a method that has drawn the configuration of a new trial."""
    if trial.slot is None:
        opening = optimizer.opening
        if opening is not None and not state.history.drawn:
            return opening.sampler if isinstance(opening, Opening) else opening
        return optimizer.extra or optimizer.sampler
    return optimizer.sampler


def _odds(sampler: Sampler, state: State, rung: int, number: int, seed: int) -> _Odds | None:
    """The odds of a draw; None if the sampler does not say."""
    while isinstance(sampler, Staged):
        sampler = sampler.then if sampler.until(state) else sampler.first
    if type(sampler) in _SOURCES:
        return _Odds({_SOURCES[type(sampler)]: 1.0}, None)
    if isinstance(sampler, Mix) and all(type(part) in _SOURCES for part in sampler.samplers):
        names = tuple(_SOURCES[type(part)] for part in sampler.samplers)
        return _named(names, sampler.weights(state, rung))
    # What a mixture of mixtures or a sampler of one's own says, it says with a draw.
    chances = sampler.sample(state, rung, generator(seed, number, "sampler")).chances
    return None if chances is None else _named((), chances)


def _named(names: tuple[str, ...], chances: Chances) -> _Odds:
    """The odds by source; sources whose names are not known get numbers."""
    by_source = dict[str, float]()
    for number, probability in enumerate(chances.probabilities):
        name = names[number] if number < len(names) else f"source {number + 1}"
        by_source[name] = by_source.get(name, 0.0) + probability
    scores: Any = getattr(chances, "scores", None)
    return _Odds(by_source, scores if isinstance(scores, Scores) else None)
