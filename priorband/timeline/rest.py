"""How long the rest of a study takes: the method goes on in simulated time, with measured seconds.

The simulation starts from the trials that there are, with those that are running. A long study is
not copied: there the method starts from its beginning, which has the same mix of rungs.
"""

from collections.abc import Callable, Sequence
from statistics import median
from typing import final

from priorband.errors import MethodError
from priorband.history import History
from priorband.optimizers import Optimizer
from priorband.space.prior import is_flat
from priorband.state import State
from priorband.streams import RandomStream
from priorband.timeline.durations import DurationModel
from priorband.timeline.in_memory import TrialsInMemory, shuffled
from priorband.timeline.timeline import Duration, Ongoing, Run, Workload, timeline
from priorband.timeline.without_configs import ReadsConfigurations, without_configs
from priorband.trial import Observation, Trial
from priorband.values import frozen

LONG = 1000
"""A study with more trials than this is not copied."""
AHEAD = 300
"""How many trials to simulate at most; the time of further ones is extrapolated."""
DRAWS = 3


@final
@frozen
class Rest:
    """What is left to do in a study."""

    optimizer: Optimizer
    state: State
    seed: int
    workers: int
    budget: float
    """How many full trainings are left; it may be 0 or below."""
    trials: int | None = None
    """How many more trials the budget allows."""
    continued: bool = True
    """Whether a promotion costs only the difference to the fidelity already trained."""


def rest_seconds(
    rest: Rest, model: DurationModel | None, ongoing: Sequence[Ongoing], draws: int = DRAWS
) -> float | None:
    """Seconds until the budget is used up and all trials have ended; None if unknown.

    That is the median of several simulations, in which new configurations are fast or slow.
    """
    if rest.budget <= 1e-9 or rest.trials == 0:
        return max((one.left for one in ongoing), default=0.0)
    if model is None:
        return None
    try:
        return median(_simulated(rest, model.seconds(draw), ongoing, draw) for draw in range(draws))
    except (ReadsConfigurations, MethodError):
        return None


def _simulated(rest: Rest, seconds: Duration, ongoing: Sequence[Ongoing], draw: int) -> float:
    most = AHEAD if rest.trials is None else min(rest.trials, AHEAD)
    work = Workload(rest.workers, rest.budget, continued=rest.continued)
    high = rest.state.ladder.fidelity.high
    runs = timeline(rest_trials(rest, draw), work, high, seconds, ongoing, most)
    end = max(run.end for run in runs)
    new = [run for run in runs if run.cost]
    return end if len(new) < AHEAD else _extrapolated(rest, new, end)


def _extrapolated(rest: Rest, new: list[Run], end: float) -> float:
    """The time of all that the budget allows, where only the first trials were simulated."""
    started = max(run.start for run in new)
    units = sum(run.cost for run in new)
    shares = [rest.budget * rest.state.ladder.fidelity.high / units]
    if rest.trials is not None:
        shares.append(rest.trials / len(new))
    return started * max(min(shares), 1.0) + (end - started)


def rest_trials(rest: Rest, number: int = 0) -> "TrialsInMemory | _TrialsBesides":
    """The trials of a method that goes on, with losses like those so far."""
    flat = is_flat(rest.state.prior)
    optimizer, first = without_configs(rest.optimizer, rest.state.ladder.fidelity, flat)
    history = rest.state.history
    if len(history) > LONG:
        return _TrialsBesides(TrialsInMemory(optimizer, first, rest.seed, shuffled(number)))
    copied = State(first.space, first.prior, first.ladder, History.of(history.events), first.regard)
    return TrialsInMemory(optimizer, copied, rest.seed, losses_like(history, number))


def losses_like(history: History, number: int) -> Callable[[Trial], float]:
    """Losses that are distributed like those at the same fidelity so far, at random ranks.

    The ranks on two rungs are independent: only good configurations are on the higher one.
    """
    known = dict[float, list[float]]()
    for ended in history.successes:
        known.setdefault(ended.fidelity, []).append(ended.loss)
    for losses in known.values():
        losses.sort()

    def loss(trial: Trial) -> float:
        losses = known.get(trial.fidelity) or known.get(max(known, default=0.0)) or [0.0]
        rank = RandomStream(number, trial.id, "planned loss").random()
        return losses[int(rank * len(losses))]

    return loss


@final
@frozen
class _TrialsBesides:
    """The trials of a method from its beginning, while those of another study run."""

    inner: TrialsInMemory

    def ask(self) -> Trial:
        """Return the next trial."""
        return self.inner.ask()

    def cost(self, trial: Trial) -> float:
        """Return how many fidelity units a trial adds to what its parent has trained."""
        return self.inner.cost(trial)

    def end(self, trial: Trial) -> Observation:
        """End a trial; one of the other study just ends."""
        known = self.inner.state.history
        if trial.id < len(known) and known.trial(trial.id) is trial:
            return self.inner.end(trial)
        return Observation(trial, 0.0)
