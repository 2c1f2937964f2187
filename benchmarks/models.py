"""CPU time and quality of a model's suggestion, next to Optuna and BoTorch in the same process.

    python benchmarks/models.py [--quick] [--sizes 20 100] [--parameters 4 7] [--no-peers]
    python benchmarks/models.py --conditional

A suggestion is what a user waits for: the model is fitted and a point is proposed, after a result
that is new. Everyone gets the same observations of a smooth function of numbers and choices, the
same space and one thread; CPU time is taken, because machines are shared. What a tool keeps from
one suggestion to the next it may keep: the first of each study is not counted.

The first suggestion is judged: its log expected improvement under processes that were fitted with
many restarts. Two have the kernels of this package, joined as a sum (ours by default) and as a
product (BoTorch's here), and the likelier of the two counts as a third. So each tool is at home
under some reference, and `bo(product)` tells what the search is worth and what the kernel. Where
all parameters are numbers the two are one, and another is scikit-learn's.

With `--conditional` nobody is compared with anybody: our methods suggest for a space of 14
parameters and for the same space with conditions on five of them, and the ratio is printed.
"""

import argparse
import gc
import math
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import priorband as pb
from priorband.models.acquisition import log_ei
from priorband.models.gp import GP, Data, likelihood
from priorband.models.kernels import Kernel
from priorband.values import replaced

Array = NDArray[np.float64]
Values = Mapping[str, Any]
Reference = Callable[[Array], Array]

EPOCHS = pb.Fidelity("epochs", 1, 81)
OURS: dict[str, str | pb.Optimizer] = {
    "bo": "bo",
    "bo(product)": pb.Optimizer(
        pb.schedulers.FullFidelity(),
        pb.samplers.Staged(
            pb.samplers.FromUniform(),
            pb.samplers.GPSearch("full", combine="product"),
            pb.conditions.Trained(10),
        ),
    ),
    "bohb": "bohb",
    "priorband+bo": "priorband+bo",
}
PEERS = {
    "optuna GP": ("optuna", "torch"),
    "optuna TPE": ("optuna",),
    "botorch": ("botorch", "torch"),
}
COMPARED = ("bo", "bo(product)", "optuna GP", "botorch")
"""Whose suggestions are judged."""
GOALS = {"optuna GP": 5.0, "botorch": 10.0}
"""How many times less CPU time `bo` should take."""
LONGEST = (7, 100, 100.0)
"""With so many parameters and observations `bo` should take less than so many milliseconds."""
NUMBERS_ONLY = (7, 100)
"""The most parameters and observations without choices: scikit-learn takes minutes beyond."""
FULL = {"sizes": (20, 50, 100, 200, 400), "parameters": (4, 7, 14), "repeats": 5, "seeds": 4}
QUICK = {"sizes": (20, 100), "parameters": (4, 7), "repeats": 3, "seeds": 2}
BOUNDS = {
    "l": (0.1, 30.0),  # length scales
    "t": (1e-3, 10.0),  # weights of choices
    **dict.fromkeys("ab", (1e-3, 100.0)),  # amplitudes
    "v": (1e-6, 1.0),  # noise
}
"""Where references look for the parameters of their kernels."""
EQUAL = 1e-3
NOISE = 0.02
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Problem(NamedTuple):
    """A function to be minimised, and what was seen of it."""

    space: pb.Space
    loss: Callable[[Values, float], float]
    configs: list[Values]
    losses: list[float]


class Suggested(NamedTuple):
    """The first configuration that was suggested, and what each of the later ones took."""

    config: Values | None
    seconds: list[float]


CONDITIONS: dict[str, dict[str, Any]] = {
    "n5": {"n2": pb.at_least(4)},
    "n7": {"n2": pb.at_least(4), "c0": ["b", "c"]},
    "n6": {"c0": "a"},
    "n8": {"c0": "b"},
    "c1": {"n2": pb.at_least(7)},
}
"""Five of 14 parameters, and what they depend on with `--conditional`."""
MOST_CONDITIONAL = 1.5
"""How many times the CPU time without conditions it may take."""


def made_space(numbers: int, choices: int) -> pb.Space:
    """Plain and log floats, plain and log integers, and categoricals of three."""
    kinds: list[pb.Float | pb.Integer] = [
        pb.Float(1e-5, 1e-1, log=True),
        pb.Float(0.0, 0.9),
        pb.Integer(1, 12),
        pb.Float(0.8, 0.999),
        pb.Integer(16, 512, log=True),
    ]
    made: dict[str, Any] = {f"n{i}": kinds[i % len(kinds)] for i in range(numbers)}
    return pb.Space(made | {f"c{i}": pb.Categorical(["a", "b", "c"]) for i in range(choices)})


def made_loss(space: pb.Space, seed: int) -> Callable[[Values, float], float]:
    """A bowl and a few waves, to which choices add; even seeds' also move the bowl.

    Lower fidelities are biased. The noise depends on the configuration alone: all see the same.
    """
    rng = np.random.default_rng((seed, len(space)))
    columns = [i for i, size in enumerate(space.sizes) if size is None]
    others = [i for i, size in enumerate(space.sizes) if size is not None]
    weight, centre = rng.exponential(1.0, len(columns)), rng.uniform(0.2, 0.8, len(columns))
    wave, phase = rng.normal(0.0, 2.0, (3, len(columns))), rng.uniform(0.0, 6.0, 3)
    offset = rng.normal(0.0, 0.2, (len(others), 3))
    shift = rng.normal(0.0, 0.1, (len(others), 3, len(columns))) * (seed % 2 == 0)

    def loss(config: Values, fidelity: float = EPOCHS.high) -> float:
        row = np.nan_to_num(space.encode([config])[0])  # an inactive parameter counts as 0
        x, codes = row[columns], row[others].astype(int)
        each = np.arange(len(others))
        middle = centre + shift[each, codes].sum(axis=0)
        value = weight @ (x - middle) ** 2 + offset[each, codes].sum()
        value += 0.15 * np.sin(wave @ x + phase).sum()
        value += 0.3 * x.mean() * (1.0 - math.log(fidelity) / math.log(EPOCHS.high))
        noise = np.random.default_rng((seed, *row.tobytes())).standard_normal()
        return float(value + NOISE * noise)

    return loss


def made_problem(
    numbers: int, choices: int, size: int, seed: int, conditional: bool = False
) -> Problem:
    """A space, a function, and so many uniform observations of it."""
    space = made_space(numbers, choices)
    if conditional:
        made = dict(space.parameters)
        made |= {name: replaced(made[name], when=when) for name, when in CONDITIONS.items()}
        space = pb.Space(made)
    loss = made_loss(space, seed)
    rows = space.uniform(size, np.random.default_rng((seed, numbers, choices, size)))
    configs: list[Values] = [space.config(row) for row in rows.tolist()]
    return Problem(space, loss, configs, [loss(config, EPOCHS.high) for config in configs])


def fidelities_for(name: str, size: int) -> list[float]:
    """The fidelities of the observations that a method is given.

    PriorBand's are spread as in successive halving, three times as many on a rung as on the next,
    but ten of them are the full trainings that its model waits for.
    """
    if not name.startswith("priorband"):
        return [EPOCHS.low if name == "bohb" else EPOCHS.high] * size
    ends = np.round(np.cumsum([27, 9, 3, 1]) / 40 * (size - 10)).astype(int)
    return np.repeat([1.0, 3.0, 9.0, 27.0, 81.0], [*np.diff(ends, prepend=0), 10]).tolist()


def by_us(name: str, problem: Problem, repeats: int) -> Suggested:
    """Suggestions of one of our methods; nothing where it does not ask its model yet."""
    study = pb.Study(problem.space, EPOCHS, OURS[name], seed=0)
    fidelities = fidelities_for(name, len(problem.configs))
    for config, fidelity in zip(problem.configs, fidelities, strict=True):
        study.add(config, problem.loss(config, fidelity), fidelity)
    first: Values | None = None
    seconds: list[float] = []
    for asked in range(1, 4 * repeats + 8):
        start = time.process_time()
        trial = study.ask()
        took = time.process_time() - start
        study.tell(trial, problem.loss(trial.config, trial.fidelity))
        if trial.origin == "model":
            seconds += [took] if first else []
            first = first or trial.config
        if len(seconds) == repeats or (first is None and asked == 8):
            break  # a third of BOHB's draws are uniform, but not so many in a row
    return Suggested(first, seconds)


def by_optuna(name: str, problem: Problem, repeats: int) -> Suggested:
    """Suggestions of Optuna's Gaussian process, or of its Parzen estimator."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    searched = {n: _distribution(p) for n, p in problem.space.parameters.items()}
    samplers = optuna.samplers
    if name == "optuna GP":
        sampler: Any = samplers.GPSampler(seed=0, n_startup_trials=1)
    else:
        sampler = samplers.TPESampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.add_trials(
        optuna.trial.create_trial(params=dict(config), distributions=searched, value=loss)
        for config, loss in zip(problem.configs, problem.losses, strict=True)
    )
    first: Values | None = None
    seconds: list[float] = []
    for number in range(repeats + 1):
        start = time.process_time()
        trial = study.ask(searched)
        took = time.process_time() - start
        study.tell(trial, problem.loss(trial.params, EPOCHS.high))
        seconds += [took] if number else []
        first = first or trial.params
    return Suggested(first, seconds)


def _distribution(parameter: Any) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(parameter, pb.Categorical):
        return CategoricalDistribution(parameter.choices)
    kind = IntDistribution if isinstance(parameter, pb.Integer) else FloatDistribution
    return kind(parameter.low, parameter.high, log=parameter.log)


def by_botorch(problem: Problem) -> Suggested:
    """One suggestion of BoTorch, which keeps nothing from one to the next."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating
    from gpytorch.mlls import ExactMarginalLogLikelihood

    space = problem.space
    discrete = {
        i: [p.encode(value) for value in range(p.low, p.high + 1)]
        for i, p in enumerate(space.searched.values())
        if isinstance(p, pb.Integer)
    }
    cats = {i: [float(c) for c in range(size)] for i, size in enumerate(space.sizes) if size}
    values = {i: (discrete | cats).get(i, [0.0, 1.0]) for i in range(len(space))}
    bounds = torch.tensor([[v[0], v[-1]] for v in values.values()], dtype=torch.float64).T
    rows = torch.tensor(space.encode(problem.configs))
    losses = torch.tensor(problem.losses, dtype=torch.float64)[:, None]
    torch.manual_seed(0)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SingleTaskGP(rows, losses, covar_module=_covariance(len(space), list(cats)))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        found, _ = optimize_acqf_mixed_alternating(
            LogExpectedImprovement(model, best_f=losses.min(), maximize=False),
            **{"bounds": bounds, "discrete_dims": discrete, "cat_dims": cats},
            **{"num_restarts": 4, "raw_samples": 64},
        )
    took = time.process_time() - start
    return Suggested(space.config(found[0].tolist()), [took])


def _covariance(columns: int, cats: list[int]) -> Any:
    from botorch.models.kernels import CategoricalKernel
    from gpytorch.kernels import MaternKernel, ScaleKernel

    numbers = [i for i in range(columns) if i not in cats]
    kernel: Any = MaternKernel(nu=2.5, ard_num_dims=len(numbers), active_dims=numbers)
    if cats:
        kernel = kernel * CategoricalKernel(ard_num_dims=len(cats), active_dims=cats)
    return ScaleKernel(kernel)


def references(problem: Problem) -> dict[str, Reference]:
    """Log expected improvement of rows under processes that were fitted with care."""
    rows, losses = problem.space.encode(problem.configs), np.array(problem.losses)
    targets, sizes = (losses - losses.mean()) / losses.std(), problem.space.sizes
    if any(sizes):
        sums = _our_reference(Kernel(sizes), rows, targets)
        products = _our_reference(Kernel(sizes, product=True), rows, targets)
        likelier = max(sums, products, key=lambda each: each[0])
        return {"sum": sums[1], "product": products[1], "the likelier": likelier[1]}
    found = {"ours": _our_reference(Kernel(sizes), rows, targets)[1]}
    return found | ({"scikit-learn": _sklearn_reference(rows, targets)} if has("sklearn") else {})


def _our_reference(kernel: Kernel, rows: Array, targets: Array) -> tuple[float, Reference]:
    """The likelihood that was reached, and the reference."""
    reached, logs = _fitted(Data.of(kernel, rows, targets))
    process, best = GP.conditioned(kernel, logs, rows, targets), float(targets.min())
    return reached, lambda rows: log_ei(*process.predict(rows), best)


def _fitted(data: Data) -> tuple[float, Array]:
    """The highest likelihood of some climbs, each to its end, and the parameters there.

    Not our own `fit`: what is measured with must not change with what is measured.
    """
    names, root = data.kernel.names, len(data.kernel.numbers) ** 0.5
    best, logs = math.inf, np.empty(0)
    for scale, noise in product((0.2, 0.5, 1.0, 3.0), (1e-2, 1e-4)):
        begun = {"l": scale * root, "t": 0.3, "v": noise}
        climb = minimize(
            lambda logs: tuple(-part for part in likelihood(data, logs)),
            np.log([begun.get(name[0], 0.5) for name in names]),
            jac=True,
            bounds=np.log([BOUNDS[name[0]] for name in names]),
            method="L-BFGS-B",
            options={"maxiter": 500},
        )
        if climb.fun < best:
            best, logs = float(climb.fun), climb.x
    return -best, logs


def _sklearn_reference(rows: Array, targets: Array) -> Reference:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    matern = Matern(np.ones(rows.shape[1]), BOUNDS["l"], nu=2.5)
    kernel = ConstantKernel(1.0, BOUNDS["a"]) * matern + WhiteKernel(1e-2, BOUNDS["v"])
    process = GaussianProcessRegressor(kernel, n_restarts_optimizer=4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        process.fit(rows, targets)
    noise, best = float(process.kernel_.k2.noise_level), float(targets.min())

    def reference(rows: Array) -> Array:
        mean, deviation = process.predict(rows, return_std=True)
        return log_ei(mean, np.maximum(deviation**2 - noise, 1e-12), best)

    return reference


def suggested(problem: Problem, names: Sequence[str], repeats: int) -> dict[str, Suggested]:
    """What each one suggests; slow ones are asked less often."""
    found = {}
    for name in names:
        gc.collect()
        if name == "botorch":
            found[name] = by_botorch(problem)
        elif name in PEERS:
            often = repeats if name == "optuna TPE" else -(-repeats // 2)
            found[name] = by_optuna(name, problem, often)
        else:
            found[name] = by_us(name, problem, repeats)
    return found


class Judged(NamedTuple):
    """The log expected improvement of everyone's first suggestion under one reference."""

    groups: tuple[str, ...]
    """The lines of the table in which it counts."""
    reference: str
    values: dict[str, float]


class Cell(NamedTuple):
    """What was measured with so many parameters and observations."""

    parameters: int
    size: int
    milliseconds: dict[str, float]
    judged: list[Judged]

    @property
    def ratios(self) -> dict[str, float]:
        """How many times the CPU time of `bo` others take."""
        took = self.milliseconds
        return {name: took[name] / took["bo"] for name in GOALS if name in took}


def judged(
    groups: tuple[str, ...], problem: Problem, found: Mapping[str, Suggested]
) -> list[Judged]:
    """How good the first suggestions are, once for each reference."""
    configs = {name: found[name].config or {} for name in COMPARED if name in found}
    rows = problem.space.encode(configs.values())
    return [
        Judged(groups, name, dict(zip(configs, look(rows).tolist(), strict=True)))
        for name, look in references(problem).items()
    ]


def measured(
    parameters: int, size: int, names: Sequence[str], options: argparse.Namespace, mixed: bool
) -> Cell:
    """Medians over all functions and repeats; quality where there is someone to compare with."""
    took: dict[str, list[float]] = {name: [] for name in names}
    quality: list[Judged] = []
    choices = round(parameters * 2 / 7) if mixed else 0
    about = f"{parameters - choices:2d} numbers, {choices} choices, {size:3d} observations"
    for seed in range(options.seeds):
        problem = made_problem(parameters - choices, choices, size, seed)
        found = suggested(problem, names, options.repeats)
        for name in names:
            took[name] += found[name].seconds
        if GOALS.keys() & found.keys():
            kind = "all where choices " + ("only add" if seed % 2 else "interact")
            quality += judged((about, *([kind] if choices else []), "all"), problem, found)
    middle = {n: statistics.median(seconds) * 1e3 for n, seconds in took.items() if seconds}
    return Cell(parameters, size, middle, quality)


def timings(names: Sequence[str], options: argparse.Namespace) -> list[Cell]:
    """Print the CPU time of each one's suggestions, as they are measured."""
    print("CPU milliseconds of a suggestion, the median, and how many times that of bo")
    print("parameters  observations" + "".join(f"{name:>14}" for name in names))
    cells = []
    for parameters in options.parameters:
        for size in options.sizes:
            cell = measured(parameters, size, names, options, mixed=True)
            shown = [_milliseconds(cell.milliseconds.get(name)) for name in names]
            print(f"{parameters:10d}{size:14d}{''.join(shown)}   {_marks(cell)}", flush=True)
            cells.append(cell)
    return cells


def _milliseconds(took: float | None) -> str:
    return f"{'no model':>14}" if took is None else f"{took:14.1f}"


def _marks(cell: Cell) -> str:
    marks = [f"{n} {x:.1f}x {verdict(x >= GOALS[n])}" for n, x in cell.ratios.items()]
    if (cell.parameters, cell.size) == LONGEST[:2]:
        marks.append(f"bo below {LONGEST[2]:g} ms {verdict(quick_enough(cell))}")
    return ", ".join(marks)


def verdict(met: bool) -> str:
    """Whether a goal is met."""
    return "ok" if met else "MISSED"


def quick_enough(cell: Cell) -> bool:
    """Whether a suggestion is as quick as it should be where that is said."""
    return cell[:2] != LONGEST[:2] or cell.milliseconds["bo"] < LONGEST[2]


def goals(cells: Sequence[Cell]) -> bool:
    """Print how many times less `bo` takes than others; whether all goals are met."""
    met = all(map(quick_enough, cells))
    for name, goal in GOALS.items():
        ratios = [cell.ratios[name] for cell in cells if name in cell.ratios]
        if ratios:
            met &= min(ratios) >= goal
            print(
                f"{name} takes {statistics.geometric_mean(ratios):.1f} times the CPU time of bo "
                f"(geometric mean; least {min(ratios):.1f}); goal {goal:g} at each size: "
                f"{verdict(min(ratios) >= goal)}"
            )
    return met


def qualities(found: Sequence[Judged]) -> None:
    """Print the log expected improvement of suggestions, by size and altogether."""
    peers = [name for name in COMPARED[1:] if name in found[0].values]
    print(
        "\nLog expected improvement of a suggestion: that of bo, and by how much others' is higher"
        "\n(mean, median), and in which share of data sets bo is equal or better"
    )
    print(f"{'data':44}{'reference':14}{'bo':>8}" + "".join(f"{name:>26}" for name in peers))
    lines = {(group, each.reference) for each in found for group in each.groups}
    for group, reference in sorted(lines, key=lambda line: (line[0], line[1])):
        chosen = [e.values for e in found if e.reference == reference and group in e.groups]
        mean = statistics.fmean(values["bo"] for values in chosen)
        shown = [_compared([v[name] - v["bo"] for v in chosen]) for name in peers]
        print(f"{group:44}{reference:14}{mean:8.2f}{''.join(shown)}")


def _compared(differences: list[float]) -> str:
    mean, middle = statistics.fmean(differences), statistics.median(differences)
    share = statistics.fmean(difference <= EQUAL for difference in differences)
    return f"{mean:+11.3f} {middle:+8.3f} {share:4.0%} "


def numbers_only(names: Sequence[str], options: argparse.Namespace) -> list[Judged]:
    """The quality of suggestions where there are no choices."""
    compared = [name for name in COMPARED if name in names]
    few = argparse.Namespace(seeds=options.seeds, repeats=1)
    return [
        each
        for parameters in options.parameters
        for size in options.sizes
        if parameters <= NUMBERS_ONLY[0] and size <= NUMBERS_ONLY[1]
        for each in measured(parameters, size, compared, few, mixed=False).judged
    ]


def conditional(options: argparse.Namespace) -> int:
    """Print what conditions cost; 1 where it is too much."""
    met = True
    for name in ("bo", "bo(product)", "priorband+bo"):
        for size in options.sizes:
            took: dict[bool, list[float]] = {False: [], True: []}
            for seed, has_conditions in product(range(options.seeds), took):
                problem = made_problem(10, 4, size, seed, has_conditions)
                took[has_conditions] += by_us(name, problem, options.repeats).seconds
            flat, with_conditions = (1e3 * statistics.median(took[each]) for each in took)
            met &= with_conditions <= MOST_CONDITIONAL * flat
            print(
                f"{name:<12} {size:>4} results: {flat:6.1f} ms without conditions, "
                f"{with_conditions:6.1f} ms with, {with_conditions / flat:.2f} times",
                flush=True,
            )
    print(f"at most {MOST_CONDITIONAL} times: {verdict(met)}")
    return 0 if met else 1


def present(wanted: bool) -> list[str]:
    """The peers that are installed, if any are wanted; says how to install the others."""
    if not wanted:
        return []
    for package in sorted({"sklearn"}.union(*PEERS.values())):
        if has(package):
            print(f"{package} {import_module(package).__version__}")
        else:
            print(f"{package} is not installed and left out: pip install 'priorband[peers]'")
    return [name for name, needed in PEERS.items() if all(map(has, needed))]


def has(package: str) -> bool:
    """Whether a package is installed."""
    return find_spec(package) is not None


def main() -> int:
    """The command; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a few sizes only: two minutes")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of observations")
    parser.add_argument("--parameters", type=int, nargs="+", help="two of seven are choices")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--repeats", type=int, help="suggestions that are counted, a function")
    parser.add_argument("--seeds", type=int, help="functions of each size")
    parser.add_argument("--conditional", action="store_true", help="what conditions cost, alone")
    options = parser.parse_args()
    for option, usual in (QUICK if options.quick else FULL).items():
        setattr(options, option, getattr(options, option) or usual)
    if min(options.sizes) < 20:
        parser.error("`--sizes` must be at least 20: with less, methods do not ask their models")
    if any(os.environ.get(name) != "1" for name in THREADS):  # read when numpy is imported
        os.execve(
            sys.executable,
            [sys.executable, *sys.argv],
            {**os.environ, **dict.fromkeys(THREADS, "1")},
        )
    if options.conditional:
        return conditional(options)
    names = [*OURS, *present(options.peers)]
    if has("torch"):
        import torch

        torch.set_num_threads(1)
    suggested(made_problem(3, 1, 20, seed=1_000), names, 2)  # what is loaded when first used
    cells = timings(names, options)
    met = goals(cells)
    found = [each for cell in cells for each in cell.judged]
    if found:
        qualities(found + numbers_only(names, options))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
