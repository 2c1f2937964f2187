"""A problem as data that JSON can hold, and the differences between two problems.

A method or a prior with parts that a user wrote has no stored form. Its name is stored instead, and
the object must be given again when the study is opened.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from priorband.durable.registry import PARAMETERS, registry
from priorband.durable.serialize import TAG, custom_part, from_data, short_repr, to_data, unreadable
from priorband.errors import ConfigError, MethodError
from priorband.fidelity import Fidelity
from priorband.method_names import method_name, method_text
from priorband.optimizers import Optimizer
from priorband.problem import Problem
from priorband.space.prior import Independent, Prior
from priorband.space.space import Space, normalised_name
from priorband.space.when import when_text
from priorband.storage.journal import BASE_FORMAT
from priorband.values import field_defaults

_LONG = 160
_PLURALS = ("beliefs", "choices", "probabilities", "samplers", "weights")
_SINCE_2 = {"step", "when"}
_OF_PRIORS = ("prior", "confidence")
_KEYS = ("space", "prior", "fidelity", "method", "seed")


def problem_data(problem: Problem) -> dict[str, Any]:
    """A problem as data that JSON can hold; the prior is None where it is the space's own."""
    space = to_data(problem.space)
    return {
        "space": space,
        "prior": _prior_data(problem, _text(space)),
        "fidelity": to_data(problem.fidelity),
        "method": _part_data(problem.optimizer),
        "seed": to_data(problem.seed),
    }


def changed_prior_data(prior: Prior, problem: Mapping[str, Any]) -> Any:
    """A prior for a study with this problem as data; None where it is the space's own.

    Raises:
        MethodError: if the prior has custom parts, which other workers could not make.
    """
    data = _part_data(prior)
    if _is_own(data):
        raise MethodError(
            "The prior of a stored study can only be changed to one that is made of beliefs: other "
            f"workers could not make one with custom parts ({data['name']}). Pass a dict of "
            "beliefs, or pb.from_samples(space, configs)."
        )
    space = _typed(problem["space"], Space)
    return _without_space(prior, data, space, _text(to_data(space)))


def changed_prior(data: Any, problem: Mapping[str, Any]) -> Prior:
    """The prior that `changed_prior_data` described, or a `FormatError`."""
    if _is_own(data):
        raise unreadable("The prior was changed to one with custom parts")
    prior: Prior = _prior_from_data({**problem, "prior": data}, _typed(problem["space"], Space))
    return prior


def needed_format(data: Any) -> int:
    """The lowest version of the stored format that has a form for all of a problem's data.

    Version 2 has conditions and steps of parameters.
    """
    if isinstance(data, list):
        return max(map(needed_format, data), default=BASE_FORMAT)
    if not isinstance(data, dict):
        return BASE_FORMAT
    if data.get(TAG) in PARAMETERS and _SINCE_2 & data.keys():
        return 2
    return needed_format([*data.values()])


def _prior_data(problem: Problem, space: str) -> Any:
    return _without_space(problem.prior, _part_data(problem.prior), problem.space, space)


def _without_space(prior: Prior, data: dict[str, Any], space: Space, text: str) -> Any:
    if data[TAG] == "Independent" and _text(data["space"]) == text:
        data["space"] = None
        return None if prior == space.prior else data
    return data


def _part_data(part: object) -> dict[str, Any]:
    name = custom_part(part)
    if name is not None:
        return {
            TAG: "own",
            "name": name,
            "shown": short_repr(part).encode(errors="replace").decode(),
        }
    data: dict[str, Any] = to_data(part)
    return data


def _text(data: Any) -> str:
    """Data as text that is equal only where the types are equal: 1 is not True."""
    return json.dumps(data, sort_keys=True)


def problem_from_data(
    data: Any, *, prior: Prior | None = None, optimizer: Optimizer | None = None
) -> Problem:
    """The problem that the data stands for; a prior or a method given here replaces the stored one.

    Raises:
        FormatError: if the data does not describe a problem.
        MethodError: if the method or the prior has custom parts and was not given.
    """
    _check_keys(data)
    space, fidelity = _typed(data["space"], Space), _typed(data["fidelity"], Fidelity)
    if normalised_name(fidelity.name) in map(normalised_name, space.parameters):
        raise unreadable(f"`{fidelity.name}` is both the fidelity and a parameter")
    if type(data["seed"]) is not int:
        raise unreadable(f"Expected a whole number as the seed, got {short_repr(data['seed'])}")
    if optimizer is None:
        optimizer = _typed(_ours(data["method"], "method"), Optimizer)
    prior = _prior_from_data(data, space) if prior is None else prior
    return Problem(space, prior, fidelity, optimizer, data["seed"])


def _check_keys(data: Any) -> None:
    if not isinstance(data, Mapping) or {*data} != {*_KEYS}:
        raise unreadable(f"Expected a problem with {', '.join(_KEYS)}, got {short_repr(data)}")


def _typed(data: Any, kind: type) -> Any:
    value = from_data(data)
    if type(value) is not kind:
        raise unreadable(f"Expected a value of {kind.__name__}, got {short_repr(value)}")
    return value


def _ours(data: Any, what: str) -> Any:
    """The data of a part without custom parts, or a `MethodError`."""
    if not _is_own(data):
        return data
    raise MethodError(
        f"This study's {what} has custom parts ({data['name']}): open it in Python with "
        f"`open_study(where, {what}=...)`."
    )


def _is_own(data: Any) -> bool:
    own = type(data) is dict and data.get(TAG) == "own"
    if own and [type(data.get(name)) for name in ("name", "shown")] != [str, str]:
        raise unreadable(f"Expected the name of a part, got {short_repr(data)}")
    return own


def has_own_prior(data: Mapping[str, Any]) -> bool:
    """Whether a problem's prior is of a class of the user's own, which only they can make."""
    return _is_own(data["prior"])


def _prior_from_data(data: Mapping[str, Any], space: Space) -> Any:
    stored = _ours(data["prior"], "prior")
    if stored is None:
        return space.prior
    if type(stored) is dict and stored.get("space", ()) is None:
        stored = {**stored, "space": data["space"]}
    prior = _typed(stored, Independent)
    try:
        space.check(prior.mode)
    except ConfigError as error:
        raise unreadable(f"The prior is of another space: {error}") from None
    return prior


def differences(stored: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Where the data of two problems differs, one line each; empty where they are the same."""
    _check_keys(stored)
    _check_keys(given)
    old, new = _parameters(stored), _parameters(given)
    lines = [f"`{name}` is in the study, but not here" for name in old if name not in new]
    lines += [f"`{name}` is here, but not in the study" for name in new if name not in old]
    kept, moved = [n for n in old if n in new], [n for n in new if n in old]
    if kept != moved:
        names = f"{', '.join(kept)} in the study, {', '.join(moved)} here"
        lines.append(f"the order of the parameters: {names}")
    for name in kept:
        lines += _lines(f"`{name}`", old[name], new[name])
    lines += _prior_lines(stored, given, [n for n in kept if _text(old[n]) == _text(new[n])])
    one, other = (to_data(_typed(data["fidelity"], Fidelity)) for data in (stored, given))
    lines += _lines("fidelity" + f" `{one['name']}`" * (one["name"] == other["name"]), one, other)
    lines += _method_lines(stored["method"], given["method"])
    return lines + list(_lines("seed", stored["seed"], given["seed"]))


def with_priors_of(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a given problem, with the priors of the stored one.

    Those of single parameters are replaced only if the parameters are the same otherwise.
    """
    same = [*_without_priors(stored).items()] == [*_without_priors(given).items()]
    space = stored["space"] if same else given["space"]
    return {**given, "space": space, "prior": stored["prior"]}


def _without_priors(data: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: _text({key: item for key, item in about.items() if key not in _OF_PRIORS})
        for name, about in _parameters(data).items()
    }


def prior_differences(problem: Mapping[str, Any], current: Prior, given: Prior) -> list[str]:
    """Where the prior of a study with this problem differs from another one, one line each."""
    space = _typed(problem["space"], Space)
    text, sides = _text(to_data(space)), []
    for prior in (current, given):
        if isinstance(prior, Independent):
            prior = Independent(space, prior.densities, prior.mode)
        data = _without_space(prior, _part_data(prior), space, text)
        sides.append({**problem, "prior": data})
    return differences(*sides)


def _method_lines(stored: Any, given: Any) -> Iterator[str]:
    """A method is named; its parts are compared only where they have to be."""
    if _is_own(stored) or _is_own(given):
        if _text(stored) != _text(given):
            yield "method: " + _both(*(_method_shown(data) for data in (stored, given)))
        return
    old, new = (_typed(data, Optimizer) for data in (stored, given))
    names = method_name(old), method_name(new)
    if names[0] == names[1] or None in names:
        same = names[0] == names[1] and names[0] is not None
        yield from _lines(f"method {names[0]!r}" if same else "method", to_data(old), to_data(new))
    else:
        yield f"method: {method_text(old)} in the study, {method_text(new)} here"


def _method_shown(data: Any) -> str:
    return _shown(data) if _is_own(data) else method_text(_typed(data, Optimizer))


def _parameters(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: to_data(p) for name, p in _typed(data["space"], Space).parameters.items()}


def _prior_lines(
    stored: Mapping[str, Any], given: Mapping[str, Any], names: list[str]
) -> Iterator[str]:
    """Only for parameters that are the same: where a range changes, so does its prior."""
    sides = stored["prior"], given["prior"]
    if _text(sides[0]) == _text(sides[1]):
        return
    if any(map(_is_own, sides)):
        shorts = [_shown(side) if _is_own(side) else "one made of beliefs" for side in sides]
        yield "prior: " + _both(*shorts)
        return
    old, new = (_prior_from_data(data, _typed(data["space"], Space)) for data in (stored, given))
    if old.space != new.space and _text(stored["space"]) == _text(given["space"]):
        yield "prior: " + _both(f"over {old.space!r}", f"over {new.space!r}")
    for name in names:
        if name in old.mode and name in new.mode:  # or else it is inactive there
            modes = to_data(old.mode[name]), to_data(new.mode[name])
            yield from _lines(f"prior of `{name}`", *modes, "mode")
        one, other = (dict(zip(p.space.names, p.densities, strict=True)) for p in (old, new))
        yield from _lines(f"prior of `{name}`", to_data(one.get(name)), to_data(other.get(name)))


def _lines(where: str, old: Any, new: Any, field: str = "") -> Iterator[str]:
    for path, one, other in _unlike(field, old, new):
        if path == "when":
            yield f"{where}: used {_both(_when_shown(one), _when_shown(other))}"
            continue
        verb = "are" if path.endswith(_PLURALS) else "is"
        yield f"{where}: {f'{path} {verb} ' if path else ''}" + _both(_shown(one), _shown(other))


def _when_shown(data: Any) -> str:
    when = from_data(data)
    return "always" if when is None else f"with {when_text(when)}"


def _unlike(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """The innermost parts that differ, and the path to each."""
    if _text(old) == _text(new):
        return
    if not (_has_fields(old) and _has_fields(new) and old[TAG] == new[TAG]):
        yield path, old, new
    elif old[TAG] != "tuple":
        for name in {**old, **new}:
            sides = (_field(side, name) for side in (old, new))
            yield from _unlike(f"{path}.{name}".lstrip("."), *sides)
    elif len(old["items"]) == len(new["items"]) and all(
        map(_has_fields, old["items"] + new["items"])
    ):
        for i, (one, other) in enumerate(zip(old["items"], new["items"], strict=True)):
            yield from _unlike(f"{path}[{i}]", one, other)
    else:
        yield path, old, new


def _field(data: dict[str, Any], name: str) -> Any:
    """A field's data; where it was not written, its default's."""
    if name in data or data[TAG] not in registry():
        return data.get(name)
    return to_data(field_defaults(registry()[data[TAG]])[name])


def _has_fields(data: Any) -> bool:
    return type(data) is dict and data.get(TAG) not in ("float", "dict", "own", "When")


def _shown(data: Any) -> str:
    if _is_own(data):
        return f"one with custom parts ({data['name']}: {data['shown']})"
    return repr(from_data(data))


def _both(old: str, new: str) -> str:
    """The two side by side; of long texts only the part where they begin to differ."""
    alike = next((i for i in range(len(old)) if old[i] != new[i : i + 1]), len(old))
    start = max(alike - _LONG // 2, 0) if max(len(old), len(new)) > _LONG else 0
    before = "..." if start else ""
    parts = [f"{before}{text[start : start + _LONG]}" for text in (old, new)]
    ends = ["..." if len(text) > start + _LONG else "" for text in (old, new)]
    return f"{parts[0]}{ends[0]} in the study, {parts[1]}{ends[1]} here"
