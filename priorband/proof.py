"""Whether full trainings have proven the prior, and what the methods with a model ask besides.

The proof compares full trainings of three kinds: that of the prior's mode, those of draws from the
prior, and others. Others are uniform draws of any bracket, the rival that was continued for a duel,
and what people queued or imported. Draws from the prior count in the first bracket only. What came
from the incumbent or from a model does not count at all. If the prior was changed, the mode and the
draws of earlier priors are others, too.
"""

from math import inf
from typing import NamedTuple, final

from priorband.brackets import BracketStatus, bracket_status
from priorband.cache import CacheKey
from priorband.guard import MODE, PRIOR, believed
from priorband.ladder import Ladder
from priorband.state import State
from priorband.trial import IMPORTED, QUEUED, Observation, Trial

UNIFORM = "uniform"
"""The origin of uniform draws."""


class BestFull(NamedTuple):
    """The lowest losses of full trainings that count for the proof; infinite if there are none."""

    mode: float
    prior: float
    other: float

    @property
    def mode_is_ahead(self) -> bool:
        """Whether the mode was trained in full, and is at least as good as all others."""
        return self.mode < inf and self.mode <= min(self.prior, self.other)


def best_full(state: State) -> BestFull:
    """The lowest losses of full trainings that count for the proof."""
    return state.history.cached(_FULL, _FullTrainings.best_of_each, state)


def is_proven(state: State) -> bool:
    """Whether the first bracket is over, and the prior's full trainings are not worse than others.

    That is the mode against all others, or the best of mode and prior against the best of the
    rest. In both cases there must be something to compare with.
    """
    best = best_full(state)
    if best.mode_is_ahead and min(best.prior, best.other) < inf:
        return bracket_is_over(state, 0)
    believed = min(best.mode, best.prior)
    return believed <= best.other < inf and bracket_is_over(state, 0)


def bracket_is_over(state: State, number: int) -> bool:
    """Whether a bracket has run to its end; on a single rung, the first bracket is `eta` trials."""
    if state.ladder.top:
        return _is_over(state, number)
    last = state.ladder.eta - 1 + number
    return all(_is_over(state, each) for each in range(last if number else 0, last + 1))


def _is_over(state: State, bracket: int) -> bool:
    history = state.history
    if bracket >= history.brackets:
        return False
    base = history.base(bracket)
    now = bracket_status(history, bracket, base, state.ladder.brackets[base])
    return now is BracketStatus.OVER


def rival(state: State) -> Observation | None:
    """The uniform draw to continue for a duel with the prior; None if there is no need, or none.

    There is a duel, once, if the first bracket is over, all full trainings are of the mode or of
    draws from the prior, and the mode is not at least as good as the others.
    """
    if not duel_is_possible(state) or not bracket_is_over(state, 0):
        return None
    best = best_full(state)
    if best.mode_is_ahead or min(best.mode, best.prior) == inf:
        return None
    for rung in range(state.ladder.top - 1, -1, -1):
        waiting = [o for o in _uniform(state, rung) if not state.history.promoted(o.trial.id)]
        if waiting:
            return waiting[0]
    return None


def duel_is_possible(state: State) -> bool:
    """Whether there was no duel yet, and no other origin has a full training."""
    if not state.ladder.top or best_full(state).other < inf:
        return False
    return not state.history.cached(_FULL, _FullTrainings.had_duel, state)


def possible_rivals(state: State) -> set[int]:
    """The trials of the first bracket that may still be continued for a duel."""
    if not state.history.brackets or not duel_is_possible(state):
        return set()
    base = state.history.base(0)
    sizes, found = state.ladder.brackets[base], set[int]()
    for step in range(len(sizes) - 1):
        # At most sizes[step + 1] uniform draws are promoted, so the next one may be the rival.
        best = _uniform(state, base + step)[: sizes[step + 1] + 1]
        found.update(o.trial.id for o in best if not state.history.promoted(o.trial.id))
    return found


def _uniform(state: State, rung: int) -> list[Observation]:
    """The uniform draws of the first bracket that succeeded on a rung, best first."""
    history = state.history
    ranked = (history.ranked_member(0, rung, i) for i in range(history.members(0, rung).succeeded))
    return [ended for ended in ranked if ended.trial.origin == UNIFORM]


def misses(state: State) -> int:
    """How many model trainings have ended since the last one that was better than all before.

    Any full training can be the better one. Only those count that were asked after the last bracket
    began.
    """
    return state.history.cached(_FULL, _FullTrainings.misses, state)


def is_model_training(trial: Trial) -> bool:
    """Whether a trial is a new configuration outside the brackets that a sampler has drawn."""
    outside = trial.slot is None and trial.parent is None
    return outside and trial.origin not in (MODE, QUEUED, IMPORTED)


@final
class _FullTrainings:
    """What is known of the full trainings that were read so far."""

    __slots__ = (
        "asked",
        "best",
        "brackets",
        "changes",
        "dueled",
        "kinds",
        "ladder",
        "missed",
        "opened",
        "told",
    )

    def __init__(self) -> None:
        self.ladder: Ladder | None = None
        self._reset()

    def _reset(self) -> None:
        self.asked, self.told = 0, 0
        self.changes = 0
        self.dueled = False
        self.brackets, self.opened = 0, -1
        self.kinds = BestFull(inf, inf, inf)
        self.best = inf
        self.missed: list[int] = []

    def best_of_each(self, state: State) -> BestFull:
        self._update(state)
        return self.kinds

    def had_duel(self, state: State) -> bool:
        self._update(state)
        return self.dueled

    def misses(self, state: State) -> int:
        self._update(state)
        self.missed = [number for number in self.missed if number > self.opened]
        return len(self.missed)

    def _update(self, state: State) -> None:
        if self.ladder is not state.ladder:
            self.ladder = state.ladder
            self._reset()
        history = state.history
        changes = len(history.prior_changes)
        if self.changes != changes:
            self.changes = changes
            self.kinds = BestFull(inf, inf, min(self.kinds))
        for number in range(self.asked, len(history)):
            self._ask(history.trial(number))
        self.asked = len(history)
        for ended in history.observations_since(self.told):
            self.told += 1
            self._end(ended, state)

    def _ask(self, trial: Trial) -> None:
        if trial.slot is not None and trial.slot.bracket >= self.brackets:
            self.brackets, self.opened = trial.slot.bracket + 1, trial.id
        elif trial.slot is None and trial.parent is not None and trial.origin != MODE:
            self.dueled = True

    def _end(self, ended: Observation, state: State) -> None:
        if ended.fidelity == state.ladder.fidelities[-1] and not ended.failed:
            kind = _kind(ended.trial, state.ladder)
            if kind in ("mode", "prior") and not believed(state, ended.trial):
                kind = "other"
            if kind is not None and ended.loss < getattr(self.kinds, kind):
                self.kinds = self.kinds._replace(**{kind: ended.loss})
            if ended.loss < self.best:
                self.best, self.missed = ended.loss, []
                return
        if is_model_training(ended.trial):
            self.missed.append(ended.trial.id)


_FULL: CacheKey[_FullTrainings] = CacheKey(_FullTrainings)


def _kind(trial: Trial, ladder: Ladder) -> str | None:
    """For which side of the proof a full training counts; None if for none."""
    if trial.origin in (QUEUED, IMPORTED):
        return "other"
    if trial.slot is None:
        if trial.origin == MODE:
            return "mode"
        return "other" if trial.parent is not None else None
    first = trial.slot.bracket < (1 if ladder.top else ladder.eta)
    if first and trial.origin == PRIOR:
        return "prior"
    return "other" if first or trial.origin == UNIFORM else None
