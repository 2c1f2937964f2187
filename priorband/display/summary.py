"""An overview in words, for all views that show text."""

from collections.abc import Iterator

from priorband.display.overview import Overview, Result, Running
from priorband.display.text import about, amount, clock, config_lines, level, printable, value_text

COLUMNS = ("trial", "rung", "step", "value", "elapsed", "origin", "attempt", "worker")


def spent(seen: Overview) -> str:
    """What is handed out of the budget: `4.3 of 12 trainings (36 %)`."""
    limits = seen.budget.limits
    if not limits:
        return f"{_many(seen.asked, 'trial')}, no budget"
    used = [
        f"{amount(getattr(seen.spending, name))} of {amount(limit)} {name}"
        for name, limit in limits.items()
    ]
    return f"{', '.join(used)} ({seen.share:.0%})".replace("%", " %")


def counts(seen: Overview) -> str:
    """How many trials there are of each kind."""
    parts = [f"{seen.ended} ended"]
    if seen.failures:
        kinds = ", ".join(f"{times} {kind}" for kind, times in seen.failures.items())
        parts[0] += f" ({seen.failed} failed: {kinds})"
    parts.append(f"{len(seen.running)} running")
    if seen.waiting:
        parts.append(f"{len(seen.waiting)} waiting")
    return ", ".join(parts)


def standing(result: Result, seen: Overview) -> str:
    """A result: `0.031234 at epochs=81 (trial 31)`."""
    return f"{value_text(result.value)}{_reach(result.fidelity, seen)} (trial {result.trial})"


def best(seen: Overview) -> str:
    """The best so far, at any fidelity and in full."""
    if seen.best is None:
        return "none yet"
    text, full = standing(seen.best, seen), seen.best_in_full
    if full is None or full.trial == seen.best.trial:
        return text
    return f"{text}; in full {value_text(full.value)} (trial {full.trial})"


def workers(seen: Overview) -> str:
    """Who is at work, and how long it will take."""
    at_work = f"{seen.workers} at work" if seen.workers else "nobody is at work"
    left = seen.seconds_left
    return at_work if left is None else f"{at_work}, about {about(left)} left"


def cells(one: Running, ahead: float = 0.0) -> dict[str, str]:
    """A running trial, by column, so many seconds after it was looked at."""
    step = f"{level(one.step)}/" if one.step is not None else "-/"
    return {
        "trial": str(one.trial),
        "rung": "" if one.rung is None else str(one.rung),
        "step": step + level(one.fidelity),
        "value": value_text(one.value),
        "elapsed": clock(one.seconds + ahead),
        "origin": printable(one.origin),
        "attempt": str(one.attempt),
        "worker": printable(one.worker) + (" lost?" if one.lost else ""),
    }


def progress(seen: Overview) -> str:
    """All of it on one line."""
    found = "no result yet" if seen.best is None else f"best {standing(seen.best, seen)}"
    return f"{spent(seen)}: {counts(seen)}; {found}; {workers(seen)}"


def ending(seen: Overview, reason: str) -> Iterator[str]:
    """What is said at the end: why it ended, and what was found."""
    yield printable(reason)
    if seen.best is None:
        yield f"No trial has succeeded: {counts(seen)}."
        return
    yield f"Best: {standing(seen.best, seen)}, of {_many(seen.ended, 'trial')}:"
    yield from (f"  {line}" for line in config_lines(seen.best.config))
    if seen.best_in_full is not None and seen.best_in_full.trial != seen.best.trial:
        yield f"Best in full: {standing(seen.best_in_full, seen)}:"
        yield from (f"  {line}" for line in config_lines(seen.best_in_full.config))


def _reach(fidelity: float, seen: Overview) -> str:
    """How far something was trained; nothing where all trials are trained in full."""
    if seen.fidelity == "fidelity" and seen.full == 1:
        return ""
    return f" at {printable(seen.fidelity)}={level(fidelity)}"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
