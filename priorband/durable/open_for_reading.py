"""Opening a study to read it, also one with a method that only its user can construct."""

from collections.abc import Mapping
from typing import Any

from priorband.durable.open import creation, journal_at, open_study
from priorband.durable.problem_data import has_own_prior, problem_from_data
from priorband.durable.serialize import TAG, from_data
from priorband.durable.study import DurableStudy
from priorband.errors import MethodError
from priorband.named_methods import optimizer
from priorband.problem import Problem


def open_for_reading(where: str) -> DurableStudy:
    """Open a study that is read and never written.

    A method or a prior with custom parts is not needed: what has happened can be shown without it.
    """
    try:
        return open_study(where, read_only=True)
    except MethodError:
        journal = journal_at(where, read_only=True)
        try:
            stored = creation(journal).problem
            study = DurableStudy(journal, problem_with_stand_ins(stored))
            study.method_known = not has_own_method(stored)
            study.prior_known = not has_own_prior(stored)
            return study
        except BaseException:
            journal.close()
            raise


def problem_with_stand_ins(stored: Mapping[str, Any]) -> Problem:
    """A stored problem with others in the place of a method or a prior with custom parts."""
    try:
        return problem_from_data(stored)
    except MethodError:
        prior = from_data(stored["space"]).prior if has_own_prior(stored) else None
        stand_in = optimizer("random") if has_own_method(stored) else None
        return problem_from_data(stored, prior=prior, optimizer=stand_in)


def has_own_method(stored: Mapping[str, Any]) -> bool:
    """Whether the method of a problem has custom parts."""
    own: bool = stored["method"].get(TAG) == "own"
    return own
