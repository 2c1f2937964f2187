"""All methods by name. Each is a combination of a scheduler and a sampler."""

import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from priorband.conditions import Bracketed, Drawn, Enough, Never, Proven, Spent, Trained
from priorband.errors import MethodError, suggestion
from priorband.optimizers import Opening, Optimizer
from priorband.samplers.combine import Fixed, Mix, Staged
from priorband.samplers.ensemble_policy import (
    ConstantShare,
    Decay,
    Ensemble,
    Guard,
    Half,
    Linear,
    UniformOrNear,
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
from priorband.schedulers.opened import ContinueMode
from priorband.schedulers.staged import StagedScheduler
from priorband.schedulers.synchronous import Hyperband, SuccessiveHalving
from priorband.schedulers.wrapped import base_plan, with_plan
from priorband.values import field_names, replaced

AUTO = "auto"
"""The name that stands for a method that is chosen when a study begins."""
_NUMBER = r"(\d+\.?\d*(?:e-?\d+)?|\.\d+)"
_MODE = PriorMode()
_ESP = ensemble()
_TPE = Mix((FromUniform(), TPE()), Fixed((1 / 3, 2 / 3)))
_READY = Enough(per_parameter=1, more=2)
_JOINT = GPSearch("joint")
_MOBSTER = GPSearch("joint", two_step=False)
_TEN = Spent(10)
_TWO = Hyperband(bases=(0, 1))
_LOW = Opening(PriorMode())


def _guarded(guard: Guard) -> Staged:
    """Guarded draws in the first bracket, and then PriorBand's ensemble sampling."""
    return Staged(ensemble(Ensemble(guard, Zero())), _ESP, Bracketed())


_GUARDED = _guarded(Guard())
_PLAN = ContinueMode(_TWO)
_LOCAL = Staged(ensemble(Ensemble(Guard(), Zero())), ensemble(UniformOrNear()), Bracketed(0))
_FULL_GP = GPSearch("joint", 10.0, combine="product", aim="full", scale="log", trust=Proven())


def _partly(percent: float) -> Mix:
    """A mixture of draws from the prior, with a probability in percent, and uniform draws."""
    if not 0 <= percent <= 100:
        raise MethodError(
            "The percentage in the name of a `method` must be from 0 to 100, as in "
            f"'random+prior(50%)', got {percent:g}."
        )
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
        "a grid of ten values per number and all choices, in random order, each trained in full",
        Optimizer(FullFidelity(), Grid())),
    "sh": (
        "successive halving: brackets that all start on the lowest rung",
        Optimizer(SuccessiveHalving(), FromUniform())),
    "hyperband": (
        "brackets by turns, from many cheap trials to a few full trainings",
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
        "asynchronous Hyperband: ASHA with a random base rung for each new trial",
        Optimizer(AsyncHyperband(), FromUniform())),
    "async-hyperband+prior": (
        "asynchronous Hyperband with all draws from the prior",
        Optimizer(AsyncHyperband(), FromPrior(), _MODE)),
    "async-hyperband+esp": (
        "asynchronous Hyperband with PriorBand's ensemble sampling",
        Optimizer(AsyncHyperband(), _ESP, _MODE)),
    "priorband": (
        "Hyperband with ensemble sampling: uniform, from the prior, or near the incumbent",
        Optimizer(Hyperband(), _ESP, _MODE)),
    "priorband(50%)": (
        "ablation: half of the draws uniform on every rung",
        Optimizer(Hyperband(), ensemble(Ensemble(uniform_share=Half())), _MODE)),
    "priorband(linear)": (
        "ablation: the uniform share falls linearly with the rung",
        Optimizer(Hyperband(), ensemble(Ensemble(uniform_share=Linear())), _MODE)),
    "priorband(constant)": (
        "ablation: the prior is always eta times as likely as the incumbent",
        Optimizer(Hyperband(), ensemble(Ensemble(incumbent_share=ConstantShare())), _MODE)),
    "priorband(decay)": (
        "ablation: the prior's weight halves after every bracket",
        Optimizer(Hyperband(), ensemble(Ensemble(incumbent_share=Decay())), _MODE)),
    "priorband(crossover)": (
        "ablation: the incumbent is crossed with a partner instead of perturbed",
        Optimizer(Hyperband(), ensemble(around=Crossover(Ensemble())), _MODE)),
    "priorband(hypersphere)": (
        "ablation: uniform draws from a ball around the incumbent",
        Optimizer(Hyperband(), ensemble(around=Hypersphere()), _MODE)),
    "priorband(no-incumbent)": (
        "ablation: the incumbent's share goes to the prior",
        Optimizer(Hyperband(), ensemble(Ensemble(incumbent_share=Zero())), _MODE)),
    "priorband(mode@min)": (
        "ablation: the prior's mode starts in the first bracket instead of as a full training",
        Optimizer(Hyperband(), Staged(_MODE, _ESP, until=Drawn(1)))),
    "priorband(no-mode)": (
        "ablation: the prior's mode is not evaluated first",
        Optimizer(Hyperband(), _ESP)),
    "guardband": (
        "PriorBand that trusts the prior only once it wins, with two kinds of brackets",
        Optimizer(_PLAN, _GUARDED, _LOW)),
    "guardband(no-guard)": (
        "ablation: PriorBand's ensemble sampling in the first bracket, too",
        Optimizer(_PLAN, _ESP, _LOW)),
    "guardband(all-brackets)": (
        "ablation: the brackets of Hyperband",
        Optimizer(ContinueMode(Hyperband()), _GUARDED, _LOW)),
    "guardband(no-opening)": (
        "ablation: the prior's mode is not evaluated first",
        Optimizer(_TWO, _GUARDED)),
    "guardband(no-continue)": (
        "ablation: the prior's mode is not trained further",
        Optimizer(_TWO, _GUARDED, _LOW)),
    "guardband(mode@max)": (
        "ablation: the prior's mode is trained in full at once, as in PriorBand",
        Optimizer(_TWO, _GUARDED, Opening(PriorMode(), below=0))),
    "guardband+bo": (
        "guardband's first bracket, then full trainings of a Gaussian process's choice",
        Optimizer(StagedScheduler(_PLAN), _LOCAL, _LOW, extra=_FULL_GP)),
    "guardband+bo(no-duel)": (
        "ablation: no uniform draw is trained further to be compared with the prior",
        Optimizer(StagedScheduler(_PLAN, duel=False), _LOCAL, _LOW, extra=_FULL_GP)),
    "guardband+bo(no-proof)": (
        "ablation: the prior is never proven",
        Optimizer(StagedScheduler(_PLAN, proof=Never()), _LOCAL, _LOW,
                  extra=replaced(_FULL_GP, trust=Never()))),
    "guardband+bo(no-prior)": (
        "ablation: the Gaussian process does not use the prior",
        Optimizer(StagedScheduler(_PLAN), _LOCAL, _LOW, extra=replaced(_FULL_GP, beta=0.0))),
    "guardband+bo(sum)": (
        "ablation: the kernels of numbers and choices are added",
        Optimizer(StagedScheduler(_PLAN), _LOCAL, _LOW, extra=replaced(_FULL_GP, combine="sum"))),
    "guardband+bo(linear)": (
        "ablation: the Gaussian process sees the fidelity on a linear scale",
        Optimizer(StagedScheduler(_PLAN), _LOCAL, _LOW, extra=replaced(_FULL_GP, scale="linear"))),
    "guardband+bo(esp)": (
        "ablation: PriorBand's ensemble sampling in later brackets, as in guardband",
        Optimizer(StagedScheduler(_PLAN), _GUARDED, _LOW, extra=_FULL_GP)),
    "asha+guard": (
        "ASHA with the guard: ensemble sampling that trusts the prior only once it wins",
        Optimizer(ContinueMode(ASHA()), _GUARDED, _LOW)),
    "async-hyperband+guard": (
        "asynchronous Hyperband with the guard",
        Optimizer(ContinueMode(AsyncHyperband()), _GUARDED, _LOW)),
    "bo": (
        "Bayesian optimisation: ten uniform draws, then a Gaussian process, each trained in full",
        Optimizer(FullFidelity(), Staged(FromUniform(), GPSearch("full"), Trained(10)))),
    "pibo": (
        "Bayesian optimisation weighted by the prior, less so with every result",
        Optimizer(FullFidelity(), Staged(FromPrior(), GPSearch("full", 10.0), Trained(10)), _MODE)),
    "bohb": (
        "Hyperband with a tree Parzen estimator; one third of the draws are uniform",
        Optimizer(Hyperband(), Staged(FromUniform(), _TPE, Enough(per_parameter=2, more=2)))),
    "mobster": (
        "asynchronous Hyperband with a Gaussian process of the highest rung with enough results",
        Optimizer(AsyncHyperband(), Staged(FromUniform(), GPSearch("rung"), _READY))),
    "mobster(joint)": (
        "MOBSTER with one Gaussian process of all rungs, as first published",
        Optimizer(AsyncHyperband(), Staged(FromUniform(), _MOBSTER, _READY))),
    "mobster+esp": (
        "MOBSTER with PriorBand's ensemble sampling until the process has enough results",
        Optimizer(AsyncHyperband(), Staged(_ESP, GPSearch("rung"), _READY), _MODE)),
    "mobster+esp(joint)": (
        "MOBSTER with ensemble sampling, and after ten full trainings one process of all rungs",
        Optimizer(AsyncHyperband(), Staged(_ESP, _JOINT, _TEN), _MODE)),
    "priorband+bo": (
        "PriorBand, and after ten full trainings one Gaussian process of all rungs",
        Optimizer(Hyperband(), Staged(_ESP, _JOINT, _TEN), _MODE)),
    "priorband+bo(rung)": (
        "PriorBand, and then a Gaussian process of the highest rung with enough results",
        Optimizer(Hyperband(), Staged(_ESP, GPSearch("rung"), _READY), _MODE)),
}

FAMILIES: dict[str, tuple[str, tuple[float, ...], Callable[[float], Optimizer]]] = {
    "random+prior({}%)": (
        "draws from the prior with this probability, else uniform, each trained in full", (50,),
        lambda x: Optimizer(FullFidelity(), _partly(x), _MODE)),
    "hyperband+prior({}%)": (
        "Hyperband with draws from the prior with this probability, else uniform", (50,),
        lambda x: Optimizer(Hyperband(), _partly(x), _MODE)),
    "priorband(rate={})": (
        "ablation: each parameter is perturbed with this probability", (0.25, 0.75),
        lambda x: Optimizer(Hyperband(), ensemble(around=Perturb(rate=x)), _MODE)),
    "priorband(sigma={})": (
        "ablation: perturbation with this width", (0.125, 0.5),
        lambda x: Optimizer(Hyperband(), ensemble(around=Perturb(sigma=x)), _MODE)),
    "guardband(trusted={})": (
        "ablation: a trusted prior's odds are multiplied by eta to this power", (1,),
        lambda x: Optimizer(_PLAN, _guarded(Guard(trusted=x)), _LOW)),
}
# fmt: on


_USUAL = ("priorband", "hyperband", "asha", "bohb", "bo", "random")
_MEANT = {
    **dict.fromkeys(("tpe", "optuna"), "bohb"),
    **dict.fromkeys(("gp", "bayesian", "bayes", "bayesopt", "gaussian-process"), "bo"),
    **dict.fromkeys(("hb", "neps"), "hyperband"),
    **dict.fromkeys(("successive-halving", "halving"), "sh"),
    **dict.fromkeys(("random-search", "rs"), "random"),
    "grid-search": "grid",
}
"""What other libraries call methods, and the closest one here."""


def methods() -> dict[str, str]:
    """List all methods by name.

    The numbers in names such as "random+prior(50%)", "priorband(rate=0.25)" and
    "priorband(sigma=0.5)" are examples: any other number works too.

    Returns:
        One line of description for each name.

    Example:
        >>> methods()["hyperband"]
        'brackets by turns, from many cheap trials to a few full trainings'
    """
    descriptions = {name: line for name, (line, _) in _METHODS.items()}
    for pattern, (line, examples, _) in FAMILIES.items():
        descriptions.update({pattern.format(f"{x:g}"): line for x in examples})
    return descriptions


def optimizer(name: str, **options: Any) -> Optimizer:
    """Return a method by name.

    Args:
        name: One of the names that `methods()` lists.
        **options: `eta`, `sizes` and `incumbent` of `Optimizer`, and the options of the method's
            scheduler, such as `promotion` of `ASHA` and `bases` of `Hyperband`.

    Returns:
        The method, for the argument `method` of a study.

    Raises:
        MethodError: If there is no such method, or it does not take an option.

    Example:
        >>> optimizer("asha", eta=4, promotion="neps").scheduler
        ASHA(promotion='neps')
    """
    if not isinstance(name, str):
        raise MethodError(
            f"`method` must be a name such as 'priorband', or an Optimizer, got {name!r}. "
            "`priorband methods` and pb.methods() list all names."
        )
    if name == AUTO:
        raise MethodError(
            "`method` 'auto' is chosen when a study begins, so it cannot be used here. Name a "
            "method, such as 'guardband', or pass 'auto' to tune, open_study, Study or plan."
        )
    method = _METHODS[name][1] if name in _METHODS else _family_member(name)
    plan = base_plan(method.scheduler)
    own, plan_options = {"eta", "sizes", "incumbent"}, set(field_names(plan))
    allowed = own | plan_options
    for option in options:
        if option not in allowed:
            raise MethodError(
                f"Method {name!r} takes no option {option!r}. {suggestion(option, allowed)}"
            )
    chosen = {option: options.pop(option) for option in plan_options & options.keys()}
    return replaced(method, scheduler=with_plan(method.scheduler, **chosen), **options)


def _family_member(name: str) -> Optimizer:
    """Return a method whose name contains a number, such as "random+prior(20%)"."""
    for pattern, (_, _, make) in FAMILIES.items():
        before, after = pattern.split("{}")
        number = re.fullmatch(re.escape(before) + _NUMBER + re.escape(after), name)
        if number:
            return make(float(number[1]))
    raise _unknown_method(name)


def _unknown_method(name: str) -> MethodError:
    """The error for a name that no method has, with the closest one, or the usual ones."""
    asked = name.lower().replace("_", "-")
    close = (
        [_MEANT[asked]] if asked in _MEANT else get_close_matches(asked, (AUTO, *methods()), 1, 0.5)
    )
    hint = f"Did you mean {close[0]!r}?" if close else f"The usual ones are {', '.join(_USUAL)}."
    return MethodError(
        f"`method` {name!r} is not known. {hint} `priorband methods` and pb.methods() list all."
    )
