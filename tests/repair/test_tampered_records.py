"""Records that somebody changed and sealed again: what cannot be is refused, and the rest saved."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stored_studies import (
    CONDITIONAL,
    EPOCHS,
    PROBLEM,
    altered,
    end,
    events,
    resealed,
    write_rows,
)

import priorband as pb
from priorband.cli.export_command import exported
from priorband.problem import Problem
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.storage.journal import Row
from priorband.storage.json_text import LONGEST

Change = Callable[[list[Row]], object]
CONFIG = {"x": 0.5, "n": 4, "kind": "a"}


def index(found: list[Row], kind: str, nth: int = 0, **about: Any) -> int:
    """Where the nth record of a kind is whose body has these members."""
    hits = [row.seq - 1 for row in found if row.kind == kind and _has(row, about)]
    return hits[nth]


def _has(row: Row, about: dict[str, Any]) -> bool:
    return all(f'"{name}":' in row.body for name, wanted in about.items() if wanted)


def body(kind: str, nth: int = 0, has: str = "", /, **changes: Any) -> Change:
    """Change members of a record's body."""

    def change(found: list[Row]) -> None:
        at = index(found, kind, nth, **({has: True} if has else {}))
        found[at] = altered(found[at], **changes)

    return change


def column(kind: str, nth: int = 0, /, **changes: Any) -> Change:
    """Change columns of a record."""

    def change(found: list[Row]) -> None:
        at = index(found, kind, nth)
        found[at] = found[at]._replace(**changes)

    return change


def another(kind: str, trial: int | None, text: str) -> Change:
    """Add a record at the end."""

    def change(found: list[Row]) -> None:
        last = found[-1]
        found.append(last._replace(seq=last.seq + 1, kind=kind, trial=trial, body=text))

    return change


def config(**changes: Any) -> Change:
    return body("asked", 4, "config", config={**CONFIG, **changes})


def _failed(found: list[Row]) -> int:
    return next(row.trial for row in found if row.kind == "failed" and row.trial is not None)


def _continue(found: list[Row], parent: int) -> None:
    """Promote a trial of the lowest rung, in a way that is right but for how it ended."""
    origin, slot = next(
        (data["origin"], data["slot"])
        for row in found
        if row.kind == "asked" and row.trial == parent and (data := json.loads(row.body))
    )
    assert slot[1] == 0
    place = {"fidelity": 3, "origin": origin, "slot": [slot[0], 1], "parent": parent, "start": 0}
    another("asked", _asked(found), json.dumps(place))(found)


def _promote_failed(found: list[Row]) -> None:
    _continue(found, _failed(found))


def _promote_running(found: list[Row]) -> None:
    place = {"fidelity": 1, "origin": "prior", "slot": [0, 0], "config": CONFIG, "start": 0}
    another("asked", _asked(found), json.dumps(place))(found)
    _continue(found, _asked(found) - 1)


def _asked(found: list[Row]) -> int:
    return sum(row.kind == "asked" for row in found)


def _tell_again(found: list[Row]) -> None:
    told = found[index(found, "told", 2)]
    another("told", told.trial, told.body)(found)


def _tell_failed(found: list[Row]) -> None:
    another("told", _failed(found), '{"attempt":1,"loss":0.1}')(found)


def _continue_itself(found: list[Row]) -> None:
    at = index(found, "asked", 0, parent=True)
    found[at] = altered(found[at], parent=found[at].trial)


def _continue_each_other(found: list[Row]) -> None:
    first = _asked(found)
    for one, other in ((first, first + 1), (first + 1, first)):
        text = f'{{"fidelity":9,"origin":"prior","slot":[0,1],"parent":{other},"start":0}}'
        another("asked", one, text)(found)


def _swap(found: list[Row]) -> None:
    one, other = found[8], found[12]
    found[8] = other._replace(seq=one.seq)
    found[12] = one._replace(seq=other.seq)


TOLD = '{"attempt":1,"loss":%s}'
CHANGES: dict[str, Change] = {
    "a number out of the space": config(x=1.5),
    "a number below it": config(n=0),
    "text for a number": config(x="0.5"),
    "a float for an integer": config(n=4.0),
    "a truth value for a number": config(x=True),
    "an unknown choice": config(kind="c"),
    "a choice by a wrong index": config(kind={"@": "choice", "index": 9}),
    "a choice that is a list": config(kind=["a"]),
    "a huge integer": config(n=10**400),
    "one parameter more": config(y=1),
    "one parameter less": body("asked", 4, "config", config={"x": 0.5}),
    "no configuration": body("asked", 4, "config", config=None),
    "a configuration that is a list": body("asked", 4, "config", config=[0.5, 4, "a"]),
    "fidelity as text": body("asked", 3, fidelity="9"),
    "fidelity 0": body("asked", 3, fidelity=0),
    "negative fidelity": body("asked", 3, fidelity=-1),
    "fidelity beyond the highest": body("asked", 3, fidelity=10),
    "fidelity of another rung": body("asked", 3, "slot", fidelity=2),
    "a huge fidelity": body("asked", 3, fidelity=10**400),
    "a slot of one number": body("asked", 3, "slot", slot=[0]),
    "a slot of text": body("asked", 3, "slot", slot="00"),
    "a slot of truth values": body("asked", 3, "slot", slot=[False, False]),
    "a negative slot": body("asked", 3, "slot", slot=[0, -1]),
    "a rung that there is not": body("asked", 3, "slot", slot=[0, 99]),
    "an origin that is a number": body("asked", 3, origin=3),
    "an origin that nobody queued": body("asked", 3, "config", origin="queued"),
    "a negative start": body("asked", 3, start=-1),
    "a start as text": body("asked", 3, start="0"),
    "a trial that continues itself": _continue_itself,
    "trials that continue each other": _continue_each_other,
    "a trial that continues none": body("asked", 0, "parent", parent=10**6),
    "a trial that continues a negative one": body("asked", 0, "parent", parent=-1),
    "a trial that continues a truth value": body("asked", 0, "parent", parent=True),
    "a trial that continues a failed one": _promote_failed,
    "a trial that continues a running one": _promote_running,
    "a huge trial id": column("asked", 5, trial=2**62),
    "a negative trial id": column("asked", 5, trial=-1),
    "a trial asked again": column("asked", 5, trial=1),
    "no trial": column("told", 2, trial=None),
    "a result of an unknown trial": column("told", 2, trial=2**62),
    "a trial told twice": _tell_again,
    "a failed trial told": _tell_failed,
    "a loss that is not a number": column("told", 1, body=TOLD % "NaN"),
    "an infinite loss": column("told", 1, body=TOLD % "-Infinity"),
    "a loss that overflows": column("told", 1, body=TOLD % "1e999"),
    "a huge loss": column("told", 1, body=TOLD % 10**400),
    "a loss that is text": body("told", 1, loss="0.5"),
    "a loss that is true": body("told", 1, loss=True),
    "no loss": body("told", 1, loss=None),
    "no attempt": body("told", 1, attempt=None),
    "an attempt that was not": body("told", 1, attempt=2),
    "attempt 0": body("told", 1, attempt=0),
    "an attempt that is true": body("told", 1, attempt=True),
    "a cost that is text": body("told", 1, cost="1"),
    "an endless cost": column("told", 1, body='{"attempt":1,"loss":1,"cost":1e999}'),
    "an unknown kind of failure": body("failed", 0, kind="bored"),
    "a failure without a reason": body("failed", 0, reason=None),
    "an attempt given back by nobody": body("returned", 0, attempt=7),
    "an attempt seen never": body("returned", 0, seen="yesterday"),
    "an attempt taken over from nobody": body("adopted", 0, attempt=1),
    "a remark without words": body("remark", 0, text=None),
    "a wish out of the space": body("queued", 0, config={**CONFIG, "x": 2}),
    "a wish below all fidelities": body("queued", 0, fidelity=0),
    "a wish beyond all fidelities": body("queued", 0, fidelity=10),
    "a negative budget": body("budget", 0, trainings=-1),
    "a budget of something else": body("budget", 0, coffee=3),
    "a budget as text": body("budget", 0, trainings="500"),
    "an unknown kind": column("told", 1, kind="sold"),
    "a second creation": column("told", 1, kind="created"),
    "a body that is no object": column("told", 1, body="[1]"),
    "a body that is empty": column("told", 1, body=""),
    "a body that goes on": column("told", 1, body=TOLD % "1.5" + "{}"),
    "a body that is nested deeply": column("told", 1, body='{"a":' * 100_000),
    "a body that is nested in lists": column("told", 1, body='{"a":' + "[" * 90_000 + "]" * 90_000),
    "a body that is too long": column("told", 1, body=TOLD % "1" + " " * LONGEST),
    "a time that never ends": column("told", 1, at=math.inf),
    "a time as text": column("told", 1, at="now"),
    "a worker that is bytes": column("told", 1, worker=b"me"),
    "a kind that is bytes": column("told", 1, kind=b"told"),
    "a body that is bytes": column("told", 1, body=b'{"attempt":1,"loss":1}'),
    "half a trial": column("told", 1, trial=1.5),
    "two records swapped": _swap,
    "a record less": lambda found: found.pop(11),
    "a record renumbered": lambda found: found.append(found.pop()._replace(seq=10**15)),
    "no creation": lambda found: found.pop(0),
    "another beginning": column("created", kind="remark", body='{"text":""}'),
    "a format of text": body("created", format="1"),
    "a newer format": body("created", format=5),
    "a direction of text": body("created", maximize="no"),
    "no problem": body("created", problem=None),
    "an empty problem": body("created", problem={}),
    "a study id that is a number": body("created", study=7),
}
REASONS = {
    "a number out of the space": "must be a value of",
    "fidelity beyond the highest": "the highest is 9",
    "a rung that there is not": "is not that of",
    "a trial that continues itself": "has not succeeded",
    "trials that continue each other": "has not succeeded",
    "a trial that continues a failed one": "has not succeeded",
    "a trial that continues a running one": "has not succeeded",
    "a huge trial id": "was asked when",
    "a trial told twice": "is not running",
    "a failed trial told": "is not running",
    "a huge loss": "`loss` is",
    "a body that is nested deeply": "is not JSON",
    "a record less": "is missing",
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_cannot_be_is_refused_and_the_rest_is_saved(
    genuine: list[Row], place: Path, what: str
) -> None:
    found = list(genuine)
    CHANGES[what](found)
    made = resealed(found)
    folder = write_rows(place / "study", made, end(made))
    assert REASONS.get(what, "damaged") in refused(folder)
    record = refused(folder).partition(" is invalid")[0]
    assert export_refused(folder).partition(" is invalid")[0] == record
    assert not check(folder).sound
    first = made[0].seq == 1 and made[0].body == genuine[0].body and made[0].kind == "created"
    saved = salvage(folder, place / "new", None if first else PROBLEM)
    assert saved.dropped
    assert check(place / "new").sound
    with pb.open_study(place / "new") as study:
        assert study.replay().exact or what == "a trial that continues a running one"  # made up
        study.ask()


Forgery = Callable[[dict[str, Any]], object]


def when(name: str, *conditions: Any) -> Forgery:
    """Give a parameter other conditions."""

    def forge(parameters: dict[str, Any]) -> None:
        parameters[name]["when"] = {"@": "When", "conditions": [*map(list, conditions)]}

    return forge


def field(name: str, **fields: Any) -> Forgery:
    return lambda parameters: parameters[name].update(fields)


def _nested(depth: int) -> Any:
    inner: Any = "a"
    for _ in range(depth):
        inner = {"@": "tuple", "items": [inner]}
    return inner


def _chain(parameters: dict[str, Any]) -> None:
    """A thousand parameters, each with a condition on the one before, the first on the last."""
    for number in range(1000):
        at_least = {"@": "dict", "items": [["at_least", 0.5]]}
        condition = [[f"p{(number - 1) % 1000}", at_least]]
        parameters[f"p{number}"] = {
            **{"@": "Float", "low": 0.0, "high": 1.0, "log": False},
            **{"prior": None, "confidence": "medium"},
            "when": {"@": "When", "conditions": condition},
        }


BOUND = {"@": "dict", "items": [["at_least", 4]]}
FORGERIES: dict[str, tuple[Forgery, str]] = {
    "a cycle": (when("kind", ("skip", BOUND)), "cycle"),
    "a long cycle": (_chain, "cycle"),
    "itself": (when("skip", ("skip", BOUND)), "condition on itself"),
    "an unknown parent": (when("skip", ("depth", BOUND)), "unknown parameter `depth`"),
    "the fidelity": (when("skip", ("epochs", BOUND)), "unknown parameter `epochs`"),
    "a value that is no choice": (when("skip", ("kind", "c")), "can never be active"),
    "a bound of a categorical": (when("skip", ("kind", BOUND)), "can never be active"),
    "a bound out of range": (when("beta", ("x", BOUND)), "can never be active"),
    "a contradiction": (when("gamma", ("beta", "p"), ("kind", "a")), "can never be active"),
    "no conditions": (when("skip"), "`when` is empty"),
    "one twice": (when("skip", ("n", 3), ("n", 4)), "each name once"),
    "no values": (when("skip", ("kind", [])), "lists no values"),
    "a number as a name": (when("skip", (3, 3)), "must name other parameters"),
    "a huge bound": (
        when("skip", ("n", {"@": "dict", "items": [["at_least", 10**400]]})),
        "must have numbers as bounds",
    ),
    "deep values": (when("skip", ("kind", _nested(50))), "can never be active"),
    "endless values": (when("skip", ("kind", _nested(300))), "nested too deeply"),
    "a parameter as a value": (
        when("skip", ("n", {"@": "Uniform"})),
        "can never be active",
    ),
    "conditions that are text": (field("skip", when="kind"), "takes no when='kind'"),
    "conditions that are a dict": (field("skip", when=BOUND), "takes no when="),
    "a step that is text": (field("alpha", step="0.25"), "`step` must be a positive number"),
    "a step of zero": (field("alpha", step=0), "`step` must be a positive number"),
    "a step that does not fit": (field("alpha", step=0.3), "plus a multiple of `step`"),
    "a step that is too small": (field("alpha", step=5e-324), "`step` is too small"),
    "a step on a log scale": (field("n", step=1), "do not go together"),
    "a prior that is not on the grid": (field("alpha", prior=0.3), "prior"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_forged_conditions_are_refused(conditional: list[Row], place: Path, what: str) -> None:
    forge, reason = FORGERIES[what]
    created = json.loads(conditional[0].body)
    parameters = dict(created["problem"]["space"]["parameters"])
    forge(parameters)
    created["problem"]["space"]["parameters"] = [*map(list, parameters.items())]
    text = json.dumps(created, separators=(",", ":"))
    made = resealed([conditional[0]._replace(body=text), *conditional[1:]])
    folder = write_rows(place / "study", made, end(made))
    for read_only in (True, False):
        with pytest.raises(pb.errors.DamagedError, match="its problem is invalid") as caught:
            pb.open_study(folder, read_only=read_only)
        assert reason in str(caught.value)
    with pytest.raises(pb.errors.DamagedError), exported(str(folder)) as lines:
        list(lines)
    assert reason in str(check(folder).findings[0])
    problem = Problem(
        CONDITIONAL, CONDITIONAL.prior, EPOCHS, pb.optimizer("hyperband+prior"), seed=0
    )
    assert salvage(folder, place / "new", problem).kept == len(made) - 1
    assert check(place / "new").sound


@pytest.mark.parametrize(
    "config",
    [
        {"x": 0.75, "n": 2, "kind": "a"},
        {"x": 0.75, "n": 2, "kind": "a", "alpha": 0.3},
        {"x": 0.75, "n": 2, "kind": "a", "alpha": 0.5, "beta": "p"},
        {"x": 0.25, "n": 2, "kind": "a", "alpha": 0.5},
        {"x": 0.75, "n": 2, "alpha": 0.5},
        {"x": 0.75, "n": 2, "kind": "b", "beta": "q", "version": 3},
        {"x": 0.75, "n": 2, "kind": "b", "beta": "q", "gamma": 4},
    ],
)
def test_a_configuration_that_conditions_do_not_allow_is_refused(
    conditional: list[Row], place: Path, config: dict[str, Any]
) -> None:
    body("asked", 4, "config", config=config)(conditional)
    made = resealed(conditional)
    folder = write_rows(place / "study", made, end(made))
    record = refused(folder).partition(" is invalid")[0]
    assert export_refused(folder).partition(" is invalid")[0] == record
    assert not check(folder).sound
    assert salvage(folder, place / "new").dropped
    assert check(place / "new").sound


def refused(folder: Path) -> str:
    """Why a study was not opened."""
    with pytest.raises(pb.errors.DamagedError) as caught:
        events(folder)
    message = str(caught.value)
    assert str(folder) in message and "priorband journal salvage" in message
    assert len(message) < 1000
    return message


def export_refused(folder: Path) -> str:
    """Why a study's table was not written."""
    with pytest.raises(pb.errors.DamagedError) as caught, exported(str(folder)) as text:
        list(text)
    return str(caught.value)


def test_a_body_of_a_hundred_megabytes_is_refused(genuine: list[Row], place: Path) -> None:
    found = list(genuine)
    column("told", 1, body=TOLD % "1" + " " * 100_000_000)(found)
    made = resealed(found)
    folder = write_rows(place / "study", made, end(made))
    refused(folder)
    assert "more than 5000000 bytes" in str(check(folder).findings[0])
    assert salvage(folder, place / "new").dropped
