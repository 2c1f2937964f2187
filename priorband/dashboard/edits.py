"""Changes of a study that the page may ask for, if the dashboard was started with --allow-edit.

Each opens the study for itself and closes it again, so that nothing is held in between. All go
through the study's own methods: they are records like any other, and replay stays exact.
"""

from collections.abc import Callable, Mapping
from typing import Any

from priorband.display.text import jsonable
from priorband.durable.budget import Budget
from priorband.durable.open import open_study
from priorband.durable.study import DurableStudy
from priorband.errors import ArgumentError
from priorband.space.edited_prior import with_beliefs
from priorband.space.prior import Independent

Edit = Callable[[DurableStudy, Mapping[str, Any]], None]

PATIENCE = 5.0  # seconds that a change waits for storage
MOST_RETRIES = 10_000
STOPPED = "stopped by hand"
"""The reason of a trial that was stopped here."""
_LIMITS = ("trainings", "trials", "cost", "hours")


def edited(where: str, name: str, body: Any) -> None:
    """Change a study: `name` is a name in `EDITS`, `body` the JSON of the request.

    Raises:
        ArgumentError: if the request is not as expected.
    """
    if not isinstance(body, dict):
        raise ArgumentError("The request must be a JSON object.")
    with open_study(where, patience=PATIENCE) as study:
        EDITS[name](study, body)


def _queue(study: DurableStudy, body: Mapping[str, Any]) -> None:
    config = body.get("config")
    if not isinstance(config, dict):
        raise ArgumentError("`config` must be an object with a value for each parameter.")
    fidelity = body.get("fidelity")
    if fidelity is not None and type(fidelity) not in (int, float):
        raise ArgumentError(f"`fidelity` must be a number, got {fidelity!r:.40}.")
    study.queue({name: _setting(study, name, value) for name, value in config.items()}, fidelity)


def _setting(study: DurableStudy, name: str, value: Any) -> Any:
    """A setting from JSON: a choice that JSON cannot express is found by how it is shown."""
    choices = getattr(study.space.parameters.get(name), "choices", ())
    return next((one for one in choices if jsonable(one) == value), value)


def _retry(study: DurableStudy, body: Mapping[str, Any]) -> None:
    trials = body.get("trials")
    if not isinstance(trials, list) or not 1 <= len(trials) <= MOST_RETRIES:
        raise ArgumentError(f"`trials` must be a list of 1 to {MOST_RETRIES} trials.")
    study.retry([_whole(number, "trials") for number in trials])


def _stop(study: DurableStudy, body: Mapping[str, Any]) -> None:
    study.fail(_whole(body.get("trial"), "trial"), STOPPED)


def _budget(study: DurableStudy, body: Mapping[str, Any]) -> None:
    if not body.keys() <= set(_LIMITS):
        raise ArgumentError(f"A budget limits {', '.join(_LIMITS)}.")
    limits = {name: limit for name, limit in body.items() if limit is not None}
    if not all(type(limit) in (int, float) for limit in limits.values()):
        raise ArgumentError("Each limit of a budget must be a number.")
    study.limit(Budget(**limits))


def _prior(study: DurableStudy, body: Mapping[str, Any]) -> None:
    """New beliefs about some parameters, as plain values; the others keep theirs."""
    beliefs, current = body.get("beliefs"), study.prior
    if not isinstance(beliefs, dict) or not beliefs:
        raise ArgumentError(
            "`beliefs` must be an object with a value for each parameter to change."
        )
    if not isinstance(current, Independent):
        raise ArgumentError(
            "The prior of this study is of a class of its own, which stays as it is."
        )
    confidence = body.get("confidence", "medium")
    if confidence not in ("low", "medium", "high"):
        raise ArgumentError(f"`confidence` must be low, medium or high, got {confidence!r:.40}.")
    named = {name: _setting(study, name, value) for name, value in beliefs.items()}
    if not all(_is_plain(value) for value in named.values()):
        raise ArgumentError("Each belief must be a number or one of the choices.")
    study.set_prior(with_beliefs(current, named, confidence))


def _is_plain(value: Any) -> bool:
    return not isinstance(value, dict | list) and value is not None


def _note(study: DurableStudy, body: Mapping[str, Any]) -> None:
    trial = body.get("trial")
    study.note(body.get("text", ""), None if trial is None else _whole(trial, "trial"))


def _remove_note(study: DurableStudy, body: Mapping[str, Any]) -> None:
    study.remove_note(_whole(body.get("number"), "number"))


def _whole(value: Any, name: str) -> int:
    if type(value) is not int:
        raise ArgumentError(f"`{name}` must be a whole number, got {value!r:.40}.")
    return value


EDITS: dict[str, Edit] = {
    "queue": _queue,
    "retry": _retry,
    "stop": _stop,
    "budget": _budget,
    "prior": _prior,
    "note": _note,
    "remove-note": _remove_note,
}
