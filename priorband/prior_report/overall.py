"""What the results say about the whole prior: the log odds that it helps.

A prior helps if, of three draws from it and three uniform draws, the best full training is likely
to be one of the prior's. Three clues are added up. Their weights are those of a logistic regression
on studies of 20 full trainings on benchmarks, where the truth is known; docs/prior-report.md has
the figures, and `python -m priorband.experiments.judge_priors` repeats them.
"""

from collections.abc import Iterator
from math import exp, log
from typing import Literal

import numpy as np

from priorband.prior_report.facts import log_odds_of_rows, mode_result
from priorband.prior_report.report import Clue, Verdict
from priorband.prior_report.surface import Surface
from priorband.space.densities import Array
from priorband.state import State
from priorband.streams import generator

BASE_LOG_ODDS = 1.9
"""1.5 from the regression, and 0.4 because people who state a prior know something: of the priors
on which the weights were chosen, half helped; this says three in five."""
BEST_WEIGHT, BEST_BOUND = 0.27, 6.0
DRAWS_WEIGHT, DRAWS_BOUND = 1.47, 0.98
MODE_LOG_ODDS = {"last": -0.7, "not last": 0.35, "below": -1.05, "untried": 0.0}
DRAWS = 200
OF_EACH = 3
"""How many draws of each kind are compared."""
BALANCED = 0.2
"""Log odds within this of 0 are neutral."""
FEW, CLEAR = 7, 1.0
"""With fewer full trainings, log odds within `CLEAR` of 0 are not enough evidence."""

ModeResult = Literal["last", "not last", "below", "untried"]


def overall_clues(state: State, rows: Array, surface: Surface) -> tuple[Clue, ...]:
    """The evidence; `rows` are the best full trainings, best first."""
    return tuple(_clues(state, rows, surface))


def _clues(state: State, rows: Array, surface: Surface) -> Iterator[Clue]:
    yield Clue(
        "start", 0.0, BASE_LOG_ODDS, "Log odds before the evidence; each line below adds to them."
    )
    chance = chance_of_draws(state, surface)
    bounded_chance = min(max(chance, 1.0 - DRAWS_BOUND), DRAWS_BOUND)
    yield Clue(
        "draws",
        chance,
        DRAWS_WEIGHT * log(bounded_chance / (1.0 - bounded_chance)),
        f"The best of three draws from the prior beats the best of three uniform draws in "
        f"{100 * chance:.0f} % of cases, by a fit to all results.",
    )
    mean = weighted_mean(log_odds_of_rows(state.space, state.prior, rows))
    yield Clue(
        "best trials",
        mean,
        BEST_WEIGHT * min(max(mean, -BEST_BOUND), BEST_BOUND),
        f"The best full trainings are {exp(min(max(mean, -20.0), 20.0)):.2g} times as likely under "
        "the prior as under uniform draws.",
    )
    yield _mode_clue(state)


def weighted_mean(values: Array) -> float:
    """The mean of one value for each result, best first; the n-th best has weight 1/n."""
    weights = 1.0 / np.arange(1, len(values) + 1)
    return float(weights @ np.clip(values, -20.0, 20.0) / weights.sum())


def _mode_clue(state: State) -> Clue:
    found, rank, of = mode_rank(state)
    text = {
        "last": f"The prior's mode was the worst of {of} full trainings.",
        "not last": f"The prior's mode was number {rank} of {of} full trainings.",
        "below": "The prior's mode was not good enough for a full training.",
        "untried": "The prior's mode was not tried.",
    }
    figure = rank / of if of else float("nan")
    return Clue("mode", figure, MODE_LOG_ODDS[found], text[found])


def mode_rank(state: State) -> tuple[ModeResult, int, int]:
    """How the mode did: its rank, from 1, and the number of full trainings."""
    full, mode = state.history.succeeded_at(state.ladder.fidelities[-1]), mode_result(state)
    if mode is None:
        tried = state.history.seen(state.prior.mode)
        return ("below" if tried else "untried"), 0, 0
    rank = 1 + sum(ended.ranking < mode.ranking for ended in full)
    return ("last" if rank == len(full) > 1 else "not last"), rank, len(full)


def chance_of_draws(state: State, surface: Surface) -> float:
    """How often the best of three draws from the prior beats the best of three uniform ones."""
    rng = generator(0, 0, "prior report")
    ours = np.array([state.prior.sample(rng) for _ in range(DRAWS)])
    return chance_of_best(
        surface.scores(ours), surface.scores(state.space.uniform(DRAWS, rng)), OF_EACH
    )


def chance_of_best(ours: Array, theirs: Array, of_each: int) -> float:
    """The probability that the lowest of `of_each` of our values is below the lowest of theirs.

    Each is drawn with replacement. A tie counts as one half.

    >>> chance_of_best(np.array([1.0, 4.0]), np.array([2.0, 3.0]), 1)
    0.5
    >>> chance_of_best(np.array([1.0, 4.0]), np.array([2.0, 3.0]), 2)
    0.75
    """
    values = np.unique(np.concatenate((ours, theirs)))

    def above(sample: Array, side: Literal["left", "right"]) -> Array:
        """The probability that the lowest is above each value, or not below it."""
        share = np.searchsorted(np.sort(sample), values, side) / len(sample)
        return np.asarray((1.0 - share) ** of_each)

    lowest = above(ours, "left") - above(ours, "right")
    tie = above(theirs, "left") - above(theirs, "right")
    return float(lowest @ (above(theirs, "right") + 0.5 * tie))


def overall_verdict(clues: tuple[Clue, ...], full_trainings: int) -> tuple[Verdict, float]:
    """The verdict, and the probability that the prior helps."""
    total = sum(clue.log_odds for clue in clues)
    chance = 1.0 / (1.0 + exp(-min(max(total, -500.0), 500.0)))
    if full_trainings < FEW and abs(total) <= CLEAR:
        return "not enough evidence", chance
    if abs(total) <= BALANCED:
        return "neutral", chance
    return ("helps" if total > 0 else "harms"), chance
