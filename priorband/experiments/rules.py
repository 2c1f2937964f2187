"""What a case means: its benchmark, its prior and its method, under the rules it names.

The rules "paper" are the paper's text. The rules "authors" are the same, but around the prior
configurations that the authors drew, so that luck of the draw is none of the difference. The rules
"published" are what the code behind the published figures did, as far as it departed: its prior
configurations and their perturbation, integers drawn wider than scored, rungs that promote from
what is left of them, a Gaussian process per rung where the text says one for all, categories that
always change, a BO that begins with draws from a weak prior, the mode of HB+Prior(50%) on the
lowest rung, and the settings of two ablations.
"""

from collections.abc import Callable, Mapping
from typing import Any, final

from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.hartmann import Hartmann
from priorband.benchmarks.priors import perturbed, perturbed_as_published
from priorband.benchmarks.published import published_prior
from priorband.conditions import Drawn, Trained
from priorband.errors import DataError
from priorband.experiments.cases import NO_PRIOR, Case
from priorband.named_methods import optimizer
from priorband.optimizers import Optimizer
from priorband.samplers.combine import Staged
from priorband.samplers.ensemble_policy import (
    Decay,
    Ensemble,
    Geometric,
    Linear,
    UniformShare,
    ensemble,
)
from priorband.samplers.gaussian import GPSearch
from priorband.samplers.local import Perturb
from priorband.samplers.simple import FromPrior, PriorMode
from priorband.schedulers.full import FullFidelity
from priorband.schedulers.synchronous import Hyperband
from priorband.space.prior import Prior, prior
from priorband.space.space import Space
from priorband.study import Study
from priorband.values import field_names, frozen, replaced

Centres = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Configurations by rules and benchmark, as `rules/benchmark`, and by the prior's quality."""

PAUSE = 10.0
"""What a trial of the published parallel runs waited beyond its training, in units of fidelity."""


@final
@frozen
class Setting:
    """A benchmark and a study of it that has not begun."""

    benchmark: Benchmark
    study: Study
    pause: float


def setting(case: Case, benchmark: Benchmark, centres: Centres) -> Setting:
    """What a case runs."""
    posed = replaced(benchmark, seed=case.seed) if isinstance(benchmark, Hartmann) else benchmark
    by_code = case.rules == "published"
    method = published_method(case.method) if by_code else optimizer(case.method)
    belief = _prior(case, posed.space, centres)
    study = Study(posed.space, posed.fidelity, method, case.seed, belief)
    return Setting(posed, study, PAUSE if by_code and case.workers > 1 else 0.0)


def centre_of(case: Case, space: Space, centres: Centres) -> dict[str, Any]:
    """The configuration that the case's prior believes best."""
    place = f"{case.rules}/{case.benchmark}"
    try:
        centre = dict(centres[place][case.prior])
    except KeyError:
        raise DataError(
            f"There is no {case.prior!r} prior of {case.benchmark} under the rules "
            f"{case.rules!r}. The authors' own cover the paper's benchmarks."
        ) from None
    if case.prior != "near-optimum":
        return centre
    move = perturbed_as_published if case.rules == "published" else perturbed
    return dict(move(space, space.check(centre), case.seed))


def _prior(case: Case, space: Space, centres: Centres) -> Prior | None:
    if case.prior == NO_PRIOR:
        return None
    centre = space.check(centre_of(case, space, centres))
    beliefs = {name: centre[name] for name in space.names}
    if case.rules != "published":
        return prior(space, beliefs)
    if case.method == "bo":
        return prior(space, beliefs, confidence="low")
    return published_prior(space, centre)


def published_method(name: str) -> Optimizer:
    """A method as the code behind the published figures had it."""
    if name == "bo":
        return Optimizer(FullFidelity(), Staged(FromPrior(), GPSearch("full"), Trained(10)))
    if name in _SHIPPED:
        return _SHIPPED[name]()
    found = optimizer({"priorband+bo": "priorband+bo(rung)"}.get(name, name))
    if "promotion" in field_names(found.scheduler):
        found = replaced(found, scheduler=replaced(found.scheduler, promotion="neps"))
    return replaced(found, sampler=_always_changing(found.sampler))


def _half_from_the_prior() -> Optimizer:
    """HB+Prior(50%), the mode being an ordinary member of the first bracket."""
    found = optimizer("hyperband+prior(50%)")
    return replaced(found, sampler=Staged(PriorMode(), found.sampler, Drawn(1)), opening=None)


def _fading(uniform_share: UniformShare) -> Optimizer:
    """PriorBand whose prior fades with resources."""
    weights = Ensemble(uniform_share, Decay("resources"))
    return Optimizer(Hyperband(), ensemble(weights, Perturb(always_change=True)), PriorMode())


_SHIPPED: dict[str, Callable[[], Optimizer]] = {
    "hyperband+prior(50%)": _half_from_the_prior,
    "priorband(decay)": lambda: _fading(Geometric()),
    "priorband(linear)": lambda: _fading(Linear()),
}
"""Methods whose published settings were others than the text's."""


def _always_changing(part: Any) -> Any:
    """A sampler whose perturbations never keep a category that they have selected."""
    if isinstance(part, Perturb):
        return replaced(part, always_change=True)
    if isinstance(part, tuple):
        return tuple(_always_changing(item) for item in part)
    if not hasattr(part, "__match_args__") or isinstance(part, type):
        return part
    changed = {name: _always_changing(getattr(part, name)) for name in field_names(part)}
    same = all(changed[name] is getattr(part, name) for name in changed)
    return part if same else replaced(part, **changed)
