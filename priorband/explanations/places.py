"""The place of a result among those that it is ranked with, at one moment."""

from typing import Literal, final

from priorband.schedulers.asynchronous import ASHA, AsyncHyperband
from priorband.schedulers.base import Scheduler
from priorband.schedulers.synchronous import Hyperband, SuccessiveHalving
from priorband.state import State
from priorband.trial import Observation, Slot
from priorband.values import frozen

Among = Literal["bracket", "rung", "not promoted", "fidelity"]


@final
@frozen
class Place:
    """A result's place among others, at one moment.

    Example:
        >>> Place("bracket", rank=14, of=27, advance=9)
        Place(among='bracket', rank=14, of=27, advance=9, advanced=0, running=0, missing=0)
    """

    among: Among
    """With which results it is ranked. "bracket": those on its rung in its bracket. "rung": all on
    its rung, in any bracket. "not promoted": those of them that were not promoted. "fidelity": all
    successes at its fidelity, also outside the brackets."""
    rank: int | None
    """Its rank, from 1 for the best; None if it has not succeeded."""
    of: int
    """How many have ended there: failures rank last, and one that is retried counts once. With
    "fidelity", how many have succeeded."""
    advance: int | None = None
    """How many of the best go on; None if the scheduler has no such number."""
    advanced: int = 0
    """How many have gone on."""
    running: int = 0
    """How many are still running there."""
    missing: int = 0
    """How many are planned there and were not started yet."""


def place(plan: Scheduler | None, state: State, ended: Observation) -> Place | None:
    """The place of a result.

    Args:
        plan: The scheduler of the brackets, without those around it; None if it is not known.
        state: What had happened by then.
        ended: The result.

    Returns:
        The place; None if the result is ranked with no other.
    """
    slot = ended.trial.slot
    if slot is None or ended.fidelity >= state.ladder.fidelity.high:
        return _at_fidelity(state, ended)
    if isinstance(plan, ASHA | AsyncHyperband):
        return _on_rung(state, ended, slot, plan.promotion == "neps")
    if isinstance(plan, Hyperband | SuccessiveHalving):
        return _in_bracket(state, ended, slot)
    return _in_slot(state, ended, slot)


def _at_fidelity(state: State, ended: Observation) -> Place:
    there = state.history.succeeded_at(ended.fidelity)
    rank = 1 + sum(other.ranking < ended.ranking for other in there)
    return Place("fidelity", None if ended.failed else rank, len(there))


def _on_rung(state: State, ended: Observation, slot: Slot, neps: bool) -> Place:
    """Asynchronous schedulers rank all results of a rung; "neps" those that are not promoted."""
    history, eta = state.history, state.ladder.eta
    there = history.ended_on(slot.rung)
    of = sum(history.retry_of(other.trial.id) is None for other in there)
    advanced = history.promotions(slot.rung)
    rivals = [other for other in there if not other.failed]
    if neps:
        rivals = [other for other in rivals if not history.promoted(other.trial.id)]
        of -= advanced
    rank = 1 + sum(other.ranking < ended.ranking for other in rivals)
    running = sum(_is_on(other.slot, slot.rung) for other in history.running)
    return Place(
        "not promoted" if neps else "rung",
        None if ended.failed else rank,
        of,
        int(of >= eta) if neps else of // eta,
        advanced,
        running,
    )


def _is_on(slot: Slot | None, rung: int) -> bool:
    return slot is not None and slot.rung == rung


def _in_bracket(state: State, ended: Observation, slot: Slot) -> Place:
    """Successive halving and Hyperband wait for all results of a rung in a bracket."""
    history, base = state.history, state.history.base(slot.bracket)
    sizes = state.ladder.brackets[base]
    step = slot.rung - base
    planned = sizes[0]
    for lower in range(base, slot.rung):  # with failures, fewer go on than planned
        planned = min(sizes[lower - base + 1], history.members(slot.bracket, lower).succeeded)
    started, over, succeeded = history.members(*slot)
    advance = sizes[step + 1]
    return Place(
        "bracket",
        _rank(state, ended, slot),
        over,
        advance if over < planned else min(advance, succeeded),
        history.members(slot.bracket, slot.rung + 1).started,
        started - over,
        max(planned - started, 0),
    )


def _in_slot(state: State, ended: Observation, slot: Slot) -> Place:
    """What the history shows under a scheduler with a rule that is not known here."""
    started, over, _ = state.history.members(*slot)
    above = state.history.members(slot.bracket, slot.rung + 1).started
    return Place("bracket", _rank(state, ended, slot), over, None, above, started - over)


def _rank(state: State, ended: Observation, slot: Slot) -> int | None:
    """The rank of a success in its slot, from 1. Its members are sorted."""
    if ended.failed:
        return None
    low, high = 0, state.history.members(*slot).ended
    while low < high:
        middle = (low + high) // 2
        if state.history.ranked_member(*slot, middle).ranking < ended.ranking:
            low = middle + 1
        else:
            high = middle
    return low + 1
