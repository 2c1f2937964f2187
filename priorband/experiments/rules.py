"""Set up the benchmark, the prior and the method of a case under its rules.

The rules "paper" follow the paper's text. The rules "authors" do the same, but with the prior
configurations that the authors drew, so that results do not differ because of other random draws.
The rules "published" follow the code of the published experiments where it differs from the text:

- the authors' prior configurations, and how they are perturbed;
- integers that are drawn from a wider distribution than they are scored with;
- ASHA and its variants promote from the configurations that are left on a rung;
- one Gaussian process per rung, where the text has one for all rungs;
- a category that is selected for a change always changes;
- BO starts with draws from a weak prior;
- HB+Prior(50%) evaluates the mode of the prior on the lowest rung;
- the settings of two ablations.
"""

from collections.abc import Callable, Mapping
from typing import Any, final

from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.hartmann import Hartmann
from priorband.benchmarks.priors import perturbed, perturbed_as_published
from priorband.benchmarks.published import published_prior
from priorband.conditions import Drawn, Trained
from priorband.errors import DataError
from priorband.experiments.cases import FLAT_PRIOR, NO_PRIOR, RANDOM_PRIOR, Case
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
from priorband.streams import generator
from priorband.study import Study
from priorband.values import field_names, frozen, replaced

Centres = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Configurations by `RULES/BENCHMARK`, and then by the quality of the prior."""

PAUSE = 10.0
"""How long a trial of the published parallel runs waited after training, in fidelity units."""


@final
@frozen
class CaseSetup:
    """A benchmark and a new study of it."""

    benchmark: Benchmark
    study: Study
    pause: float


def set_up_case(case: Case, benchmark: Benchmark, centres: Centres) -> CaseSetup:
    """The benchmark and the study of a case. A Hartmann function gets the seed of the case."""
    seeded = replaced(benchmark, seed=case.seed) if isinstance(benchmark, Hartmann) else benchmark
    published = case.rules == "published"
    method = published_method(case.method) if published else optimizer(case.method)
    belief = _prior(case, seeded.space, centres)
    study = Study(seeded.space, seeded.fidelity, method, case.seed, belief)
    return CaseSetup(seeded, study, PAUSE if published and case.workers > 1 else 0.0)


def case_prior_centre(case: Case, space: Space, centres: Centres) -> dict[str, Any]:
    """The centre of a case's prior: the configuration that it takes for the best."""
    if case.prior == RANDOM_PRIOR:
        [row] = space.uniform(1, generator(case.seed, 0, f"centre on {case.benchmark}"))
        return dict(space.decode(row))
    try:
        centre = dict(centres[f"{case.rules}/{case.benchmark}"][case.prior])
    except KeyError:
        raise DataError(
            f"There is no {case.prior!r} prior for {case.benchmark} under the rules "
            f"{case.rules!r}. The authors' priors are for the paper's benchmarks."
        ) from None
    if case.prior != "near-optimum":
        return centre
    perturb = perturbed_as_published if case.rules == "published" else perturbed
    return dict(perturb(space, space.check(centre), case.seed))


def _prior(case: Case, space: Space, centres: Centres) -> Prior | None:
    if case.prior in (NO_PRIOR, FLAT_PRIOR):
        return None
    centre = space.check(case_prior_centre(case, space, centres))
    beliefs = {name: centre[name] for name in space.names}
    if case.rules != "published":
        return prior(space, beliefs)
    if case.method == "bo":
        return prior(space, beliefs, confidence="low")
    return published_prior(space, centre)


def published_method(name: str) -> Optimizer:
    """A method as it was in the code of the published experiments."""
    if name == "bo":
        return Optimizer(FullFidelity(), Staged(FromPrior(), GPSearch("full"), Trained(10)))
    if name in _PUBLISHED_METHODS:
        return _PUBLISHED_METHODS[name]()
    method = optimizer({"priorband+bo": "priorband+bo(rung)"}.get(name, name))
    if "promotion" in field_names(method.scheduler):
        method = replaced(method, scheduler=replaced(method.scheduler, promotion="neps"))
    return replaced(method, sampler=_always_changing(method.sampler))


def _half_from_the_prior() -> Optimizer:
    """HB+Prior(50%) with the mode as an ordinary configuration of the first bracket."""
    method = optimizer("hyperband+prior(50%)")
    return replaced(method, sampler=Staged(PriorMode(), method.sampler, Drawn(1)), opening=None)


def _decaying(uniform_share: UniformShare) -> Optimizer:
    """PriorBand with a share of the prior that decays with the resources."""
    weights = Ensemble(uniform_share, Decay("resources"))
    return Optimizer(Hyperband(), ensemble(weights, Perturb(always_change=True)), PriorMode())


_PUBLISHED_METHODS: dict[str, Callable[[], Optimizer]] = {
    "hyperband+prior(50%)": _half_from_the_prior,
    "priorband(decay)": lambda: _decaying(Geometric()),
    "priorband(linear)": lambda: _decaying(Linear()),
}
"""Methods with other settings in the published code than in the text."""


def _always_changing(part: Any) -> Any:
    """A sampler in which a category that is selected for a change never stays the same."""
    if isinstance(part, Perturb):
        return replaced(part, always_change=True)
    if isinstance(part, tuple):
        return tuple(_always_changing(item) for item in part)
    if not hasattr(part, "__match_args__") or isinstance(part, type):
        return part
    changed = {name: _always_changing(getattr(part, name)) for name in field_names(part)}
    unchanged = all(changed[name] is getattr(part, name) for name in changed)
    return part if unchanged else replaced(part, **changed)
