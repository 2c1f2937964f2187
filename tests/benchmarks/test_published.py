"""The priors of the published experiments."""

import csv
import gzip
import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
from real_data import data_folder, paper_folder
from scipy import stats

from priorband import Categorical, Float, Integer, Space
from priorband.benchmarks.lcbench import PAPER_TASKS, LCBench
from priorband.benchmarks.published import Unequal, published_prior, published_shift
from priorband.streams import generator

SPACE = Space(
    {
        "layers": Integer(1, 5),
        "units": Integer(64, 1024, log=True),
        "x": Float(0.0, 2.0),
        "act": Categorical(["relu", "gelu"]),
    }
)
CENTRE = {"layers": 4, "units": 256, "x": 1.0, "act": "gelu"}


def test_an_integer_is_scored_between_its_lowest_and_highest_value() -> None:
    belief = Unequal(1, 5, False, 0.7)  # the cell of 4
    codes = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # the cells of 1 to 5
    kernel = stats.truncnorm(-0.75 / 0.25, 0.25 / 0.25, 0.75, 0.25)
    assert belief.logpdf(codes) == pytest.approx(kernel.logpdf([0, 0.25, 0.5, 0.75, 1.0]))


def test_a_logarithmic_integer_is_scored_on_the_logarithms() -> None:
    centre = SPACE.encode([CENTRE])[0][1]
    belief = Unequal(64, 1024, True, centre)
    [code] = SPACE.encode([CENTRE | {"units": 512}])[:, 1]
    here, there = (math.log(units / 64) / math.log(16) for units in (256, 512))
    kernel = stats.truncnorm(-here / 0.25, (1 - here) / 0.25, here, 0.25)
    assert belief.logpdf(np.array([code])) == pytest.approx(kernel.logpdf([there]))


def test_an_integer_is_drawn_twice_as_wide_as_it_is_scored() -> None:
    prior = published_prior(SPACE, CENTRE)
    rows = np.array([prior.sample(generator(0, k, "draws")) for k in range(4000)])
    [centre] = SPACE.encode([CENTRE])
    for column, sigma in ((0, 0.5), (1, 0.5), (2, 0.25)):
        at = centre[column]
        wide = stats.truncnorm(-at / sigma, (1 - at) / sigma, at, sigma)
        assert stats.kstest(rows[:, column], wide.cdf).pvalue > 1e-3


def test_the_density_around_an_incumbent_has_the_same_shape() -> None:
    moved = published_prior(SPACE, CENTRE).around(CENTRE | {"layers": 1})
    assert moved.densities[0] == Unequal(1, 5, False, 0.1)
    assert moved.mode["layers"] == 1


def test_one_draw_moves_all_numbers_and_no_category() -> None:
    moved = published_shift(SPACE, CENTRE, 133077)  # its draw is 0.3436231556
    assert moved["x"] == pytest.approx(1.0 + 2 * 0.0214764472, abs=1e-9)
    assert moved["units"] == round(256 * 16**0.0214764472)
    assert (moved["layers"], moved["act"]) == (4, "gelu")
    assert published_shift(SPACE, CENTRE | {"layers": 5}, 0)["layers"] == 5  # clipped


def _starts() -> Iterator[tuple[str, int, float]]:
    path = paper_folder() / "traces" / "by_integer_budget.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if (row["prior"], row["algorithm"]) == ("near_optimum", "PriorBand"):
                yield row["benchmark"], int(row["seed"]), float(row["b1"])


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_every_published_near_optimum_start_has_the_authors_loss(task: str) -> None:
    bench = LCBench(task, data_folder())
    told = json.loads((paper_folder() / "priors.json").read_text(encoding="utf-8"))
    centre = told["benchmarks"][f"LC-{task}"]["priors"]["near_optimum"]["config"]
    theirs = {seed: loss for name, seed, loss in _starts() if name == f"LC-{task}"}
    seeds = sorted(theirs)
    ours = bench.evaluate_many([published_shift(bench.space, centre, s) for s in seeds], 52)
    assert len(seeds) == 50
    assert ours == pytest.approx([theirs[s] for s in seeds], abs=4e-6)
