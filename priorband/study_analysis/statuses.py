"""What became of each trial, in a word, as tables of trials show it."""

from priorband.explanations.outcomes import Outcome, outcomes_of
from priorband.study_analysis.source import StudyData
from priorband.study_analysis.why import is_waiting


def statuses(data: StudyData) -> tuple[Outcome, ...]:
    """Return what became of each trial, by id: "promoted", "stopped", "open", "finished", ...

    Args:
        data: The study.

    Example:
        >>> from priorband import Fidelity, Float, Space, Study
        >>> from priorband.study_analysis import study_data
        >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "hyperband")
        >>> for trial in study.ask(10):
        ...     _ = study.tell(trial, trial.id)
        >>> statuses(study_data(study))[:4]
        ('open', 'open', 'open', 'stopped')
    """
    words = outcomes_of(data.scheduler, data.state)
    for trial in data.state.history.running:
        if is_waiting(data, trial.id):
            words[trial.id] = "waiting"
    return tuple(words)
