"""Every method by name, each a single composition of a scheduler and a sampler."""

import re
from collections.abc import Callable
from typing import Any

from priorband.conditions import Drawn, Enough, Spent, Trained
from priorband.errors import MethodError, suggestion
from priorband.optimizers import Optimizer
from priorband.samplers.combine import Fixed, Mix, Staged
from priorband.samplers.ensemble_policy import (
    ConstantShare,
    Decay,
    Ensemble,
    Half,
    Linear,
    Zero,
    ensemble,
)
from priorband.samplers.gaussian import GPSearch
from priorband.samplers.grid import Grid
from priorband.samplers.local import Crossover, Hypersphere, Perturb
from priorband.samplers.parzen import TPE
from priorband.samplers.simple import FromPrior, FromUniform, PriorMode
from priorband.schedulers.asynchronous import ASHA, AsyncHyperband
from priorband.schedulers.full import FullFidelity
from priorband.schedulers.synchronous import Hyperband, SuccessiveHalving
from priorband.values import field_names, replaced

_NUMBER = r"(\d+\.?\d*(?:e-?\d+)?|\.\d+)"
_MODE = PriorMode()
_ESP = ensemble()
_TPE = Mix((FromUniform(), TPE()), Fixed((1 / 3, 2 / 3)))
_READY = Enough(per_parameter=1, more=2)
_JOINT = GPSearch("joint")
_MOBSTER = GPSearch("joint", two_step=False)
_TEN = Spent(10)


def _partly(percent: float) -> Mix:
    """The prior with a probability in percent, else uniform."""
    if not 0 <= percent <= 100:
        raise MethodError(f"A percentage must be in [0, 100], got {percent:g}.")
    return Mix((FromUniform(), FromPrior()), Fixed((1 - percent / 100, percent / 100)))


# fmt: off
_METHODS: dict[str, tuple[str, Optimizer]] = {
    "random": (
        "uniform draws, each trained in full",
        Optimizer(FullFidelity(), FromUniform())),
    "random+prior": (
        "draws from the prior, each trained in full, the prior's mode first",
        Optimizer(FullFidelity(), FromPrior(), _MODE)),
    "grid": (
        "a grid of ten values a number and all choices, in random order, each trained in full",
        Optimizer(FullFidelity(), Grid())),
    "sh": (
        "successive halving: the most aggressive bracket, again and again",
        Optimizer(SuccessiveHalving(), FromUniform())),
    "hyperband": (
        "brackets in turn, from many cheap trials to few full ones",
        Optimizer(Hyperband(), FromUniform())),
    "hyperband+prior": (
        "Hyperband with all draws from the prior",
        Optimizer(Hyperband(), FromPrior(), _MODE)),
    "asha": (
        "asynchronous successive halving",
        Optimizer(ASHA(), FromUniform())),
    "asha+prior": (
        "ASHA with all draws from the prior",
        Optimizer(ASHA(), FromPrior(), _MODE)),
    "asha+esp": (
        "ASHA with PriorBand's ensemble sampling",
        Optimizer(ASHA(), _ESP, _MODE)),
    "async-hyperband": (
        "ASHA from base rungs drawn at random",
        Optimizer(AsyncHyperband(), FromUniform())),
    "async-hyperband+prior": (
        "asynchronous Hyperband with all draws from the prior",
        Optimizer(AsyncHyperband(), FromPrior(), _MODE)),
    "async-hyperband+esp": (
        "asynchronous Hyperband with PriorBand's ensemble sampling",
        Optimizer(AsyncHyperband(), _ESP, _MODE)),
    "priorband": (
        "Hyperband with ensemble sampling: uniform, prior or incumbent, as the evidence says",
        Optimizer(Hyperband(), _ESP, _MODE)),
    "priorband(50%)": (
        "ablation: half of the draws uniform on every rung",
        Optimizer(Hyperband(), ensemble(Ensemble(uniform_share=Half())), _MODE)),
    "priorband(linear)": (
        "ablation: the uniform share falls linearly with the rung",
        Optimizer(Hyperband(), ensemble(Ensemble(uniform_share=Linear())), _MODE)),
    "priorband(constant)": (
        "ablation: prior to incumbent as eta to 1, whatever the evidence",
        Optimizer(Hyperband(), ensemble(Ensemble(incumbent_share=ConstantShare())), _MODE)),
    "priorband(decay)": (
        "ablation: the prior fades by half after every bracket",
        Optimizer(Hyperband(), ensemble(Ensemble(incumbent_share=Decay())), _MODE)),
    "priorband(crossover)": (
        "ablation: the incumbent is crossed with a partner instead of perturbed",
        Optimizer(Hyperband(), ensemble(around=Crossover(Ensemble())), _MODE)),
    "priorband(hypersphere)": (
        "ablation: uniform draws within a ball around the incumbent",
        Optimizer(Hyperband(), ensemble(around=Hypersphere()), _MODE)),
    "priorband(no-incumbent)": (
        "ablation: the incumbent's share goes to the prior",
        Optimizer(Hyperband(), ensemble(Ensemble(incumbent_share=Zero())), _MODE)),
    "priorband(mode@min)": (
        "ablation: the prior's mode is a member of the first bracket",
        Optimizer(Hyperband(), Staged(_MODE, _ESP, until=Drawn(1)))),
    "priorband(no-mode)": (
        "ablation: the prior's mode is not evaluated first",
        Optimizer(Hyperband(), _ESP)),
    "bo": (
        "Bayesian optimisation: ten uniform draws, then a Gaussian process, each trained in full",
        Optimizer(FullFidelity(), Staged(FromUniform(), GPSearch("full"), Trained(10)))),
    "pibo": (
        "Bayesian optimisation with the prior as a weight that fades with the results",
        Optimizer(FullFidelity(), Staged(FromPrior(), GPSearch("full", 10.0), Trained(10)), _MODE)),
    "bohb": (
        "Hyperband with a third uniform draws, else densities of good and bad results",
        Optimizer(Hyperband(), Staged(FromUniform(), _TPE, Enough(per_parameter=2, more=2)))),
    "mobster": (
        "asynchronous Hyperband with a Gaussian process of the highest rung with results enough",
        Optimizer(AsyncHyperband(), Staged(FromUniform(), GPSearch("rung"), _READY))),
    "mobster(joint)": (
        "MOBSTER with one Gaussian process over all rungs, as first published",
        Optimizer(AsyncHyperband(), Staged(FromUniform(), _MOBSTER, _READY))),
    "mobster+esp": (
        "MOBSTER with PriorBand's ensemble sampling before the process has results enough",
        Optimizer(AsyncHyperband(), Staged(_ESP, GPSearch("rung"), _READY), _MODE)),
    "mobster+esp(joint)": (
        "MOBSTER with ensemble sampling, after ten full trainings one process over all rungs",
        Optimizer(AsyncHyperband(), Staged(_ESP, _JOINT, _TEN), _MODE)),
    "priorband+bo": (
        "PriorBand, and after ten full trainings one Gaussian process over all rungs",
        Optimizer(Hyperband(), Staged(_ESP, _JOINT, _TEN), _MODE)),
    "priorband+bo(rung)": (
        "PriorBand with a Gaussian process of the highest rung with results enough",
        Optimizer(Hyperband(), Staged(_ESP, GPSearch("rung"), _READY), _MODE)),
}

_FAMILIES: dict[str, tuple[str, tuple[float, ...], Callable[[float], Optimizer]]] = {
    "random+prior({}%)": (
        "draws from the prior with that probability, else uniform, each trained in full", (50,),
        lambda x: Optimizer(FullFidelity(), _partly(x), _MODE)),
    "hyperband+prior({}%)": (
        "Hyperband with draws from the prior with that probability, else uniform", (50,),
        lambda x: Optimizer(Hyperband(), _partly(x), _MODE)),
    "priorband(rate={})": (
        "ablation: another chance for each parameter to be perturbed", (0.25, 0.75),
        lambda x: Optimizer(Hyperband(), ensemble(around=Perturb(rate=x)), _MODE)),
    "priorband(sigma={})": (
        "ablation: another width of the perturbation", (0.125, 0.5),
        lambda x: Optimizer(Hyperband(), ensemble(around=Perturb(sigma=x)), _MODE)),
}
# fmt: on


def methods() -> dict[str, str]:
    """Every named method with one line on what it is.

    The percentage of `+prior(50%)`, and the numbers of `rate=` and `sigma=`, may be any others.

    >>> methods()["hyperband"]
    'brackets in turn, from many cheap trials to few full ones'
    """
    known = {name: line for name, (line, _) in _METHODS.items()}
    for pattern, (line, examples, _) in _FAMILIES.items():
        known.update({pattern.format(f"{x:g}"): line for x in examples})
    return known


def optimizer(name: str, **options: Any) -> Optimizer:
    """A method by name, with options: `eta`, `sizes`, `incumbent`, and its scheduler's.

    >>> optimizer("asha", eta=4, promotion="neps").scheduler
    ASHA(promotion='neps')
    """
    if not isinstance(name, str):
        raise MethodError(
            f"A method is a name such as 'priorband', or an Optimizer made of a scheduler and a "
            f"sampler, got {name!r}."
        )
    found = _METHODS[name][1] if name in _METHODS else _member(name)
    own, planned = {"eta", "sizes", "incumbent"}, set(field_names(found.scheduler))
    for option in options:
        if option not in own | planned:
            raise MethodError(
                f"Method {name!r} takes no option {option!r}. {suggestion(option, own | planned)}"
            )
    plan = {option: options.pop(option) for option in planned & options.keys()}
    return replaced(found, scheduler=replaced(found.scheduler, **plan), **options)


def _member(name: str) -> Optimizer:
    """The method of a family, its number read from the name."""
    for pattern, (_, _, make) in _FAMILIES.items():
        before, after = pattern.split("{}")
        number = re.fullmatch(re.escape(before) + _NUMBER + re.escape(after), name)
        if number:
            return make(float(number[1]))
    raise MethodError(f"Unknown method {name!r}. {suggestion(name, methods())}")
