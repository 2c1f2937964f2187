"""What people hand to a study, checked: each error says what was wrong and what is allowed."""

import json
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from priorband.errors import ConfigError, LossError, SingleRungWarning, SpaceError, TrialError
from priorband.fidelity import USUAL_ETA, Fidelity, warn_single_rung
from priorband.history import History
from priorband.ladder import Ladder
from priorband.numeric import real, whole
from priorband.space.prior import Prior
from priorband.space.prior import prior as stated_prior
from priorband.space.space import Space, plain
from priorband.trial import Trial

LONGEST_TEXT = 2_000
LONGEST_METRIC = 100_000
LONGEST_METRICS = 1_000_000


def given_space(space: Space) -> Space:
    """A space, or the word that it is none."""
    if not isinstance(space, Space):
        raise SpaceError(f"`space` must be a Space, got {space!r}. Write Space({{...}}).")
    return space


def warn_of_one_rung(fidelity: Fidelity | None, eta: int) -> None:
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


def given_seed(seed: int) -> int:
    """A seed as an integer."""
    if not whole(seed):
        raise SpaceError(f"`seed` must be a whole number, got {seed!r}.")
    return int(seed)


def given_fidelity(fidelity: Fidelity | None, space: Space) -> Fidelity:
    """A fidelity that fits the space; a single full one where none was given."""
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


def given_prior(
    prior: Prior | Mapping[str, Any] | None, space: Space, fidelity: Fidelity | None
) -> Prior:
    """A prior over the space: its parameters' own, beliefs by name, or one that was made."""
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


def given_loss(loss: Any) -> float:
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
        what = f"an array of shape {tuple(shape)}" if shape else _shown(loss)
        raise LossError(f"A loss must be one real number, got {what}. For no loss use `fail`.")
    try:
        return float(loss)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        raise LossError(f"A loss must be one real number, got {_shown(loss)}.") from None


def given_cost(cost: Any) -> float:
    """A cost, of which a budget can be made."""
    number = given_loss(cost)
    if not math.isfinite(number):
        raise LossError(f"A cost must be a finite number, got {number!r}.")
    return number


def given_seconds(name: str, seconds: Any) -> float:
    """A time for which a trial is held."""
    number = real(seconds)
    if number is None or number <= 0:
        raise SpaceError(f"`{name}` must be a number of seconds above 0, got {seconds!r}.")
    return number


def known_trial(history: History, trial: Trial | int) -> Trial:
    """A trial of this history, by itself or by its id."""
    number = trial.id if isinstance(trial, Trial) else trial
    if not whole(number):
        raise TrialError(f"A trial is told by itself or by its id, got {trial!r}.")
    if not 0 <= number < len(history):
        known = f"ids go from 0 to {len(history) - 1}" if len(history) else "none was asked yet"
        raise TrialError(f"There is no trial {number} in this study: {known}.")
    asked = history.trial(number)
    if isinstance(trial, Trial) and trial != asked:
        raise TrialError(f"Trial {number} of this study is another one: was it asked elsewhere?")
    return asked


def running_trial(history: History, trial: Trial | int) -> Trial:
    """A trial that has not ended."""
    asked = known_trial(history, trial)
    outcome = history.outcome(asked.id)
    if outcome is not None:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        what = f"as failed{reason}" if outcome.failed else f"with loss {outcome.loss}"
        raise TrialError(f"Trial {asked.id} was told already, {what}. A trial is told once.")
    return asked


def any_fidelity(given: float, fidelity: Fidelity, ladder: Ladder) -> float:
    """A fidelity at which a result may lie: a rung's own number where it is near one."""
    number, high = real(given), fidelity.high
    if number is None or not 0 < number <= high:
        raise SpaceError(f"`{fidelity.name}` must lie in (0, {high!r}], got {given!r}.")
    integer = fidelity.integer and number == int(number)
    return ladder.snap(int(number) if integer else number)


def trial_fidelity(given: float | None, fidelity: Fidelity, ladder: Ladder) -> float | None:
    """A fidelity at which a trial can be run, or None for wherever the plan has room."""
    at = None if given is None else any_fidelity(given, fidelity, ladder)
    if fidelity.integer and at is not None and not whole(at):
        raise SpaceError(f"`{fidelity.name}` must be a whole number, got {given!r}.")
    return at


def plain_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics as JSON can carry them, as many as are kept with a result.

    >>> plain_metrics({"acc": np.float32(0.5)})
    {'acc': 0.5}
    """
    kept, room = dict[str, Any](), LONGEST_METRICS
    for name, value in metrics.items():
        plain_one = plain_metric(value)
        room -= len(json.dumps({name: plain_one}))
        if room < 0:
            kept["..."] = f"{len(metrics) - len(kept)} more metrics found no room"
            break
        kept[name] = plain_one
    return kept


def plain_metric(value: Any) -> Any:
    """A metric as JSON can carry it; what it cannot, or what is too long, is kept as text."""
    try:
        number = given_loss(value)
        return number if math.isfinite(number) else str(number)
    except (LossError, TypeError, ValueError, RuntimeError):
        pass
    if hasattr(value, "tolist"):
        value = value.tolist()
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return _shown(value)
    if len(text) > LONGEST_METRIC:
        return f"{text[:LONGEST_TEXT]}... ({len(text)} characters)"
    return json.loads(text)


def _shown(value: Any) -> str:
    """What a value prints as, where it can: a metric may not cost the result it comes with."""
    try:
        return repr(value)[:LONGEST_TEXT]
    except Exception as error:
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"
