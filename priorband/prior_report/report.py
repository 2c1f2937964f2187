"""The report card of a prior: what it says, as values."""

from typing import Any, Literal, final

from priorband.values import frozen

Verdict = Literal["helps", "neutral", "harms", "not enough evidence", "no belief"]
"""What the results say about a prior, or about the belief in one parameter."""


@final
@frozen
class Clue:
    """One piece of evidence about the whole prior."""

    name: str
    """A short name."""
    figure: float
    """The figure that was measured."""
    log_odds: float
    """How much it adds to the log odds that the prior helps."""
    text: str
    """The same for people."""


@final
@frozen
class Draws:
    """How many configurations came from the prior, its mode included."""

    starts: int
    """Configurations that the method has drawn."""
    starts_from_prior: int
    finalists: int
    """Those among them that were trained in full."""
    finalists_from_prior: int


@final
@frozen
class TrustOverBudget:
    """The probabilities of the method at some of its draws, in order."""

    trials: tuple[int, ...]
    """The trials that were drawn."""
    spent: tuple[float, ...]
    """What had been spent, in full trainings."""
    rungs: tuple[int, ...]
    uniform: tuple[float, ...]
    """The probability of a uniform draw."""
    prior: tuple[float, ...]
    """The probability of a draw from the prior."""
    incumbent: tuple[float, ...]
    """The probability of a draw near the incumbent."""


@final
@frozen
class ParameterReport:
    """What the results say about the belief in one parameter."""

    name: str
    verdict: Verdict
    full_trainings: int
    """How many of the best full trainings have the parameter."""
    log_odds: float
    """The log odds that the belief helps rather than harms; NaN without enough evidence."""
    effect: float
    """What the belief adds to the loss of the best configurations, compared with uniform draws of
    this parameter: an estimate, in standard deviations of losses. Negative is better."""
    error: float
    """Its standard error."""
    believed: Any
    """The value that the prior takes for the best."""
    best: Any
    """The value of the best configuration; None if the parameter is not in it."""
    quantile: float
    """Where that lies in the belief: the probability of lower values, and half of its own. NaN for
    choices without an order."""
    odds: float
    """How many times as likely the belief makes that value as uniform draws do."""
    wants: str
    """"higher", "lower", or "another choice"; empty without such a wish."""
    better: Any
    """The typical value of the best full trainings; None without enough evidence."""


@final
@frozen
class SuggestedPrior:
    """A prior for the next study, ready to paste."""

    python: str
    """The argument `prior` of a study in Python: a dict."""
    toml: str
    """The section `[prior]` of a study file."""
    names: tuple[str, ...]
    """The parameters that it has a belief in; all others are left uniform."""


@final
@frozen
class PriorReport:
    """The report card of a prior. `str(report)` is its text."""

    sentence: str
    """The most important, in one sentence."""
    verdict: Verdict
    """Of the whole prior."""
    chance: float
    """The probability that the prior helps rather than harms; NaN without enough evidence."""
    clues: tuple[Clue, ...]
    """The evidence for that. The sum of their log odds is that of the probability."""
    parameters: tuple[ParameterReport, ...]
    """One for each searched parameter; empty for a prior of your own class."""
    draws: Draws
    trust: TrustOverBudget
    suggestion: SuggestedPrior | None
    """None without enough evidence."""
    results: int
    """How many trials have succeeded."""
    full_trainings: int
    """How many of them were full trainings."""
    best_value: float | None
    """The best value of a full training, with the sign that the objective uses."""

    def __str__(self) -> str:
        from priorband.prior_report.text import report_text

        return report_text(self)
