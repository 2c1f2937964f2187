"""The trials of a method in memory, with losses that are made up."""

from collections.abc import Callable
from typing import final

from priorband.events import Asked, Told
from priorband.optimizers import Optimizer
from priorband.state import State
from priorband.streams import RandomStream
from priorband.trial import Observation, Trial

LossOf = Callable[[Trial], float]


@final
class TrialsInMemory:
    """What a method does from a state on, if trials have these losses."""

    def __init__(self, optimizer: Optimizer, state: State, seed: int, loss: LossOf) -> None:
        self.optimizer, self.state, self.seed, self.loss = optimizer, state, seed, loss

    def ask(self) -> Trial:
        """Return the next trial."""
        trial = self.optimizer.propose(self.state, self.seed)
        self.state = self.state.after(Asked(trial))
        return trial

    def cost(self, trial: Trial) -> float:
        """Return how many fidelity units a trial adds to what its parent has trained."""
        return self.state.history.cost(trial)

    def end(self, trial: Trial) -> Observation:
        """End a trial with its loss."""
        loss = self.loss(trial)
        self.state = self.state.after(Told(trial.id, loss))
        return Observation(trial, loss)


def falling(trial: Trial) -> float:
    """A loss with which every new configuration is better than all before."""
    return -float(trial.root)


def rising(trial: Trial) -> float:
    """A loss with which every new configuration is worse than all before."""
    return float(trial.root)


def shuffled(number: int) -> LossOf:
    """Losses with which configurations are ranked at random, on each rung in the same order."""
    return lambda trial: RandomStream(number, trial.root, "planned loss").random()


def sequences(random: int) -> tuple[LossOf, ...]:
    """Different losses: each new one the best so far, the worst so far, and random ones."""
    return (falling, rising, *map(shuffled, range(random)))
