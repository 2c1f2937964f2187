"""A plan as text: the rungs, the brackets, the times, and what each worker does when."""

from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from priorband.display.text import about, amount_text, fidelity_text, printable
from priorband.planning.cases import Span
from priorband.planning.jobs import PlannedJob

if TYPE_CHECKING:
    from priorband.planning.plan import Plan

MOST_WORKERS = 8
MOST_BRACKETS = 8
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_IDLE = "."
_END = "The study ends after "


def plan_lines(plan: "Plan", width: int) -> Iterator[str]:
    """The whole plan, at most `width` columns wide."""
    yield from wrap(_title(plan), width)
    yield ""
    yield from _rungs(plan)
    yield ""
    yield from _brackets(plan, width)
    yield from (line for text in summary(plan) for line in wrap(text, width))
    yield ""
    yield from _workers(plan, width)
    for warning in plan.warnings:
        yield ""
        yield from wrap(f"Warning: {warning}", width)
    yield ""
    yield from wrap(_assumptions(plan), width)


def short_lines(plan: "Plan") -> list[str]:
    """The plan in three lines, for the start of a study."""
    brackets = [_arrows(counts) for counts in plan.brackets.values()]
    first = f"Plan: {_trials(plan)}" + (f", brackets {_listed(brackets, 3)}" if brackets else "")
    when, whole = list(summary(plan))[1:3]
    if plan.promotions.high and plan.continued:
        whole = whole.replace(_END, f"If promotions resume from checkpoints, {_END.lower()}")
    return [f"{first}.", when, whole]


def _title(plan: "Plan") -> str:
    fidelity = plan.fidelity
    low, high = fidelity_text(fidelity.low), fidelity_text(fidelity.high)
    trained = f"{printable(fidelity.name)} {low} to {high}"
    if _has_no_fidelity(plan):
        trained = "full trainings only"
    workers = f"{plan.workers} worker{'' if plan.workers == 1 else 's'}"
    budget = "" if plan.budget is None else f", budget {_trainings(plan.budget)}"
    if plan.begun:
        budget = f"{budget} left after {plan.begun} trials"
    return f"{printable(plan.method)}, {trained}{budget}, {workers}"


def _rungs(plan: "Plan") -> Iterator[str]:
    name = printable(plan.fidelity.name)
    rows = [("rung", name, "new", "promoted", "trainings")]
    for rung in reversed(range(len(plan.rungs))):
        here = [job for job in plan.jobs if job.rung == rung]
        promoted = sum(job.promoted for job in here)
        cost = sum(job.cost for job in here) / plan.fidelity.high
        shown = fidelity_text(plan.rungs[rung])
        new = len(here) - promoted
        rows.append((_DIGITS[rung % 36], shown, f"{new}", f"{promoted}", amount_text(cost)))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    for row in rows:
        cells = (text.rjust(width) for text, width in zip(row, widths, strict=True))
        yield "  ".join(cells)


def _brackets(plan: "Plan", width: int) -> Iterator[str]:
    grouped: dict[tuple[int, ...], list[int]] = {}
    for bracket, counts in plan.brackets.items():
        grouped.setdefault(counts, []).append(bracket)
    for counts, numbers in list(grouped.items())[:MOST_BRACKETS]:
        label = f"bracket {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} brackets"
        yield from wrap(f"{label:<12}{_arrows(counts)}", width, subsequent_indent=" " * 12)
    if len(grouped) > MOST_BRACKETS:
        yield f"and {len(grouped) - MOST_BRACKETS} other kinds of brackets"
    if grouped:
        yield ""


def _arrows(counts: Sequence[int]) -> str:
    """The trials of a bracket on its rungs: `27→9→3→1`."""
    first = next(rung for rung, count in enumerate(counts) if count)
    last = max(rung for rung, count in enumerate(counts) if count)
    return "→".join(map(str, counts[first : last + 1]))


def _listed(texts: list[str], most: int) -> str:
    if len(texts) <= most + 1:
        return ", ".join(texts)
    return f"{', '.join(texts[:most])} and {len(texts) - most} more"


def summary(plan: "Plan") -> Iterator[str]:
    """Three sentences: the trials, the first results, and the time."""
    yield f"{_trials(plan)}."
    promotion, comes = "No trial is promoted; ", " comes"
    if plan.first_promotion is not None:
        first = _time(plan, plan.first_promotion)
        promotion, comes = f"The first promotion comes after {first}, ", ""
    full = "no trial is trained in full"
    if plan.first_full is not None:
        full = f"the first full result{comes} after {_time(plan, plan.first_full)}"
    yield f"{promotion}{full}."
    if plan.capped:
        yield f"Only the first {len(plan.jobs):,} trials are planned: the budget allows more."
        return
    idle = _span(plan.idle, lambda share: f"{100 * share:.0f}")
    yield f"{_END}{_time(plan, plan.length)}; workers are idle {idle} % of the time."


def _trials(plan: "Plan") -> str:
    trials = _span(plan.trials, lambda number: f"{number:,.0f}")
    promoted = _span(plan.promotions, lambda number: f"{number:,.0f}")
    least = "at least " if plan.capped else ""
    noun = "trial" if trials == "1" else "trials"
    promotions = "" if promoted == "0" else f", {promoted} of them promotions"
    return f"{least}{trials} {noun}{promotions}, {_trainings(plan.trainings)}"


def _trainings(number: "Span | float") -> str:
    if not isinstance(number, Span):
        return f"{amount_text(number)} training{'' if number == 1 else 's'}"
    text = _span(number, amount_text)
    return f"{text} training{'' if text == '1' else 's'}"


def _span(span: Span, text: Callable[[float], str]) -> str:
    shown = [text(span.low), text(span.high)]
    return shown[0] if shown[0] == shown[1] else f"{shown[0]} to {shown[1]}"


def _time(plan: "Plan", span: Span) -> str:
    """A time, in seconds if they are known, else in units of fidelity."""
    if plan.seconds_per_unit is not None:
        per_unit = plan.seconds_per_unit
        return _span(span, lambda units: about(units * per_unit))
    units = _span(span, _units)
    if _has_no_fidelity(plan):
        return f"{units} training{'s' * (units != '1')}"
    return f"{units} {printable(plan.fidelity.name)}"


def _has_no_fidelity(plan: "Plan") -> bool:
    """Whether each trial is a full training, and there is no unit to count in."""
    return plan.fidelity.low == plan.fidelity.high == 1


def _units(number: float) -> str:
    return fidelity_text(round(number, 6)) if number < 1 else f"{round(number):,}"


def _workers(plan: "Plan", width: int) -> Iterator[str]:
    """A line for each worker, with the rung that it trains at each time."""
    shown = min(plan.workers, MOST_WORKERS)
    label = len(f"worker {shown}") + 2
    columns = max(min(width - label, 100), 10)
    end = max((job.end for job in plan.jobs), default=0.0)
    by_worker: list[list[PlannedJob]] = [[] for _ in range(plan.workers)]
    for job in plan.jobs:
        by_worker[job.worker].append(job)
    for worker, jobs in enumerate(by_worker[:shown], 1):
        yield f"{f'worker {worker}':<{label}}{_bar(jobs, end, columns)}"
    if plan.workers > shown:
        yield f"and {plan.workers - shown} more workers"
    legend = f"The digits are the rungs in training, {_IDLE} is idle"
    yield from wrap(f"{legend}; the line is {_time(plan, Span(end, end, end))} long.", width)


def _bar(jobs: Sequence[PlannedJob], end: float, columns: int) -> str:
    """What a worker does: in each column what it does for the longest part of it."""
    shares: list[dict[str, float]] = [{} for _ in range(columns)]
    step = end / columns if end else 1.0
    for job in jobs:
        sign = "?" if job.rung is None else _DIGITS[job.rung % 36]
        first, last = int(job.start / step), min(int(job.end / step), columns - 1)
        for column in range(min(first, columns - 1), last + 1):
            inside = min(job.end, (column + 1) * step) - max(job.start, column * step)
            shares[column][sign] = shares[column].get(sign, 0.0) + max(inside, 0.0)
    for share in shares:
        share[_IDLE] = step - sum(share.values())
    return "".join(max(share, key=lambda sign: share[sign]) for share in shares)


def _assumptions(plan: "Plan") -> str:
    unit = f"unit of {printable(plan.fidelity.name)}"
    if _has_no_fidelity(plan):
        unit = "training"
    last = f"each {unit} takes equally long"
    resuming = ""
    if plan.promotions.high:
        resuming = "resume from checkpoints" if plan.continued else "start from scratch"
    rest = f", {last}, and promotions {resuming}." if resuming else f" and {last}."
    if plan.exact:
        return f"Exact if no trial fails{rest}"
    return (
        f"What is promoted depends on the losses: the ranges are those of {plan.sequences} "
        f"simulated studies, and the tables show one of them. In these, no trial fails{rest}"
    )
