"""The study: asks for trials, is told of losses, and remembers in what order."""

import math
import warnings
from collections.abc import Mapping
from threading import RLock
from typing import Any, final

import numpy as np

from priorband.errors import ConfigError, LossError, SingleRungWarning, SpaceError, TrialError
from priorband.events import Asked, Event, Failed, Queued, Told
from priorband.fidelity import USUAL_ETA, Fidelity, warn_single_rung
from priorband.methods import optimizer as named_method
from priorband.numeric import real, whole
from priorband.optimizer import Optimizer
from priorband.replay import Replay, replayed
from priorband.schedulers.full import FullFidelity
from priorband.space.prior import Prior
from priorband.space.prior import prior as stated_prior
from priorband.space.space import Space, plain
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
        self.space = _space(space)
        self.optimizer = method if isinstance(method, Optimizer) else named_method(method)
        self.fidelity = _fidelity(fidelity, space)
        self.seed = _seed(seed)
        self.prior = _prior(prior, space, fidelity)
        self._state = self.optimizer.start(space, self.prior, self.fidelity)
        self._lock = RLock()
        if not isinstance(self.optimizer.scheduler, FullFidelity):
            _warn_of_one_rung(fidelity, self.optimizer.eta)

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
        number = _number(loss)
        with self._lock:
            running = self._running(trial)
            if math.isfinite(number):
                self._append(Told(running.id, number))
            else:
                self._append(Failed(running.id, f"the loss was {number}"))

    def fail(self, trial: Trial | int, reason: object = "") -> None:
        """An evaluation brought no loss: its slot is filled, and it is never promoted."""
        with self._lock:
            self._append(Failed(self._running(trial).id, str(reason)))

    def queue(self, config: Mapping[str, Any], fidelity: float | None = None) -> None:
        """A known configuration to try next.

        It takes the place of the sampler's next draw and then follows the plan like any other; with
        a `fidelity` it is evaluated there, outside the plan.
        """
        at = None if fidelity is None else self._at(fidelity)
        if self.fidelity.integer and at is not None and not whole(at):
            raise SpaceError(f"`{self.fidelity.name}` must be a whole number, got {fidelity!r}.")
        with self._lock:
            self._append(Queued(self.space.check(config), at))

    def add(
        self, config: Mapping[str, Any], loss: Any, fidelity: float | None = None
    ) -> Observation:
        """A finished result from elsewhere, at any fidelity; of a full training by default.

        It counts for the incumbent, and for the scores where its fidelity is a rung's. It costs
        this study nothing, and is never promoted.
        """
        checked, number = self.space.check(config), _number(loss)
        at = self._at(self.fidelity.high if fidelity is None else fidelity)
        with self._lock:
            new = len(self._state.history)
            trial = Trial(new, checked, at, None, None, IMPORTED, new)
            self._append(Asked(trial))
            self.tell(trial, number)
            outcome = self._state.history.outcome(trial.id)
            assert outcome is not None
            return outcome

    def replay(self) -> Replay:
        """Each decision made again from what was known when it was made."""
        start = self.optimizer.start(self.space, self.prior, self.fidelity)
        return replayed(self.optimizer, self.seed, start, self._state.history.events)

    def _append(self, event: Event) -> None:
        self._state = self._state.after(event)

    def _running(self, trial: Trial | int) -> Trial:
        history = self._state.history
        number = trial.id if isinstance(trial, Trial) else trial
        if not whole(number):
            raise TrialError(f"A trial is told by itself or by its id, got {trial!r}.")
        if not 0 <= number < len(history):
            known = f"ids go from 0 to {len(history) - 1}" if len(history) else "none was asked yet"
            raise TrialError(f"There is no trial {number} in this study: {known}.")
        asked = history.trial(number)
        if isinstance(trial, Trial) and trial != asked:
            raise TrialError(
                f"Trial {number} of this study is another one: was it asked elsewhere?"
            )
        outcome = history.outcome(number)
        if outcome is not None:
            reason = f" ({outcome.reason})" if outcome.reason else ""
            what = f"as failed{reason}" if outcome.failed else f"with loss {outcome.loss}"
            raise TrialError(f"Trial {number} was told already, {what}. A trial is told once.")
        return asked

    def _at(self, fidelity: float) -> float:
        number, high = real(fidelity), self.fidelity.high
        if number is None or not 0 < number <= high:
            raise SpaceError(f"`{self.fidelity.name}` must lie in (0, {high!r}], got {fidelity!r}.")
        integer = self.fidelity.integer and number == int(number)
        return self._state.ladder.snap(int(number) if integer else number)


def _space(space: Space) -> Space:
    if not isinstance(space, Space):
        raise SpaceError(f"`space` must be a Space, got {space!r}. Write Space({{...}}).")
    return space


def _warn_of_one_rung(fidelity: Fidelity | None, eta: int) -> None:
    """For methods that live on several; what the fidelity itself has warned of is not repeated."""
    if fidelity is None:
        warnings.warn(
            "No fidelity was given, so every trial is a full training. Give one, such as "
            "Fidelity('epochs', 1, 81), or take a method without, such as 'random+prior'.",
            SingleRungWarning,
            stacklevel=3,
        )
    elif eta != USUAL_ETA:
        warn_single_rung(fidelity, eta, stacklevel=4)


def _seed(seed: int) -> int:
    if not whole(seed):
        raise SpaceError(f"`seed` must be a whole number, got {seed!r}.")
    return int(seed)


def _fidelity(fidelity: Fidelity | None, space: Space) -> Fidelity:
    if fidelity is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingleRungWarning)
            return Fidelity("fidelity", 1, 1)
    if not isinstance(fidelity, Fidelity):
        raise SpaceError(f"`fidelity` must be a Fidelity, got {fidelity!r}.")
    if plain(fidelity.name) in map(plain, space.parameters):
        raise SpaceError(
            f"`{fidelity.name}` is the fidelity, so it cannot be searched too. Take it out of "
            "the space: each trial says how far to train."
        )
    return fidelity


def _prior(
    prior: Prior | Mapping[str, Any] | None, space: Space, fidelity: Fidelity | None
) -> Prior:
    if prior is None:
        return space.prior
    if not isinstance(prior, Mapping):
        missing = [
            name for name in ("sample", "logpdf", "mode", "around") if not hasattr(prior, name)
        ]
        if missing:
            raise SpaceError(
                f"`prior` must be beliefs by name or have sample, logpdf, mode and around; "
                f"{prior!r} lacks {', '.join(missing)}."
            )
        try:
            space.check(prior.mode)
        except ConfigError as error:
            raise SpaceError(f"The prior is of another space. Its mode: {error}") from None
        return prior
    if fidelity is not None and fidelity.name in prior:
        raise SpaceError(f"`{fidelity.name}` is the fidelity and takes no prior. Drop it.")
    return stated_prior(space, prior)


def _number(loss: Any) -> float:
    """A loss as a float: numbers of Python, numpy and torch, but nothing that merely converts."""
    if type(loss) is float:
        return loss
    dtype = getattr(loss, "dtype", float)
    kind = getattr(dtype, "kind", "f")
    if "bool" in str(dtype) or "complex" in str(dtype):  # torch's have no kind
        kind = "b"
    scalar = getattr(loss, "shape", ()) == () and kind in "fiu" and loss is not np.ma.masked
    if scalar and hasattr(loss, "item"):  # float() of a tensor that has a gradient warns
        loss = loss.item()
    odd = isinstance(loss, bool | str | complex | type)  # some of which convert to a float
    if odd or not scalar or not hasattr(loss, "__float__"):
        shape = getattr(loss, "shape", None)
        what = f"an array of shape {tuple(shape)}" if shape else f"{loss!r}"
        raise LossError(f"A loss must be one real number, got {what}. For no loss use `fail`.")
    try:
        return float(loss)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        raise LossError(f"A loss must be one real number, got {loss!r}.") from None
