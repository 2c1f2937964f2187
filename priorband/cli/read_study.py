"""Opening a study to read it, also one with a method that only its user can construct."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from priorband.display.text import printable
from priorband.durable.open import creation, journal_at, open_study
from priorband.durable.problem_data import has_own_prior, problem_from_data
from priorband.durable.serialize import TAG, from_data
from priorband.durable.study import DurableStudy
from priorband.durable.table_cells import TableFormat
from priorband.durable.table_outcomes import Schedule
from priorband.durable.trial_table import TrialTable
from priorband.errors import DamagedError, FormatError, MethodError
from priorband.named_methods import optimizer
from priorband.problem import Problem
from priorband.space.space import Space
from priorband.storage.study_folder import nearby_studies


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
            study = DurableStudy(journal, _problem_with_stand_ins(stored))
            study.method_known, study.prior_known = not _is_own(stored), not has_own_prior(stored)
            return study
        except BaseException:
            journal.close()
            raise


def _problem_with_stand_ins(stored: Mapping[str, Any]) -> Problem:
    """A stored problem with others in the place of a method or a prior with custom parts."""
    prior = from_data(stored["space"]).prior if has_own_prior(stored) else None
    stand_in = optimizer("random") if _is_own(stored) else None
    return problem_from_data(stored, prior=prior, optimizer=stand_in)


def _is_own(stored: Mapping[str, Any]) -> bool:
    """Whether the method of a problem has custom parts."""
    own: bool = stored["method"].get(TAG) == "own"
    return own


@contextmanager
def trial_table(
    where: str, form: TableFormat, find_metrics: bool = False
) -> Iterator[tuple[TrialTable, Space]]:
    """The table of a study's trials, and the space. No method is needed, and no prior.

    With `find_metrics`, the table knows the names of all metrics.
    """
    with closing(journal_at(where, read_only=True)) as journal:
        if not journal.exists():
            raise FormatError(f"There is no study in {journal.where}.{nearby_studies(where)}")
        created, schedule = creation(journal), None
        try:
            problem = _problem_with_stand_ins(created.problem)
            space = problem.space
            if not _is_own(created.problem):  # otherwise the rungs are not known
                schedule = Schedule(problem.optimizer.scheduler, problem.start())
        except FormatError as error:
            raise DamagedError(
                f"{journal.where} is damaged: its problem is invalid: {error}"
            ) from None
        yield TrialTable(journal, created, space, schedule, form, find_metrics), space


def custom_method(study: DurableStudy) -> str:
    """The name of a method with custom parts; empty if it has none."""
    stored = study.ledger.problem["method"]
    return printable(stored["name"]) if _is_own(study.ledger.problem) else ""
