"""Which checkpoints are kept: those that a later trial may continue, and the best."""

from typing import final

from priorband.durable.study import DurableStudy
from priorband.schedulers.base import promotable
from priorband.schedulers.full import FullFidelity
from priorband.schedulers.synchronous import Hyperband, SuccessiveHalving
from priorband.storage.checkpoints import Checkpoints

MOST = 200
BOUNDED = (FullFidelity, SuccessiveHalving, Hyperband)  # few can rise there; anyone may elsewhere


@final
class CheckpointCleanup:
    """Removes the checkpoints of a study that nobody can go on from any more."""

    def __init__(self, study: DurableStudy, checkpoints: Checkpoints, most: int = MOST) -> None:
        self.study = study
        self.checkpoints = checkpoints
        self.most = most
        self._clean: set[int] = set()

    def tidy(self) -> None:
        """Remove what can go. What is not known for sure stays."""
        held = [n for n in self.checkpoints.held(but=self._clean) if self._ended(n)]
        kept = self.wanted(held)
        for number in held:
            if number not in kept:
                self.checkpoints.remove(number)
                self._clean.add(number)

    def wanted(self, held: list[int]) -> set[int]:
        """The ended trials among these whose checkpoints are still of use."""
        state, problem = self.study.state, self.study.problem
        history = state.history
        open_ones = set(promotable(problem.optimizer.scheduler, state, held))
        ranked = sorted(open_ones, key=self._rank)
        most = None if isinstance(problem.optimizer.scheduler, BOUNDED) else self.most
        in_use = {trial.parent for trial in history.running if trial.parent is not None}
        best = {one.trial.id for one in (self.study.best, self.study.best_in_full) if one}
        return set(ranked[:most]) | in_use | best

    def _rank(self, number: int) -> tuple[float, float]:
        """Those that were trained further first, then the better ones."""
        outcome = self.study.state.history.outcome(number)
        assert outcome is not None
        return -outcome.fidelity, outcome.loss

    def _ended(self, number: int) -> bool:
        history = self.study.state.history
        return number < len(history) and history.outcome(number) is not None
