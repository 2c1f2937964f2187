"""The explanation of a trial: one decision is made again, and the history says the rest."""

from typing import final

from priorband.errors import PriorbandError
from priorband.explanations.outcomes import continues_mode, first_child, outcome_of
from priorband.explanations.places import Place, place
from priorband.explanations.sources import ConfigSource, source
from priorband.explanations.why import (
    Advance,
    AdvanceKind,
    AdvanceReason,
    LostAttempt,
    OpenReason,
    Why,
)
from priorband.failures import split_reason
from priorband.guard import MODE, mode_leads_its_rung
from priorband.optimizers import Decision, Optimizer
from priorband.schedulers.base import Scheduler, promotable
from priorband.schedulers.wrapped import base_plan
from priorband.state import State
from priorband.trial import IMPORTED, Observation, Trial
from priorband.values import frozen


@final
@frozen
class StudyFacts:
    """What an explanation is made of.

    Args:
        optimizer: The method; None if it is not known, because it has parts of one's own.
        seed: The seed of the study.
        start: The state before anything has happened.
        state: What has happened so far.
        maximize: Whether the study maximises.
        prior_known: Whether `start` has the prior that the study began with. If not, something
            stands in for it, because it is of a class of one's own.
    """

    optimizer: Optimizer | None
    seed: int
    start: State
    state: State
    maximize: bool = False
    prior_known: bool = True

    @property
    def scheduler(self) -> Scheduler | None:
        """The scheduler; None if it is not known."""
        return None if self.optimizer is None else self.optimizer.scheduler

    @property
    def plan(self) -> Scheduler | None:
        """The scheduler of the brackets, without those around it; None if it is not known."""
        return None if self.scheduler is None else base_plan(self.scheduler)

    def before(self, number: int) -> State:
        """What had happened before a trial was asked."""
        history = self.state.history.before(number, self.state.space)
        if continues_mode(self.scheduler):
            len(history.trials)  # the rules for the mode read all, which is slow one by one
        return self.start.with_history(history)


def explanation(
    facts: StudyFacts, number: int, lost: tuple[LostAttempt, ...] = (), waiting: bool = False
) -> Why:
    """Explain a trial.

    Args:
        facts: The method and the history.
        number: The id of the trial.
        lost: Attempts at it that brought no result.
        waiting: Whether it waits for its next attempt.
    """
    state, history = facts.state, facts.state.history
    trial, ended = history.trial(number), history.outcome(number)
    outcome = outcome_of(facts.scheduler, state, number)
    child = first_child(state, number)
    now = None if ended is None or trial.origin == IMPORTED else place(facts.plan, state, ended)
    failed = ended is not None and ended.failed
    still_open = _open_reason(facts, ended, now) if ended and outcome == "open" else None
    return Why(
        trial=number,
        outcome="waiting" if waiting and outcome == "running" else outcome,
        source=_source(facts, trial),
        slot=trial.slot,
        fidelity=trial.fidelity,
        full=state.ladder.fidelity.high,
        unit=state.ladder.fidelity.name,
        loss=None if ended is None or failed else ended.loss,
        maximize=facts.maximize,
        place=now,
        continues=None if trial.parent is None else _advance(facts, trial),
        continued=None if child is None else _advance(facts, child),
        still_open=still_open,
        needed=_needed(now, state.ladder.eta) if still_open == "results" else None,
        failure=_failure(ended) if ended is not None and failed else None,
        retry_of=history.retry_of(number),
        retried_by=history.replacement(number),
        lost=lost,
    )


def _failure(ended: Observation) -> tuple[str, str]:
    kind, reason = split_reason(ended.reason)
    return kind, reason


def _source(facts: StudyFacts, trial: Trial) -> ConfigSource:
    """How the configuration of a trial was chosen: for the first trial of its chain."""
    first = facts.state.history.trial(original(facts.state, trial.root))
    before = facts.before(first.id)
    known = facts.prior_known or before.history.changed_prior is not None
    return source(facts.optimizer if known else None, before, facts.seed, first)


def original(state: State, number: int) -> int:
    """The trial that was asked first where trials have taken the place of failed ones."""
    while (failed := state.history.retry_of(number)) is not None:
        number = failed
    return number


def _advance(facts: StudyFacts, asked: Trial) -> Advance:
    """How the parent of a trial went on. A retry takes the place of the one that went on first."""
    child = facts.state.history.trial(original(facts.state, asked.id))
    assert child.parent is not None
    before = facts.before(child.id)
    parent = before.history.outcome(child.parent)
    assert parent is not None
    again = _repeated(facts, before)
    exact = None if facts.optimizer is None else again is not None and again.trial == child
    kind = _kind(child, again if exact else None)
    then = place(facts.plan, before, parent)
    return Advance(
        child.parent,
        child.id,
        kind,
        "unknown" if facts.optimizer is None else _reason(before, parent, kind, then),
        then,
        before.history.observation_count,
        exact,
    )


def _repeated(facts: StudyFacts, before: State) -> Decision | None:
    """The decision, made again; None if that is not possible."""
    if facts.optimizer is None:
        return None
    try:
        return facts.optimizer.decide(before, facts.seed)
    except PriorbandError:
        return None


def _kind(child: Trial, again: Decision | None) -> AdvanceKind:
    """How a trial goes on: as the decision says, or as its place shows."""
    if again is not None and again.kind in ("promote", "continue", "duel"):
        kind: AdvanceKind = again.kind
        return kind
    if child.slot is not None:
        return "promote"
    return "continue" if child.origin == MODE else "duel"


def _reason(
    before: State, parent: Observation, kind: AdvanceKind, then: Place | None
) -> AdvanceReason:
    if kind == "duel":
        return "duel"
    if kind == "continue":
        there = before.history.success_count(parent.fidelity)
        leads = there > before.ladder.eta and mode_leads_its_rung(before, parent)
        return "leads its rung" if leads else "best so far"
    return "unknown" if then is None or then.advance is None else "rank"


def _needed(now: Place | None, eta: int) -> int | None:
    """How many further results make the first 1/eta of a rung as many as the rank."""
    if now is None or now.rank is None or now.among != "rung":
        return None
    return now.rank * eta - now.of


def _open_reason(facts: StudyFacts, ended: Observation, now: Place | None) -> OpenReason:
    """Why a success may still go on."""
    if facts.optimizer is None or now is None:
        return "unknown"
    if ended.trial.slot is None:
        return "mode"
    assert facts.plan is not None
    if ended.trial.id not in promotable(facts.plan, facts.state, [ended.trial.id]):
        return "duel"
    if now.advance is None or now.rank is None:
        return "unknown"
    if now.among == "bracket" and (now.running or now.missing):
        return "rung"
    if now.rank <= now.advance:
        return "due"
    return "results"
