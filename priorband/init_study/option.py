"""Options of a training script, as far as its source tells."""

from typing import Any, Literal, final

from priorband.values import frozen

Kind = Literal["float", "integer", "text", "path", "yes-no", "flag", "switch", "list", "unknown"]
"""What an option takes. A flag takes nothing, a switch is `--x` or `--no-x`."""

Style = Literal["flags", "overrides"]
"""How values are passed: as `--name value`, or as `name=value` (Hydra)."""


@final
@frozen
class Option:
    """One option of a script.

    Args:
        name: its name without hyphens in front, such as `learning-rate`.
        flags: how it is written on the command line, the best one first; none if positional.
        kind: what it takes.
        default: its default; None if it has none, or if the source does not show it.
        choices: the values that it allows; none if it allows others.
        low: the lowest value that it allows, if it says so.
        high: the highest.
        required: whether the script does not start without it.
        help: what the script says about it.
        subcommand: the subcommand that it belongs to; empty for all.
    """

    name: str
    flags: tuple[str, ...] = ()
    kind: Kind = "unknown"
    default: Any = None
    choices: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    required: bool = False
    help: str = ""
    subcommand: str = ""

    @property
    def shown(self) -> str:
        """The option as its users know it."""
        return self.flags[0] if self.flags else self.name


@final
@frozen
class ScriptOptions:
    """What a script takes.

    Args:
        read_from: where the options were found, such as "argparse".
        options: in the order of the source.
        unclear: what could not be read, one sentence each.
        style: how values are passed.
    """

    read_from: str
    options: tuple[Option, ...] = ()
    unclear: tuple[str, ...] = ()
    style: Style = "flags"


def kind_of_value(value: object) -> Kind:
    """The kind of an option with this default."""
    if isinstance(value, bool):
        return "yes-no"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, list | tuple) else "unknown"


def kind_of_name(type_name: str) -> Kind | None:
    """The kind that the name of a type or of a converting function tells; None if none.

    >>> kind_of_name("int"), kind_of_name("str2bool"), kind_of_name("positive_float")
    ('integer', 'yes-no', 'float')
    """
    name = type_name.rpartition(".")[2].lower()
    if "bool" in name:
        return "yes-no"
    if "path" in name or "file" in name or "dir" in name:
        return "path"
    if "float" in name:
        return "float"
    if "int" in name:
        return "integer"
    return "text" if name in ("str", "string", "text", "unicode") else None
