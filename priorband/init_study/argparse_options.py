"""Options that a script declares with argparse, read from its source."""

import ast
from collections.abc import Iterator
from typing import Any, final

from priorband.init_study.calls import CallArguments, as_number, dotted, plain
from priorband.init_study.literals import Names
from priorband.init_study.option import (
    Kind,
    Option,
    ScriptOptions,
    kind_of_name,
    kind_of_value,
)
from priorband.values import frozen

_FLAG_ACTIONS = ("store_true", "store_false", "store_const", "count", "append_const")
_MENU_ACTIONS = ("help", "version")


@final
@frozen
class AddArgument:
    """A call of `add_argument`, with the function around it."""

    call: ast.Call
    scope: str

    @property
    def receiver(self) -> tuple[str, str]:
        """The parser or group that is called, as a name within its function."""
        func = self.call.func
        return self.scope, dotted(func.value) if isinstance(func, ast.Attribute) else ""


def argparse_options(tree: ast.Module, names: Names) -> ScriptOptions:
    """The options of all `add_argument` calls in a module."""
    subcommands = _subcommands(tree, names)
    options: dict[tuple[str, str], Option] = {}
    unclear = list[str]()
    for found in _calls(tree, "add_argument"):
        arguments = CallArguments(found.call, names)
        option = _option(arguments, subcommands.get(found.receiver, ""))
        if option is None and arguments.value("action") not in _MENU_ACTIONS:
            unclear.append(
                f"line {found.call.lineno}: the name of an option is computed: {_short(found.call)}"
            )
        elif option is not None:
            options.setdefault((option.subcommand, option.name), option)
            if arguments.computed:
                unclear.append(f"line {found.call.lineno}: what `{option.shown}` takes is computed")
    unclear += _added_elsewhere(tree)
    return ScriptOptions("argparse", tuple(options.values()), tuple(unclear))


def _calls(tree: ast.AST, name: str, scope: str = "") -> Iterator[AddArgument]:
    """The calls of a method of this name, in the order of the source."""
    for child in ast.iter_child_nodes(tree):
        inner = scope
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{scope}.{child.name}"
        if isinstance(child, ast.Call):
            func = child.func
            if isinstance(func, ast.Attribute) and func.attr == name:
                yield AddArgument(child, inner)
        yield from _calls(child, name, inner)


def _subcommands(tree: ast.AST, names: Names) -> dict[tuple[str, str], str]:
    """Which names stand for the parser, or a group of the parser, of which subcommand."""
    found: dict[tuple[str, str], str] = {}
    for assigned, call, scope in _assigned_calls(tree):
        arguments = CallArguments(call, names)
        if arguments.function == "add_parser":
            first = arguments.positional[:1]
            if first and isinstance(first[0], str):
                found[scope, assigned] = first[0]
        elif arguments.function in ("add_argument_group", "add_mutually_exclusive_group"):
            receiver = dotted(call.func).rpartition(".")[0]
            if (scope, receiver) in found:
                found[scope, assigned] = found[scope, receiver]
    return found


def _assigned_calls(tree: ast.AST, scope: str = "") -> Iterator[tuple[str, ast.Call, str]]:
    for child in ast.iter_child_nodes(tree):
        inner = scope
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{scope}.{child.name}"
        if isinstance(child, ast.Assign) and isinstance(child.value, ast.Call):
            for target in child.targets:
                yield dotted(target), child.value, inner
        yield from _assigned_calls(child, inner)


def _added_elsewhere(tree: ast.AST) -> Iterator[str]:
    """Options that functions of other modules add to a parser."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func)
        last = name.rpartition(".")[2]
        passed = [dotted(argument) for argument in node.args]
        if last.startswith("add_") and last.endswith("_args") and "parser" in " ".join(passed):
            yield f"line {node.lineno}: `{name}` adds options of its own"
        if last == "ArgumentParser" and any(keyword.arg == "parents" for keyword in node.keywords):
            yield f"line {node.lineno}: the parser takes over the options of others (`parents=`)"


def _option(arguments: CallArguments, subcommand: str) -> Option | None:
    flags = [flag for flag in arguments.positional if isinstance(flag, str)]
    if not flags or arguments.value("action") in _MENU_ACTIONS:
        return None
    options = [flag for flag in flags if flag.startswith("-")]
    best = sorted(options, key=lambda flag: not flag.startswith("--"))
    low, high, choices = _allowed(arguments)
    kind = _kind(arguments, choices)
    default = arguments.value("default")
    name = (best[0] if best else flags[0]).lstrip("-")
    return Option(
        name=name,
        flags=(best[0], _negative(best[0])) if kind == "switch" and best else tuple(best),
        kind=kind,
        default=_typed(plain(default), kind) if kind != "flag" else _flag_default(arguments),
        choices=choices,
        low=low,
        high=high,
        required=_required(arguments, positional=not options),
        help=" ".join(arguments.text("help").split()),
        subcommand=subcommand,
    )


def _flag_default(arguments: CallArguments) -> bool | None:
    """False for a flag that is off by default; None for other kinds of flags."""
    on = arguments.value("action") == "store_true" and arguments.value("default", False) is False
    return False if on else None


def _negative(flag: str) -> str:
    return f"--no-{flag.lstrip('-')}"


def _required(arguments: CallArguments, *, positional: bool) -> bool:
    if positional:
        return arguments.value("nargs") not in ("?", "*")
    return arguments.value("required") is True


def _allowed(arguments: CallArguments) -> tuple[float | None, float | None, tuple[Any, ...]]:
    """The bounds and the choices that `choices=` gives: long ranges of numbers are bounds."""
    choices = arguments.value("choices")
    items = list(choices) if isinstance(choices, list | dict) else []
    source = arguments.node("choices")
    if isinstance(source, ast.Call) and dotted(source.func) == "range" and len(items) > 2:
        return items[0], items[-1], ()
    return None, None, tuple(items)


def _kind(arguments: CallArguments, choices: tuple[Any, ...]) -> Kind:
    action = arguments.value("action", arguments.source("action"))
    if isinstance(action, str) and action.endswith("BooleanOptionalAction"):
        return "switch"
    if action in _FLAG_ACTIONS:
        return "flag"
    nargs = arguments.value("nargs")
    if action in ("append", "extend") or nargs in ("+", "*", "...") or as_number(nargs) is not None:
        return "list"
    if arguments.has("type"):
        return _kind_of_type(arguments)
    if choices:
        return "text"
    default = arguments.value("default")
    return "text" if default is None or isinstance(default, str) else "unknown"


def _kind_of_type(arguments: CallArguments) -> Kind:
    """The kind that `type=` gives; `type=bool` takes any text for true."""
    source = arguments.source("type")
    if source == "bool":
        return "unknown"
    node = arguments.node("type")
    if isinstance(node, ast.Lambda):
        body = node.body
        source = dotted(body.func) if isinstance(body, ast.Call) else ""
        source = "bool" if "true" in ast.unparse(body).lower() else source
    elif isinstance(node, ast.Call):
        source = dotted(node.func)
    told = kind_of_name(source)
    return told or kind_of_value(arguments.value("default"))


def _typed(default: Any, kind: Kind) -> Any:
    """The default as the type makes it: argparse converts defaults that are text."""
    if kind == "float" and as_number(default) is not None:
        return float(default)
    if isinstance(default, str) and kind in ("float", "integer"):
        try:
            return float(default) if kind == "float" else int(default)
        except ValueError:
            return None
    return default


def _short(call: ast.Call) -> str:
    text = ast.unparse(call)
    return text if len(text) <= 60 else f"{text[:57]}..."


def uses_argparse(tree: ast.Module) -> bool:
    """Whether a module calls `add_argument`, or has a parser parse."""
    methods = ("add_argument", "parse_args", "parse_known_args")
    return any(isinstance(node, ast.Attribute) and node.attr in methods for node in ast.walk(tree))
