"""The draft of a study file from a W&B sweep."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from priorband.errors import FormatError
from priorband.init_study.draft import Draft, Explained
from priorband.init_study.option import Option
from priorband.init_study.printed_metrics import FoundMetric, printed_metrics
from priorband.init_study.read_script import script_options, script_source
from priorband.init_study.roles import best_length
from priorband.init_study.sweep_distributions import sweep_entry
from priorband.init_study.yaml_text import number_of, yaml_mapping

_KEYS = ("method", "parameters", "metric", "early_terminate", "program", "command")
_METHODS = {
    "random": "the default method is priorband, and uses the budget better",
    "grid": "the default method is priorband, and samples from the same values",
    "bayes": 'the default method is priorband; method = "bo" is Bayesian optimisation',
}
_USUAL_COMMAND = ("${env}", "${interpreter}", "${program}", "${args}")
_LEAST_LENGTH = 3


def sweep_draft(path: Path, folder: Path) -> Draft:
    """What a study file for a sweep should hold.

    Args:
        path: the sweep, in YAML.
        folder: where the study file will be; the command runs there.

    Raises:
        FormatError: if it is not a sweep.
        ExtraError: if PyYAML is not installed.
    """
    sweep = yaml_mapping(path)
    parameters = sweep.get("parameters")
    if not isinstance(parameters, Mapping) or not parameters:
        raise FormatError(
            f"{path} has no `parameters`, so it is not a W&B sweep. `init` reads a sweep or a "
            "Python script."
        )
    named = dict(_flattened(parameters))
    length, fidelity = _fidelity(sweep, named)
    made = [sweep_entry(name, about) for name, about in named.items() if name != length]
    command, lost_words = _command(sweep, path, folder, length)
    program = _program_file(sweep, path)
    metric = _metric(sweep, program)
    lost = [f"`{entry.name}` loses {what}." for entry, what in made if what]
    return Draft(
        heading=f"A study from the W&B sweep {path.name}.",
        command=tuple(command),
        fidelity=fidelity,
        metric=metric,
        entries=tuple(entry for entry, _ in made),
        notes=tuple(_notes(named)),
        losses=tuple([*_losses(sweep), *lost, *lost_words]),
        to_do=tuple(_to_do(sweep, metric, program)),
    )


def _flattened(
    parameters: Mapping[Any, Any], before: str = ""
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The parameters by name; those of nested `parameters` get dotted names."""
    for key, about in parameters.items():
        name = f"{before}{key}"
        if not isinstance(about, Mapping):
            raise FormatError(
                f"Parameter `{name}` of the sweep must be a mapping such as {{value: {about!r}}}, "
                f"got {about!r}."
            )
        if isinstance(about.get("parameters"), Mapping):
            yield from _flattened(about["parameters"], f"{name}.")
        else:
            yield name, {str(part): value for part, value in about.items()}


def _fidelity(
    sweep: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]
) -> tuple[str | None, Explained]:
    """The parameter that is the training length, and the fidelity."""
    options = [
        Option(name, kind="integer", default=_longest(about)) for name, about in named.items()
    ]
    length = best_length(options)
    stop = sweep.get("early_terminate")
    if length is None or not isinstance(length.default, int | float):
        tail = ""
        if isinstance(stop, Mapping):
            tail = (
                f" `early_terminate` ({stop.get('type')}) has no equivalent without one: priorband "
                "decides before a training starts how long it is."
            )
        return None, Explained(
            None,
            "No parameter of the sweep says how long to train, so every trial is a full training. "
            'If the script has an option such as --epochs, add "--epochs", "{epochs}" to the '
            'command and fidelity = { name = "epochs", min = 1, max = 27 } here.' + tail,
        )
    full = max(int(length.default), _LEAST_LENGTH)
    low = _shortest(stop, full)
    why = f"`{length.name}` of the sweep, whose highest value is a full training"
    if isinstance(stop, Mapping):
        why += f"; it replaces `early_terminate` ({stop.get('type')})"
    name = length.name.rpartition(".")[2]
    return length.name, Explained({"name": name, "min": low, "max": full}, why)


def _longest(about: Mapping[str, Any]) -> float | None:
    stated = [about.get("value"), about.get("max"), *_list(about.get("values"))]
    numbers = [number_of(one) for one in stated]
    found = [one for one in numbers if isinstance(one, int | float) and not isinstance(one, bool)]
    return max(found, default=None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _shortest(stop: Any, full: int) -> int:
    """The length of a first look, from `min_iter` of the sweep where it has one."""
    stated = stop.get("min_iter") if isinstance(stop, Mapping) else None
    if isinstance(stated, int) and 0 < stated < full:
        return stated
    return max(1, full // 27)


def _metric(sweep: Mapping[str, Any], program: Path | None) -> Explained:
    stated = sweep.get("metric")
    about = stated if isinstance(stated, Mapping) else {}
    name = str(about.get("name") or "val_loss")
    goal = about.get("goal")
    if goal not in ("minimize", "maximize"):
        goal = "minimize"  # as W&B does
    if not about:
        return Explained(
            {"name": name, "goal": goal},
            "The sweep has no metric. Let the script print one after each epoch, such as "
            'print(f"val_loss={value}"), or call priorband.report_metric(val_loss=value).',
        )
    value: dict[str, Any] = {"name": name, "goal": goal}
    printed = _printed(program, name)
    if printed is not None:
        value |= {"pattern": printed.pattern} if printed.pattern else {}
        return Explained(value, f"metric of the sweep, printed in line {printed.line}")
    return Explained(
        value,
        f'metric of the sweep. wandb.log does not print it: add print(f"{name}={{value}}") to '
        "the script, or a call of priorband.report_metric.",
    )


def _printed(program: Path | None, name: str) -> FoundMetric | None:
    """How the script prints the metric of the sweep; None if it does not."""
    if program is None:
        return None
    metrics = printed_metrics(script_source(program, program.name).tree)
    return next((one for one in metrics if one.name == name and one.label), None)


def _command(
    sweep: Mapping[str, Any], path: Path, folder: Path, length: str | None
) -> tuple[list[str], list[str]]:
    """The words of the command, and what of them has no equivalent."""
    stated = sweep.get("command")
    if isinstance(stated, str):
        stated = stated.split()
    words, lost = list[str](), list[str]()
    for word in map(str, stated or _USUAL_COMMAND):
        made, problem = _word(word, sweep, path, folder)
        words += made
        lost += [problem] if problem else []
    if length is not None:
        words += _length_words(words, length)
    return words, lost


def _word(word: str, sweep: Mapping[str, Any], path: Path, folder: Path) -> tuple[list[str], str]:
    if word in ("${env}", "/usr/bin/env"):
        return [], ""
    if word == "${interpreter}":
        return ["{python}"], ""
    if word == "${program}":
        return [_program(sweep, path, folder)], ""
    if word in ("${args}", "${args_no_boolean_flags}"):
        return ["{args}"], ""
    if word == "${args_no_hyphens}":
        return ["{overrides}"], ""
    if word.startswith("${"):
        return [], f"`{word}` in the command has no equivalent and was dropped."
    return [word.replace("{", "{{").replace("}", "}}")], ""


def _program(sweep: Mapping[str, Any], path: Path, folder: Path) -> str:
    """The program as the command needs it; as the sweep has it if there is no such file."""
    found = _program_file(sweep, path)
    if found is None:
        return str(sweep.get("program") or "train.py")
    return Path(os.path.relpath(found, folder.resolve())).as_posix()


def _program_file(sweep: Mapping[str, Any], path: Path) -> Path | None:
    """The file of the program, whose path in the sweep is relative to where the agent starts.

    That is usually the folder of the sweep, or one above it.
    """
    program = str(sweep.get("program") or "")
    starts = [path.resolve().parent, Path.cwd(), *path.resolve().parents[1:4]]
    found = (start / program for start in starts if program.endswith(".py"))
    return next((file for file in found if file.is_file()), None)


def _length_words(words: list[str], length: str) -> list[str]:
    """The option for the training length: it has a placeholder of its own."""
    name = length.rpartition(".")[2]
    if "{overrides}" in words:
        return [f"{length}={{{name}}}"]
    return [f"--{length}", f"{{{name}}}"]


def _notes(named: Mapping[str, Any]) -> Iterator[str]:
    nested = sorted({name.partition(".")[0] for name in named if "." in name})
    if nested:
        yield (
            f"Nested parameters ({', '.join(nested)}) are passed with dots, as --a.b value. W&B "
            "passes a dict instead: check that the script reads such options."
        )


def _losses(sweep: Mapping[str, Any]) -> Iterator[str]:
    """The keys of a sweep that a study file has no equivalent for."""
    method = sweep.get("method")
    if method:
        about = _METHODS.get(str(method), "the default method is priorband")
        yield f"The method ({method}) is not taken over: {about}."
    metric = sweep.get("metric")
    if isinstance(metric, Mapping) and "target" in metric:
        yield "`target` of the metric has no equivalent: a study runs until its budget is spent."
    dropped = [key for key in sweep if key not in _KEYS]
    if dropped:
        yield f"Without equivalent in a study file: {', '.join(dropped)}."


def _to_do(sweep: Mapping[str, Any], metric: Explained, program: Path | None) -> Iterator[str]:
    assert metric.value is not None
    if "printed in line" not in metric.why:
        yield f"let the script print {metric.value['name']} (see `metric` below)."
    if program is not None and not script_options(script_source(program, "")).options:
        yield (
            f"{program.name} has no options that could be read. It must take its parameters from "
            "the command line: `wandb.config` alone does not see them."
        )
    if not sweep.get("program") and not sweep.get("command"):
        yield 'the sweep names no program: check "train.py" in `command`.'
