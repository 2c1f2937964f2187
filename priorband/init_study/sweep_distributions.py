"""Parameters of a W&B sweep as parameters of a study file.

The names and defaults are those of W&B's schema for sweeps:
https://docs.wandb.ai/models/sweeps/sweep-config-keys
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, final

from priorband.errors import FormatError
from priorband.init_study.calls import as_number
from priorband.init_study.guesses import SpaceEntry
from priorband.init_study.yaml_text import number_of
from priorband.values import frozen

_WIDTHS = 3
"""A normal is cut this many standard deviations from its mean, since a range needs bounds."""
_NUMBERS = ("min", "max", "mu", "sigma", "q", "a", "b")


@final
@frozen
class Converted:
    """A parameter, and what of it has no equivalent."""

    definition: Mapping[str, Any]
    why: str
    lost: str = ""


def sweep_entry(name: str, stated: Mapping[str, Any]) -> tuple[SpaceEntry, str]:
    """The parameter for one of a sweep, and what of it is lost; empty if nothing."""
    given = {key: number_of(stated[key]) if key in _NUMBERS else stated[key] for key in stated}
    kind = given.get("distribution") or _usual(given)
    convert = _CONVERTERS.get(str(kind))
    if convert is None:
        known = ", ".join(sorted(_CONVERTERS))
        raise FormatError(
            f"Parameter `{name}` has the distribution {kind!r}, which is not known. Known are "
            f"{known}."
        )
    try:
        made = convert(given)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        missing = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
        raise FormatError(f"Parameter `{name}` ({kind}) cannot be read: {missing}.") from error
    return SpaceEntry(name, made.definition, made.why), made.lost


def _usual(given: Mapping[str, Any]) -> str:
    """The distribution of a parameter that names none, as W&B chooses it."""
    if "values" in given:
        return "categorical"
    if "value" in given:
        return "constant"
    both_whole = isinstance(given.get("min"), int) and isinstance(given.get("max"), int)
    return "int_uniform" if both_whole else "uniform"


def _bounds(given: Mapping[str, Any]) -> tuple[float, float]:
    low, high = as_number(given["min"]), as_number(given["max"])
    if low is None or high is None or not low < high:
        raise ValueError(
            f"`min` must be a number below `max`, got {given['min']!r} and {given['max']!r}"
        )
    return low, high


def _constant(given: Mapping[str, Any]) -> Converted:
    return Converted({"constant": _choice(given["value"])}, "value of the sweep")


def _choice(value: Any) -> Any:
    """A value as a study file can hold it: no nested mappings, and no null."""
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list):
        return [_choice(item) for item in value]
    return "null" if value is None else str(value)


def _categorical(given: Mapping[str, Any]) -> Converted:
    values = [_choice(value) for value in given["values"]]
    if len(values) == 1:
        return Converted({"constant": values[0]}, "the only value of the sweep")
    numbers = all(as_number(value) is not None for value in values)
    in_order = numbers and values == sorted({*values})
    definition: dict[str, Any] = {"ordinal" if in_order else "choices": values}
    if "probabilities" in given:
        definition["weights"] = [float(number_of(p)) for p in given["probabilities"]]  # type: ignore[arg-type]  # refused with the others if it is no number
        return Converted(definition, "values and probabilities of the sweep")
    tail = ", which are numbers in order" if in_order else ""
    return Converted(definition, f"values of the sweep{tail}")


def _uniform(given: Mapping[str, Any]) -> Converted:
    low, high = _bounds(given)
    return Converted({"float": [float(low), float(high)]}, "uniform in the sweep")


def _int_uniform(given: Mapping[str, Any]) -> Converted:
    low, high = _bounds(given)
    return Converted({"integer": [int(low), int(high)]}, "int_uniform in the sweep")


def _log_values(given: Mapping[str, Any]) -> Converted:
    low, high = _bounds(given)
    if low <= 0:
        raise ValueError(f"`min` must be above 0, got {low:g}")
    why = f"{given['distribution']} in the sweep"
    return Converted({"float": [float(low), float(high)], "log": True}, why)


def _log_exponents(given: Mapping[str, Any]) -> Converted:
    low, high = _bounds(given)
    ends = [_short(math.exp(low)), _short(math.exp(high))]
    why = f"log_uniform in the sweep: from exp({low:g}) to exp({high:g})"
    return Converted({"float": ends, "log": True}, why)


def _inverse_exponents(given: Mapping[str, Any]) -> Converted:
    low, high = _bounds(given)
    ends = [_short(math.exp(-high)), _short(math.exp(-low))]
    why = f"inv_log_uniform in the sweep: from exp({-high:g}) to exp({-low:g})"
    return Converted({"float": ends, "log": True}, why)


def _stepped(given: Mapping[str, Any]) -> Converted:
    """Multiples of `q`: whole numbers where `q` is whole."""
    low, high = _bounds(given)
    q = as_number(given.get("q", 1)) or 1
    first, last = round(low / q), round(high / q)
    why = f"q_uniform in the sweep: multiples of {q:g}"
    if float(q).is_integer():
        definition: dict[str, Any] = {"integer": [int(first * q), int(last * q)]}
        return Converted(definition | ({"step": int(q)} if q > 1 else {}), why)
    ends = [_short(first * q), _short(last * q)]
    return Converted({"float": ends, "step": float(q)}, why)


def _stepped_log(given: Mapping[str, Any]) -> Converted:
    """A log scale has no steps, so a step of 1 is a whole number and others are lost."""
    low, high = _bounds(given)
    kind = given["distribution"]
    if kind == "q_log_uniform":
        low, high = math.exp(low), math.exp(high)
    q = as_number(given.get("q", 1)) or 1
    if q >= 1:
        ends = [max(1, round(low)), max(2, round(high))]
        lost = "" if q == 1 else f"its step of {q:g}: a log scale has none, so all whole numbers"
        return Converted({"integer": ends, "log": True}, f"{kind} in the sweep", lost)
    lost = f"its step of {q:g}: a log scale has none"
    ends_of_floats = [_short(low), _short(high)]
    return Converted({"float": ends_of_floats, "log": True}, f"{kind} in the sweep", lost)


def _normal(given: Mapping[str, Any]) -> Converted:
    mu = as_number(given.get("mu", 0)) or 0
    sigma = as_number(given.get("sigma", 1)) or 1
    low, high = _short(mu - _WIDTHS * sigma), _short(mu + _WIDTHS * sigma)
    definition: dict[str, Any] = {"float": [low, high]}
    q = as_number(given.get("q", 1)) or 1 if given["distribution"] == "q_normal" else None
    lost = ""
    if q == 1:
        definition = {"integer": [round(low), round(high)]}
    elif q is not None:
        lost = f"its step of {q:g}"
    definition["prior"] = {"normal": round(mu) if q == 1 else float(mu), "sigma": _share()}
    why = f"{given['distribution']} in the sweep; the bounds are {_WIDTHS} sigma from mu"
    return Converted(definition, why, lost)


def _log_normal(given: Mapping[str, Any]) -> Converted:
    mu = as_number(given.get("mu", 0)) or 0
    sigma = as_number(given.get("sigma", 1)) or 1
    ends = [_short(math.exp(mu + side * _WIDTHS * sigma)) for side in (-1, 1)]
    prior = {"normal": _short(math.exp(mu)), "sigma": _share()}
    lost = "its step" if given["distribution"] == "q_log_normal" else ""
    why = f"{given['distribution']} in the sweep; the bounds are {_WIDTHS} sigma from mu"
    return Converted({"float": ends, "log": True, "prior": prior}, why, lost)


def _share() -> float:
    """Sigma as a part of the range, which is how beliefs state it."""
    return _short(1 / (2 * _WIDTHS))


def _beta(given: Mapping[str, Any]) -> Converted:
    shape = [float(as_number(given.get(key, 1)) or 1) for key in ("a", "b")]
    lost = "its step" if given["distribution"] == "q_beta" else ""
    return Converted({"float": [0.0, 1.0], "prior": {"beta": shape}}, "beta in the sweep", lost)


def _short(number: float) -> float:
    """Four significant digits."""
    return float(f"{number:.4g}")


_CONVERTERS: dict[str, Callable[[Mapping[str, Any]], Converted]] = {
    "constant": _constant,
    "categorical": _categorical,
    "categorical_w_probabilities": _categorical,
    "uniform": _uniform,
    "int_uniform": _int_uniform,
    "q_uniform": _stepped,
    "log_uniform": _log_exponents,
    "log_uniform_values": _log_values,
    "inv_log_uniform": _inverse_exponents,
    "inv_log_uniform_values": _log_values,
    "q_log_uniform": _stepped_log,
    "q_log_uniform_values": _stepped_log,
    "normal": _normal,
    "q_normal": _normal,
    "log_normal": _log_normal,
    "q_log_normal": _log_normal,
    "beta": _beta,
    "q_beta": _beta,
}
