"""How the configuration of a trial was chosen: the source, its probability, and the incumbent."""

from typing import Literal, final

from priorband.errors import PriorbandError
from priorband.optimizers import Decision, Opening, Optimizer
from priorband.samplers.base import MODEL, Chances, Sampler
from priorband.samplers.combine import Mix, Staged
from priorband.samplers.ensemble_policy import Shares
from priorband.samplers.gaussian import GPSearch
from priorband.samplers.grid import Grid
from priorband.samplers.local import ORIGIN as INCUMBENT
from priorband.samplers.parzen import TPE
from priorband.samplers.scores import Scores
from priorband.samplers.simple import FromPrior, FromUniform, PriorMode
from priorband.state import State
from priorband.trial import IMPORTED, QUEUED, Trial
from priorband.values import frozen

SourceKind = Literal["drawn", "opening", "model", "queued", "imported"]
_NAMES: dict[type, str] = {
    **{FromUniform: "uniform", FromPrior: "prior", PriorMode: "mode"},
    **{GPSearch: MODEL, TPE: MODEL, Grid: "grid"},
}


@final
@frozen
class Incumbent:
    """The best configuration at one moment."""

    trial: int
    loss: float
    fidelity: float


@final
@frozen
class ConfigSource:
    """How a configuration was chosen, at the moment when it was.

    Args:
        trial: The trial for which it was chosen: the first one of a chain of promotions.
        kind: What chose it. "drawn": the method's sampler, for a bracket. "opening": the method,
            as its first configuration. "model": a sampler, for a trial outside the brackets.
            "queued" and "imported": people.
        origin: The word that the trial has for it, such as "uniform", "prior" or "incumbent".
        probabilities: The name and the probability of each source that could have been chosen; None
            if there was only one, or they are not known.
        scores: How well the prior and the incumbent explained the best trials, where the
            probabilities follow from that.
        incumbent: The configuration that it was drawn near; None if it was not.
        prior_power: The power of the prior's density in a model's choice; None if the model takes
            no prior, or no model chose.
        exact: Whether making the decision again gives the same trial; None if nobody decided, or
            the method or the prior is not known here.

    Example:
        >>> from priorband import Fidelity, Float, Space, Study
        >>> study = Study(Space({"x": Float(0, 1, prior=0.5)}), Fidelity("epochs", 1, 9), seed=1)
        >>> trials = study.ask(2)
        >>> study.why(1).source.probabilities
        (('uniform', 0.5), ('prior', 0.5), ('incumbent', 0.0))
    """

    trial: int
    kind: SourceKind
    origin: str
    probabilities: tuple[tuple[str, float], ...] | None = None
    scores: Scores | None = None
    incumbent: Incumbent | None = None
    prior_power: float | None = None
    exact: bool | None = None


def source(optimizer: Optimizer | None, before: State, seed: int, trial: Trial) -> ConfigSource:
    """How the configuration of a trial that continues no other was chosen.

    Args:
        optimizer: The method; None if it or the prior is not known.
        before: What had happened before the trial was asked.
        seed: The seed of the study.
        trial: The trial.
    """
    if trial.origin == IMPORTED:
        return ConfigSource(trial.id, "imported", trial.origin)
    if optimizer is None:
        kind: SourceKind = "queued" if trial.origin == QUEUED else "drawn"
        return ConfigSource(trial.id, kind, trial.origin)
    decision = _decision(optimizer, before, seed)
    exact = decision is not None and decision.trial == trial
    if decision is None or not exact:
        kind = "queued" if trial.origin == QUEUED else "drawn"
        return ConfigSource(trial.id, kind, trial.origin, exact=False)
    return _repeated(optimizer, before, decision)


def _decision(optimizer: Optimizer, before: State, seed: int) -> Decision | None:
    """The decision, made again; None if it cannot be made, so it was another method's."""
    try:
        return optimizer.decide(before, seed)
    except PriorbandError:
        return None


def _repeated(optimizer: Optimizer, before: State, decision: Decision) -> ConfigSource:
    trial = decision.trial
    kinds: dict[str, SourceKind] = {"opening": "opening", "queued": "queued", "model": "model"}
    kind = kinds.get(decision.kind, "drawn")
    if kind == "queued":
        return ConfigSource(trial.id, kind, trial.origin, exact=True)
    sampler = sampler_in_use(_sampler(optimizer, decision), before)
    return ConfigSource(
        trial.id,
        kind,
        trial.origin,
        _probabilities(decision.chances, sampler),
        decision.chances.scores if isinstance(decision.chances, Shares) else None,
        _incumbent(before) if trial.origin == INCUMBENT else None,
        _prior_power(sampler, before) if trial.origin == MODEL else None,
        exact=True,
    )


def _sampler(optimizer: Optimizer, decision: Decision) -> Sampler:
    """The sampler that was asked for a decision."""
    if decision.kind == "opening" and optimizer.opening is not None:
        opening = optimizer.opening
        return opening.sampler if isinstance(opening, Opening) else opening
    return optimizer.extra or optimizer.sampler if decision.kind == "model" else optimizer.sampler


def sampler_in_use(sampler: Sampler, state: State) -> Sampler:
    """The sampler that draws next where samplers take turns."""
    while isinstance(sampler, Staged):
        sampler = sampler.stage(state)
    return sampler


def _probabilities(
    chances: Chances | None, sampler: Sampler
) -> tuple[tuple[str, float], ...] | None:
    if chances is None:
        return None
    shares = chances.probabilities
    if isinstance(chances, Shares):
        names = ["uniform", "prior", "incumbent"]
    elif isinstance(sampler, Mix) and len(sampler.samplers) == len(shares):
        names = [_NAMES.get(type(part), type(part).__name__) for part in sampler.samplers]
    else:  # a mixture within another, which cannot be seen from here
        names = [f"sampler {number}" for number in range(1, len(shares) + 1)]
    again = [names[:at].count(name) for at, name in enumerate(names)]
    unique = [f"{name} {n + 1}" if n else name for name, n in zip(names, again, strict=True)]
    return tuple(zip(unique, shares, strict=True))


def _incumbent(before: State) -> Incumbent | None:
    best = before.incumbent
    return None if best is None else Incumbent(best.trial.id, best.loss, best.fidelity)


def _prior_power(sampler: Sampler, before: State) -> float | None:
    """The power of the prior in the choice of a Gaussian process that takes one into account."""
    parts = sampler.samplers if isinstance(sampler, Mix) else (sampler,)
    models = [part for part in parts if isinstance(part, GPSearch) and part.beta]
    return models[0].prior_power(before) if models else None
