"""An overview as text, for all displays and `priorband status`."""

from collections.abc import Iterator, Sequence

from priorband.display.failure_reports import failure_lines
from priorband.display.overview import Overview, Result, Running
from priorband.display.text import (
    about,
    amount_text,
    config_lines,
    elapsed_text,
    fidelity_text,
    moment,
    printable,
    value_text,
)

LARGE_STARTUP = 0.2  # of the workers' time; if more, a hint says how to start trials faster
WORTH_A_HINT = 30.0  # seconds
_STARTUP_HINT = (
    "use start='warm' (--start warm), import heavy packages at the top of the objective's module, "
    "or give trials more to do"
)


def budget_text(overview: Overview) -> str:
    """How much of the budget is used: `4.3 of 12 trainings (36 %)`."""
    limits = overview.budget.limits
    if not limits:
        return f"{_count(overview.asked, 'trial')}, no budget"
    used = [
        f"{amount_text(getattr(overview.spending, name))} of {amount_text(limit)} "
        f"{name.removesuffix('s') if limit == 1 else name}"
        for name, limit in limits.items()
    ]
    return f"{', '.join(used)} ({overview.share:.0%})".replace("%", " %")


def prior_text(overview: Overview) -> str:
    """When the prior was changed: `changed 2 times, last before trial 42 (2026-11-18 ...)`."""
    last, count = overview.prior_changes[-1], len(overview.prior_changes)
    when = f"before trial {last.before} ({moment(last.at)[:19].replace('T', ' ')} UTC)"
    return f"changed {when}" if count == 1 else f"changed {count} times, last {when}"


def trials_text(overview: Overview, kinds: bool = True) -> str:
    """How many trials there are: `9 ended (1 failed: raised), 2 running, 1 waiting`.

    Without `kinds`, it is not said how they failed.
    """
    parts = [f"{overview.ended} ended"]
    if overview.failures:
        how = ", ".join(f"{number} {kind}" for kind, number in overview.failures.items())
        if len(overview.failures) == 1:
            how = "".join(overview.failures)
        parts[0] += f" ({overview.failed} failed{f': {how}' if kinds else ''})"
    parts.append(f"{len(overview.running)} running")
    if overview.waiting:
        parts.append(f"{len(overview.waiting)} waiting")
    return ", ".join(parts)


def result_text(result: Result, overview: Overview) -> str:
    """A result: `0.031234 at epochs=81 (trial 31)`."""
    reached = _reached_text(result.fidelity, overview)
    return f"{value_text(result.value)}{reached} (trial {result.trial})"


def best_text(overview: Overview) -> str:
    """The best result at any fidelity, and at the full one if that is another."""
    if overview.best is None:
        return "none yet"
    text, full = result_text(overview.best, overview), overview.best_in_full
    if full is None or full.trial == overview.best.trial:
        return text
    return f"{text}; in full {value_text(full.value)} (trial {full.trial})"


def workers_text(overview: Overview) -> str:
    """How many workers are active, and the time left: `4 active, about 12 min left`."""
    active = f"{overview.workers} active" if overview.workers else "none active"
    left = overview.seconds_left
    return active if left is None else f"{active}, about {about(left)} left"


def startup_text(overview: Overview) -> str:
    """How much of the workers' time trials spend outside the objective; empty if unknown.

    `start-up 3 % of worker time`
    """
    share = overview.startup_share
    if share is None:
        return ""
    text = f"start-up {share:.0%} of worker time".replace("%", " %")
    if share <= LARGE_STARTUP or overview.startup < WORTH_A_HINT:
        return text
    return f"{text}: {_STARTUP_HINT}"


def running_cells(running: Running, seconds_since: float = 0.0) -> dict[str, str]:
    """A running trial as text by column, `seconds_since` the overview was read."""
    step = f"{fidelity_text(running.step)}/" if running.step is not None else "-/"
    return {
        "trial": str(running.trial),
        "rung": "" if running.rung is None else str(running.rung),
        "step": step + fidelity_text(running.fidelity),
        "value": value_text(running.value),
        "elapsed": elapsed_text(running.seconds + seconds_since),
        "origin": printable(running.origin),
        "attempt": str(running.attempt),
        "worker": printable(running.worker) + (" lost?" if running.lost else ""),
    }


def progress_line(overview: Overview) -> str:
    """Budget, trials, best result and workers on one line."""
    best = overview.best
    result = "no result yet" if best is None else f"best {result_text(best, overview)}"
    workers = f"workers: {workers_text(overview)}"
    return f"{budget_text(overview)}: {trials_text(overview)}; {result}; {workers}"


def final_lines(
    overview: Overview, reason: str, notes: Sequence[str] = (), failures: bool = True
) -> Iterator[str]:
    """The lines at the end of a run: why it has ended, the best configurations, and notes.

    Without a success there are the last `failures` instead, unless they were shown before. Further
    lines of the reason come last.
    """
    first, *last = map(printable, reason.split("\n"))
    yield first
    yield from _results(overview, failures)
    yield from notes
    yield from last


def _results(overview: Overview, failures: bool) -> Iterator[str]:
    if overview.best is None:
        yield f"No trial has succeeded: {trials_text(overview)}."
        if failures:
            yield from failure_lines(overview.recent.failures, overview.maximize)
        return
    best, full = overview.best, overview.best_in_full
    yield f"Best: {result_text(best, overview)}, of {_count(overview.ended, 'trial')}:"
    yield from (f"  {line}" for line in config_lines(best.config, best.parents))
    if full is None or full.trial == best.trial:
        return
    if full.config == best.config:
        yield f"Best in full: {result_text(full, overview)}, with the same configuration."
    else:
        yield f"Best in full: {result_text(full, overview)}:"
        yield from (f"  {line}" for line in config_lines(full.config, full.parents))


def _reached_text(fidelity: float, overview: Overview) -> str:
    """At which fidelity a result was reached; empty for studies without a fidelity."""
    if overview.fidelity == "fidelity" and overview.full == 1:
        return ""
    return f" at {printable(overview.fidelity)}={fidelity_text(fidelity)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
