"""Options that a script declares with click decorators, read from its source."""

import ast
from typing import Any

from priorband.init_study.calls import CallArguments, dotted, plain
from priorband.init_study.literals import UNREAD, Names, literal
from priorband.init_study.option import (
    Kind,
    Option,
    ScriptOptions,
    kind_of_name,
    kind_of_value,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
_KINDS: dict[str, Kind] = {
    "IntRange": "integer",
    "FloatRange": "float",
    "Choice": "text",
    "Path": "path",
    "File": "path",
}


def click_options(tree: ast.Module, names: Names) -> ScriptOptions:
    """The options of all click commands in a module."""
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    in_a_group = {function.name: _subcommand(function) for function in functions}
    options = list[Option]()
    unclear = list[str]()
    for function in functions:
        for decorator in function.decorator_list:
            if not isinstance(decorator, ast.Call):
                continue
            arguments = CallArguments(decorator, names)
            if arguments.function not in ("option", "argument"):
                continue
            option = _option(arguments, in_a_group[function.name])
            if option is None or arguments.computed:
                unclear.append(f"line {decorator.lineno}: what an option takes is computed")
            if option is not None:
                options.append(option)
    return ScriptOptions("click", tuple(options), tuple(unclear))


def _subcommand(function: Function) -> str:
    """The name of the subcommand that a function is; empty for a command of its own."""
    for decorator in function.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        owner, _, last = dotted(call).rpartition(".")
        if last == "command" and owner not in ("", "click"):
            given = decorator.args[:1] if isinstance(decorator, ast.Call) else []
            name = literal(given[0]) if given else UNREAD
            return name if isinstance(name, str) else function.name.replace("_", "-")
    return ""


def _option(arguments: CallArguments, subcommand: str) -> Option | None:
    written = [text for text in arguments.positional if isinstance(text, str)]
    if not written:
        return None
    declared = [text for text in written if text.startswith("-")]
    best = sorted(declared, key=lambda flag: not flag.startswith("--"))
    first, _, negative = (best[0] if best else written[0]).partition("/")
    choices, low, high = _allowed(arguments)
    kind = _kind(arguments, negative, choices)
    default = plain(arguments.value("default", False if kind == "flag" else None))
    return Option(
        name=first.lstrip("-"),
        flags=(first, negative.strip()) if kind == "switch" else (first,) * bool(best),
        kind=kind,
        default=float(default) if kind == "float" and type(default) is int else default,
        choices=choices,
        low=low,
        high=high,
        required=arguments.value("required", not best) is True and not arguments.has("default"),
        help=" ".join(arguments.text("help").split()),
        subcommand=subcommand,
    )


def _type_call(arguments: CallArguments) -> CallArguments | None:
    node = arguments.node("type")
    return CallArguments(node, arguments.names) if isinstance(node, ast.Call) else None


def _allowed(arguments: CallArguments) -> tuple[tuple[Any, ...], float | None, float | None]:
    """The choices and bounds of `click.Choice([...])`, `click.FloatRange(0, 1)` and others."""
    call = _type_call(arguments)
    if call is None:
        listed = arguments.value("type")
        return (tuple(listed) if isinstance(listed, list) else ()), None, None
    given = call.positional
    if call.function == "Choice":
        listed = given[0] if given else call.value("choices")
        return (tuple(listed) if isinstance(listed, list | dict) else ()), None, None
    if call.function in ("IntRange", "FloatRange"):
        ends = [call.number("min"), call.number("max")]
        for place, value in enumerate(given[:2]):
            ends[place] = value if isinstance(value, int | float) else ends[place]
        return (), ends[0], ends[1]
    return (), None, None


def _kind(arguments: CallArguments, negative: str, choices: tuple[Any, ...]) -> Kind:
    if negative:
        return "switch"
    if arguments.value("is_flag") is True or arguments.value("count") is True:
        return "flag"
    if arguments.value("multiple") is True or arguments.value("nargs", 1) != 1:
        return "list"
    if choices:
        return "text"
    call = _type_call(arguments)
    if call is not None:
        return _KINDS.get(call.function) or kind_of_name(call.function) or "unknown"
    if arguments.has("type"):
        return kind_of_name(arguments.source("type")) or "unknown"
    default = arguments.value("default")
    return "text" if default is None else kind_of_value(default)
