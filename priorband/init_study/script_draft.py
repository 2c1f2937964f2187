"""The draft of a study file for a training script."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any, final

from priorband.init_study.draft import Draft, Explained
from priorband.init_study.guesses import entry
from priorband.init_study.option import Option, ScriptOptions
from priorband.init_study.printed_metrics import FoundMetric, printed_metrics
from priorband.init_study.roles import OptionRole, best_length, role_of
from priorband.values import frozen

_SHORTEST_SHARE = 27
_LENGTH_WITHOUT_DEFAULT = 27
_LEAST_LENGTH = 9
_CHECKPOINT_NAME = re.compile(
    r"[\"'/]([\w.-]+\.(?:pt|pth|ckpt|tar|pth\.tar|pkl|bin|npz|h5|safetensors|joblib))[\"']"
)


@final
@frozen
class ScriptSource:
    """A script that is to be tuned: how its path is written in the command, and its source."""

    path: Path
    word: str
    tree: ast.Module
    text: str


def script_draft(script: ScriptSource, found: ScriptOptions, fixed: tuple[str, ...] = ()) -> Draft:
    """What a study file for this script should hold.

    Args:
        script: the script.
        found: its options.
        fixed: words that every trial passes to the script as they are, such as ("--samples", "99").
    """
    subcommand = _subcommand(found.options)
    options = [option for option in found.options if option.subcommand in ("", subcommand)]
    length = best_length([option for option in options if not _is_set(option, fixed)])
    overrides = found.style == "overrides"
    roles = [
        OptionRole(option, "set")
        if _is_set(option, fixed)
        else _final_role(role_of(option), length, overrides)
        for option in options
    ]
    roles = _without_unclear_resume(script, roles)
    entries = [entry(role.option) for role in roles if role.role == "parameter"]
    searched = {made.name for made in entries if made.searched}
    command = _CommandWords(script, roles, overrides, frozenset(searched), subcommand)
    metrics = printed_metrics(script.tree)
    return Draft(
        heading=f"A study of {PurePath(script.word).name}, whose options were read from "
        f"{found.read_from}. Every range is a guess: check it first.",
        command=(*command.words(), *map(_literal, fixed)),
        fidelity=_fidelity(length),
        metric=_metric(metrics),
        entries=tuple(sorted(entries, key=lambda made: not made.searched)),
        left_out=tuple(_left_out(roles)),
        notes=tuple(_notes(roles, length)),
        losses=tuple(f"Not read: {text}." for text in found.unclear),
        to_do=tuple(_to_do(roles, metrics)),
    )


def _is_set(option: Option, fixed: tuple[str, ...]) -> bool:
    """Whether an option is among the words that every trial passes to the script."""
    for word in fixed:
        name, equals, _ = word.partition("=")
        if name in option.flags or (equals and name == option.name):
            return True
    return False


def _literal(word: str) -> str:
    """A word of a command whose braces are no placeholders."""
    return word.replace("{", "{{").replace("}", "}}")


def _subcommand(options: Iterable[Option]) -> str:
    """The subcommand that trains: one of that name, or the one with most options."""
    names = [option.subcommand for option in options if option.subcommand]
    named = [name for name in names if re.search(r"train|fit|learn|run", name)]
    ranked = sorted({*(named or names)}, key=lambda name: (-names.count(name), name))
    return ranked[0] if ranked else ""


def _final_role(role: OptionRole, length: Option | None, overrides: bool) -> OptionRole:
    """The role, given which option says how long to train."""
    if role.role == "length" and role.option is not length:
        assert length is not None
        why = f"{length.shown} says how long to train"
        return OptionRole(role.option, "left out", why)
    needs_words = not overrides and not _is_plain(role.option)
    if role.role == "parameter" and needs_words and not entry(role.option).searched:
        return OptionRole(role.option, "left out", "its name is not known as a hyperparameter")
    return role


def _without_unclear_resume(script: ScriptSource, roles: list[OptionRole]) -> list[OptionRole]:
    """The roles, without resuming where it is not clear from what."""
    saves = any(role.role == "save" for role in roles)
    return [_resume_role(script, roles, role, saves) for role in roles]


def _resume_role(
    script: ScriptSource, roles: list[OptionRole], role: OptionRole, saves: bool
) -> OptionRole:
    option = role.option
    if role.role != "resume":
        return role
    if not saves:
        why = "no option says where checkpoints are saved, so there is nothing to resume from"
        return OptionRole(option, "left out", why)
    if _reads_a_file(script, option) and not _resumed_file(script, roles, option):
        flag = option.shown
        why = (
            "it takes a file, and which one is not clear; if the script saves last.pt, write "
            f'"{flag}", "{{resume_from?}}/last.pt" in the command'
        )
        return OptionRole(option, "left out", why)
    return role


def _reads_a_file(script: ScriptSource, option: Option) -> bool:
    """Whether the script passes the value of an option to something that takes a file."""
    name = re.escape(option.name.replace("-", "_"))
    readers = r"isfile|torch\.load|open|joblib\.load|np\.load|load_state_dict|pickle\.load"
    return re.search(rf"({readers})\(\s*(\w+\.)*{name}\b", script.text) is not None


def _is_plain(option: Option) -> bool:
    """Whether `--name value`, as `{args}` writes it, sets an option."""
    takes_a_value = option.kind not in ("switch", "flag")
    return takes_a_value and option.flags[:1] == (f"--{option.name}",)


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


@final
@frozen
class _CommandWords:
    """The command of a script, made from the roles of its options."""

    script: ScriptSource
    roles: list[OptionRole]
    overrides: bool
    searched: frozenset[str]
    subcommand: str

    def words(self) -> Iterable[str]:
        """The program and its arguments; options of all subcommands come before the one."""
        yield from ("{python}", self.script.word)
        if self.subcommand:
            yield from self._of([role for role in self.roles if not role.option.subcommand])
            yield self.subcommand
        inner = [role for role in self.roles if role.option.subcommand == self.subcommand]
        if self.overrides or any(self._is_in_args(role) for role in self.roles):
            yield "{overrides}" if self.overrides else "{args}"
        yield from self._of(inner)

    def _of(self, roles: list[OptionRole]) -> Iterable[str]:
        """The words of some options; flags first, where no option in front awaits a value."""
        for role in sorted(roles, key=lambda role: role.option.kind != "flag"):
            yield from self._one(role)

    def _is_in_args(self, role: OptionRole) -> bool:
        option = role.option
        here = option.subcommand == self.subcommand and option.name in self.searched
        return here and (self.overrides or _is_plain(option))

    def _one(self, role: OptionRole) -> list[str]:
        option = role.option
        if role.role == "parameter":
            return [] if self._is_in_args(role) else self._parameter(option)
        value = {
            "length": f"{{{_length_name(option)}}}",
            "seed": "{seed}",
            "save": f"{{checkpoint_dir}}{_saved_file(option)}",
            "resume": f"{{resume_from?}}{_resumed_file(self.script, self.roles, option)}",
        }.get(role.role)
        if value is None and option.required:
            value = _required_word(option)
        return [] if value is None else self._pair(option, value)

    def _parameter(self, option: Option) -> list[str]:
        if option.name not in self.searched:
            return []
        if option.kind in ("switch", "flag"):
            return [f"{{{option.name}{'?' * (option.kind == 'flag')}}}"]
        return self._pair(option, f"{{{option.name}}}")

    def _pair(self, option: Option, value: str) -> list[str]:
        if self.overrides:
            return [f"{option.name}={value}"]
        return [option.flags[0], value] if option.flags else [value]


def _length_name(option: Option) -> str:
    return _identifier(option.name.rpartition(".")[2])


def _saved_file(option: Option) -> str:
    """A file within the trial's folder, if the default of an option is a file."""
    default = option.default if isinstance(option.default, str) else ""
    name = PurePath(default).name
    is_file = re.search(r"\.[a-z][a-z0-9]{0,5}$", name) is not None
    return f"/{name}" if is_file and "{" not in name else ""


def _resumed_file(script: ScriptSource, roles: list[OptionRole], option: Option) -> str:
    """The file within the folder of a checkpoint that a script reads; empty for a folder."""
    if not _reads_a_file(script, option):
        return ""
    saved = {_saved_file(role.option) for role in roles if role.role == "save"} - {""}
    written = {f"/{name}" for name in _CHECKPOINT_NAME.findall(script.text)}
    names = saved or written
    return next(iter(names)) if len(names) == 1 else ""


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


def _metric(metrics: list[FoundMetric]) -> Explained:
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


def _notes(roles: list[OptionRole], length: Option | None) -> Iterable[str]:
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
    elif length is not None:
        yield (
            "The script has no option for a folder to save to and to resume from, so a longer "
            "training of a configuration starts over."
        )


def _to_do(roles: list[OptionRole], metrics: list[FoundMetric]) -> Iterable[str]:
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
