"""What has happened lately in a study: last results, failures, brackets, and the best over time.

A reader remembers what it has read, so that each look costs little, however long the study is.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import final

from priorband.brackets import BracketStatus, bracket_status
from priorband.display.failure_reports import (
    FailureReport,
    latest_failures,
    open_failures,
)
from priorband.display.sparkline import thinned
from priorband.durable.study import DurableStudy
from priorband.explanations.outcomes import Outcome, outcome_of
from priorband.failures import FailureKind, split_reason
from priorband.schedulers import Hyperband, SuccessiveHalving
from priorband.schedulers.wrapped import base_plan
from priorband.study_analysis.recent_draws import best_losses, sampled_origins
from priorband.study_analysis.trial_columns import GrowingTrials, TrialColumns
from priorband.trial import Observation
from priorband.values import frozen

FAILURES = 3
FINISHED = 6
BRACKETS = 4
SAMPLED = 100
_POINTS = 400
"""How many bests are shown at most."""


@final
@frozen
class Finished:
    """A trial that has ended."""

    trial: int
    value: float | None
    """What the objective returned; None if the trial has failed."""
    failure: FailureKind | None
    fidelity: float
    rung: int | None
    origin: str
    place: int | None
    """Its place among those that have ended in its bracket on its rung, from 1 for the best."""
    of: int
    """How many have ended there."""
    outcome: Outcome
    """What became of it, as in tables of trials."""


@final
@frozen
class Bracket:
    """A bracket: how many trials are planned on each of its rungs, and how many have ended."""

    number: int
    planned: tuple[int, ...]
    """Empty if the schedule has no plan: trials are then promoted as soon as they can be."""
    ended: tuple[int, ...]
    running: int
    over: bool


@final
@frozen
class Recent:
    """What has happened lately."""

    failures: tuple[FailureReport, ...] = ()
    """The last trials that have failed, the newest first."""
    given_back: tuple[FailureReport, ...] = ()
    """Attempts that failed at trials to which there is another attempt."""
    finished: tuple[Finished, ...] = ()
    """The last trials that have ended, the newest first."""
    brackets: tuple[Bracket, ...] = ()
    """The last brackets, the oldest first."""
    sampled: Mapping[str, int] = MappingProxyType({})
    """Where the last `SAMPLED` new configurations are from, the most frequent origin first."""
    bests: tuple[float, ...] = ()
    """The best value after each result, or after some of them, evenly spaced."""


NOTHING = Recent()


@final
class RecentReader:
    """Reads what is recent in a study. `in_full` is for views that show more than failures."""

    def __init__(self, study: DurableStudy, in_full: bool) -> None:
        self._study = study
        self._in_full = in_full
        self._trials = GrowingTrials(study.space, study.state.ladder.fidelities)
        self._failures: tuple[FailureReport, ...] = ()
        self._failure_count = 0

    def read(self) -> Recent:
        """What is recent, as of the study's last refresh."""
        study, history = self._study, self._study.state.history
        count = sum(study.ledger.failures.values())
        if count != self._failure_count:
            self._failures, self._failure_count = latest_failures(study, FAILURES), count
        given_back = open_failures(study)[-FAILURES:]
        if not self._in_full:
            return Recent(self._failures, given_back)
        trials = self._trials.read(history)
        results = history.observations_since(max(history.observation_count - FINISHED, 0))
        return Recent(
            self._failures,
            given_back,
            tuple(_finished(study, ended) for ended in reversed(results)),
            tuple(_brackets(study)),
            sampled_origins(trials, SAMPLED),
            _bests(trials, study.maximize),
        )


def _bests(trials: TrialColumns, maximize: bool) -> tuple[float, ...]:
    """The best value over time, as a list of limited length."""
    losses = best_losses(trials)
    return tuple(thinned((-losses if maximize else losses).tolist(), _POINTS))


def place_in_rung(study: DurableStudy, ended: Observation) -> tuple[int | None, int]:
    """A result's place among those of its bracket and rung, from 1, and how many these are."""
    slot, history = ended.trial.slot, study.state.history
    if slot is None:
        return None, 0
    low, high = 0, history.members(*slot).ended
    total = high
    while low < high:  # the members are sorted
        middle = (low + high) // 2
        if history.ranked_member(*slot, middle).ranking < ended.ranking:
            low = middle + 1
        else:
            high = middle
    return (None if ended.failed else low + 1), total


def trial_outcome(study: DurableStudy, number: int) -> Outcome:
    """What became of a trial, in a word."""
    scheduler = study.problem.optimizer.scheduler if study.method_known else None
    outcome = outcome_of(scheduler, study.state, number)
    return "waiting" if outcome == "running" and number in study.ledger.waiting else outcome


def rung_of(study: DurableStudy, fidelity: float) -> int | None:
    """The rung with this fidelity; None if there is none."""
    rungs = study.state.ladder.fidelities
    return rungs.index(fidelity) if fidelity in rungs else None


def _finished(study: DurableStudy, ended: Observation) -> Finished:
    trial = ended.trial
    place, total = place_in_rung(study, ended)
    value = -ended.loss if study.maximize else ended.loss
    return Finished(
        trial.id,
        None if ended.failed else value,
        split_reason(ended.reason)[0] if ended.failed else None,
        trial.fidelity,
        trial.slot.rung if trial.slot else rung_of(study, trial.fidelity),
        trial.origin,
        place,
        total,
        trial_outcome(study, trial.id),
    )


def _brackets(study: DurableStudy) -> list[Bracket]:
    """The last brackets that trials were started in."""
    history, ladder = study.state.history, study.state.ladder
    plan = base_plan(study.problem.optimizer.scheduler)
    planned = isinstance(plan, Hyperband | SuccessiveHalving)
    started, found = history.brackets, list[Bracket]()
    for number in range(max(started - BRACKETS, 0), max(started, ladder.top + 1)):
        try:
            base = history.base(number)
        except KeyError:  # no trial was started in it
            continue
        members = [history.members(number, rung) for rung in range(base, ladder.top + 1)]
        sizes = ladder.brackets[base] if planned else ()
        status = bracket_status(history, number, base, sizes) if planned else None
        running = sum(one.started - one.ended for one in members)
        ended = tuple(one.ended for one in members)
        found.append(Bracket(number, sizes, ended, running, status is BracketStatus.OVER))
    return found[-BRACKETS:]
