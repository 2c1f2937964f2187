"""The report card as text of at most 80 columns, on about one screen."""

from collections.abc import Iterator, Sequence
from math import isnan
from textwrap import wrap
from typing import Any

from priorband.prior_report.report import ParameterReport, PriorReport, TrustOverBudget

WIDTH = 80
MOST_ROWS = 16
"""How many parameters are listed: those with a verdict first."""
_LABEL = 10
_HEAD = ("parameter", "believed", "best", "quantile", "odds", "effect", "verdict")
_ORDER = ("harms", "helps", "neutral", "not enough evidence", "no belief")


def report_text(report: PriorReport) -> str:
    """The report card as text."""
    return "\n".join(_lines(report))


def _lines(report: PriorReport) -> Iterator[str]:
    yield from wrap(report.sentence, WIDTH)
    if report.verdict == "no belief":
        return
    yield ""
    chance = "" if isnan(report.chance) else f" (probability that it helps: {report.chance:.2f})"
    yield f"{'verdict':<{_LABEL}}{report.verdict}{chance}"
    for i, clue in enumerate(report.clues):
        yield from labelled("" if i else "evidence", f"{clue.text} ({clue.log_odds:+.1f})")
    yield from labelled("trust", trust_text(report.trust))
    if report.parameters:
        yield ""
        yield from _table(report.parameters)
    if report.suggestion is not None and report.suggestion.names:
        yield ""
        yield "Suggested prior for the next study:"
        yield ""
        yield report.suggestion.python


def labelled(label: str, text: str) -> Iterator[str]:
    """Text with a label before its first line, and room below it."""
    for i, line in enumerate(wrap(text, WIDTH - _LABEL)):
        yield f"{'' if i else label:<{_LABEL}}{line}"


def trust_text(trust: TrustOverBudget) -> str:
    """How likely draws from the prior were in each quarter of what was spent."""
    if not trust.trials:
        return "This method does not weigh the prior."
    shares: list[list[float]] = [[], [], [], []]
    end = trust.spent[-1] or 1.0
    for spent, share in zip(trust.spent, trust.prior, strict=True):
        shares[min(int(4 * spent / end), 3)].append(share)
    means = [f"{100 * sum(quarter) / len(quarter):.0f} %" if quarter else "-" for quarter in shares]
    return f"Draws from the prior by quarter of the budget: {', '.join(means)}."


def _table(parameters: Sequence[ParameterReport]) -> Iterator[str]:
    listed = sorted(parameters, key=lambda one: _ORDER.index(one.verdict))[:MOST_ROWS]
    kept = [one for one in parameters if one in listed]
    rows = [_HEAD, *map(_cells, kept)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD) - 1)]
    for row in rows:
        cells = [
            f"{cell:<{width}}" if i < 3 else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        yield "  ".join([*cells, row[-1]]).rstrip()
    if len(kept) < len(parameters):
        yield f"and {len(parameters) - len(kept)} more parameters"


def _cells(one: ParameterReport) -> tuple[str, ...]:
    wish = f", {one.wants}" if one.wants and one.verdict == "harms" else ""
    return (
        shortened(one.name, 16),
        "" if one.verdict == "no belief" else value_text(one.believed),
        value_text(one.best),
        "" if isnan(one.quantile) else f"{one.quantile:.2f}",
        "" if isnan(one.odds) else f"{one.odds:.2g}",
        "" if isnan(one.effect) else f"{one.effect:+.2f}",
        "-" if one.verdict == "no belief" else f"{_SHORT.get(one.verdict, one.verdict)}{wish}",
    )


_SHORT = {"not enough evidence": "too little"}


def value_text(value: Any) -> str:
    """A value of a parameter, safe to print, with few digits."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    return shortened(repr(value) if not isinstance(value, str) else repr(value)[1:-1], 10)


def shortened(text: str, most: int) -> str:
    """Text of at most `most` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}~"
