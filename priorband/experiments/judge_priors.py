"""How often the report card of a prior is right, on problems where the truth is known.

    python -m priorband.experiments.judge_priors --data FOLDER [--seeds 50] [--first 1000]

Each study has 20 full trainings. Seed s runs on problem s modulo 16: Hartmann functions with three
and six parameters and four correlations between fidelities, and eight tasks of LCBench, by turns.
Without LCBench's data, only the Hartmann functions are used. The priors are

- near-optimum, good and bad, as the paper defines them;
- spoiled: near-optimum, but for one important parameter, which is moved to its worst value. It is
  important if moving it alone from the optimum to its worst value costs at least half of what the
  worst such move of any parameter costs; seeds take turns among these;
- random: around a uniform draw.

For each method and prior it prints how often each verdict was given. A prior truly helps if the
best of three draws from it is more likely than not to beat the best of three uniform draws in full
trainings, by 300 draws of each. For spoiled priors it prints how often the spoiled parameter, and
how often another one, is said to be harmful, and whether the direction is right. Last comes how far
the suggested prior is from the optimum, in its own widths. The weights of the report card were
chosen on seeds 0 to 63; other seeds are for checking.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from priorband.benchmarks.base import Array, Benchmark
from priorband.benchmarks.catalogue import benchmark, catalogue_entry
from priorband.benchmarks.folder import data_folder
from priorband.benchmarks.hartmann import CORRELATIONS, Hartmann
from priorband.benchmarks.lcbench import PAPER_TASKS
from priorband.benchmarks.priors import perturbed, unperturbed_centres
from priorband.prior_report.facts import best_in_full, encoded
from priorband.prior_report.overall import chance_of_best
from priorband.prior_report.report import PriorReport
from priorband.prior_report.suggestion import suggested_beliefs
from priorband.space.beliefs import Normal
from priorband.space.config import Config
from priorband.space.prior import Independent, prior
from priorband.space.space import Space
from priorband.streams import generator
from priorband.study import Study
from priorband.workers.simulation import simulate

METHODS = ("priorband", "guardband", "hyperband")
QUALITIES = ("near-optimum", "good", "bad", "spoiled", "random")
VERDICTS = ("helps", "neutral", "harms", "not enough evidence")
OTHER_TASKS = ("3945", "7593", "34539")
HARTMANN = tuple(f"hartmann{d}-{c}" for d, c in product((3, 6), CORRELATIONS))
LCBENCH = tuple(f"lcbench-{task}" for task in (*PAPER_TASKS, *OTHER_TASKS))
_GRID = 21
_TRUE_DRAWS = 300


class Judged(NamedTuple):
    """What a report card said about one study, and what is true."""

    verdict: str
    helps: bool
    """Whether the prior truly helps."""
    harmful: tuple[str, ...]
    """The parameters that were said to be harmful."""
    parameters: int
    spoiled: str | None
    direction: bool | None
    """Whether the direction for the spoiled parameter is right; None if none was given."""
    early: str
    """The verdict just before the first bracket was done."""
    misses: tuple[float, ...]
    """How far the optimum is from the suggested centres, in the suggested widths."""


class Truth(NamedTuple):
    """What is known about a problem."""

    centres: dict[str, Config]
    worst: Array
    """For each parameter the code that is worst if the others are those of the optimum."""
    important: tuple[int, ...]


@cache
def problem_at(name: str, data: Path | None) -> Benchmark:
    """A problem by name."""
    return benchmark(name, data)


@cache
def truth_of(name: str, data: Path | None) -> Truth:
    """What is known about a problem. The fidelity's correlation does not change it."""
    bench = problem_at(name, data)
    centres = unperturbed_centres(bench)
    [row] = bench.space.encode([centres["near-optimum"]])
    grid = np.linspace(0.0, 1.0, _GRID)
    losses = np.empty((len(row), _GRID))
    for column in range(len(row)):
        rows = np.repeat(row[None], _GRID, axis=0)
        rows[:, column] = grid
        losses[column] = full_losses(bench, rows)
    costs = losses.max(axis=1) - full_losses(bench, row[None])[0]
    important = np.flatnonzero(costs >= 0.5 * costs.max()).tolist()
    return Truth(centres, grid[losses.argmax(axis=1)], tuple(important))


def full_losses(bench: Benchmark, rows: Array) -> Array:
    """The losses of encoded configurations in full trainings."""
    configs = [bench.space.config(row) for row in rows.tolist()]
    return bench.evaluate_many(configs, bench.fidelity.high)


def prior_centre_of(
    space: Space, truth: Truth, quality: str, seed: int
) -> tuple[Config, int | None]:
    """The centre of a prior, and the column of the parameter that was spoiled, if any."""
    if quality in ("good", "bad"):
        return truth.centres[quality], None
    if quality == "random":
        return space.config(space.uniform(1, generator(seed, 0, "random prior"))[0].tolist()), None
    near = perturbed(space, truth.centres["near-optimum"], seed)
    if quality == "near-optimum":
        return near, None
    column = truth.important[seed % len(truth.important)]
    return space.changed(near, {column: float(truth.worst[column])}), column


class StudyKind(NamedTuple):
    """A kind of study."""

    data: Path | None
    quality: str
    """Of the prior."""
    method: str
    budget: float


def judged(kind: StudyKind, name: str, seed: int) -> Judged:
    """Run one study on a problem, and compare its report card with the truth."""
    data = kind.data
    truth, bench = truth_of(name, data), problem_at(name, data)
    if isinstance(bench, Hartmann):
        bench = Hartmann(bench.dimensions, bench.correlation, seed)
    centre, column = prior_centre_of(bench.space, truth, kind.quality, seed)
    belief = prior(bench.space, {n: centre[n] for n in bench.space.names})
    study = Study(bench.space, bench.fidelity, kind.method, seed, belief)
    before = study.state.ladder.first_cost / bench.fidelity.high
    simulate(study, bench, budget=before - 0.5)
    early = study.prior_report().verdict
    simulate(study, bench, budget=kind.budget - study.state.history.spent / bench.fidelity.high)
    report = study.prior_report()
    [optimum] = bench.space.encode([truth.centres["near-optimum"]])
    spoiled = None if column is None else bench.space.names[column]
    return Judged(
        report.verdict,
        _truly_helps(bench, belief, seed),
        tuple(one.name for one in report.parameters if one.verdict == "harms"),
        len(report.parameters),
        spoiled,
        None if column is None else _direction(report, column, centre, optimum, bench.space),
        early,
        tuple(_misses(study, optimum)),
    )


def _truly_helps(bench: Benchmark, belief: Independent, seed: int) -> bool:
    rng = generator(seed, 0, "true draws")
    ours = np.array([belief.sample(rng) for _ in range(_TRUE_DRAWS)])
    theirs = bench.space.uniform(_TRUE_DRAWS, rng)
    return chance_of_best(full_losses(bench, ours), full_losses(bench, theirs), 3) > 0.5


def _direction(
    report: PriorReport, column: int, centre: Config, optimum: Array, space: Space
) -> bool | None:
    one = report.parameters[column]
    if one.verdict != "harms":
        return None
    return (one.wants == "higher") == bool(optimum[column] > space.encode([centre])[0][column])


def _misses(study: Study, optimum: Array) -> Iterator[float]:
    best = best_in_full(study.state)
    beliefs = suggested_beliefs(study.space, best, encoded(study.state, best))
    for column, (name, parameter) in enumerate(study.space.searched.items()):
        belief = beliefs.get(name)
        if isinstance(belief, Normal):
            yield abs(parameter.encode(belief.centre) - optimum[column]) / float(belief.sigma)


def available_problems(data: Path | None) -> tuple[str, ...]:
    """The problems by turns; without LCBench's data only the Hartmann functions."""
    if any(catalogue_entry(name).missing(data) for name in LCBENCH):
        return HARTMANN
    return tuple(name for pair in zip(HARTMANN, LCBENCH, strict=True) for name in pair)


def report_lines(method: str, quality: str, rows: Sequence[Judged]) -> Iterator[str]:
    """What was found for one method and kind of prior."""
    counts, right = Counter(row.verdict for row in rows), sum(row.helps for row in rows)
    cells = "".join(f"{counts[verdict]:>9}" for verdict in VERDICTS)
    yield f"{method:<11}{quality:<14}{cells}{right:>14}{sum(_agrees(row) for row in rows):>8}"


def _agrees(row: Judged) -> bool:
    """Whether a verdict that takes a side takes the right one."""
    return row.verdict in ("helps", "harms") and (row.verdict == "helps") == row.helps


def spoiled_line(method: str, rows: Sequence[Judged]) -> str:
    """How well spoiled parameters were found."""
    found = sum(row.spoiled in row.harmful for row in rows)
    others = sum(row.parameters - 1 for row in rows)
    alarms = sum(len(row.harmful) - (row.spoiled in row.harmful) for row in rows)
    ways = [row.direction for row in rows if row.direction is not None]
    return (
        f"{method:<11}spoiled parameter found {found} of {len(rows)}, its direction right "
        f"{sum(ways)} of {len(ways)}, others said to be harmful {alarms} of {others}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        "python -m priorband.experiments.judge_priors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with LCBench's data")
    parser.add_argument("--seeds", type=int, default=50, help="studies of each kind (default 50)")
    parser.add_argument("--first", type=int, default=1000, help="the first seed (default 1000)")
    parser.add_argument("--methods", nargs="+", default=METHODS, help="the methods")
    parser.add_argument("--priors", nargs="+", default=QUALITIES, choices=QUALITIES)
    parser.add_argument("--budget", type=float, default=20, help="full trainings (default 20)")
    parser.add_argument("--processes", type=int, default=2, help="number of processes (default 2)")
    options = parser.parse_args(arguments)
    if options.seeds < 1 or options.processes < 1:
        parser.error("--seeds and --processes must be at least 1")
    _print_rates(options, data_folder(options.data))


def _print_rates(options: argparse.Namespace, data: Path | None) -> None:
    names, everything = available_problems(data), list[Judged]()
    seeds = range(options.first, options.first + options.seeds)
    turns = [names[seed % len(names)] for seed in seeds]
    those = f"seeds {seeds.start} to {seeds.stop - 1}"
    print(f"{len(names)} problems, {those}, {options.budget:g} full trainings")
    heads = "".join(f"{head:>9}" for head in ("helps", "neutral", "harms", "too few"))
    print(f"{'method':<11}{'prior':<14}{heads}{'truly helps':>14}{'right':>8}", flush=True)
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        for method, quality in product(options.methods, options.priors):
            one = partial(judged, StudyKind(data, quality, method, options.budget))
            rows = list(pool.map(one, turns, seeds, chunksize=5))
            everything += rows
            for line in report_lines(method, quality, rows):
                print(line, flush=True)
            if quality == "spoiled":
                print(spoiled_line(method, rows), flush=True)
    early = sum(row.early == "not enough evidence" for row in everything)
    misses = np.array([miss for row in everything for miss in row.misses])
    print(f"before the first bracket is done: not enough evidence in {early} of {len(everything)}")
    print(
        f"optimum within one suggested width {100 * np.mean(misses <= 1):.0f} %, within two "
        f"{100 * np.mean(misses <= 2):.0f} % of {len(misses)} parameters"
    )


if __name__ == "__main__":
    main()
