"""The report card of a study's prior."""

from priorband.prior_report.judge import judged_prior
from priorband.prior_report.report import PriorReport
from priorband.study_analysis.source import StudyData


def prior_report(data: StudyData) -> PriorReport:
    """Judge the prior of a study by its results.

    Args:
        data: the study as of one moment.

    Returns:
        The same as `study.prior_report()`: the verdict on the whole prior, those on each parameter
        with the evidence, and a prior for the next study.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> from priorband.study_analysis import as_json, study_data
    >>> study = Study(Space(x=Float(0, 1, prior=0.4)), Fidelity("epochs", 1, 9))
    >>> report = prior_report(study_data(study))
    >>> report.verdict, as_json(report)["parameters"][0]["believed"]
    ('not enough evidence', 0.4)
    """
    problem, start = data.problem, data.problem.start()
    return judged_prior(start, data.state, problem.optimizer, problem.seed, data.maximize)
