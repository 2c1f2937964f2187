"""What the guarded methods ask of a history: the mode, the first bracket, and who leads.

The first bracket is the first `first_size` new trials that a scheduler places. With Hyperband these
are the trials of bracket 0. On a ladder with a single rung, where a bracket is a single trial, they
are `eta` full trainings. Asynchronous schedulers have no brackets, so there it is a count only.

Everything here follows from slots, origins, fidelities and losses. Configurations are not compared:
where one was drawn twice, each trial counts for itself. If the prior was changed, trials from
before that say nothing about the new one: `believed` tells them apart.
"""

from heapq import heappop, heappush
from typing import final

from priorband.cache import CacheKey
from priorband.ladder import Ladder
from priorband.state import State
from priorband.trial import QUEUED, Observation, Trial

MODE = "mode"
"""The origin of the prior's mode."""
PRIOR = "prior"
"""The origin of draws from the prior."""


def first_size(ladder: Ladder) -> int:
    """The number of new trials in the first bracket.

    >>> from priorband.fidelity import Fidelity
    >>> first_size(Ladder(Fidelity("epochs", 1, 27))), first_size(Ladder(Fidelity("epochs", 1, 9)))
    (27, 9)
    """
    return ladder.brackets[0][0] if ladder.top else ladder.eta


def guard_size(ladder: Ladder) -> int:
    """The number of draws at the beginning of the first bracket that are always uniform."""
    return first_size(ladder) // ladder.eta


def is_guarded(state: State) -> bool:
    """Whether the draws at the beginning of the first bracket, which are uniform, are not made."""
    return state.history.cached(_FACTS, _Facts.is_guarded, state)


def placed(state: State) -> int:
    """How many new trials are in slots, queued ones included, up to `first_size`."""
    return state.history.cached(_FACTS, _Facts.placed_count, state)


def mode_trial(state: State) -> Trial | None:
    """The trial of the prior's mode outside the brackets; its last retry if it was retried."""
    number = state.history.cached(_FACTS, _Facts.mode_number, state)
    return None if number is None else state.history.trial(number)


def believed(state: State, trial: Trial) -> bool:
    """Whether a trial's configuration is the mode or a draw of the prior as it is now."""
    return trial.origin in (MODE, PRIOR) and state.history.from_current_prior(trial)


def mode_failed(state: State) -> bool:
    """Whether the prior's mode failed, at its first fidelity or when it was continued.

    The mode of an earlier prior does not count.
    """
    failed = state.history.cached(_FACTS, _Facts.failed_mode, state)
    return failed is not None and believed(state, failed)


def waiting_mode(state: State) -> Observation | None:
    """The result of the prior's mode, if it succeeded below the top and may still be continued."""
    number = state.history.cached(_FACTS, _Facts.waiting_number, state)
    ended = None if number is None else state.history.outcome(number)
    if ended is None or ended.failed or state.history.promoted(ended.trial.id):
        return None
    return ended if ended.fidelity < state.ladder.fidelities[-1] else None


def due_mode(state: State) -> Observation | None:
    """The result of the prior's mode, if it is ahead: it waits, and should be continued now.

    It is ahead if its rung has more than eta successes, its own included, and none ranks before it;
    or if the draws that are always uniform have ended and it is the best of all.
    """
    return state.history.cached(_FACTS, _Facts.due_mode, state)


def mode_leads_its_rung(state: State, mode: Observation) -> bool:
    """Whether no success at the fidelity of the mode's result ranks before it."""
    return state.history.cached(_FACTS, _Facts.mode_leads, state, mode)


@final
class _Facts:
    """What is known of the trials and results that were read so far."""

    __slots__ = (
        *("asked", "told", "ladder", "mode", "continued", "gone_on", "beaten", "placed", "drawn"),
        *("ended", "best", "furthest", "heap", "result", "first_size", "guard_size"),
    )

    def __init__(self) -> None:
        self.ladder: Ladder | None = None
        self.first_size, self.guard_size = 0, 0
        self._reset()

    def _reset(self) -> None:
        self.asked, self.told = 0, 0
        self.mode: int | None = None
        self.continued: int | None = None
        self.result: Observation | None = None
        self.gone_on, self.beaten = False, False
        self.placed, self.ended = 0, 0
        self.drawn: list[int] = []
        self.best: dict[float, tuple[float, int]] = {}
        self.furthest: dict[int, tuple[float, float, int]] = {}
        self.heap: list[tuple[float, int, int]] = []

    def is_guarded(self, state: State) -> bool:
        self._read_trials(state)
        return len(self.drawn) < self.guard_size

    def placed_count(self, state: State) -> int:
        self._read_trials(state)
        return self.placed

    def mode_number(self, state: State) -> int | None:
        self._read_trials(state)
        return self.mode

    def waiting_number(self, state: State) -> int | None:
        """The mode's trial, unless it was continued or never will be."""
        self._read_trials(state)
        return None if self.gone_on or self.beaten else self.mode

    def due_mode(self, state: State) -> Observation | None:
        """Called by every decision: all in one, and what is cheap first."""
        self._read_trials(state)
        if self.mode is None or self.gone_on or self.beaten:
            return None
        self._read_results(state)
        mode = self.result
        if mode is None:
            return None
        if not self._is_ahead(state, mode) or state.history.promoted(mode.trial.id):
            return None
        return mode if mode.fidelity < state.ladder.fidelities[-1] else None

    def _is_ahead(self, state: State, mode: Observation) -> bool:
        leads_rung = self._leads_rung(state, mode)
        if leads_rung and state.history.success_count(mode.fidelity) > state.ladder.eta:
            return True
        if state.regard == "lowest":
            best = self._leader() == mode.trial.id
        else:
            best = leads_rung and mode.fidelity == state.history.highest
        return best and self._ended_count(state) >= self.guard_size

    def _ended_count(self, state: State) -> int:
        """How many of the first draws have all ended."""
        drawn, outcome = self.drawn, state.history.outcome
        while self.ended < len(drawn) and outcome(drawn[self.ended]) is not None:
            self.ended += 1
        return self.ended

    def mode_leads(self, state: State, mode: Observation) -> bool:
        self._read_trials(state)
        self._read_results(state)
        return self._leads_rung(state, mode)

    def _leads_rung(self, state: State, mode: Observation) -> bool:
        """Whether the mode leads its rung; if it is beaten there and in full, it stays beaten."""
        if self.best[mode.trial.fidelity] >= (mode.loss, mode.trial.root):
            return True
        full = self.best.get(state.ladder.fidelities[-1])
        self.beaten = full is not None and full[0] < mode.loss
        return False

    def failed_mode(self, state: State) -> Trial | None:
        self._read_trials(state)
        last = self.mode if self.continued is None else self.continued
        ended = None if last is None else state.history.outcome(last)
        return ended.trial if ended is not None and ended.failed else None

    def _leader(self) -> int | None:
        """The best trial, each chain of promotions taken at the highest fidelity it has ended."""
        while self.heap:
            _, root, number = self.heap[0]
            if self.furthest[root][2] == number:
                return number
            heappop(self.heap)  # the chain went on
        return None

    def _read_trials(self, state: State) -> None:
        if self.ladder is not state.ladder:
            self.ladder = state.ladder
            self.first_size, self.guard_size = first_size(self.ladder), guard_size(self.ladder)
            self._reset()
        for trial in state.history.trials_since(self.asked):
            self.asked += 1
            self._ask(state, trial)

    def _read_results(self, state: State) -> None:
        """Read new results; their trials must have been read."""
        for ended in state.history.observations_since(self.told):
            self.told += 1
            self._end(ended)

    def _ask(self, state: State, trial: Trial) -> None:
        if trial.slot is None:
            if trial.origin == MODE and trial.parent is None:
                self.mode, self.result, self.gone_on, self.beaten = trial.id, None, False, False
            elif trial.parent is not None and trial.parent == self.mode:
                self.continued, self.gone_on = trial.id, True
        elif (
            trial.parent is None
            and self.placed < self.first_size
            and state.history.retry_of(trial.id) is None
        ):
            self.placed += 1
            if trial.origin != QUEUED:
                self.drawn.append(trial.id)

    def _end(self, ended: Observation) -> None:
        trial, loss = ended.trial, ended.loss
        before, fidelity, failed = self.furthest.get(trial.root), trial.fidelity, ended.failed
        if before is None or (-fidelity, loss) < (-before[0], before[1]):
            self.furthest[trial.root] = (fidelity, loss, trial.id)
            if not failed:
                heappush(self.heap, (loss, trial.root, trial.id))
        if not failed:
            if trial.id == self.mode:
                self.result = ended
            best = self.best.get(fidelity)
            if best is None or (loss, trial.root) < best:
                self.best[fidelity] = (loss, trial.root)


_FACTS: CacheKey[_Facts] = CacheKey(_Facts)
