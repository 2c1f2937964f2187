"""Priors over conditional spaces are densities: they integrate to one, and draws follow them."""

import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from amounts import slow
from numpy.polynomial.legendre import leggauss

import priorband as pb
from priorband import Beta, Categorical, Float, Integer, Ordinal, Space
from priorband.space.densities import Array, Flat, TruncatedNormal
from priorband.space.prior import Independent
from priorband.space.when import Bounds

from .conditional_spaces import SPACES, is_active, values_of

TOLERANCE = 1e-8
"""How far from one an integral may be: the error of the quadrature."""

STEEP = {edge for k in (2, 4, 6, 8) for edge in (10.0**-k, 1 - 10.0**-k)}
"""Extra edges for a beta density, whose slope may be infinite at the bounds."""


def edges(space: Space, name: str) -> list[float]:
    """Positions between which the density and all conditions are smooth in this parameter."""
    parameter: Any = space.searched[name]
    if isinstance(parameter, Ordinal):
        count = len(parameter.choices)
        return [i / count for i in range(count + 1)]
    if isinstance(parameter, Float) and not parameter.grid:
        whens = [p.when[name] for p in space.parameters.values() if p.when and name in p.when]
        ends = [end for c in whens for end in (c.low, c.high) if isinstance(c, Bounds)]
        steep = STEEP if isinstance(parameter.prior, Beta) else set()
        codes = (parameter.encode(end) for end in ends if end is not None)
        return sorted({0.0, 1.0, *steep, *codes})
    if parameter.grid:
        return [i / parameter.grid.count for i in range(parameter.grid.count + 1)]
    halves = [n + 0.5 for n in range(parameter.low - 1, parameter.high + 1)]
    scale = [math.log(h) for h in halves] if parameter.log else halves
    return [(s - scale[0]) / (scale[-1] - scale[0]) for s in scale]


def nodes(space: Space, name: str) -> list[tuple[float, float]]:
    """Codes of one parameter, and what each weighs in an integral over it."""
    parameter = space.searched[name]
    if parameter.size is not None:
        return [(float(index), 1.0) for index in range(parameter.size)]
    cuts = edges(space, name)
    smooth = len(cuts) > 4 and not isinstance(parameter.prior, Beta)
    points, weights = leggauss(8 if smooth else 32)
    return [
        (low + (high - low) * (x + 1) / 2, (high - low) * w / 2)
        for low, high in zip(cuts, cuts[1:], strict=False)
        for x, w in zip(points.tolist(), weights.tolist(), strict=True)
    ]


@cache
def quadrature(space: Space) -> tuple[Array, Array]:
    """Rows that cover the mixed space, marked where inactive, and their weights."""
    done: list[tuple[dict[str, float], float]] = [({}, 1.0)]
    for column in space.order:
        name = space.names[column]
        found = nodes(space, name)
        extended = []
        for codes, weight in done:
            values = {n: space.searched[n].decode(c) for n, c in codes.items() if c == c}
            if is_active(space, name, values):
                extended += [({**codes, name: code}, weight * w) for code, w in found]
            else:
                extended.append(({**codes, name: math.nan}, weight))
        done = extended
    rows = np.array([[codes[name] for name in space.names] for codes, _ in done])
    return rows, np.array([weight for _, weight in done])


def integral(prior: Independent, rows: Array, weights: Array) -> float:
    return float(weights @ np.exp(prior.logpdf(rows)))


@pytest.mark.parametrize("name", SPACES)
def test_the_density_integrates_to_one_over_the_mixed_space(name: str) -> None:
    space = SPACES[name]
    rows, weights = quadrature(space)
    assert np.isnan(rows).any() or name == "constants"
    assert integral(space.prior, rows, weights) == pytest.approx(1.0, abs=TOLERANCE)
    assert integral(pb.prior(space, {}), rows, weights) == pytest.approx(1.0, abs=TOLERANCE)


@pytest.mark.parametrize("name", SPACES)
def test_so_does_the_density_around_a_configuration_and_that_of_samples(name: str) -> None:
    space = SPACES[name]
    rows, weights = quadrature(space)
    configs = [space.decode(row) for row in space.uniform(5, np.random.default_rng(0))]
    for config in configs[:3]:
        moved = space.prior.around(config)
        assert moved.mode == config
        assert integral(moved, rows, weights) == pytest.approx(1.0, abs=TOLERANCE)
    estimated = pb.from_samples(space, configs)
    assert integral(estimated, rows, weights) == pytest.approx(1.0, abs=1e-4)  # narrow kernels


def patterns(space: Space, rows: Array) -> list[Any]:
    """What a row is counted as: what is active, the choices, and halves of continuous ranges."""
    found = []
    for codes in rows.tolist():
        pairs = zip(space.searched.items(), codes, strict=True)
        active = [(name, p, code) for (name, p), code in pairs if code == code]
        found.append(tuple((name, _coarse(p, code)) for name, p, code in active))
    return found


def _coarse(parameter: Any, code: float) -> Any:
    if isinstance(parameter, Float) and not parameter.grid:
        return "active"
    return parameter.decode(code)


def assert_shares(space: Space, prior: Independent, draws: Iterable[Array], count: int) -> None:
    """Compare how often patterns are drawn with how often they must be, within five sigma."""
    rows, weights = quadrature(space)
    expected: dict[Any, float] = {}
    mass = weights * np.exp(prior.logpdf(rows))
    for pattern, share in zip(patterns(space, rows), mass.tolist(), strict=True):
        expected[pattern] = expected.get(pattern, 0.0) + share
    seen: Mapping[Any, int] = _counts(patterns(space, np.array([*draws])))
    assert seen.keys() <= expected.keys()
    for pattern, share in expected.items():
        error = 5 * math.sqrt(share * (1 - share) / count) + 5 / count
        assert abs(seen.get(pattern, 0) / count - share) < error, pattern


def _counts(items: Iterable[Any]) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return counts


@pytest.mark.parametrize("count", [1_500, pytest.param(100_000, marks=slow)])
@pytest.mark.parametrize("name", SPACES)
def test_draws_are_as_frequent_as_the_density_says(name: str, count: int) -> None:
    space, rng = SPACES[name], np.random.default_rng(2)
    prior = space.prior
    assert_shares(space, prior, (prior.sample(rng) for _ in range(count)), count)


@pytest.mark.parametrize("count", [1_500, pytest.param(100_000, marks=slow)])
@pytest.mark.parametrize("name", SPACES)
def test_uniform_draws_are_as_frequent_as_a_flat_density_says(name: str, count: int) -> None:
    space, rng = SPACES[name], np.random.default_rng(3)
    assert_shares(space, pb.prior(space, {}), space.uniform(count, rng), count)


@pytest.mark.parametrize("name", SPACES)
def test_the_log_density_is_the_sum_over_active_entries(name: str) -> None:
    space = SPACES[name]
    rows = space.uniform(40, np.random.default_rng(4))
    prior = space.prior
    sums = [
        sum(
            float(d.logpdf(np.array([c]))[0])
            for d, c in zip(prior.densities, row, strict=True)
            if c == c
        )
        for row in rows.tolist()
    ]
    assert prior.logpdf(rows) == pytest.approx(sums, rel=1e-12)
    for row, log in zip(rows, prior.logpdf(rows), strict=True):
        assert prior.logpdf(row[None])[0] == pytest.approx(log, rel=1e-12)
    assert np.isfinite(prior.logpdf(rows)).all()
    assert prior.logpdf(rows[:0]).shape == (0,)


def test_a_configuration_of_weight_zero_stays_impossible_whatever_is_inactive() -> None:
    kind = Categorical(["a", "b"], prior={"a": 1})
    space = Space({"kind": kind, "x": Float(0, 1, prior=0.5, when={"kind": "a"})})
    rows = space.encode([{"kind": "b"}, {"kind": "a", "x": 0.5}])
    assert space.prior.logpdf(rows)[0] == -math.inf
    assert np.isfinite(space.prior.logpdf(rows)[1])


@pytest.mark.parametrize("name", SPACES)
def test_the_mode_is_a_valid_configuration_of_the_parents_modes(name: str) -> None:
    space = SPACES[name]
    mode = space.prior.mode
    assert space.check(mode) == mode
    for parameter, value in mode.items():
        stated = getattr(space.parameters[parameter], "prior", None)
        if isinstance(stated, int | float | str):
            assert value == stated


def test_a_parameter_that_is_inactive_in_the_incumbent_keeps_its_density() -> None:
    space = SPACES["categorical parent"]
    moved = space.prior.around({"optimizer": "sgd", "momentum": 0.5, "lr": 1e-2})
    assert moved.densities[2] == space.prior.densities[2]
    assert moved.densities[1] == TruncatedNormal(space.encode([moved.mode])[0, 1], 0.25)
    away = space.prior.around({"optimizer": "none"})
    assert away.densities[1:] == space.prior.densities[1:]


def test_samples_speak_only_for_what_is_active_in_them() -> None:
    space = SPACES["categorical parent"]
    good = [{"optimizer": "sgd", "momentum": m, "lr": 1e-3} for m in (0.2, 0.25, 0.3)]
    estimated = pb.from_samples(space, [*good, {"optimizer": "none"}])
    assert estimated.densities[2] == Flat()
    assert estimated.densities[1] == pb.from_samples(space, good).densities[1]
    assert estimated.mode["optimizer"] == "sgd"
    assert estimated.mode["momentum"] == pytest.approx(0.25)


@pytest.mark.parametrize("name", SPACES)
def test_one_parameter_can_be_drawn_by_itself(name: str) -> None:
    space = SPACES[name]
    numbers = np.random.default_rng(5).random(len(space)).tolist()
    codes = [space.prior.draw(column, u) for column, u in enumerate(numbers)]
    sample = space.prior.sample(np.random.default_rng(5))
    active = ~np.isnan(sample)
    assert sample[active].tolist() == np.array(codes)[active].tolist()
    names = [n for n in space.names if is_active(space, n, values_of(space, codes))]
    assert [n for n, here in zip(space.names, active, strict=True) if here] == names


def test_integer_parents_give_each_integer_its_mass() -> None:
    """By hand: one of four equally likely integers allows a child of a known density."""
    space = Space({"n": Integer(1, 4), "x": Float(0, 1, prior=0.5, when={"n": 4})})
    rows = space.encode([{"n": 1}, {"n": 4, "x": 0.5}])
    peak = TruncatedNormal(0.5, 0.25).logpdf(np.array([0.5]))[0]
    assert space.prior.logpdf(rows) == pytest.approx([0.0, peak])
