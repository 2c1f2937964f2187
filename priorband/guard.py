"""What the guarded methods ask of a history: the mode, the first bracket, and who leads.

The first bracket is the first `first_size` new trials that a scheduler places. With Hyperband these
are the trials of bracket 0. On a ladder with a single rung, where a bracket is a single trial, they
are `eta` full trainings. Asynchronous schedulers have no brackets, so there it is a count only.

Everything here follows from slots, origins, fidelities and losses. Configurations are not compared:
where one was drawn twice, each trial counts for itself. If the prior was changed, trials from
before that say nothing about the new one: `believed` tells them apart.
"""

from heapq import heappop, heappush
from typing import NamedTuple, final

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


class FirstBracket(NamedTuple):
    """How far the first bracket is."""

    placed: int
    """New trials in slots, queued ones included, up to `first_size`."""
    drawn: int
    """Those among them that a sampler has drawn."""
    ended: int
    """The first so many of the drawn ones have all ended."""


def progress(state: State) -> FirstBracket:
    """How far the first bracket is."""
    return state.history.cached(_FACTS, _Facts.progress, state)


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
    last = state.history.cached(_FACTS, _Facts.last_of_mode, state)
    ended = None if last is None else state.history.outcome(last)
    return ended is not None and ended.failed and believed(state, ended.trial)


def waiting_mode(state: State) -> Observation | None:
    """The result of the prior's mode, if it succeeded below the top and may still be continued."""
    number = state.history.cached(_FACTS, _Facts.waiting_number, state)
    ended = None if number is None else state.history.outcome(number)
    if ended is None or ended.failed or state.history.promoted(ended.trial.id):
        return None
    return ended if ended.fidelity < state.ladder.fidelities[-1] else None


def leads_its_fidelity(state: State, ended: Observation) -> bool:
    """Whether no success at the fidelity of a result ranks before it."""
    best = state.history.cached(_FACTS, _Facts.best_ranking, state, ended.fidelity)
    return best is None or best >= ended.ranking


def mode_leads_its_rung(state: State, mode: Observation) -> bool:
    """Whether no success at the fidelity of the mode's result ranks before it."""
    return state.history.cached(_FACTS, _Facts.mode_leads, state, mode)


def leads(state: State, ended: Observation) -> bool:
    """Whether a result is the incumbent, if no configuration was drawn twice."""
    if state.regard == "lowest":
        return state.history.cached(_FACTS, _Facts.leader, state) == ended.trial.id
    return ended.fidelity == state.history.highest and leads_its_fidelity(state, ended)


@final
class _Facts:
    """What is known of the trials and results that were read so far."""

    __slots__ = (
        *("asked", "told", "ladder", "mode", "continued", "gone_on", "beaten", "placed", "drawn"),
        *("ended", "best", "furthest", "heap"),
    )

    def __init__(self) -> None:
        self.ladder: Ladder | None = None
        self._reset()

    def _reset(self) -> None:
        self.asked, self.told = 0, 0
        self.mode: int | None = None
        self.continued: int | None = None
        self.gone_on, self.beaten = False, False
        self.placed, self.ended = 0, 0
        self.drawn: list[int] = []
        self.best: dict[float, tuple[float, int]] = {}
        self.furthest: dict[int, tuple[float, float, int]] = {}
        self.heap: list[tuple[float, int, int]] = []

    def progress(self, state: State) -> FirstBracket:
        self._read_trials(state)
        drawn, outcome = self.drawn, state.history.outcome
        while self.ended < len(drawn) and outcome(drawn[self.ended]) is not None:
            self.ended += 1
        return FirstBracket(self.placed, len(drawn), self.ended)

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

    def mode_leads(self, state: State, mode: Observation) -> bool:
        """Whether the mode leads its rung; if it is beaten there and in full, it stays beaten."""
        self._read_results(state)
        if self.best[mode.fidelity] >= mode.ranking:
            return True
        full = self.best.get(state.ladder.fidelities[-1])
        self.beaten = full is not None and full[0] < mode.loss
        return False

    def last_of_mode(self, state: State) -> int | None:
        """The trial that continues the mode, or else its own."""
        self._read_trials(state)
        return self.mode if self.continued is None else self.continued

    def best_ranking(self, state: State, fidelity: float) -> tuple[float, int] | None:
        self._read_results(state)
        return self.best.get(fidelity)

    def leader(self, state: State) -> int | None:
        """The best trial, each chain of promotions taken at the highest fidelity it has ended."""
        self._read_results(state)
        while self.heap:
            _, root, number = self.heap[0]
            if self.furthest[root][2] == number:
                return number
            heappop(self.heap)  # the chain went on
        return None

    def _read_trials(self, state: State) -> None:
        if self.ladder is not state.ladder:
            self.ladder = state.ladder
            self._reset()
        history = state.history
        count = len(history)
        for number in range(self.asked, count):
            self._ask(state, history.trial(number))
        self.asked = count

    def _read_results(self, state: State) -> None:
        self._read_trials(state)
        for ended in state.history.observations_since(self.told):
            self.told += 1
            self._end(ended)

    def _ask(self, state: State, trial: Trial) -> None:
        if trial.slot is None:
            if trial.origin == MODE and trial.parent is None:
                self.mode, self.gone_on, self.beaten = trial.id, False, False
            elif trial.parent is not None and trial.parent == self.mode:
                self.continued, self.gone_on = trial.id, True
        elif (
            trial.parent is None
            and self.placed < first_size(state.ladder)
            and state.history.retry_of(trial.id) is None
        ):
            self.placed += 1
            if trial.origin != QUEUED:
                self.drawn.append(trial.id)

    def _end(self, ended: Observation) -> None:
        root, before = ended.trial.root, self.furthest.get(ended.trial.root)
        if before is None or (-ended.fidelity, ended.loss) < (-before[0], before[1]):
            self.furthest[root] = (ended.fidelity, ended.loss, ended.trial.id)
            if not ended.failed:
                heappush(self.heap, (*ended.ranking, ended.trial.id))
        if not ended.failed:
            best = self.best.get(ended.fidelity)
            if best is None or ended.ranking < best:
                self.best[ended.fidelity] = ended.ranking


_FACTS: CacheKey[_Facts] = CacheKey(_Facts)
