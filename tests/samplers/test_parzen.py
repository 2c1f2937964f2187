"""The tree Parzen estimator: when there is a model, what it learns from, what it proposes."""

import math
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import stats

from priorband import (
    Categorical,
    Config,
    Constant,
    Fidelity,
    Float,
    Integer,
    Optimizer,
    Ordinal,
    Space,
    State,
    Study,
)
from priorband.errors import MethodError
from priorband.models.kde import KDE
from priorband.samplers import Fixed, FromUniform, Mix
from priorband.samplers.parzen import TPE, groups, ranked, split_sizes
from priorband.schedulers import Hyperband
from priorband.testing import check_sampler, example_space, play

EPOCHS = Fidelity("epochs", 1, 27)
LINE = Space({"x": Float(0, 1)})
MIXED = Space(
    {
        **{"x": Float(0, 1), "lr": Float(1e-4, 1, log=True), "c": Categorical(list("abc"))},
        **{"n": Integer(1, 5), "classes": Constant(10), "o": Ordinal(["s", "m", "l"])},
    }
)
Results = list[tuple[dict[str, Any], float, float]]


def after(space: Space, results: Results) -> State:
    """The state in which configurations were told with a loss at a fidelity each."""
    study = Study(space, EPOCHS, Optimizer(Hyperband(), FromUniform()))
    for config, loss, fidelity in results:
        study.add(config, loss, fidelity)
    return study.state


def random_results(space: Space, n: int, fidelity: float = 27, seed: int = 0) -> Results:
    rng = np.random.default_rng(seed)
    rows = space.uniform(n, rng)
    return [(dict(space.decode(row)), float(rng.random()), fidelity) for row in rows]


def line(losses: Sequence[float], fidelity: float = 27) -> Results:
    """So many positions on the line, the first being 0 and the last 1."""
    last = max(len(losses) - 1, 1)
    return [({"x": place / last}, loss, fidelity) for place, loss in enumerate(losses)]


def draws(state: State, n: int, sampler: TPE | None = None) -> list[Config]:
    sampler = sampler or TPE()
    found = [sampler.sample(state, 0, np.random.default_rng(i)) for i in range(n)]
    assert {draw.origin for draw in found} == {"model"}
    return [draw.config for draw in found]


def test_it_keeps_the_samplers_contract() -> None:
    check_sampler(TPE())
    check_sampler(TPE(candidates=1, good=0.5, widening=0.1, least_bandwidth=1), draws=1)


def test_the_usual_settings_are_those_of_hpbandster() -> None:
    assert TPE() == TPE(candidates=64, good=0.15, widening=3.0, least_bandwidth=1e-3)


# How the results are split

SPLITS = [
    *((4, 10, 5, 5), (4, 11, 5, 6), (4, 39, 5, 33), (4, 40, 6, 34), (4, 100, 15, 85)),
    *((7, 16, 8, 8), (7, 17, 8, 9), (7, 53, 8, 45), (7, 60, 9, 51), (7, 67, 10, 56)),
    *((14, 30, 15, 15), (14, 99, 15, 84), (14, 106, 15, 90), (14, 107, 16, 90)),
    *((1, 4, 2, 2), (1, 20, 3, 17), (1, 2000, 300, 1700)),
]


@pytest.mark.parametrize(("dimensions", "results", "good", "bad"), SPLITS)
def test_so_many_results_are_good_and_so_many_of_the_next_bad(
    dimensions: int, results: int, good: int, bad: int
) -> None:
    assert split_sizes(results, results, dimensions) == (good, bad)


@pytest.mark.parametrize("percent", [1, 7, 10, 15, 25, 29, 50])
def test_rounding_takes_no_result_away(percent: int) -> None:
    for results in range(4, 3000):
        good = max(2, percent * results // 100)
        bad = min(max(2, (100 - percent) * results // 100), results - good)
        assert split_sizes(results, results, 1, percent / 100) == (good, bad)


@given(st.integers(1, 20), st.integers(0, 500), st.integers(0, 500), st.floats(1e-6, 0.5))
def test_both_groups_are_large_enough_and_no_failure_is_good(
    dimensions: int, more: int, failures: int, share: float
) -> None:
    successes = 2 * (dimensions + 1) + more
    results = successes + failures
    good, bad = split_sizes(results, successes, dimensions, share)
    assert dimensions < good <= successes and dimensions < bad <= results - good


# When there is a model


@pytest.mark.parametrize("space", [LINE, MIXED, Space({"c": Categorical([1, 2])})], ids=len)
def test_there_is_a_model_from_twice_the_dimensions_and_two_results_on(space: Space) -> None:
    enough = 2 * (len(space) + 1)
    results = random_results(space, enough, fidelity=3)
    for n, origin in ((0, "uniform"), (enough - 1, "uniform"), (enough, "model")):
        for rung in range(4):
            draw = TPE().sample(after(space, results[:n]), rung, np.random.default_rng(0))
            assert draw.origin == origin


def test_constants_are_no_dimensions() -> None:
    names = [f"k{i}" for i in range(10)]
    space = Space({"x": Float(0, 1), **{name: Constant(0) for name in names}})
    told = [(config | dict.fromkeys(names, 0), loss, z) for config, loss, z in line([1] * 4)]
    [config] = draws(after(space, told), 1)
    assert list(config) == ["x", *names]


def test_results_of_several_rungs_are_not_put_together() -> None:
    state = after(LINE, line([1, 2, 3], 1) + line([1, 2, 3], 3) + line([1, 2, 3, 4], 5))
    assert TPE().sample(state, 0, np.random.default_rng(0)).origin == "uniform"


def test_failures_do_not_make_a_model_ready() -> None:
    state = after(LINE, line([1, 2, 3, math.nan, math.inf]))
    assert TPE().sample(state, 0, np.random.default_rng(0)).origin == "uniform"


@pytest.mark.parametrize("rung", range(4))
def test_the_highest_rung_with_a_model_counts_for_every_rung(rung: int) -> None:
    low_is_best, high_is_best = list(range(40)), list(range(40, 0, -1))
    state = after(LINE, line(low_is_best, 1) + line(high_is_best, 3) + line([1, 2, 3], 27))
    found = [TPE().sample(state, rung, np.random.default_rng(i)).config["x"] for i in range(20)]
    assert min(found) > 0.5
    alone = after(LINE, line(high_is_best, 3))
    twins = [TPE().sample(alone, rung, np.random.default_rng(i)).config["x"] for i in range(20)]
    assert found == twins


# What it learns from


def test_failures_rank_last_and_are_bad() -> None:
    losses = [math.nan, 0.3, math.inf, 0.1, 0.2, 0.4]
    good, bad = groups(after(LINE, line(losses)), 3, 0.15)
    assert good[:, 0].tolist() == pytest.approx([0.6, 0.8])
    assert bad[:, 0].tolist() == pytest.approx([0.2, 1.0, 0.0, 0.4])


def test_failures_are_never_good_however_many() -> None:
    state = after(LINE, line([1.0] * 4 + [math.nan] * 96))
    good, bad = groups(state, 3, 0.15)
    assert good[:, 0].tolist() == pytest.approx([i / 99 for i in range(4)])
    assert len(bad) == 85
    assert max(config["x"] for config in draws(state, 30)) < 0.1


def test_failures_at_other_fidelities_do_not_matter() -> None:
    results = line([0.4, 0.3, 0.2, 0.1])
    state = after(LINE, [*results, *line([math.nan] * 9, 9), *line([math.nan] * 9, 26)])
    assert [len(group) for group in groups(state, 3, 0.15)] == [2, 2]
    assert draws(state, 5) == draws(after(LINE, results), 5)


def test_promoted_running_and_imported_trials_are_taken_as_they_stand() -> None:
    study = Study(LINE, EPOCHS, Optimizer(Hyperband(), FromUniform()))
    for _ in play(study, 60, seed=3, failing=0.2):
        pass
    study.add({"x": 0.5}, -1.0, 1)
    history = study.state.history
    found = ranked(study.state, 0)
    ended = [t.id for t in history.trials if t.fidelity == 1 and history.outcome(t.id) is not None]
    assert sorted(each.trial.id for each in found) == ended
    assert any(history.promoted(each.trial.id) for each in found)
    assert any(each.failed for each in found) and history.running
    assert found[0].trial.origin == "imported"
    assert [each.ranking for each in found] == sorted(each.ranking for each in found)


def test_equal_losses_are_ranked_by_age() -> None:
    state = after(LINE, line([7.0] * 40))
    good, bad = groups(state, 3, 0.15)
    assert good[:, 0].tolist() == pytest.approx([i / 39 for i in range(6)])
    assert bad[:, 0].tolist() == pytest.approx([i / 39 for i in range(6, 40)])
    assert all(0 <= config["x"] <= 1 for config in draws(state, 20))


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_only_the_order_of_losses_counts(scale: float) -> None:
    results = random_results(MIXED, 40)
    scaled = [(config, scale * loss, z) for config, loss, z in results]
    bent = [(config, math.log(loss), z) for config, loss, z in scaled]
    expected = draws(after(MIXED, results), 5)
    assert draws(after(MIXED, scaled), 5) == expected == draws(after(MIXED, bent), 5)


# What it proposes


def slow_pdf(space: Space, data: NDArray[Any], places: NDArray[Any], widths: list[float]) -> Any:
    """The density at each place, with scipy's truncated normals and without logs."""
    product = np.ones((len(places), len(data)))
    for column, size in enumerate(space.sizes):
        here, there, width = places[:, [column]], data[:, column], widths[column]
        if size is None:
            product *= stats.truncnorm.pdf(here, -there / width, (1 - there) / width, there, width)
        else:
            product *= np.where(here == there, 1 - width, width / (size - 1))
    return product.mean(axis=1)


def slow_widths(space: Space, data: NDArray[Any]) -> list[float]:
    widths = []
    for codes, size in zip(data.T, space.sizes, strict=True):
        spread = float(np.std(codes))
        if size is not None:
            spread = math.sqrt((1 - sum((codes == c).mean() ** 2 for c in range(size))) / 2)
        width = max(1e-3, 1.06 * spread * len(data) ** (-1 / (4 + len(space))))
        widths.append(width if size is None else min(width, 1 - 1 / size))
    return widths


def slow_candidates(space: Space, data: NDArray[Any], widths: list[float], rng: Generator) -> Any:
    random = rng.random((64, 1 + len(space)))
    rows = data[np.floor(random[:, 0] * len(data)).astype(int)].copy()
    for column, size in enumerate(space.sizes):
        u, centre, width = random[:, 1 + column], rows[:, column].copy(), widths[column]
        if size is None:
            cut = -centre / (3 * width), (1 - centre) / (3 * width)
            rows[:, column] = stats.truncnorm.ppf(u, *cut, centre, 3 * width)
        else:
            anew = np.floor((u - (1 - width)) / width * size)
            rows[:, column] = np.where(u < 1 - width, centre, anew)
    return rows


@pytest.mark.parametrize("n", [12, 40, 90])
def test_the_candidate_with_the_smallest_ratio_of_bad_to_good_is_taken(n: int) -> None:
    results = random_results(MIXED, n)
    state = after(MIXED, results)
    by_loss = sorted(results, key=lambda each: each[1])
    rows = MIXED.encode([config for config, _, _ in by_loss])
    n_good = {12: 6, 40: 6, 90: 13}[n]
    n_bad = {12: 6, 40: 34, 90: 76}[n]
    good, bad = rows[:n_good], rows[n_good : n_good + n_bad]
    widths = slow_widths(MIXED, good)
    for seed in range(8):
        places = slow_candidates(MIXED, good, widths, np.random.default_rng(seed))
        ratio = slow_pdf(MIXED, bad, places, slow_widths(MIXED, bad))
        ratio /= slow_pdf(MIXED, good, places, widths)
        expected = MIXED.decode(places[np.argmin(ratio)])
        found = TPE().sample(state, 1, np.random.default_rng(seed)).config
        assert found["c"] == expected["c"]
        assert MIXED.encode([found]) == pytest.approx(MIXED.encode([expected]), abs=1e-9)


def test_settings_do_what_they_say() -> None:
    results = random_results(LINE, 40)
    state = after(LINE, results)
    good, bad = (KDE(rows, LINE.sizes, 0.02) for rows in groups(state, 3, 0.4))
    assert (len(good.rows), len(bad.rows)) == (16, 24)
    rows = good.nearby(7, 0.5, np.random.default_rng(0))
    best = rows[np.argmin(bad.logpdf(rows) - good.logpdf(rows))]
    sampler = TPE(candidates=7, good=0.4, widening=0.5, least_bandwidth=0.02)
    assert draws(state, 1, sampler) == [LINE.decode(best)]


def test_it_finds_where_good_results_lie() -> None:
    results = [
        (config, abs(config["x"] - 0.3) + (config["c"] != "b"), 27.0)
        for config, _, _ in random_results(MIXED, 80)
    ]
    found = draws(after(MIXED, results), 40)
    assert sum(config["c"] == "b" for config in found) >= 36
    assert np.mean([abs(config["x"] - 0.3) for config in found]) < 0.29 / 2  # uniform draws: 0.29


def test_of_equal_candidates_the_first_is_taken_and_new_ones_before_those_tried() -> None:
    space, sampler = Space({"c": Categorical(list("abcd"))}), TPE(least_bandwidth=0.4)
    told = [({"c": "a"}, float(i), 27.0) for i in range(2)] + [({"c": "b"}, 5.0, 27.0)] * 10
    state = after(space, told)
    good = KDE(groups(state, 3, 0.15)[0], space.sizes, 0.4)
    expected = [
        next("abcd"[int(code)] for [code] in good.nearby(64, 3.0, rng) if code > 1)
        for rng in map(np.random.default_rng, range(30))
    ]
    assert [config["c"] for config in draws(state, 30, sampler)] == expected
    assert set(expected) == {"c", "d"}
    everything = after(space, [*told, ({"c": "c"}, 9.0, 27.0), ({"c": "d"}, 9.0, 27.0)])
    assert [config["c"] for config in draws(everything, 20, sampler)] == ["a"] * 20


def test_the_next_best_candidate_stands_in_for_one_that_was_tried() -> None:
    results = random_results(MIXED, 30)
    [first] = draws(after(MIXED, results), 1)
    [second] = draws(after(MIXED, [*results, (dict(first), 0.0, 9.0)]), 1)
    [third] = draws(after(MIXED, [*results, *((dict(c), 0.0, 9.0) for c in (first, second))]), 1)
    assert len({tuple(config.values()) for config in (first, second, third)}) == 3


def test_what_was_tried_does_not_change_how_many_numbers_are_drawn() -> None:
    space = Space({"a": Categorical([0, 1]), "b": Categorical([0, 1])})
    few = [({"a": 0, "b": 0}, 1.0, 27.0)] * 6
    every = [({"a": a, "b": b}, 1.0, 9.0) for a in (0, 1) for b in (0, 1)]
    states = []
    for results in (few, few + every):
        rng = np.random.default_rng(3)
        TPE().sample(after(space, results), 0, rng)
        states.append(rng.bit_generator.state)
    assert states[0] == states[1]


@pytest.mark.parametrize("choices", [["only"], ["this", "that"], list(range(50))], ids=len)
def test_one_categorical_is_enough(choices: list[Any]) -> None:
    space = Space({"c": Categorical(choices)})
    told = [({"c": choices[i % len(choices)]}, float(i), 27.0) for i in range(9)]
    assert all(config["c"] in choices for config in draws(after(space, told), 20))


def test_one_configuration_many_times_over_is_moved_from() -> None:
    config = dict(MIXED.decode([0.5, 0.5, 1, 0.5, 0.5]))
    state = after(MIXED, [(config, float(i), 27.0) for i in range(30)])
    for found in draws(state, 20):
        assert found != config
        assert abs(found["x"] - 0.5) < 0.02


def test_two_thousand_results_in_fourteen_dimensions_are_no_trouble() -> None:
    numbers = {f"x{i}": Float(0, 1) for i in range(10)}
    space = Space({**numbers, **{f"c{i}": Categorical(range(3)) for i in range(4)}})
    results = [
        (config, sum((config[name] - 0.5) ** 2 for name in numbers), 27.0)
        for config, _, _ in random_results(space, 2000)
    ]
    found = draws(after(space, results), 10)
    away = [sum((config[name] - 0.5) ** 2 for name in numbers) for config in found]
    assert np.mean(away) < np.quantile([loss for _, loss, _ in results], 0.25)


def test_a_study_with_the_model_can_be_replayed() -> None:
    bohb = Mix((FromUniform(), TPE()), Fixed((1 / 3, 2 / 3)))
    study = Study(example_space(), EPOCHS, Optimizer(Hyperband(), bohb))
    origins = [trial.origin for trial in play(study, 100, seed=1)]
    assert 10 < origins.count("model") < 90
    assert study.replay().exact


@settings(max_examples=examples(40))
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([0.0, 1e-12, 1.0, 1e12, math.inf])),
        min_size=12,
        max_size=40,
    ),
    st.integers(0, 2**32),
)
def test_whatever_was_told_a_configuration_of_the_space_is_drawn(
    told: list[tuple[int, float]], seed: int
) -> None:
    pool = MIXED.uniform(5, np.random.default_rng(seed))
    state = after(MIXED, [(dict(MIXED.decode(pool[i])), loss, 27.0) for i, loss in told])
    before = deepcopy(state.history.events)
    config = TPE().sample(state, 0, np.random.default_rng(seed)).config
    assert MIXED.check(config) == config
    assert state.history.events == before


BAD: list[tuple[dict[str, Any], str]] = [
    *(({"candidates": n}, "`candidates` must be a whole number of") for n in (0, -1, 2.5, "3")),
    *(({"good": share}, "`good` must be in (0, 0.5]") for share in (0, 0.6, math.nan, None)),
    *(({"widening": by}, "`widening` must be a positive") for by in (0, -1, math.inf, "wide")),
    *(({"least_bandwidth": w}, "`least_bandwidth` must be in") for w in (0, 1e-10, 2, True)),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_an_estimator_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(MethodError) as caught:
        TPE(**options)
    assert message in str(caught.value)
    assert str(caught.value).endswith(f"got {next(iter(options.values()))!r}.")
