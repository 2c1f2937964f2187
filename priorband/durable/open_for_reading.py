"""Opening a study to read it, also one with a method that only its user can construct."""

from priorband.durable.open import creation, journal_at, open_study
from priorband.durable.problem_data import problem_from_data
from priorband.durable.serialize import TAG, from_data
from priorband.durable.study import DurableStudy
from priorband.errors import MethodError
from priorband.named_methods import optimizer


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
            prior = from_data(stored["space"]).prior
            custom = stored["method"].get(TAG) == "own"
            stand_in = optimizer("random") if custom else None
            problem = problem_from_data(stored, prior=prior, optimizer=stand_in)
            study = DurableStudy(journal, problem)
            study.method_known = not custom
            return study
        except BaseException:
            journal.close()
            raise
