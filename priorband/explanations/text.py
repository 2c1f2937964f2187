"""Explanations in plain English: an answer of one sentence, and then the facts behind it."""

from collections.abc import Iterator

from priorband.explanations.places import Place
from priorband.explanations.sources import ConfigSource
from priorband.explanations.why import Advance, Why

_LABEL = 12  # characters
_LONGEST = 200  # characters of a reason
_ORIGINS = {
    "uniform": "uniform draw",
    "prior": "draw from the prior",
    "incumbent": "draw near the incumbent",
    "mode": "the prior's mode",
    "model": "proposal of a model",
    "grid": "point of the grid",
}
_KINDS = {
    "queued": "configuration that a person queued",
    "imported": "imported result",
}


def lines(why: Why) -> Iterator[str]:
    """The explanation of a trial: the sentence, and a line for each fact."""
    yield sentence(why)
    yield _line("source", _source(why))
    if why.source.probabilities is not None:
        yield _line("chances", _chances(why.source))
    if why.source.incumbent is not None:
        yield _line("incumbent", _incumbent(why))
    if why.source.prior_power is not None:
        yield _line("prior", _prior_power(why.source.prior_power))
    yield _line("trained", _trained(why))
    if why.continues is not None:
        yield _line("continues", _continues(why, why.continues))
    if why.place is not None and why.place.of:
        yield _line("rank", _rank(why.place, why))
    if why.continued is not None:
        yield _line("went on", _went_on(why.continued, why))
    yield from _troubles(why)
    if _differs(why):
        yield _line("note", "made again, the decision comes out differently: the study was made")
        yield _line("", "with another version or method, so chances and reasons are left out")


def sentence(why: Why) -> str:
    """The answer in one sentence."""
    return f"Trial {why.trial} {_answer(why)}."


def _answer(why: Why) -> str:
    outcome, place = why.outcome, why.place
    if outcome in ("promoted", "continued") and why.continued is not None:
        return _answer_went_on(why, why.continued)
    if outcome == "stopped":
        return _answer_stopped(why)
    if outcome == "open":
        return f"may still go on: {_open(why)}"
    if outcome == "finished":
        rank = ""
        if place is not None and place.rank is not None and place.of > 1:
            rank = f"; it ranks {_ordinal(place.rank)} of {place.of}"
        full = "was trained in full" if why.fidelity >= why.full else "ended as was asked"
        return f"{full}: it is {_article(_origin(why))}{rank}"
    if outcome in ("failed", "retried"):
        after = f", and trial {why.retried_by} has its place" if why.retried_by is not None else ""
        queued = ", and is queued to be tried again" if outcome == "retried" and not after else ""
        return f"failed: {_failure(why)}{after}{queued}"
    if outcome == "imported":
        return "is a result from elsewhere, which was imported"
    state = "waits for its next attempt" if outcome == "waiting" else "is running"
    return f"{state}: it is {_article(_origin(why))}{_continuing(why)}"


def _answer_went_on(why: Why, step: Advance) -> str:
    if step.kind == "duel":
        return f"was continued as trial {step.child} to be compared with the prior"
    if step.kind == "continue":
        because = "it led its rung" if step.reason == "leads its rung" else "it was the best so far"
        known = f": {because}" if step.reason != "unknown" else ""
        return f"was continued in full as trial {step.child}{known}"
    rank = ""
    if step.place is not None and step.place.rank is not None:
        rank = f": it was {_standing(step.place, why)}"
        if step.place.advance is not None:
            rank += f", and {_first(step.place.advance)} could go on"
    return f"was promoted as trial {step.child}{rank}"


def _answer_stopped(why: Why) -> str:
    place = why.place
    if place is None or place.rank is None:
        return "was stopped: the method will not continue it"
    if why.slot is None:
        return f"was stopped: it is {_standing(place, why)}, so it cannot get ahead any more"
    number = place.advance
    if number is not None and place.rank <= number:
        return f"was stopped: it is {_standing(place, why)}, but {_taken(number)} before it ended"
    if number is None:
        return f"was stopped: it is {_standing(place, why)}, and the method continues others"
    if place.running or place.missing or place.advanced < number:
        return f"was stopped: it is {_standing(place, why)}, and {_go_on(number)}"
    return f"was stopped: it is {_standing(place, why)}, and {_first(number)} went on"


def _taken(count: int) -> str:
    if count == 1:
        return "the only place on the next rung was taken"
    return f"all {count} places on the next rung were taken"


def _standing(place: Place, why: Why) -> str:
    """A rank and where: `14th of 27 on rung 0 of bracket 0`."""
    assert place.rank is not None
    return f"{_ordinal(place.rank)} of {place.of} {_where(place, why)}"


def _where(place: Place, why: Why) -> str:
    rung = None if why.slot is None else why.slot.rung
    if place.among == "bracket" and why.slot is not None:
        return f"on rung {rung} of bracket {why.slot.bracket}"
    if place.among == "rung":
        return f"on rung {rung}"
    if place.among == "not promoted":
        return f"on rung {rung} that were not promoted"
    return f"at {why.unit}={_number(why.fidelity)}"


def _first(count: int) -> str:
    return "none" if not count else "the first" if count == 1 else f"the first {count}"


def _article(words: str) -> str:
    if words.startswith("the "):
        return words
    return f"an {words}" if words.startswith("imported") else f"a {words}"


def _origin(why: Why) -> str:
    source = why.source
    if source.kind in _KINDS:
        return _KINDS[source.kind]
    return _ORIGINS.get(source.origin, f"{source.origin!r} draw")


def _continuing(why: Why) -> str:
    return "" if why.continues is None else f" that continues trial {why.continues.parent}"


def _source(why: Why) -> str:
    source, words = why.source, _origin(why)
    if source.kind == "opening":
        words += ", which the method tries first"
    if source.kind == "model":
        words += ", in full and outside the brackets"
    return words if source.trial == why.trial else f"{words}, first tried as trial {source.trial}"


def _chances(source: ConfigSource) -> str:
    assert source.probabilities is not None
    text = ", ".join(f"{name} {_percent(share)}" for name, share in source.probabilities)
    if source.scores is None:
        return text
    return f"{text} (from the best {source.scores.top} on rung {source.scores.rung})"


def _percent(share: float) -> str:
    percent = 100 * share
    if 0 < percent < 0.1 or 99.9 < percent < 100:
        return "under 0.1%" if percent < 50 else "over 99.9%"
    return f"{percent:.3g}%"


def _incumbent(why: Why) -> str:
    best = why.source.incumbent
    assert best is not None
    result = f"{_word(why)} {_value(why.shown(best.loss))}"
    return f"trial {best.trial}, {result} at {why.unit}={_number(best.fidelity)}"


def _prior_power(power: float) -> str:
    if not power:
        return "did not count in the model's choice"
    return f"its density counted to the power {power:.3g}"


def _trained(why: Why) -> str:
    text = f"{why.unit}={_number(why.fidelity)} of {_number(why.full)}"
    return text if why.loss is None else f"{text}, {_word(why)} {_value(why.value)}"


def _continues(why: Why, step: Advance) -> str:
    text = f"trial {step.parent}"
    if step.kind == "duel":
        return f"{text}, to compare it with the prior"
    if step.kind == "continue":
        reasons = {"leads its rung": ", which led its rung", "best so far": ", the best so far"}
        return text + reasons.get(step.reason, "")
    place = step.place
    if place is None or place.rank is None:
        return text
    where = {"rung": "on its rung", "not promoted": "not promoted on its rung"}
    text += f", which was {_ordinal(place.rank)} of {place.of} "
    text += where.get(place.among, "on its rung of the bracket")
    return text if place.advance is None else f"{text}; {_first(place.advance)} could go on"


def _rank(place: Place, why: Why) -> str:
    where = _where(place, why)
    count = "succeeded" if place.among == "fidelity" else "ended"
    mine = f"{_ordinal(place.rank)} of {place.of}" if place.rank else f"{place.of} have"
    text = f"{mine} that {count} {where}" if place.rank else f"{mine} {count} {where}"
    if place.advance is None or place.among == "fidelity":
        return text
    some = _first(place.advance)
    over = not (place.running or place.missing) and place.advanced >= place.advance
    if place.among != "bracket":
        return f"{text}; {some} may go on, {place.advanced} have"
    verb = "went on" if over else "goes on" if place.advance == 1 else "go on"
    return f"{text}; {some} {verb}"


def _went_on(step: Advance, why: Why) -> str:
    text = f"as trial {step.child}, after {step.results} results of the study"
    place = step.place
    if place is None or place.rank is None:
        return text
    return f"{text}; it was then {_ordinal(place.rank)} of {place.of}"


def _open(why: Why) -> str:
    place = why.place
    rank = f"it is {_standing(place, why)} so far" if place is not None and place.rank else ""
    match why.still_open:
        case "due":
            return f"{rank}, so it is among the next to be promoted"
        case "rung" if place is not None:
            return f"{rank}, {_waits(place)}, and {_go_on(place.advance or 0)}"
        case "results" if place is not None:
            return f"{rank}, and {_needed(place, why.needed)}"
        case "mode":
            return "the prior's mode is trained in full if it gets ahead"
        case "duel":
            return "it may be trained in full to be compared with the prior"
    return f"{rank}, and the method may continue it" if rank else "the method may continue it"


def _go_on(count: int) -> str:
    return f"{_first(count)} {'goes' if count == 1 else 'go'} on"


def _waits(place: Place) -> str:
    waits = []
    if place.running:
        waits.append(f"{place.running} {'is' if place.running == 1 else 'are'} still running")
    if place.missing:
        waits.append(f"{place.missing} {'is' if place.missing == 1 else 'are'} to start")
    return ", ".join(waits)


def _needed(place: Place, needed: int | None) -> str:
    """What must happen so that an asynchronous scheduler promotes it."""
    if needed is None:
        return "the best of these goes on when there are enough"
    more = "one more result" if needed == 1 else f"{needed} more results"
    return f"{_first(place.advance or 0)} may go on; it may after {more} that rank behind it"


def _troubles(why: Why) -> Iterator[str]:
    if why.failure is not None:
        yield _line("failed", _failure(why))
    if why.retry_of is not None:
        yield _line("retry", f"it has the place of trial {why.retry_of}, which failed")
    if why.retried_by is not None:
        yield _line("retried", f"trial {why.retried_by} has its place")
    for lost in why.lost:
        reason = _short(f"{lost.kind}: {lost.reason}" if lost.reason else lost.kind)
        yield _line(f"attempt {lost.attempt}", f"lost, {reason}")


def _failure(why: Why) -> str:
    assert why.failure is not None
    kind, reason = why.failure
    return _short(f"{kind}: {reason}" if reason else kind)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 3]}..."


def _differs(why: Why) -> bool:
    steps = (why.source, why.continues, why.continued)
    return any(step is not None and step.exact is False for step in steps)


def _line(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}{text}".rstrip()


def _word(why: Why) -> str:
    return "value" if why.maximize else "loss"


def _value(value: float | None) -> str:
    return "" if value is None else f"{value:.5g}"


def _number(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else f"{number:.4g}"


def _ordinal(number: int) -> str:
    """A number in order: 1st, 2nd, 3rd, 4th, 11th."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{ending or 'th'}"
