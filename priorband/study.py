"""The study: asks for trials, is told of losses, and remembers in what order."""

import math
from collections.abc import Iterable, Mapping
from threading import RLock
from typing import Any, final

from priorband.arguments import (
    any_fidelity,
    given_fidelity,
    given_loss,
    given_prior,
    given_seed,
    given_space,
    running_trial,
    trial_fidelity,
    warn_of_one_rung,
)
from priorband.events import Asked, Event, Failed, Queued, Told
from priorband.fidelity import Fidelity
from priorband.named_methods import optimizer as named_method
from priorband.optimizers import Optimizer
from priorband.replay import Replay, replayed
from priorband.schedulers.full import FullFidelity
from priorband.space.prior import Prior
from priorband.space.space import Space
from priorband.state import State
from priorband.trial import IMPORTED, Observation, Trial


@final
class Study:
    """One tuning: a space, a fidelity, a method, a seed, and what has happened so far.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> space = Space({"x": Float(0, 1, prior=0.4)})
    >>> study = Study(space, fidelity=Fidelity("epochs", 1, 9), seed=0)
    >>> for _ in range(20):
    ...     trial = study.ask()
    ...     study.tell(trial, (trial.config["x"] - 0.3) ** 2 + 1 / trial.fidelity)
    >>> study.best.fidelity, round(study.best.config["x"], 1)
    (9, 0.3)

    `method` is a name (see `methods()`) or an `Optimizer`. `prior` replaces what the space's own
    parameters say: beliefs by name, or a `Prior`. Any number of trials may be open at once.
    """

    def __init__(
        self,
        space: Space,
        fidelity: Fidelity | None = None,
        method: str | Optimizer = "priorband",
        seed: int = 0,
        prior: Prior | Mapping[str, Any] | None = None,
    ) -> None:
        self.space = given_space(space)
        self.optimizer = method if isinstance(method, Optimizer) else named_method(method)
        self.fidelity = given_fidelity(fidelity, space)
        self.seed = given_seed(seed)
        self.prior = given_prior(prior, space, fidelity)
        self._state = self.optimizer.start(space, self.prior, self.fidelity)
        self._lock = RLock()
        if not isinstance(self.optimizer.scheduler, FullFidelity):
            warn_of_one_rung(fidelity, self.optimizer.eta)

    def __repr__(self) -> str:
        ended = len(self.state.history.observations)
        return f"Study({self.fidelity.name}, {ended} of {len(self.state.history)} trials ended)"

    @property
    def state(self) -> State:
        """The space, the prior, the ladder and the history: what the next decision will look at."""
        return self._state

    @property
    def best(self) -> Observation | None:
        """The lowest loss seen at any fidelity; None before the first."""
        return self._state.history.best

    @property
    def best_in_full(self) -> Observation | None:
        """The lowest loss of a full training; None before the first."""
        return self._state.history.best_at(self.fidelity.high)

    def ask(self) -> Trial:
        """The next trial to evaluate."""
        with self._lock:
            trial = self.optimizer.propose(self._state, self.seed)
            self._append(Asked(trial))
            return trial

    def tell(self, trial: Trial | int, loss: Any) -> None:
        """What an evaluation brought. A loss that is not finite is a failure."""
        number = given_loss(loss)
        with self._lock:
            running = running_trial(self._state.history, trial)
            if math.isfinite(number):
                self._append(Told(running.id, number))
            else:
                self._append(Failed(running.id, f"the loss was {number}"))

    def fail(self, trial: Trial | int, reason: object = "") -> None:
        """An evaluation brought no loss: its slot is filled, and it is never promoted."""
        with self._lock:
            self._append(Failed(running_trial(self._state.history, trial).id, str(reason)))

    def queue(self, config: Mapping[str, Any], fidelity: float | None = None) -> None:
        """A known configuration to try next.

        It takes the place of the sampler's next draw and then follows the plan like any other; with
        a `fidelity` it is evaluated there, outside the plan.
        """
        at = trial_fidelity(fidelity, self.fidelity, self._state.ladder)
        with self._lock:
            self._append(Queued(self.space.check(config), at))

    def add(
        self, config: Mapping[str, Any], loss: Any, fidelity: float | None = None
    ) -> Observation:
        """A finished result from elsewhere, at any fidelity; of a full training by default.

        It counts for the incumbent, and for the scores where its fidelity is a rung's. It costs
        this study nothing, and is never promoted.
        """
        checked, number = self.space.check(config), given_loss(loss)
        full = self.fidelity.high if fidelity is None else fidelity
        at = any_fidelity(full, self.fidelity, self._state.ladder)
        with self._lock:
            new = len(self._state.history)
            trial = Trial(new, checked, at, None, None, IMPORTED, new)
            self._append(Asked(trial))
            self.tell(trial, number)
            outcome = self._state.history.outcome(trial.id)
            assert outcome is not None
            return outcome

    def follow(self, events: Iterable[Event]) -> None:
        """Take over what happened elsewhere, in its order: this is then the study it happened to.

        >>> from priorband import Float, Space, Study
        >>> space = Space({"x": Float(0, 1)})
        >>> one, other = (Study(space, method="random") for _ in range(2))
        >>> one.tell(one.ask(), 0.5)
        >>> other.follow(one.state.history.events)
        >>> other.best == one.best, other.replay().exact
        (True, True)
        """
        with self._lock:
            for event in events:
                self._append(event)

    def replay(self) -> Replay:
        """Each decision made again from what was known when it was made."""
        start = self.optimizer.start(self.space, self.prior, self.fidelity)
        return replayed(self.optimizer, self.seed, start, self._state.history.events)

    def _append(self, event: Event) -> None:
        self._state = self._state.after(event)
