"""The keys of a study file: what each may hold, and what it is for."""

from collections.abc import Mapping
from typing import final

from priorband.failures import FAILURE_KINDS
from priorband.study_file.kinds import (
    ABOVE_ZERO,
    ANY_TEXT,
    AT_LEAST_ZERO,
    CHOICE,
    COUNT,
    COUNT_OR_ZERO,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    Kind,
    either,
    list_of,
    words,
)
from priorband.values import frozen

CONFIDENCE = either(
    '"low", "medium", "high" or a number above 0', words("low", "medium", "high"), ABOVE_ZERO
)
START = words("warm", "cold", "same-process")


@final
@frozen
class Key:
    """One key of a table."""

    kind: Kind
    about: str


Keys = Mapping[str, Key]


def _table(name: str, allowed: str) -> Kind:
    return Kind(
        allowed, {"$ref": f"#/$defs/{name}"}, lambda value: isinstance(value, dict), lambda v: v
    )


BELIEF = either(
    "a value or a belief such as { normal = 0.2, sigma = 0.1 }",
    CHOICE,
    _table("belief", "a belief"),
)
WHEN = _table("when", 'a table such as { optimizer = "sgd" }')
WEIGHTS = either(
    "a list of numbers of at least 0, or such numbers by choice",
    list_of(AT_LEAST_ZERO, "a list of numbers of at least 0"),
    Kind(
        "a table of numbers",
        {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
        lambda value: isinstance(value, dict) and all(map(AT_LEAST_ZERO.accepts, value.values())),
    ),
)

WORKER_KEYS: Keys = {
    "workers": Key(COUNT, "How many trials run at the same time on this machine."),
    "gpus_per_trial": Key(COUNT_OR_ZERO, "How many of the visible devices each worker gets."),
    "folder": Key(TEXT, "The folder for checkpoints, if the study is in a database."),
    "lease": Key(ABOVE_ZERO, "Seconds until the trial of a silent worker goes to another."),
    "retries": Key(_table("retries", "a table such as { memory = 3 }"), "Attempts by failure."),
    "show": Key(words("live", "plain", "json", "quiet"), "How to show progress."),
    "start": Key(START, "How the process of a trial starts."),
    "trial_seconds": Key(ABOVE_ZERO, "The time limit of a trial."),
    "step_seconds": Key(ABOVE_ZERO, "The time limit between two reported steps."),
    "grace": Key(AT_LEAST_ZERO, "Seconds that a trial gets to stop before it is killed."),
    "patience": Key(AT_LEAST_ZERO, "Seconds to wait for storage that does not respond."),
    "wait": Key(FLAG, "Stay while other workers run the last trials."),
    "keep": Key(words("promotable", "all"), "Which checkpoints to keep."),
    "show_output": Key(FLAG, "Show what trials print, instead of writing it to a file."),
}
"""How workers run trials. They may differ between the machines of a study."""

TOP_KEYS: Keys = {
    "command": Key(
        list_of(TEXT, 'a list of strings, such as ["python", "train.py", "--lr", "{lr}"]'),
        "The program that trains, and its arguments with placeholders such as {lr}.",
    ),
    "objective": Key(
        Kind(
            '"module:function" or "file.py:function"',
            {"type": "string", "pattern": "^[^:]+:[^:]+$"},
            lambda value: (
                isinstance(value, str) and value.count(":") == 1 and all(value.split(":"))
            ),
        ),
        "A Python function that is called with a trial, instead of a command.",
    ),
    "study": Key(TEXT, "Where the study is kept: a folder, or a postgresql:// address."),
    "budget": Key(
        either(
            "a number of full trainings above 0, or a table such as { trainings = 12, hours = 8 }",
            ABOVE_ZERO,
            _table("budget", "a table"),
        ),
        "How long to search: full trainings, or several limits.",
    ),
    "fidelity": Key(
        _table("fidelity", 'a table such as { name = "epochs", min = 1, max = 81 }'),
        "How long a trial can be trained.",
    ),
    "metric": Key(
        _table("metric", 'a table such as { name = "val_loss", goal = "minimize" }'),
        "The number that says how good a trial is.",
    ),
    "method": Key(TEXT, "One of `priorband methods`."),
    "seed": Key(WHOLE, "The seed of all random decisions."),
    "space": Key(_table("space", "a table with one entry per parameter"), "What is searched."),
    "prior": Key(
        Kind(
            "a table of beliefs by parameter",
            {"type": "object", "additionalProperties": BELIEF.schema},
            lambda value: isinstance(value, dict),
        ),
        "Beliefs by parameter; it replaces all that are part of the space.",
    ),
    **WORKER_KEYS,
}

BUDGET_KEYS: Keys = {
    "trainings": Key(ABOVE_ZERO, "Full trainings."),
    "trials": Key(COUNT, "Trials."),
    "cost": Key(ABOVE_ZERO, "The sum of what trials report as `cost`."),
    "hours": Key(ABOVE_ZERO, "Hours during which any worker is active."),
}
FIDELITY_KEYS: Keys = {
    "name": Key(TEXT, "What is counted, such as epochs."),
    "min": Key(ABOVE_ZERO, "The shortest training that says something about a configuration."),
    "max": Key(ABOVE_ZERO, "A full training."),
}
METRIC_KEYS: Keys = {
    "name": Key(TEXT, "The name under which the script reports it."),
    "goal": Key(words("minimize", "maximize"), "Whether low or high values are good."),
    "pattern": Key(
        TEXT,
        "A regular expression that finds the value in what the script prints: its first group, "
        "or the one called `value`; a group called `step` is the step.",
    ),
}
RETRIES_KEYS: Keys = {kind: Key(COUNT, "Attempts after such a failure.") for kind in FAILURE_KINDS}

_COMMON: Keys = {
    "prior": Key(BELIEF, "The value that you expect to be best, or a belief."),
    "confidence": Key(CONFIDENCE, "How sure you are of a `prior` that is a value."),
    "when": Key(WHEN, "The values of other parameters with which this one is used."),
}
_NUMERIC: Keys = {"log": Key(FLAG, "Search on a log scale.")}
PARAMETER_KEYS: Mapping[str, Keys] = {
    "float": {
        "float": Key(list_of(NUMBER, "[low, high], two numbers", 2, 2), "Real numbers."),
        **_NUMERIC,
        "step": Key(ABOVE_ZERO, "The distance between allowed values."),
        **_COMMON,
    },
    "integer": {
        "integer": Key(list_of(WHOLE, "[low, high], two whole numbers", 2, 2), "Whole numbers."),
        **_NUMERIC,
        "step": Key(COUNT, "The distance between allowed values."),
        **_COMMON,
    },
    "choices": {
        "choices": Key(
            list_of(CHOICE, 'a list of values, such as ["sgd", "adam"]'), "Values without an order."
        ),
        "weights": Key(WEIGHTS, "How likely each choice is, instead of a `prior`."),
        **_COMMON,
    },
    "ordinal": {
        "ordinal": Key(
            list_of(CHOICE, "a list of at least two values, such as [16, 32, 64]", 2),
            "Values in order.",
        ),
        "weights": Key(WEIGHTS, "How likely each value is, instead of a `prior`."),
        **_COMMON,
    },
    "constant": {
        "constant": Key(CHOICE, "A fixed value."),
        "when": _COMMON["when"],
    },
}
"""The keys of each kind of parameter. The first names the kind."""

BELIEF_KEYS: Mapping[str, Keys] = {
    "normal": {
        "normal": Key(CHOICE, "The centre of a normal."),
        "sigma": Key(CONFIDENCE, "Its width, as a fraction of the (log) range."),
    },
    "beta": {"beta": Key(list_of(NUMBER, "[a, b], two numbers", 2, 2), "A beta density.")},
    "uniform": {
        "uniform": Key(Kind("true", {"const": True}, lambda v: v is True), "No belief."),
    },
    "histogram": {
        "histogram": Key(
            list_of(AT_LEAST_ZERO, "a list of numbers of at least 0"),
            "The weights of bins of equal width.",
        )
    },
    "choice": {
        "choice": Key(CHOICE, "The choice that you expect to be best."),
        "confidence": Key(CONFIDENCE, "How many times as likely it is as each other one."),
    },
    "mixture": {
        "mixture": Key(list_of(BELIEF, "a list of beliefs"), "A mixture of beliefs."),
        "weights": Key(list_of(AT_LEAST_ZERO, "a list of numbers of at least 0"), "Of each."),
    },
    "weights": {"weights": Key(WEIGHTS, "How likely each choice is.")},
}
"""The keys of each kind of belief. The first names the kind."""

_BOUND = either("a number or a choice", NUMBER, ANY_TEXT)
CONDITION_KEYS: Keys = {
    "at_least": Key(_BOUND, "This value or a higher one."),
    "at_most": Key(_BOUND, "This value or a lower one."),
    "between": Key(list_of(_BOUND, "[low, high]", 2, 2), "A value from low to high."),
}
