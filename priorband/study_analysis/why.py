"""Why a trial is what it is: how it was chosen, how it ranks, and what became of it."""

from priorband.arguments import asked_trial
from priorband.explanations import explanation as explanations
from priorband.explanations.why import LostAttempt, Why
from priorband.failures import FAILURE_KINDS
from priorband.study_analysis.attempts import LOST, RETURNED
from priorband.study_analysis.source import StudyData


def explanation(data: StudyData, trial: int) -> Why:
    """Explain a trial.

    Only the decisions about this trial are made again, so it takes about as long for a trial of a
    large study as for one of a small study.

    Args:
        data: The study.
        trial: The id of the trial.

    Returns:
        All facts as values. `str` gives them in plain English, `data` as what JSON holds. The
        reasons of lost attempts are not known here; `study.why` has them.

    Raises:
        TrialError: If there is no such trial.

    Example:
        >>> from priorband import Fidelity, Float, Space, Study
        >>> from priorband.study_analysis import study_data
        >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "hyperband")
        >>> for trial in study.ask(9):
        ...     _ = study.tell(trial, trial.id)
        >>> explanation(study_data(study), 5).outcome
        'stopped'
    """
    number = asked_trial(data.state.history, trial).id
    problem = data.problem
    optimizer = problem.optimizer if data.method_known else None
    facts = explanations.StudyFacts(
        optimizer, problem.seed, problem.start(), data.state, data.maximize, data.prior_known
    )
    return explanations.explanation(
        facts, number, _lost_attempts(data, number), is_waiting(data, number)
    )


def is_waiting(data: StudyData, trial: int) -> bool:
    """Whether a trial waits for its next attempt."""
    attempts = data.attempts
    last = (attempts.trial == trial).nonzero()[0][-1:]
    ended = data.state.history.outcome(trial) is not None
    return not ended and len(last) > 0 and int(attempts.ending[last[0]]) in (LOST, RETURNED)


def _lost_attempts(data: StudyData, trial: int) -> tuple[LostAttempt, ...]:
    attempts, lost = data.attempts, list[LostAttempt]()
    for entry in (attempts.trial == trial).nonzero()[0].tolist():
        if int(attempts.ending[entry]) in (LOST, RETURNED):
            kind = FAILURE_KINDS[attempts.failure[entry]]
            worker = attempts.workers[attempts.worker[entry]]
            lost.append(LostAttempt(int(attempts.attempt[entry]), kind, "", worker))
    return tuple(lost)
