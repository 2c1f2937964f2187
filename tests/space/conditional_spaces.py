"""Conditional spaces for tests, a second opinion on what is active, and random ones."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from priorband import (
    Beta,
    Categorical,
    Constant,
    Float,
    Histogram,
    Integer,
    Mixture,
    Normal,
    Ordinal,
    Space,
    Uniform,
    at_least,
    at_most,
    between,
)
from priorband.errors import SpaceError
from priorband.space.when import Bounds, Values
from priorband.values import replaced

SPACES = {
    "categorical parent": Space(
        {
            "optimizer": Categorical(["sgd", "adam", "none"], prior="adam"),
            "momentum": Float(0, 0.99, prior=0.9, when={"optimizer": "sgd"}),
            "beta": Float(0.5, 0.999, prior=0.9, when={"optimizer": "adam"}),
            "lr": Float(1e-4, 1e-1, log=True, prior=1e-3, when={"optimizer": ["sgd", "adam"]}),
        }
    ),
    "ordinal parent": Space(
        {
            "size": Ordinal(["S", "M", "L", "XL"], prior="M"),
            "dropout": Float(0, 1, prior=0.2, when={"size": at_least("L")}),
            "act": Categorical(["relu", "gelu"], prior="gelu", when={"size": ["S", "L"]}),
        }
    ),
    "integer parent": Space(
        {
            "layers": Integer(1, 6, prior=2),
            "skip": Float(0, 1, prior=Normal(0.3, sigma=0.2), when={"layers": at_least(3)}),
            "width": Integer(8, 20, log=True, prior=16, when={"layers": [2, 5, 6]}),
        }
    ),
    "log integer parent": Space(
        {
            "batch": Integer(2, 12, log=True, prior=8),
            "warmup": Float(0, 1, prior=0.1, when={"batch": between(4, 9)}),
        }
    ),
    "float parent": Space(
        {
            "rate": Float(0, 1, prior=0.4),
            "decay": Float(1e-6, 1e-2, log=True, prior=1e-4, when={"rate": at_most(0.3)}),
            "mode": Categorical([1, 2, 3], prior=2, when={"rate": between(0.2, 0.7)}),
        }
    ),
    "log float parent": Space(
        {
            "lr": Float(1e-5, 1e-1, log=True, prior=1e-2),
            "clip": Float(0, 10, prior=Beta(3, 5), when={"lr": at_least(1e-3)}),
        }
    ),
    "several conditions": Space(
        {
            "a": Categorical(["x", "y"], prior={"x": 3, "y": 1}),
            "b": Integer(1, 4, prior=Histogram([1, 2, 3, 2])),
            "c": Float(0, 1, prior=Mixture([0.2, Uniform()])),
            "d": Float(0, 1, prior=0.6, when={"a": "x", "b": at_least(2), "c": at_most(0.5)}),
        }
    ),
    "chain of three": Space(
        {
            "a": Categorical(["on", "off"], prior="on"),
            "b": Float(0, 1, prior=0.7, when={"a": "on"}),
            "c": Integer(1, 3, prior=3, when={"b": at_least(0.4)}),
            "d": Float(-1, 1, prior=0.0, when={"c": [1, 3]}),
        }
    ),
    "children first": Space(
        {
            "deep": Float(0, 1, prior=0.9, when={"middle": "m"}),
            "middle": Categorical(["m", "n"], prior="m", when={"top": at_least(3)}),
            "top": Integer(1, 4, prior=3),
        }
    ),
    "short form": Space(
        {
            "model": Categorical(
                {
                    "net": {
                        "layers": Integer(1, 3, prior=2),
                        "norm": Categorical({"batch": {"eps": Float(0, 1, prior=0.1)}, "no": {}}),
                    },
                    "trees": {"depth": Ordinal([2, 4, 8], prior=4)},
                },
                prior="net",
            )
        }
    ),
    "constants": Space(
        {
            "kind": Categorical(["a", "b"], prior="b"),
            "version": Constant(3, when={"kind": "b"}),
            "fixed": Constant("yes"),
            "x": Float(0, 1, prior=0.2, when={"version": 3}),
            "y": Integer(1, 3, prior=1, when={"fixed": "yes"}),
        }
    ),
    "steps": Space(
        {
            "p": Float(0, 1, step=0.25, prior=0.75),
            "q": Float(0, 1, prior=0.5, when={"p": at_least(0.5)}),
            "r": Integer(2, 10, step=4, prior=6, when={"p": [0.25, 1.0]}),
        }
    ),
    "flat priors": Space(
        {
            "a": Categorical(["x", "y", "z"]),
            "b": Integer(1, 5, when={"a": ["x", "z"]}),
            "c": Float(0, 1, when={"b": at_most(2)}),
            "d": Ordinal([1, 2, 3], when={"c": at_least(0.25)}),
        }
    ),
}


def small() -> Space:
    """Parents of three kinds, a chain, and a constant with a condition."""
    return Space(
        {
            "optimizer": Categorical(["sgd", "adam"], prior="sgd"),
            "momentum": Float(0, 0.99, prior=0.9, when={"optimizer": "sgd"}),
            "nesterov": Categorical([True, False], when={"momentum": at_least(0.5)}),
            "layers": Integer(1, 6),
            "dropout": Float(0, 1, when={"layers": at_least(3)}),
            "epsilon": Constant(1e-8, when={"optimizer": "adam"}),
        }
    )


def flat(space: Space) -> Space:
    """The same parameters without conditions."""
    return Space({name: replaced(p, when=None) for name, p in space.parameters.items()})


def is_active(space: Space, name: str, values: Mapping[str, Any]) -> bool:
    """Whether a parameter is active, read from its conditions as they are stated."""
    when = space.parameters[name].when or {}
    return all(
        is_active(space, parent, values)
        and fulfils(space.parameters[parent], _value(space, parent, values), condition)
        for parent, condition in when.items()
    )


def _value(space: Space, name: str, values: Mapping[str, Any]) -> Any:
    parameter = space.parameters[name]
    return parameter.value if isinstance(parameter, Constant) else values[name]


def fulfils(parameter: Any, value: Any, condition: Any) -> bool:
    """Whether a value fulfils a condition."""
    if not isinstance(condition, Bounds):
        return value in condition if isinstance(condition, Values) else value == condition
    if isinstance(parameter, Ordinal):
        ranks = [*parameter.choices].index
        low = condition.low is None or ranks(value) >= ranks(condition.low)
        return low and (condition.high is None or ranks(value) <= ranks(condition.high))
    low = condition.low is None or value >= condition.low
    return low and (condition.high is None or value <= condition.high)


def values_of(space: Space, codes: list[float]) -> dict[str, Any]:
    """The values of all searched parameters, active or not."""
    return {n: p.decode(c) for (n, p), c in zip(space.searched.items(), codes, strict=True)}


KINDS: dict[str, Callable[..., Any]] = {
    "categorical": lambda **more: Categorical(["a", "b", "c"], **more),
    "ordinal": lambda **more: Ordinal([1, 2, 4, 8], **more),
    "integer": lambda **more: Integer(-2, 5, **more),
    "log integer": lambda **more: Integer(1, 60, log=True, **more),
    "float": lambda **more: Float(-1, 2, **more),
    "log float": lambda **more: Float(1e-4, 1.0, log=True, **more),
    "steps": lambda **more: Float(0, 1, step=0.1, **more),
}


@st.composite
def conditions(draw: st.DrawFn, kind: str) -> Any:
    """A condition on a parameter of this kind."""
    values: dict[str, st.SearchStrategy[Any]] = {
        "categorical": st.sampled_from(["a", "b", "c"]),
        "ordinal": st.sampled_from([1, 2, 4, 8]),
        "integer": st.integers(-2, 5),
        "log integer": st.integers(1, 60),
        "float": st.floats(-1, 2),
        "log float": st.floats(1e-4, 1.0),
        "steps": st.integers(0, 10).map(lambda n: n / 10),
    }
    one = values[kind]
    several = [one, st.lists(one, min_size=1, max_size=3)] if "float" not in kind else []
    two = st.tuples(one, one).map(sorted)
    bounds = [one.map(at_least), one.map(at_most), two.map(lambda ends: between(*ends))]
    return draw(st.one_of(*several, *(bounds if kind != "categorical" else [])))


@st.composite
def random_spaces(draw: st.DrawFn) -> Space:
    """Up to six parameters, most of them with conditions, declared in any order."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=2, max_size=6))
    parameters = {}
    for number, kind in enumerate(kinds):
        parents = draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else set()
        when = {f"p{i}": draw(conditions(kinds[i])) for i in sorted(parents)}
        parameters[f"p{number}"] = KINDS[kind](when=when or None)
    names = draw(st.permutations(sorted(parameters)))
    try:
        return Space({name: parameters[name] for name in names})
    except SpaceError as error:
        assert "can never be active" in str(error)
        assume(False)
        raise


def critical_codes(space: Space, name: str) -> list[float]:
    """Codes at which conditions on a parameter begin or cease to hold."""
    parameter = space.searched[name]
    stated = [p.when[name] for p in space.parameters.values() if p.when and name in p.when]
    ends: list[Any] = []
    for condition in stated:
        if isinstance(condition, Bounds):
            ends += [end for end in (condition.low, condition.high) if end is not None]
        else:
            ends += [*condition] if isinstance(condition, Values) else [condition]
    return [parameter.encode(end) for end in ends]


@st.composite
def rows_of(draw: st.DrawFn, space: Space) -> list[float]:
    """A row of numbers, active or not; some are where a condition begins or ceases to hold."""
    codes = []
    for name, size in zip(space.names, space.sizes, strict=True):
        if size is not None:
            codes.append(float(draw(st.integers(0, size - 1))))
            continue
        code = draw(st.one_of(st.floats(0, 1), *map(st.just, critical_codes(space, name))))
        for _ in range(draw(st.integers(0, 2))):
            code = math.nextafter(code, draw(st.sampled_from([0.0, 1.0])))
        codes.append(code)
    return codes
