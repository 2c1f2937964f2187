"""Hartmann functions that a choice selects: which parameters matter, and where optima are."""

import pickle

import numpy as np
import pytest

from priorband.benchmarks import BranchedHartmann, Hartmann, benchmark_prior
from priorband.benchmarks.branched import BEST, BRANCHES
from priorband.benchmarks.priors import QUALITIES
from priorband.errors import SpaceError
from priorband.streams import generator


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("branch", BRANCHES)
def test_each_branch_has_the_optimum_of_its_function(branch: str, flat: bool) -> None:
    bench = BranchedHartmann(flat=flat)
    _, lowest = Hartmann(3).optimum
    best = bench.branch_optimum(branch)
    assert bench.exact(best, 100) == pytest.approx(lowest + BRANCHES[branch][0], abs=1e-12)


@pytest.mark.parametrize("flat", [False, True])
def test_no_draw_is_better_than_the_optimum(flat: bool) -> None:
    bench = BranchedHartmann(flat=flat)
    config, lowest = bench.optimum
    assert config["branch"] == BEST and bench.evaluate(config, 100) == lowest
    rows = bench.space.uniform(3000, generator(0, 0, "")).tolist()
    losses = bench.evaluate_many([bench.space.config(row) for row in rows], 100)
    assert lowest < losses.min() < lowest + 1.0


def test_only_parameters_of_the_selected_branch_have_an_effect() -> None:
    flat, conditional = BranchedHartmann(flat=True), BranchedHartmann()
    for row in flat.space.uniform(40, generator(1, 0, "")).tolist():
        config = flat.space.config(row)
        active = {
            name: value
            for name, value in config.items()
            if name == "branch" or name.startswith(config["branch"])
        }
        conditional.space.check(active)
        for z in (3, 30, 100):
            assert flat.evaluate(config, z) == conditional.evaluate(active, z)


def test_the_branches_differ_in_where_their_optima_are() -> None:
    bench = BranchedHartmann()
    points = [
        tuple(bench.branch_optimum(branch)[f"{branch}_x{i}"] for i in range(3))
        for branch in BRANCHES
    ]
    apart = [np.abs(np.subtract(a, b)).max() for a in points for b in points if a != b]
    assert len(apart) == 12 and min(apart) > 0.2


@pytest.mark.parametrize("quality", [q for q in QUALITIES if q != "bad"])
def test_it_has_priors(quality: str) -> None:
    for seed in range(8):
        bench = BranchedHartmann(seed=seed)
        bench.space.check(benchmark_prior(bench, quality, seed).mode)


@pytest.mark.slow  # the worst of many draws takes some twenty seconds to find
def test_it_has_bad_priors() -> None:
    bench = BranchedHartmann(seed=3)
    bench.space.check(benchmark_prior(bench, "bad", 3).mode)


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(SpaceError, match="Unknown correlation"):
        BranchedHartmann("godo")
    with pytest.raises(SpaceError, match="`flat` must be True or False"):
        BranchedHartmann(flat=1)  # type: ignore[arg-type]  # wrong on purpose


def test_it_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(BranchedHartmann(seed=3))) == BranchedHartmann(seed=3)
