"""Checks of arguments: each returns the checked value, or raises an error that says what to do."""

import json
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from priorband.errors import (
    ArgumentError,
    ConfigError,
    LossError,
    SingleRungWarning,
    SpaceError,
    TrialError,
    suggestion,
)
from priorband.failures import FAILURE_KINDS, FailureKind
from priorband.fidelity import USUAL_ETA, Fidelity, warn_single_rung
from priorband.history import History
from priorband.ladder import Ladder
from priorband.numeric import one_of, real, whole
from priorband.space.prior import Prior
from priorband.space.prior import prior as stated_prior
from priorband.space.space import Space, normalised_name
from priorband.trial import IMPORTED, Trial

LONGEST_TEXT = 2_000
LONGEST_METRIC = 100_000
LONGEST_METRICS = 1_000_000


def checked_space(space: Space) -> Space:
    """Return `space`, or raise `SpaceError` if it is not a `Space`."""
    given: object = space
    if isinstance(given, Fidelity):
        raise SpaceError(
            f"`space` must be a Space, got {given!r}. The space comes first, then the fidelity."
        )
    if not isinstance(given, Space):
        raise SpaceError(f"`space` must be a Space, got {given!r}. Write Space({{...}}).")
    return given


def warn_about_single_rung(fidelity: Fidelity | None, eta: int, stacklevel: int) -> None:
    """Warn that a method for several rungs gets one, unless `Fidelity` has warned already."""
    if fidelity is None:
        warnings.warn(
            "No fidelity was given, so every trial is a full training. Give one, such as "
            "Fidelity('epochs', 1, 81), or use a method without one, such as 'random+prior'.",
            SingleRungWarning,
            stacklevel=stacklevel,
        )
    elif eta != USUAL_ETA:
        warn_single_rung(fidelity, eta, stacklevel=stacklevel + 1)


def checked_seed(seed: int) -> int:
    """Return `seed` as an `int`, or raise `ArgumentError`."""
    if not whole(seed):
        raise ArgumentError(f"`seed` must be a whole number, such as 0, got {seed!r}.")
    return int(seed)


def checked_fidelity(fidelity: Fidelity | None, space: Space) -> Fidelity:
    """Return `fidelity` if it fits the space; without one, a fidelity of full trainings only."""
    if fidelity is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingleRungWarning)
            return Fidelity("fidelity", 1, 1)
    if not isinstance(fidelity, Fidelity):
        raise SpaceError(
            f"`fidelity` must be a Fidelity, got {fidelity!r}. Write Fidelity('epochs', 1, 81), or "
            "leave it out if each trial is a full training."
        )
    if normalised_name(fidelity.name) in map(normalised_name, space.parameters):
        raise SpaceError(
            f"`{fidelity.name}` is the fidelity, so it cannot be searched too. Take it out of "
            f"the space: each trial says how far to train.{_conditions_on(fidelity.name, space)}"
        )
    return fidelity


def _conditions_on(name: str, space: Space) -> str:
    """What to do about conditions on the fidelity; empty if there are none."""
    children = [
        f"`{child}`"
        for child, parameter in space.parameters.items()
        if normalised_name(name) in map(normalised_name, parameter.when or {})
    ]
    if not children:
        return ""
    return f" No condition can be on it either: change `when` of {', '.join(children)}."


def checked_prior(
    prior: Prior | Mapping[str, Any] | None, space: Space, fidelity: Fidelity | None
) -> Prior:
    """Return the prior: the parameters' own, one made of beliefs by name, or the given object."""
    if prior is None:
        return space.prior
    if not isinstance(prior, Mapping):
        missing = [
            name for name in ("sample", "logpdf", "mode", "around") if not hasattr(prior, name)
        ]
        if len(missing) == 4:
            example = repr(prior) if isinstance(prior, str | int | float) else "..."
            raise SpaceError(
                "`prior` must be a dict with a value or a belief for each parameter that has one, "
                f"or a Prior, got {prior!r}. Write prior={{{space.names[0]!r}: {example}}}."
            )
        if missing:
            raise SpaceError(
                "`prior` must be a dict of beliefs by name, or have sample, logpdf, mode and "
                f"around; {prior!r} lacks {', '.join(missing)}."
            )
        try:
            space.check(prior.mode)
        except ConfigError as error:
            raise SpaceError(f"`prior` is over another space. Its mode: {error}") from None
        return prior
    if fidelity is not None and fidelity.name in prior:
        raise SpaceError(f"`{fidelity.name}` is the fidelity and takes no prior. Drop it.")
    return stated_prior(space, prior)


def checked_loss(loss: Any) -> float:
    """Return a loss as a `float`; accept real numbers of Python, numpy and torch only."""
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
        raise _not_a_loss(loss)
    try:
        return float(loss)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        raise LossError(f"`loss` must be one real number, got {_shown(loss)}.") from None


def _not_a_loss(given: Any) -> LossError:
    shape = getattr(given, "shape", None)
    what = f"an array of shape {tuple(shape)}" if shape else _shown(given)
    hint = "If the trial has no result, call `fail(trial)` instead."
    if isinstance(given, Trial):
        hint = "The trial comes first: tell(trial, loss)."
    if isinstance(given, Mapping):
        hint = "Give the number alone, and other values by name: tell(trial, 0.31, accuracy=0.9)."
    return LossError(f"`loss` must be one real number, such as 0.31, got {what}. {hint}")


def checked_failure_kind(kind: str) -> FailureKind:
    """Return a kind of failure, or raise `ArgumentError` if there is no such kind."""
    if not one_of(kind, FAILURE_KINDS):
        raise ArgumentError(
            f"`kind` must be a kind of failure, got {kind!r}. {suggestion(kind, FAILURE_KINDS)}"
        )
    return kind


def checked_cost(cost: Any) -> float:
    """Return a cost as a `float`, or raise `LossError` if it is not finite."""
    try:
        number = checked_loss(cost)
    except LossError:
        raise LossError(f"`cost` must be one real number, got {_shown(cost)}.") from None
    if not math.isfinite(number):
        raise LossError(f"`cost` must be a finite number, got {number!r}.")
    return number


def checked_flag(name: str, flag: Any) -> bool:
    """Return True or False as it is, or raise `ArgumentError` naming the argument."""
    if not isinstance(flag, bool):
        raise ArgumentError(f"`{name}` must be True or False, got {flag!r}.")
    return flag


def checked_count(name: str, count: Any) -> int:
    """Return a whole number of at least 1, or raise `ArgumentError` naming the argument."""
    if not whole(count) or count < 1:
        raise ArgumentError(f"`{name}` must be a whole number of at least 1, got {count!r}.")
    return int(count)


def checked_seconds(name: str, seconds: Any) -> float:
    """Return a number of seconds above 0, or raise `ArgumentError` naming the argument."""
    number = real(seconds)
    if number is None or number <= 0:
        raise ArgumentError(f"`{name}` must be a number of seconds above 0, got {seconds!r}.")
    return number


def asked_trial(history: History, trial: Trial | int) -> Trial:
    """Return the trial of this history that `trial`, a trial or an id, stands for."""
    number = trial.id if isinstance(trial, Trial) else trial
    if not whole(number):
        raise TrialError(f"`trial` must be a Trial or its id, got {trial!r}.")
    if not 0 <= number < len(history):
        known = "it has no trials yet"
        if len(history):
            known = f"it has trials 0 to {len(history) - 1}"
        if len(history) == 1:
            known = "it has trial 0 only"
        raise TrialError(f"`trial` {number} is not in this study: {known}.")
    asked = history.trial(number)
    if isinstance(trial, Trial) and trial != asked:
        raise TrialError(
            f"Trial {number} of this study is a different one: was it asked from another study?"
        )
    return asked


def running_trial(history: History, trial: Trial | int) -> Trial:
    """Return the trial, or raise `TrialError` if it has ended."""
    asked = asked_trial(history, trial)
    outcome = history.outcome(asked.id)
    if outcome is not None:
        reason = f" ({outcome.reason})" if outcome.reason else ""
        what = f"as failed{reason}" if outcome.failed else f"with loss {outcome.loss}"
        raise TrialError(f"Trial {asked.id} was told already, {what}. A trial is told once.")
    return asked


def result_fidelity(given: float, fidelity: Fidelity, ladder: Ladder) -> float:
    """Return a fidelity at which a result may be; a rung's exact value where it is close to one."""
    number, high = real(given), fidelity.high
    if number is None or not 0 < number <= high:
        raise SpaceError(f"`{fidelity.name}` must lie in (0, {high!r}], got {given!r}.")
    integer = fidelity.integer and number == int(number)
    return ladder.snap(int(number) if integer else number)


def trial_fidelity(given: float | None, fidelity: Fidelity, ladder: Ladder) -> float | None:
    """Return a fidelity at which a trial can be run, or None to leave it to the scheduler."""
    at = None if given is None else result_fidelity(given, fidelity, ladder)
    if fidelity.integer and at is not None and not whole(at):
        raise SpaceError(f"`{fidelity.name}` must be a whole number, got {given!r}.")
    return at


def json_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return metrics as JSON can hold them, up to a total length.

    >>> json_metrics({"acc": np.float32(0.5)})
    {'acc': 0.5}
    """
    kept, room = dict[str, Any](), LONGEST_METRICS
    for name, value in metrics.items():
        plain_one = json_metric(value)
        room -= len(json.dumps({name: plain_one}))
        if room < 0:
            kept["..."] = f"{len(metrics) - len(kept)} more metrics were too long to keep"
            break
        kept[name] = plain_one
    return kept


def json_metric(value: Any) -> Any:
    """Return a metric as JSON can hold it; as text where it cannot, or where it is too long."""
    try:
        number = checked_loss(value)
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
    """Return a value's repr; never raise, since a metric must not cost the result it comes with."""
    try:
        return repr(value)[:LONGEST_TEXT]
    except Exception as error:
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"


def retryable_trial(history: History, number: int) -> Trial:
    """Return a failed trial that can be retried, or raise `TrialError`."""
    trial = asked_trial(history, number)
    outcome = history.outcome(trial.id)
    if outcome is None or not outcome.failed:
        raise TrialError(f"Trial {number} has not failed. Only failed trials can be retried.")
    if trial.origin == IMPORTED:
        raise TrialError(
            f"Trial {number} was imported, so it cannot be retried. To evaluate its configuration, "
            "call `study.queue(config, fidelity)`."
        )
    if history.retried(trial.id):
        raise TrialError(f"Trial {number} was retried already. Retry the trial that replaced it.")
    return trial
