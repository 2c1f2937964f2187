"""The draft of a study file for a training script."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any, final

from priorband.init_study.draft import Draft, Explained
from priorband.init_study.guesses import entry
from priorband.init_study.option import Option, ScriptOptions
from priorband.init_study.printed_metrics import PrintedMetric, printed_metrics
from priorband.init_study.roles import OptionRole, best_length, role_of
from priorband.values import frozen, replaced

_SHORTEST_SHARE = 27
_LENGTH_WITHOUT_DEFAULT = 27
_LEAST_LENGTH = 9


@final
@frozen
class ScriptSource:
    """A script that is to be tuned: how its path is written in the command, and its source."""

    path: Path
    word: str
    tree: ast.Module
    text: str


def script_draft(script: ScriptSource, found: ScriptOptions) -> Draft:
    """What a study file for this script should hold."""
    subcommand = _subcommand(found.options)
    options = [option for option in found.options if option.subcommand in ("", subcommand)]
    length = best_length(options)
    roles = [_final_role(role_of(option), length, script) for option in options]
    entries = [entry(role.option) for role in roles if role.role == "parameter"]
    chosen = {made.name for made in entries if made.searched}
    as_arguments = found.style == "overrides" or all(
        _is_plain(role) for role in roles if role.option.name in chosen
    )
    if not as_arguments:
        entries = [replaced(made, name=_identifier(made.name)) for made in entries]
    searched = {made.name for made in entries if made.searched}
    command = _Command(script, roles, found.style == "overrides", as_arguments)
    metrics = printed_metrics(script.tree)
    return Draft(
        made_from=PurePath(script.word).name,
        command=tuple(command.words(subcommand, searched)),
        fidelity=_fidelity(length),
        metric=_metric(metrics),
        entries=tuple(sorted(entries, key=lambda made: not made.searched)),
        left_out=tuple(_left_out(roles)),
        notes=tuple(_notes(found, roles)),
        to_do=tuple(_to_do(roles, metrics)),
    )


def _subcommand(options: Iterable[Option]) -> str:
    """The subcommand that trains: one of that name, or the one with most options."""
    names = [option.subcommand for option in options if option.subcommand]
    named = [name for name in names if re.search(r"train|fit|learn|run", name)]
    ranked = sorted({*(named or names)}, key=lambda name: (-names.count(name), name))
    return ranked[0] if ranked else ""


def _final_role(role: OptionRole, length: Option | None, script: ScriptSource) -> OptionRole:
    """The role, given what the other options and the source are."""
    if role.role == "length" and role.option is not length:
        assert length is not None
        why = f"{length.shown} says how long to train"
        return OptionRole(role.option, "left out", why)
    if role.role == "resume" and _reads_a_file(script, role.option):
        why = (
            "the script reads a file, and `{resume_from?}` is a folder: see "
            "docs/init.md on checkpoints"
        )
        return OptionRole(role.option, "left out", why)
    return role


def _reads_a_file(script: ScriptSource, option: Option) -> bool:
    """Whether the script passes the value of an option to something that takes a file."""
    name = re.escape(option.name.replace("-", "_"))
    readers = r"isfile|torch\.load|open|joblib\.load|np\.load|load_state_dict|pickle\.load"
    return re.search(rf"({readers})\(\s*(\w+\.)*{name}\b", script.text) is not None


def _is_plain(role: OptionRole) -> bool:
    """Whether `--name value`, as `{args}` writes it, sets a parameter."""
    if role.role != "parameter":
        return True
    flags = role.option.flags
    return bool(flags) and flags[0].startswith("--") and role.option.kind != "switch"


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


@final
@frozen
class _Command:
    """The command of a script, made from the roles of its options."""

    script: ScriptSource
    roles: list[OptionRole]
    overrides: bool
    as_arguments: bool

    def words(self, subcommand: str, searched: set[str]) -> Iterable[str]:
        """The program and its arguments."""
        yield from ("python", self.script.word)
        general = [role for role in self.roles if not role.option.subcommand]
        special = [role for role in self.roles if role.option.subcommand]
        if subcommand:
            for role in general:
                yield from self._one(role, searched)
            yield subcommand
        if self.overrides:
            yield "{overrides}"
        elif self.as_arguments and searched:
            yield "{args}"
        for role in special if subcommand else general:
            yield from self._one(role, searched)

    def _one(self, role: OptionRole, searched: set[str]) -> list[str]:
        option = role.option
        if role.role == "parameter":
            name = _identifier(option.name)
            if self.as_arguments or name not in searched:
                return []
            if option.kind == "switch":
                return [f"{{{name}}}"]
            return self._pair(option, f"{{{name}}}")
        value = {
            "length": f"{{{_length_name(option)}}}",
            "seed": "{seed}",
            "save": _save_place(option),
            "resume": "{resume_from?}",
        }.get(role.role)
        if value is None:
            value = _required_word(option) if option.required else None
        return [] if value is None else self._pair(option, value)

    def _pair(self, option: Option, value: str) -> list[str]:
        if self.overrides:
            return [f"{option.name}={value}"]
        return [option.flags[0], value] if option.flags else [value]


def _length_name(option: Option) -> str:
    return _identifier(option.name.rpartition(".")[2])


def _save_place(option: Option) -> str:
    """The trial's folder; a file in it if the default is a file."""
    default = option.default if isinstance(option.default, str) else ""
    name = PurePath(default).name
    is_file = re.search(r"\.[a-z][a-z0-9]{0,5}$", name) is not None
    return f"{{checkpoint_dir}}/{name}" if is_file and "{" not in name else "{checkpoint_dir}"


def _required_word(option: Option) -> str:
    if option.choices:
        return str(option.choices[0])
    return _identifier(option.name).upper()


def _fidelity(length: Option | None) -> Explained:
    if length is None:
        return Explained(
            None,
            "The script has no option such as --epochs, so every trial is a full training. With "
            "one, most configurations are tried for a short time only, which saves most of the "
            'cost: add the option to the script, "--epochs", "{epochs}" to the command, and '
            'fidelity = { name = "epochs", min = 1, max = 27 } here.',
        )
    default = length.default
    shown = length.shown
    known = isinstance(default, int | float) and not isinstance(default, bool) and default > 0
    if not known:
        full: float = _LENGTH_WITHOUT_DEFAULT
        why = f"{shown} has no default: set max to the length of a full training"
    elif default < 3:
        full = _LEAST_LENGTH
        why = (
            f"the default of {shown} is {default:g}, too short to cut: max is a guess, set it to "
            "the length of a full training"
        )
    else:
        full = int(default) if float(default).is_integer() else default
        why = f"default of {shown}; a first look at a configuration takes a part of it"
    low = max(1, int(full) // _SHORTEST_SHARE)
    return Explained({"name": _length_name(length), "min": low, "max": full}, why)


def _metric(metrics: list[PrintedMetric]) -> Explained:
    if not metrics:
        return Explained(
            {"name": "val_loss", "goal": "minimize"},
            "No metric was found in the script. It must report one: after each epoch, let it "
            'print(f"val_loss={value}"), or call priorband.report_metric(val_loss=value).',
        )
    best = metrics[0]
    value: dict[str, Any] = {"name": best.name, "goal": best.goal}
    if not best.label:
        return Explained(
            value,
            f"line {best.line} gives {best.name} to `{best.function}`, which does not print it. "
            f'Add print(f"{best.name}={{...}}") there, or '
            f"priorband.report_metric({_identifier(best.name)}=...).",
        )
    if best.pattern is not None:
        value["pattern"] = best.pattern
    others = [metric.name for metric in metrics[1:] if metric.label][:6]
    also = f"; it also prints {', '.join(others)}" if others else ""
    return Explained(value, f"printed in line {best.line}; the last value counts{also}")


def _left_out(roles: list[OptionRole]) -> Iterable[tuple[str, str]]:
    for role in roles:
        if role.role == "left out":
            yield role.option.shown, role.reason


def _notes(found: ScriptOptions, roles: list[OptionRole]) -> Iterable[str]:
    yield f"Its options were read from {found.read_from}."
    saves = [role.option.shown for role in roles if role.role == "save"]
    resumes = [role.option.shown for role in roles if role.role == "resume"]
    if resumes:
        yield (
            f"{', '.join(resumes)} gets the checkpoint folder of an earlier, shorter training of "
            "the same configuration; it is dropped, with its option, where there is none."
        )
    elif saves:
        yield (
            f"{', '.join(saves)} gets a folder of the trial's own. The script has no option to "
            "resume from such a folder, so a longer training of a configuration starts over."
        )
    for text in found.unclear:
        yield f"Not read: {text}."


def _to_do(roles: list[OptionRole], metrics: list[PrintedMetric]) -> Iterable[str]:
    for role in roles:
        option = role.option
        if role.role == "left out" and option.required:
            yield (
                f'the script requires {option.shown}: replace "{_required_word(option)}" in '
                "`command` by what it should get."
            )
    if not metrics:
        yield "let the script report a metric (see `metric` below)."
    elif not metrics[0].label:
        yield f"let the script print {metrics[0].name} (see `metric` below)."
