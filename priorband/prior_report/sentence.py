"""The report card in one sentence."""

from collections.abc import Sequence

from priorband.prior_report.report import Draws, ParameterReport, Verdict
from priorband.prior_report.text import value_text

_NEUTRAL = "neither helps nor harms, as far as the results can tell"


def sentence(
    verdict: Verdict, draws: Draws, parameters: Sequence[ParameterReport], missing: str
) -> str:
    """The most important of a report card.

    Args:
        verdict: the verdict on the whole prior.
        draws: how many configurations came from it.
        parameters: the reports on the parameters.
        missing: what a verdict still needs.
    """
    if verdict == "no belief":
        return "This study has no prior: all its beliefs are flat."
    if verdict == "not enough evidence":
        return f"There is not enough evidence about your prior yet: {missing}."
    says = _NEUTRAL if verdict == "neutral" else verdict
    return f"Your prior {says}: it drew {drawn_text(draws)}{_wishes(parameters)}."


def drawn_text(draws: Draws) -> str:
    """How many starts and finalists came from the prior."""
    starts = _of(draws.starts_from_prior, draws.starts, "start")
    return f"{starts} and {_of(draws.finalists_from_prior, draws.finalists, 'finalist')}"


def _of(part: int, whole: int, what: str) -> str:
    """A part of some things: "none of 27 starts", "all 3 finalists".

    >>> _of(0, 27, "start"), _of(3, 3, "finalist"), _of(1, 1, "finalist"), _of(0, 0, "start")
    ('none of 27 starts', 'all 3 finalists', 'the only finalist', 'no start')
    """
    things = f"{whole} {what}{'' if whole == 1 else 's'}"
    if not whole:
        return f"no {what}"
    if part == whole:
        return f"the only {what}" if whole == 1 else f"all {things}"
    return f"{part or 'none'} of {things}"


def _wishes(parameters: Sequence[ParameterReport]) -> str:
    """What the parameter with the worst belief wants."""
    harmful = [one for one in parameters if one.verdict == "harms" and one.wants]
    if not harmful:
        return ""
    worst = min(harmful, key=lambda one: one.log_odds)
    if worst.wants == "another choice":
        wish = f"{value_text(worst.better)} rather than {value_text(worst.believed)}"
    else:
        wish = f"{worst.wants} than {value_text(worst.believed)}"
    return f"; `{worst.name}` wants to be {wish}"
