"""What a study is about, as a value, as plain data, and where two of them differ.

A method or a prior with parts of one's own has no plain form: its name is kept in its place, and
whoever opens the study gives it again.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, final

from priorband.durable.serialize import (
    SCALARS,
    TAG,
    bad,
    from_plain,
    kept,
    own_part,
    shown,
    to_plain,
)
from priorband.errors import ConfigError, MethodError
from priorband.fidelity import Fidelity
from priorband.optimizers import Optimizer
from priorband.space.base import Parameter
from priorband.space.choices import Constant
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.prior import Independent, Prior
from priorband.space.space import Space
from priorband.space.space import plain as plain_name
from priorband.values import frozen

_LONG = 160
_PLURALS = ("beliefs", "choices", "probabilities", "samplers", "weights")
_KEYS = ("space", "prior", "fidelity", "method", "seed")


@final
@frozen
class Problem:
    """What a study is about: it never changes once the study exists."""

    space: Space
    prior: Prior
    fidelity: Fidelity
    optimizer: Optimizer
    seed: int


def described(problem: Problem) -> dict[str, Any]:
    """A problem as plain data; the prior is None where it is the space's own."""
    space = to_plain(problem.space)
    return {
        "space": space,
        "prior": _described_prior(problem, _text(space)),
        "fidelity": to_plain(problem.fidelity),
        "method": _described_part(problem.optimizer),
        "seed": to_plain(problem.seed),
    }


def _described_prior(problem: Problem, space: str) -> Any:
    data = _described_part(problem.prior)
    if data[TAG] == "Independent" and _text(data["space"]) == space:
        data["space"] = None
        return None if problem.prior == problem.space.prior else data
    return data


def _described_part(part: object) -> dict[str, Any]:
    name = own_part(part)
    if name is not None:
        return {TAG: "own", "name": name, "shown": shown(part).encode(errors="replace").decode()}
    data: dict[str, Any] = to_plain(part)
    return data


def _text(data: Any) -> str:
    """Data as text that is equal only where types are, too: 1 is not True."""
    return json.dumps(data, sort_keys=True)


def restored(
    data: Any, *, prior: Prior | None = None, optimizer: Optimizer | None = None
) -> Problem:
    """The problem that was described; a prior or a method given here replaces the stored one."""
    _check_keys(data)
    space, fidelity = _typed(data["space"], Space), _typed(data["fidelity"], Fidelity)
    if plain_name(fidelity.name) in map(plain_name, space.parameters):
        raise bad(f"`{fidelity.name}` is both the fidelity and a parameter")
    if type(data["seed"]) is not int:
        raise bad(f"Expected a whole number as the seed, got {shown(data['seed'])}")
    if optimizer is None:
        optimizer = _typed(_ours(data["method"], "method"), Optimizer)
    prior = _restored_prior(data, space) if prior is None else prior
    return Problem(space, prior, fidelity, optimizer, data["seed"])


def _check_keys(data: Any) -> None:
    if not isinstance(data, Mapping) or {*data} != {*_KEYS}:
        raise bad(f"Expected a problem with {', '.join(_KEYS)}, got {shown(data)}")


def _typed(data: Any, kind: type) -> Any:
    made = from_plain(data)
    if type(made) is not kind:
        raise bad(f"Expected a value of {kind.__name__}, got {shown(made)}")
    return made


def _ours(data: Any, what: str) -> Any:
    """The data of a part that can be made again from it."""
    if not _is_own(data):
        return data
    raise MethodError(
        f"This study's {what} has parts of its own ({data['name']}): open it in Python, with "
        f"`open_study(where, {what}=...)`."
    )


def _is_own(data: Any) -> bool:
    own = type(data) is dict and data.get(TAG) == "own"
    if own and [type(data.get(name)) for name in ("name", "shown")] != [str, str]:
        raise bad(f"Expected the name of a part, got {shown(data)}")
    return own


def _restored_prior(data: Mapping[str, Any], space: Space) -> Any:
    stored = _ours(data["prior"], "prior")
    if stored is None:
        return space.prior
    if type(stored) is dict and stored.get("space", ()) is None:
        stored = {**stored, "space": data["space"]}
    prior = _typed(stored, Independent)
    try:
        space.check(prior.mode)
    except ConfigError as error:
        raise bad(f"The prior is of another space: {error}") from None
    return prior


def differences(stored: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Where two described problems differ, a line each; none where they are the same."""
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
    one, other = (to_plain(_typed(data["fidelity"], Fidelity)) for data in (stored, given))
    lines += _lines("fidelity" + f" `{one['name']}`" * (one["name"] == other["name"]), one, other)
    lines += _lines("method", *(_method(data["method"]) for data in (stored, given)))
    return lines + list(_lines("seed", stored["seed"], given["seed"]))


def _method(data: Any) -> Any:
    """A method's data as this library would write it: all fields there, in order."""
    return data if _is_own(data) else to_plain(_typed(data, Optimizer))


def _parameters(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: to_plain(p) for name, p in _typed(data["space"], Space).parameters.items()}


def _prior_lines(
    stored: Mapping[str, Any], given: Mapping[str, Any], names: list[str]
) -> Iterator[str]:
    """Only for parameters that are the same: where a range moves, so does what is believed."""
    sides = stored["prior"], given["prior"]
    if _text(sides[0]) == _text(sides[1]):
        return
    if any(map(_is_own, sides)):
        shorts = [_shown(side) if _is_own(side) else "one made of beliefs" for side in sides]
        yield "prior: " + _both(*shorts)
        return
    old, new = (_restored_prior(data, _typed(data["space"], Space)) for data in (stored, given))
    if old.space != new.space and _text(stored["space"]) == _text(given["space"]):
        yield "prior: " + _both(f"over {old.space!r}", f"over {new.space!r}")
    for name in names:
        modes = to_plain(old.mode[name]), to_plain(new.mode[name])
        yield from _lines(f"prior of `{name}`", *modes, "mode")
        one, other = (dict(zip(p.space.names, p.densities, strict=True)) for p in (old, new))
        yield from _lines(f"prior of `{name}`", to_plain(one.get(name)), to_plain(other.get(name)))


def _lines(where: str, old: Any, new: Any, field: str = "") -> Iterator[str]:
    for path, one, other in _unlike(field, old, new):
        verb = "are" if path.endswith(_PLURALS) else "is"
        yield f"{where}: {f'{path} {verb} ' if path else ''}" + _both(_shown(one), _shown(other))


def _unlike(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """The innermost parts that differ, and the way to each."""
    if _text(old) == _text(new):
        return
    if not (_made(old) and _made(new) and old[TAG] == new[TAG]):
        yield path, old, new
    elif old[TAG] != "tuple":
        for name in old:
            yield from _unlike(f"{path}.{name}".lstrip("."), old[name], new[name])
    elif len(old["items"]) == len(new["items"]) and all(map(_made, old["items"] + new["items"])):
        for i, (one, other) in enumerate(zip(old["items"], new["items"], strict=True)):
            yield from _unlike(f"{path}[{i}]", one, other)
    else:
        yield path, old, new


def _made(data: Any) -> bool:
    return type(data) is dict and data.get(TAG) not in ("float", "dict", "own")


def _shown(data: Any) -> str:
    if _is_own(data):
        return f"one with parts of its own ({data['name']}: {data['shown']})"
    return repr(from_plain(data))


def _both(old: str, new: str) -> str:
    """The two side by side; of long ones the stretch in which they begin to differ."""
    alike = next((i for i in range(len(old)) if old[i] != new[i : i + 1]), len(old))
    start = max(alike - _LONG // 2, 0) if max(len(old), len(new)) > _LONG else 0
    before = "..." if start else ""
    parts = [f"{before}{text[start : start + _LONG]}" for text in (old, new)]
    ends = ["..." if len(text) > start + _LONG else "" for text in (old, new)]
    return f"{parts[0]}{ends[0]} in the study, {parts[1]}{ends[1]} here"


def config_reader(space: Space) -> Callable[[Any], Config]:
    """A function that makes a configuration of its plain data, or raises a `FormatError`."""
    readers = [(name, _reader(name, p)) for name, p in space.searched.items()]
    frame = {name: getattr(p, "value", None) for name, p in space.parameters.items()}

    def read(data: Any) -> Config:
        if type(data) is not dict or data.keys() != space.searched.keys():
            raise bad(f"A configuration needs {', '.join(space.names)}, got {shown(data)}")
        return Config({**frame, **{name: reader(data[name]) for name, reader in readers}})

    return read


def config_writer(space: Space) -> Callable[[Config], dict[str, Any]]:
    """A function that makes plain data of a configuration; constants are left out."""
    writers = [(name, _writer(p)) for name, p in space.searched.items()]
    constants = [(name, p.value) for name, p in space.parameters.items() if isinstance(p, Constant)]
    size = len(space.parameters)

    def write(config: Config) -> dict[str, Any]:
        try:
            written = {name: writer(config[name]) for name, writer in writers}
            fits = len(config) == size and all(config[name] == value for name, value in constants)
        except (ConfigError, LookupError, TypeError):
            fits = False
        return written if fits else write(space.check(config))  # which says what does not fit

    return write


def _reader(name: str, parameter: Parameter) -> Callable[[Any], Any]:
    fits, listed = _check(parameter), {_key(f): c for c, f in _forms(parameter).items()}

    def read(data: Any) -> Any:
        if fits(data):
            return data
        if (key := _key(data)) in listed:
            return listed[key]
        raise bad(f"`{name}` must be a value of {shown(parameter)}, got {shown(data)}")

    return read


def _writer(parameter: Parameter) -> Callable[[Any], Any]:
    if not isinstance(parameter, Float | Integer):
        return _forms(parameter).__getitem__
    fits = _check(parameter)
    return lambda value: value if fits(value) else parameter.check(value)


def _check(parameter: Parameter) -> Callable[[Any], bool]:
    """Whether a value is a number of the parameter's type within its range."""
    if not isinstance(parameter, Float | Integer):
        return lambda value: False
    low, high = parameter.low, parameter.high
    kind = float if isinstance(parameter, Float) else int
    return lambda value: type(value) is kind and low <= value <= high


def _forms(parameter: Parameter) -> dict[Any, Any]:
    """What each choice is written as: itself where JSON gives it back, else its index."""
    forms = {}
    for index, choice in enumerate(parameter.choices):
        itself = type(choice) in SCALARS and kept(choice)
        forms[choice] = choice if itself else {TAG: "choice", "index": index}
    return forms


def _key(data: Any) -> tuple[type, Any]:
    """What tells forms apart: their type and value, or the index."""
    if type(data) in SCALARS:
        return type(data), data
    of_choice = type(data) is dict and len(data) == 2 and data.get(TAG) == "choice"
    index = data.get("index") if of_choice else None
    return dict, index if type(index) is int else None
