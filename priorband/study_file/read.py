"""Read a study file: everything that `tune` takes, checked, with paths relative to the file."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from priorband.durable.budget import Budget, as_budget
from priorband.errors import ArgumentError, SpaceError
from priorband.fidelity import Fidelity
from priorband.named_methods import AUTO, methods
from priorband.space.space import Space
from priorband.storage.addresses import is_address
from priorband.study_file.commands import check_command, check_program
from priorband.study_file.keys import (
    BUDGET_KEYS,
    FIDELITY_KEYS,
    METRIC_KEYS,
    RETRIES_KEYS,
    TOP_KEYS,
    WORKER_KEYS,
)
from priorband.study_file.mistakes import proposal
from priorband.study_file.parameters import SPACE, read_space
from priorband.study_file.prior_section import read_beliefs
from priorband.study_file.tables import Source, Table, got
from priorband.values import frozen
from priorband.workers.command_objective import CommandObjective
from priorband.workers.trial_runner import GRACE

_ADVICE = {
    "maximize": ' Write metric = { goal = "maximize" }.',
    "minimize": ' Write metric = { goal = "minimize" }.',
    "direction": ' Write metric = { goal = "maximize" }.',
    "goal": ' Write metric = { goal = "maximize" }.',
    "pattern": ' Write metric = { name = "val_loss", pattern = "..." }.',
    "trials": " Write budget = { trials = 100 }.",
    "n_trials": " Write budget = { trials = 100 }.",
    "max_trials": " Write budget = { trials = 100 }.",
    "hours": " Write budget = { hours = 8 }.",
    "timeout": " Write trial_seconds for one trial, or budget = { hours = 8 } for all.",
    "fresh_process": ' Write start = "same-process", or leave it out.',
    "parameters": " Parameters are in the section [space].",
    "params": " Parameters are in the section [space].",
    "program": ' Write command = ["python", "train.py", "{args}"].',
}


@final
@frozen
class StudyFile:
    """What a study file says. Each part is as `tune` takes it."""

    path: Path
    study: str
    """Where the study is kept."""
    command: tuple[str, ...] | None
    objective: str | None
    """`module:function` or `file.py:function`, instead of a command."""
    metric: str
    pattern: str | None
    maximize: bool
    space: Space
    fidelity: Fidelity | None
    prior: Mapping[str, Any] | None
    method: str | None
    seed: int | None
    budget: Budget | None
    options: Mapping[str, Any]
    """How workers run trials, by the names of the keys; only what the file has."""
    notes: tuple[str, ...]
    """What may be meant as it is, but should be said."""

    @property
    def directory(self) -> Path:
        """The folder of the file. Paths in the file are relative to it, and commands run there."""
        return self.path.parent

    def command_objective(self) -> CommandObjective:
        """The command as an objective; raise `StudyFileError` if its program is not there."""
        assert self.command is not None
        source = Source(self.path)
        check_program(source, self.command, self.directory)
        source.raise_mistakes()
        return CommandObjective(
            self.command,
            self.metric,
            str(self.directory.absolute()),
            self.fidelity.name if self.fidelity else None,
            self.pattern,
            self.options.get("grace", GRACE),
        )


def is_study_file(text: str) -> bool:
    """Whether a text is meant as the path of a study file, and not as a study.

    >>> is_study_file("study.toml"), is_study_file("runs/study"), is_study_file("postgresql://h/d")
    (True, False, False)
    """
    return text.endswith(".toml") and not is_address(text) and not Path(text).is_dir()


def study_place(path: Path) -> str:
    """Where the study of a file is kept. The rest of the file may have mistakes."""
    source = Source(path)
    stated = source.data.get("study")
    if stated is not None and not TOP_KEYS["study"].kind.accepts(stated):
        source.mistake(("study",), f"`study` must be {TOP_KEYS['study'].kind.allowed}{got(stated)}")
    source.raise_mistakes()
    return _place(path, stated)


def _place(path: Path, stated: str | None) -> str:
    if stated is None:
        return str(path.parent / "runs" / path.stem)
    return stated if is_address(stated) else str(path.parent / Path(stated).expanduser())


def read_study_file(path: str | Path) -> StudyFile:
    """Read a study file.

    Args:
        path: the file, in TOML.

    Returns:
        What it says, as `tune` takes it.

    Raises:
        StudyFileError: if something is wrong with it; the message has all mistakes, with the line
            and the column of each.
    """
    source = Source(Path(path))
    top = Table(source, (), source.data, "A study file")
    found = top.values(TOP_KEYS, _ADVICE | _misplaced())
    _check_what_is_run(top)
    fidelity = _fidelity(source, found)
    metric = _metric(source, found, "objective" in top)
    budget = _budget(source, found)
    retries = _retries(source, found)
    space = _space(source, top, found)
    prior = _prior(source, found, space)
    _check_method(top, found)
    if (
        fidelity
        and isinstance(source.data.get(SPACE), dict)
        and fidelity.name in source.data[SPACE]
    ):
        source.mistake(
            (SPACE, fidelity.name),
            f"`{fidelity.name}` is the fidelity, so it cannot be searched, too. Rename or drop it.",
            key=True,
        )
    if "command" in found:
        check_command(source, found["command"], space, _fidelity_name(found))
    source.raise_mistakes()
    assert space is not None
    return StudyFile(
        path=source.path,
        study=_place(source.path, found.get("study")),
        command=tuple(found["command"]) if "command" in found else None,
        objective=found.get("objective"),
        metric=metric.get("name", "loss"),
        pattern=metric.get("pattern"),
        maximize=metric.get("goal") == "maximize",
        space=space,
        fidelity=fidelity,
        prior=prior,
        method=found.get("method"),
        seed=found.get("seed"),
        budget=budget,
        options=_options(source.path, found, retries),
        notes=tuple(source.notes),
    )


def _misplaced() -> dict[str, str]:
    """Advice for keys that belong into a table."""
    tables = {"fidelity": FIDELITY_KEYS, "metric": METRIC_KEYS}
    return {
        key: f" `{key}` is a key of `{table}`."
        for table, keys in tables.items()
        for key in keys
        if key not in _ADVICE
    }


def _check_what_is_run(top: Table) -> None:
    command = top.data.get("command")
    if isinstance(command, str):
        words = ", ".join(f'"{word}"' for word in command.split())
        top.source.mistakes.pop()  # that it must be a list
        top.mistake("command", f"`command` must be a list, as no shell reads it: [{words}].")
    if "command" in top and "objective" in top:
        message = "There is a `command` and an `objective`. Drop one of them."
        top.mistake("objective", message, at_key=True)
    if not (_is_meant(top, "command") or _is_meant(top, "objective")):
        top.mistake(
            None,
            'There is no `command`, such as ["python", "train.py", "--lr", "{lr}"], and no '
            '`objective`, such as "train.py:train".',
        )


def _is_meant(top: Table, key: str) -> bool:
    """Whether a key is there, perhaps misspelt."""
    return key in top or any(proposal(other, [key]) for other in top.data)


def _table(source: Source, found: Mapping[str, Any], key: str) -> Table | None:
    data = found.get(key)
    return Table(source, (key,), data, f"`{key}`") if isinstance(data, dict) else None


def _fidelity(source: Source, found: Mapping[str, Any]) -> Fidelity | None:
    table = _table(source, found, "fidelity")
    if table is None:
        return None
    advice = {"low": " Write it as `min`.", "high": " Write it as `max`."}
    advice["prior"] = " The schedule sets the fidelity, so it has no prior."
    values = table.values(FIDELITY_KEYS, advice)
    if not table.require(values, "name", "min", "max"):
        return None
    if values["min"] > values["max"]:
        table.mistake("max", "`max` of `fidelity` must not be below its `min`.")
        return None
    try:
        return Fidelity(values["name"], values["min"], values["max"])
    except SpaceError as error:
        table.mistake(None, str(error))
        return None


def _fidelity_name(found: Mapping[str, Any]) -> str | None:
    """The name of the fidelity, also if something else is wrong with it."""
    name = found.get("fidelity", {}).get("name")
    return name if isinstance(name, str) else None


def _metric(source: Source, found: Mapping[str, Any], is_python: bool) -> dict[str, Any]:
    table = _table(source, found, "metric")
    if table is None:
        return {}
    values = table.values(METRIC_KEYS, {"maximize": ' Write goal = "maximize".'})
    for key in ("name", "pattern"):
        if is_python and key in values:
            message = f"`{key}` is for a command. An objective returns its value."
            table.mistake(key, message, at_key=True)
    if "pattern" in values:
        _check_pattern(table, values["pattern"])
    return values


def _check_pattern(table: Table, pattern: str) -> None:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        table.mistake("pattern", f"`pattern` is not a regular expression: {error}.")
        return
    if "value" not in compiled.groupindex and (
        compiled.groups < 1 or "step" in compiled.groupindex
    ):
        table.mistake(
            "pattern",
            "`pattern` needs a group for the value, such as 'loss is ([0-9.]+)', or one called "
            "`value` if there are several: (?P<value>[0-9.]+).",
        )


def _budget(source: Source, found: Mapping[str, Any]) -> Budget | None:
    stated = found.get("budget")
    table = _table(source, found, "budget")
    if table is None:
        return None if stated is None else as_budget(stated)
    values = table.values(BUDGET_KEYS)
    if not table.data:
        table.mistake(None, "`budget` is empty. Write a number of full trainings, such as 12.")
    try:
        return Budget(**values)
    except ArgumentError as error:
        table.mistake(None, str(error))
        return None


def _retries(source: Source, found: Mapping[str, Any]) -> dict[str, int] | None:
    table = _table(source, found, "retries")
    return None if table is None else table.values(RETRIES_KEYS)


def _space(source: Source, top: Table, found: Mapping[str, Any]) -> Space | None:
    if not _is_meant(top, SPACE):
        top.mistake(
            None,
            "There is no section [space] with the parameters, such as "
            "lr = { float = [1e-5, 1e-1], log = true }.",
        )
    return read_space(source, found[SPACE]) if SPACE in found else None


def _prior(source: Source, found: Mapping[str, Any], space: Space | None) -> dict[str, Any] | None:
    if "prior" not in found or space is None:
        return None
    return read_beliefs(source, found["prior"], space)


def _check_method(top: Table, found: Mapping[str, Any]) -> None:
    method = found.get("method")
    if method is not None and ":" not in method and method not in (AUTO, *methods()):
        hint = proposal(method, (AUTO, *methods()))
        message = f"There is no method `{method}`.{hint} `priorband methods` lists them."
        top.mistake("method", message)


def _options(
    path: Path, found: Mapping[str, Any], retries: dict[str, int] | None
) -> dict[str, Any]:
    options = {key: found[key] for key in WORKER_KEYS if key in found}
    if "folder" in options:
        options["folder"] = str(path.parent / Path(options["folder"]).expanduser())
    if retries is not None:
        options["retries"] = retries
    return options
