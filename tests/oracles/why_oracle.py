"""Why each trial of a study is what it is, worked out a second time from the events alone.

Nothing of the package's schedulers, indexes or explanations is used. Every answer reads the whole
list of events again, up to the moment that it is about. From the package come only the values in
events, the names and options of a scheduler's classes, and for the probabilities the replay of the
study, which is tested elsewhere. The rules:

Order. Results rank by loss, then by the id of the first trial of their chain; failures come last.

Synchronous (successive halving, Hyperband). The rivals of a trial are those of its bracket and
rung. A failed trial that was retried is replaced by the retry. Once all planned ones have ended,
the first `size` go on, fewer if fewer succeeded. A trial that is behind that many is stopped at
once; so is one that ends when all places are taken, which happens after a retry.

Asynchronous (ASHA). The rivals are all of the rung, in any bracket; a retried one counts once.
The first n // eta of n go on. A success that did not go on is never given up.

Outside the brackets. The prior's mode goes on once it leads: with more than eta successes at its
fidelity, of which it is the first, or if it is the incumbent once the first uniform draws have
ended. It is given up once another one leads its fidelity and a full training is better than it.
One uniform draw of the first bracket may go on as a rival of the prior, if all full trainings are
of the prior.

Models. piBO raises the prior's density to the power 10 / t after t full trainings, also failed or
running ones. `guardband+bo` takes min(1, 10 / n) after n successful ones, if the prior is proven:
the first bracket is over, and the prior's full trainings are not worse than the others.
"""

import math
from dataclasses import dataclass
from typing import Any

from priorband import BaseStudy, optimizer
from priorband.events import Asked, Event, Failed, Queued, Told
from priorband.trial import Trial

Facts = dict[str, Any]


@dataclass(frozen=True)
class Rules:
    """What a method's schedule is, as its classes and options are named."""

    kind: str
    """ "full", "sync" or "async"."""
    continues_mode: bool
    duels: bool
    eta: int
    sizes: tuple[tuple[int, ...], ...]
    """By base rung: how many trials a bracket has on each rung."""
    fidelities: tuple[float, ...]


def rules(study: BaseStudy) -> Rules:
    """The rules of a study's method."""
    scheduler: Any = study.optimizer.scheduler
    around: list[Any] = []
    while type(scheduler).__name__ in ("ContinueMode", "StagedScheduler"):
        around.append(scheduler)
        scheduler = scheduler.plan
    kinds = {"FullFidelity": "full", "ASHA": "async", "AsyncHyperband": "async"}
    kinds |= {"SuccessiveHalving": "sync", "Hyperband": "sync"}
    eta, low, high = study.optimizer.eta, study.fidelity.low, study.fidelity.high
    rungs = [high]
    while rungs[0] // eta >= low:
        rungs.insert(0, rungs[0] // eta)
    top = len(rungs) - 1
    sizes = []
    for base in range(top + 1):
        first = (top + 1) // (top - base + 1) * eta ** (top - base)
        sizes.append(tuple(first // eta**step for step in range(top - base + 1)))
    return Rules(
        kinds[type(scheduler).__name__],
        any(type(each).__name__ == "ContinueMode" for each in around),
        any(getattr(each, "duel", False) for each in around),
        eta,
        tuple(sizes),
        tuple(rungs),
    )


@dataclass
class Moment:
    """A study after some events."""

    rules: Rules
    trials: list[Trial]
    losses: dict[int, float]
    """By trial that has ended; infinite for a failure."""
    reasons: dict[int, str]
    order: list[int]
    """The trials that have ended, in order."""
    retry_of: dict[int, int]
    waiting_retries: list[int]

    @property
    def top(self) -> int:
        return len(self.rules.fidelities) - 1

    def replaced(self, number: int) -> int | None:
        """The trial that has the place of a failed one."""
        return next((new for new, old in self.retry_of.items() if old == number), None)

    def key(self, number: int) -> tuple[float, int]:
        return self.losses[number], self.trials[number].root

    def succeeded(self, number: int) -> bool:
        return self.losses.get(number, math.inf) < math.inf

    def child(self, number: int) -> Trial | None:
        return next((trial for trial in self.trials if trial.parent == number), None)

    def successes_at(self, fidelity: float) -> list[int]:
        here = [t.id for t in self.trials if t.fidelity == fidelity and self.succeeded(t.id)]
        return sorted(here, key=self.key)

    def in_slot(self, bracket: int, rung: int) -> list[Trial]:
        """The trials of a bracket's rung, without those that another has replaced."""
        here = [t for t in self.trials if t.slot == (bracket, rung)]
        return [t for t in here if self.replaced(t.id) is None]


def moment(study: BaseStudy, until: int | None = None) -> Moment:
    """The study before the trial `until` was asked; now if that is None."""
    now = Moment(rules(study), [], {}, {}, [], {}, [])
    for event in study.state.history.events:
        if isinstance(event, Asked) and event.trial.id == until:
            return now
        _take(now, event)
    return now


def _take(now: Moment, event: Event) -> None:
    if isinstance(event, Asked):
        if now.waiting_retries and event.trial.origin != "imported":
            now.retry_of[event.trial.id] = now.waiting_retries.pop(0)
        now.trials.append(event.trial)
    elif isinstance(event, Told):
        now.losses[event.trial] = event.loss
        now.order.append(event.trial)
    elif isinstance(event, Failed):
        now.losses[event.trial], now.reasons[event.trial] = math.inf, event.reason
        now.order.append(event.trial)
    elif isinstance(event, Queued) and event.retry is not None:
        now.waiting_retries.append(event.retry)


def place(now: Moment, number: int) -> Facts | None:
    """Where a trial that has ended stands among its rivals."""
    trial, the = now.trials[number], now.rules
    if trial.slot is None or trial.fidelity == the.fidelities[-1]:
        there = now.successes_at(trial.fidelity)
        rank = there.index(number) + 1 if number in there else None
        return {"among": "fidelity", "rank": rank, "of": len(there)} | _no_plan()
    return _on_rung(now, trial) if the.kind == "async" else _in_bracket(now, trial)


def _no_plan() -> Facts:
    return {"advance": None, "advanced": 0, "running": 0, "missing": 0}


def _on_rung(now: Moment, trial: Trial) -> Facts:
    assert trial.slot is not None
    rung = trial.slot.rung
    here = [t.id for t in now.trials if t.slot is not None and t.slot.rung == rung]
    ended = [n for n in here if n in now.losses]
    ranked = sorted((n for n in ended if now.succeeded(n)), key=now.key)
    count = len([n for n in ended if n not in now.retry_of])
    gone = [t for t in now.trials if t.parent in here and t.id not in now.retry_of]
    return {
        "among": "rung",
        "rank": ranked.index(trial.id) + 1 if trial.id in ranked else None,
        "of": count,
        "advance": count // now.rules.eta,
        "advanced": len(gone),
        "running": len(here) - len(ended),
        "missing": 0,
    }


def _in_bracket(now: Moment, trial: Trial) -> Facts:
    assert trial.slot is not None
    bracket, rung = trial.slot
    base = next(t.slot.rung for t in now.trials if t.slot and t.slot.bracket == bracket)
    sizes = now.rules.sizes[base]
    planned = sizes[0]
    for step in range(1, rung - base + 1):
        below = [t for t in now.in_slot(bracket, base + step - 1) if now.succeeded(t.id)]
        planned = min(sizes[step], len(below))
    here = now.in_slot(bracket, rung)
    ended = [t.id for t in here if t.id in now.losses]
    ranked = sorted(ended, key=now.key)
    good = [n for n in ended if now.succeeded(n)]
    room = sizes[rung - base + 1]
    return {
        "among": "bracket",
        "rank": ranked.index(trial.id) + 1 if now.succeeded(trial.id) else None,
        "of": len(ended),
        "advance": room if len(ended) < planned else min(room, len(good)),
        "advanced": len(now.in_slot(bracket, rung + 1)),
        "running": len(here) - len(ended),
        "missing": max(planned - len(here), 0),
    }


def outcome(now: Moment, number: int) -> tuple[str, str | None]:
    """What became of a trial, and why it is open if it is."""
    trial, the = now.trials[number], now.rules
    if number not in now.losses:
        return "running", None
    if not now.succeeded(number):
        again = now.replaced(number) is not None or number in now.waiting_retries
        return ("retried" if again else "failed"), None
    if trial.origin == "imported":
        return "imported", None
    child = now.child(number)
    if child is not None:
        return ("continued" if child.slot is None else "promoted"), None
    return ("finished", None) if trial.fidelity == the.fidelities[-1] else _left(now, trial)


def _left(now: Moment, trial: Trial) -> tuple[str, str | None]:
    """What became of a success below a full training that no trial continues."""
    number, the = trial.id, now.rules
    if trial.slot is None:
        if trial.origin != "mode" or not the.continues_mode:
            return "finished", None
        return ("open", "mode") if _mode_may_go_on(now, number) else ("stopped", None)
    stands = place(now, number)
    assert stands is not None
    if the.kind == "async":
        due = stands["rank"] <= stands["advance"]
        return "open", "due" if due else "results"
    return _open_in_bracket(now, trial, stands)


def _open_in_bracket(now: Moment, trial: Trial, stands: Facts) -> tuple[str, str | None]:
    assert trial.slot is not None
    bracket, rung = trial.slot
    base = next(t.slot.rung for t in now.trials if t.slot and t.slot.bracket == bracket)
    room = now.rules.sizes[base][rung - base + 1]
    if stands["rank"] <= room and stands["advanced"] < room:
        return "open", "rung" if stands["running"] or stands["missing"] else "due"
    return ("open", "duel") if trial.id in _rivals(now) else ("stopped", None)


def _mode_may_go_on(now: Moment, number: int) -> bool:
    mode = now.trials[number]
    if now.successes_at(mode.fidelity)[0] == number:
        return True
    full = now.successes_at(now.rules.fidelities[-1])
    return not full or now.losses[number] <= now.losses[full[0]]


def _rivals(now: Moment) -> set[int]:
    """The uniform draws of the first bracket that may still be compared with the prior."""
    if not now.rules.duels or not now.top:
        return set()
    outside = [t for t in now.trials if t.slot is None and t.parent is not None]
    had_duel = any(t.origin != "mode" for t in outside)
    full = [now.trials[n] for n in now.successes_at(now.rules.fidelities[-1])]
    if had_duel or any(_is_other(trial) for trial in full):
        return set()
    found = set[int]()
    for rung in range(now.top):
        uniform = [t.id for t in now.in_slot(0, rung) if t.origin == "uniform"]
        ranked = sorted((n for n in uniform if now.succeeded(n)), key=now.key)
        kept = ranked[: now.rules.sizes[0][rung + 1] + 1]
        found |= {n for n in kept if now.child(n) is None}
    return found


def _is_other(trial: Trial) -> bool:
    """Whether a full training is one that the prior is compared with."""
    if trial.origin in ("queued", "imported"):
        return True
    if trial.slot is None:
        return trial.origin != "mode" and trial.parent is not None
    if trial.slot.bracket == 0:
        return trial.origin != "prior"
    return trial.origin == "uniform"


def incumbent(now: Moment) -> int | None:
    """The best configuration's trial, each configuration at its highest fidelity."""
    furthest: dict[tuple[Any, ...], int] = {}
    for number in now.order:
        values = tuple(now.trials[number].config.values())
        before = furthest.get(values)
        if before is None or _further(now, number) < _further(now, before):
            furthest[values] = number
    best = sorted((n for n in furthest.values() if now.succeeded(n)), key=now.key)
    return best[0] if best else None


def _further(now: Moment, number: int) -> tuple[float, float, int]:
    return (-now.trials[number].fidelity, *now.key(number))


def advance(study: BaseStudy, child: Trial) -> Facts:
    """How the parent of a trial went on; a retry stands for the trial that it replaces."""
    while (old := moment(study).retry_of.get(child.id)) is not None:
        child = study.state.history.trials[old]
    then = moment(study, child.id)
    assert child.parent is not None
    kind, reason = "promote", "rank"
    if child.slot is None and child.origin != "mode":
        kind = reason = "duel"
    elif child.slot is None:
        kind, reason = "continue", _mode_reason(then, child.parent)
    facts = {"parent": child.parent, "child": child.id, "kind": kind, "reason": reason}
    return facts | {
        "place": place(then, child.parent),
        "results": len(then.order),
        "exact": True,
    }


def _mode_reason(then: Moment, mode: int) -> str:
    there = then.successes_at(then.trials[mode].fidelity)
    leads = len(there) > then.rules.eta and there[0] == mode
    return "leads its rung" if leads else "best so far"


def expected(study: BaseStudy, number: int, probabilities: tuple[float, ...] | None) -> Facts:
    """All facts about a trial but those of a model; `probabilities` are those of the replay."""
    now = moment(study)
    trial = now.trials[number]
    word, still_open = outcome(now, number)
    ended = number in now.losses
    stands = place(now, number) if ended and trial.origin != "imported" else None
    child = now.child(number)
    kind, _, reason = now.reasons.get(number, "").partition(": ")
    needed = None
    if still_open == "results" and stands is not None:
        needed = stands["rank"] * now.rules.eta - stands["of"]
    return {
        "trial": number,
        "outcome": word,
        "still_open": still_open,
        "needed": needed,
        "loss": now.losses[number] if now.succeeded(number) else None,
        "place": stands,
        "continues": None if trial.parent is None else advance(study, trial),
        "continued": None if child is None else advance(study, child),
        "failure": {"kind": kind, "reason": reason} if number in now.reasons else None,
        "retry_of": now.retry_of.get(number),
        "retried_by": now.replaced(number),
        "source": _source(study, trial, probabilities),
    }


def _source(study: BaseStudy, trial: Trial, probabilities: tuple[float, ...] | None) -> Facts:
    first = first_trial(study, trial)
    then = moment(study, first.id)
    near = incumbent(then) if first.origin == "incumbent" else None
    best = None
    if near is not None:
        fidelity = then.trials[near].fidelity
        best = {"trial": near, "loss": then.losses[near], "fidelity": fidelity}
    return {
        "trial": first.id,
        "kind": _source_kind(study, then, first),
        "origin": first.origin,
        "probabilities": None if probabilities is None else list(probabilities),
        "incumbent": best,
        "prior_power": _prior_power(study, then) if first.origin == "model" else None,
        "exact": None if first.origin == "imported" else True,
    }


def _prior_power(study: BaseStudy, then: Moment) -> float | None:
    """The power of the prior in a model's choice, by the name of the method."""
    full = then.rules.fidelities[-1]
    trials = [t.id for t in then.trials if t.fidelity == full]
    if study.optimizer == optimizer("pibo"):
        return 10 / len(trials)
    kinds = ("", "(no-duel)", "(no-proof)", "(sum)", "(linear)", "(esp)")
    names = [f"guardband+bo{kind}" for kind in kinds]
    named = [name for name in names if study.optimizer == optimizer(name)]
    if not named:
        return None
    if named == ["guardband+bo(no-proof)"] or not _is_proven(then):
        return 0.0
    return min(1.0, 10 / len(then.successes_at(full)))


def _is_proven(then: Moment) -> bool:
    planned = then.rules.sizes[0][0]
    for rung, size in enumerate(then.rules.sizes[0]):
        here = then.in_slot(0, rung)
        planned = min(planned, size)
        if len(here) < planned or any(t.id not in then.losses for t in here):
            return False
        planned = len([t for t in here if then.succeeded(t.id)])
    best = {"mode": math.inf, "prior": math.inf, "other": math.inf}
    for number in then.successes_at(then.rules.fidelities[-1]):
        side = _side(then.trials[number])
        best[side] = min(best.get(side, math.inf), then.losses[number])
    mode, prior, other = (best[side] for side in ("mode", "prior", "other"))
    mode_ahead = mode <= min(prior, other) < math.inf
    return mode_ahead or min(mode, prior) <= other < math.inf


def _side(trial: Trial) -> str:
    """For which side of the proof a full training counts."""
    if _is_other(trial):
        return "other"
    if trial.slot is None:
        return "mode" if trial.origin == "mode" else "none"
    return "prior" if trial.slot.bracket == 0 and trial.origin == "prior" else "none"


def first_trial(study: BaseStudy, trial: Trial) -> Trial:
    """The trial for which a configuration was chosen, before promotions and retries."""
    now = moment(study)
    first = now.trials[trial.root]
    while first.id in now.retry_of:
        first = now.trials[now.retry_of[first.id]]
    return first


def _source_kind(study: BaseStudy, then: Moment, first: Trial) -> str:
    if first.origin in ("queued", "imported"):
        return first.origin
    if first.slot is not None:
        return "drawn"
    by_people = ("queued", "imported")
    drawn = [t for t in then.trials if t.parent is None and t.origin not in by_people]
    return "opening" if study.optimizer.opening is not None and not drawn else "model"
