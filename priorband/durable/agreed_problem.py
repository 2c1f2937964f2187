"""Whether what is given when a study is opened agrees with what the study was created with."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from priorband.arguments import checked_fidelity, checked_prior, checked_seed, checked_space
from priorband.choose_method import Auto, as_auto
from priorband.durable.problem_data import (
    differences,
    has_own_prior,
    prior_differences,
    problem_data,
    problem_from_data,
    with_priors_of,
)
from priorband.durable.study import DurableStudy
from priorband.errors import DamagedError, FormatError, MismatchError
from priorband.named_methods import optimizer as named_optimizer
from priorband.optimizers import Optimizer
from priorband.problem import Problem
from priorband.space.prior import Prior, same_prior

_NEW_STUDY = "To start a new study with the settings given here, choose another place for it."


class OtherPrior(NamedTuple):
    """A prior that is given, but is not stored like the one that the study began with."""

    prior: Prior
    unlike: list[str]
    """How they differ, one line each."""


def agreed_problem(
    where: str, stored: Mapping[str, Any], given: tuple[Any, ...]
) -> tuple[Problem, OtherPrior | None]:
    """The stored problem, and the prior that is given, if that alone differs.

    Args:
        where: the study's folder or URL.
        stored: the problem that the study was created with, as data.
        given: the space, the fidelity, the method, the seed and the prior; None for what is not.

    Raises:
        MismatchError: if something else differs.
        DamagedError: if the stored problem is invalid.
    """
    space, fidelity, method, seed, prior = given
    given_object = None if isinstance(prior, Mapping) else prior
    optimizer = _stated(method)
    known = _known_problem(where, stored, given_object, optimizer)
    its_space = known.space if space is None else checked_space(space)
    its_fidelity = known.fidelity if fidelity is None else checked_fidelity(fidelity, its_space)
    its_prior = its_space.prior if prior is None else checked_prior(prior, its_space, its_fidelity)
    its_seed = known.seed if seed is None else checked_seed(seed)
    its_optimizer = optimizer or known.optimizer
    meant = problem_data(Problem(its_space, its_prior, its_fidelity, its_optimizer, its_seed))
    if prior is None:
        meant["prior"] = stored["prior"]
    unlike = differences(stored, meant)
    if not unlike:
        return known, None
    if differences(stored, with_priors_of(stored, meant)) or has_own_prior(stored):
        raise MismatchError(
            f"The study in {where} was created with other settings:\n  - "
            + "\n  - ".join(unlike)
            + f"\nTo resume it, use the settings of the study, or leave them out. {_NEW_STUDY}"
        )
    return _known_problem(where, stored, None, optimizer), OtherPrior(its_prior, unlike)


def _known_problem(
    where: str, stored: Mapping[str, Any], prior: Prior | None, optimizer: Optimizer | None
) -> Problem:
    try:
        return problem_from_data(stored, prior=prior, optimizer=optimizer)
    except FormatError as error:
        raise DamagedError(f"{where} is damaged: its problem is invalid: {error}") from None


def require_earlier_prior(study: DurableStudy, given: OtherPrior | None) -> None:
    """Close the study and raise `MismatchError` if it never had the prior that is given."""
    if given is None:
        return
    changes = study.state.history.prior_changes
    known = [study.problem.prior, *(change.prior for change in changes)]
    if any(same_prior(given.prior, prior) for prior in known):
        return
    began, unlike = "was created with other settings", given.unlike
    if changes:
        began = "has another prior"
        unlike = prior_differences(study.ledger.problem, changes[-1].prior, given.prior)
    study.close()
    raise MismatchError(
        f"The study in {study.where} {began}:\n  - "
        + "\n  - ".join(unlike)
        + "\nTo resume it, use the prior of the study, or leave it out. To change its prior, call "
        f"`set_prior` of the study, or run `priorband prior set`. {_NEW_STUDY}"
    )


def _stated(method: str | Optimizer | Auto | None) -> Optimizer | None:
    """The method that a study must have; None if any will do, as with "auto"."""
    given = None if method is None else as_auto(method)
    return named_optimizer(given) if isinstance(given, str) else _unless_auto(given)


def _unless_auto(given: Optimizer | Auto | None) -> Optimizer | None:
    return None if isinstance(given, Auto) else given
