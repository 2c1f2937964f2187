"""Judge the prior of a study: put the parts of its report card together."""

from math import nan

from priorband.optimizers import Optimizer
from priorband.prior_report.by_parameter import parameter_reports
from priorband.prior_report.facts import BracketProgress, best_in_full, draws, encoded, progress
from priorband.prior_report.overall import overall_clues, overall_verdict
from priorband.prior_report.report import (
    Clue,
    ParameterReport,
    PriorReport,
    TrustOverBudget,
    Verdict,
)
from priorband.prior_report.sentence import sentence
from priorband.prior_report.suggestion import suggested_prior
from priorband.prior_report.surface import fitted_surface
from priorband.prior_report.trust import trust_over_budget
from priorband.space.prior import Independent, is_flat
from priorband.state import State

LEAST_FULL = 3
"""A verdict on the whole prior needs this many full trainings of different configurations."""

NO_TRUST = TrustOverBudget((), (), (), (), (), ())


def judged_prior(
    start: State, state: State, optimizer: Optimizer, seed: int, maximize: bool = False
) -> PriorReport:
    """Return the report card of a study's prior.

    Args:
        start: the state before anything has happened.
        state: the state now. Its prior is judged.
        optimizer: its method.
        seed: its seed.
        maximize: whether the study maximises: each loss is then the negative of a value.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> study = Study(Space(x=Float(0, 1, prior=0.9)), Fidelity("epochs", 1, 9))
    >>> judged_prior(study.problem.start(), study.state, study.optimizer, 0).verdict
    'not enough evidence'
    """
    prior, best, now = state.prior, best_in_full(state), progress(state)
    rows, flat = encoded(state, best), is_flat(prior)
    enough = now.done and len(best) >= LEAST_FULL
    surface = fitted_surface(state) if enough else None
    parameters = tuple[ParameterReport, ...]()
    if isinstance(prior, Independent):
        parameters = parameter_reports(prior, best, rows, surface)
    clues, verdict, chance = tuple[Clue, ...](), _without_evidence(flat), nan
    if surface is not None and not flat:
        clues = overall_clues(state, rows, surface)
        verdict, chance = overall_verdict(clues, len(best))
    counted = draws(state)
    return PriorReport(
        sentence=sentence(verdict, counted, parameters, _missing(now, len(best))),
        verdict=verdict,
        chance=chance,
        clues=clues,
        parameters=parameters,
        draws=counted,
        trust=NO_TRUST if flat else trust_over_budget(start, state.history.events, optimizer, seed),
        suggestion=suggested_prior(state.space, best, rows) if surface is not None else None,
        results=state.history.finished,
        full_trainings=state.success_count(state.ladder.top),
        best_value=(-best[0].loss if maximize else best[0].loss) if best else None,
    )


def _without_evidence(flat: bool) -> Verdict:
    return "no belief" if flat else "not enough evidence"


def _missing(now: BracketProgress, full: int) -> str:
    """What a verdict still needs."""
    if not now.done:
        return (
            f"the first bracket is not done: {now.spent:.3g} of at least {now.needed:.3g} full "
            "trainings are spent"
        )
    if full < LEAST_FULL:
        return f"{full} of at least {LEAST_FULL} full trainings have succeeded"
    return f"{full} full trainings do not point clearly either way"
