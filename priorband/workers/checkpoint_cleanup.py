"""Remove the checkpoints that no later trial can continue, except those of the best trials.

A failed promotion may be retried, so the checkpoint that it began with stays, too.
"""

from typing import final

from priorband.durable.study import DurableStudy
from priorband.schedulers.base import promotable
from priorband.schedulers.full import FullFidelity
from priorband.schedulers.synchronous import Hyperband, SuccessiveHalving
from priorband.schedulers.wrapped import base_plan
from priorband.storage.checkpoints import Checkpoints

MAX_KEPT = 200
BOUNDED = (FullFidelity, SuccessiveHalving, Hyperband)
"""Schedulers that can promote few trials at a time; others may promote any."""


@final
class CheckpointCleanup:
    """Removes the checkpoints of a study that are no longer needed."""

    def __init__(
        self, study: DurableStudy, checkpoints: Checkpoints, max_kept: int = MAX_KEPT
    ) -> None:
        self.study = study
        self.checkpoints = checkpoints
        self.max_kept = max_kept
        """How many checkpoints to keep where any trial may be promoted."""
        self._removed: set[int] = set()

    def remove_unneeded(self) -> None:
        """Remove the checkpoints of ended trials that are not needed; keep all others."""
        ended = [n for n in self.checkpoints.held(self._removed) if self._has_ended(n)]
        needed = self.needed(ended)
        for number in ended:
            if number not in needed:
                self.checkpoints.remove(number)
                self._removed.add(number)

    def needed(self, ended: list[int]) -> set[int]:
        """The trials among `ended` whose checkpoints are still needed."""
        state, problem = self.study.state, self.study.problem
        history = state.history
        candidates = set(promotable(problem.optimizer.scheduler, state, ended))
        ranked = sorted(candidates, key=self._rank)
        limit = (
            None if isinstance(base_plan(problem.optimizer.scheduler), BOUNDED) else self.max_kept
        )
        in_use = {trial.parent for trial in history.running if trial.parent is not None}
        for failed in history.latest_failures(self.max_kept):
            if failed.trial.parent is not None and history.replacement(failed.trial.id) is None:
                in_use.add(failed.trial.parent)  # if it is retried, it continues from there
        best = {top.trial.id for top in (self.study.best, self.study.best_in_full) if top}
        return set(ranked[:limit]) | in_use | best

    def _rank(self, number: int) -> tuple[float, float]:
        """A sort key: longer trainings first, then lower losses."""
        outcome = self.study.state.history.outcome(number)
        assert outcome is not None
        return -outcome.fidelity, outcome.loss

    def _has_ended(self, number: int) -> bool:
        history = self.study.state.history
        return number < len(history) and history.outcome(number) is not None
