"""A study file before it is written: what goes in, and why."""

from collections.abc import Mapping
from typing import Any, final

from priorband.init_study.guesses import SpaceEntry
from priorband.toml_text import comment, toml_key, toml_list, toml_value
from priorband.values import frozen


@final
@frozen
class Explained:
    """A value with a comment about it."""

    value: Mapping[str, Any] | None
    why: str


@final
@frozen
class Draft:
    """What a study file will hold.

    Args:
        heading: what the file is.
        command: the program and its arguments, with placeholders.
        fidelity: name, min and max; None if every trial is a full training.
        metric: name, goal and perhaps a pattern.
        entries: the parameters.
        left_out: options that are not searched, with reasons.
        notes: what else the file should say, one paragraph each.
        losses: what could not be read or has no equivalent, one sentence each.
        to_do: what the user must do before it works; empty if nothing.
        method: the method, if it is not the usual one.
        budget: full trainings.
    """

    heading: str
    command: tuple[str, ...]
    fidelity: Explained
    metric: Explained
    entries: tuple[SpaceEntry, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    to_do: tuple[str, ...] = ()
    method: str | None = None
    budget: float = 12

    @property
    def searched(self) -> list[SpaceEntry]:
        """The parameters that are searched, constants not counted."""
        return [e for e in self.entries if e.searched and "constant" not in e.definition]


_LEFT_OUT = (
    "Not searched: each has its default, unless you add it to the command, with its value as the "
    'next string: "--name", "value".'
)


def study_file_text(draft: Draft) -> str:
    """The study file as TOML."""
    parts = [
        *map(comment, (draft.heading, *(f"To do: {text}" for text in draft.to_do))),
        *map(comment, (*draft.notes, *draft.losses)),
        "",
        toml_list(draft.command, "command"),
        comment("the number of full trainings that all trials together may cost"),
        f"budget = {toml_value(draft.budget)}",
        comment("trials at the same time"),
        "workers = 1",
    ]
    if draft.method is not None:
        parts.append(f"method = {toml_value(draft.method)}")
    parts += ["", *_explained("fidelity", draft.fidelity)]
    parts += ["", *_explained("metric", draft.metric), "", "[space]"]
    for made in draft.entries:
        line = f"{toml_key(made.name)} = {toml_value(made.definition)}"
        parts += [comment(made.why), line if made.searched else f"# {line}"]
    return "\n".join([*parts, *_left_out(draft)]) + "\n"


def _explained(key: str, what: Explained) -> list[str]:
    lines = [comment(what.why)]
    return lines if what.value is None else [*lines, f"{key} = {toml_value(what.value)}"]


def _left_out(draft: Draft) -> list[str]:
    """The options that are not searched, by reason."""
    if not draft.left_out:
        return []
    reasons: dict[str, list[str]] = {}
    for shown, reason in draft.left_out:
        reasons.setdefault(reason, []).append(shown)
    lines = ["", comment(_LEFT_OUT)]
    return lines + [
        comment(f"{', '.join(shown)}: {reason}", indent="  ") for reason, shown in reasons.items()
    ]
