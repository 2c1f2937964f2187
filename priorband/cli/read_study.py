"""Reading a study for a command: the table of its trials, the name of its method."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from priorband.display.text import printable
from priorband.durable.open import creation, journal_at
from priorband.durable.open_for_reading import has_own_method, problem_with_stand_ins
from priorband.durable.open_for_reading import open_for_reading as open_for_reading
from priorband.durable.study import DurableStudy
from priorband.durable.table_cells import TableFormat
from priorband.durable.table_outcomes import Schedule
from priorband.durable.trial_table import TrialTable
from priorband.errors import DamagedError, FormatError
from priorband.space.space import Space
from priorband.storage.study_folder import nearby_studies


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
            problem = problem_with_stand_ins(created.problem)
            space = problem.space
            if not has_own_method(created.problem):  # otherwise the rungs are not known
                schedule = Schedule(problem.optimizer.scheduler, problem.start())
        except FormatError as error:
            raise DamagedError(
                f"{journal.where} is damaged: its problem is invalid: {error}"
            ) from None
        yield TrialTable(journal, created, space, schedule, form, find_metrics), space


def custom_method(study: DurableStudy) -> str:
    """The name of a method with custom parts; empty if it has none."""
    stored = study.ledger.problem["method"]
    return printable(stored["name"]) if has_own_method(study.ledger.problem) else ""
