"""Options that are the parameters of a function: typer, fire, tyro, jsonargparse."""

import ast
from collections.abc import Iterator

from priorband.init_study.annotations import annotated_type, option_of, parameters_of
from priorband.init_study.calls import CallArguments, dotted
from priorband.init_study.literals import UNREAD, Names, literal
from priorband.init_study.option import Option, ScriptOptions
from priorband.values import replaced

Function = ast.FunctionDef | ast.AsyncFunctionDef
_STARTERS = {
    "typer.run": "typer",
    "fire.Fire": "fire",
    "Fire": "fire",
    "tyro.cli": "tyro",
    "jsonargparse.CLI": "jsonargparse",
    "jsonargparse.auto_cli": "jsonargparse",
    "defopt.run": "defopt",
}
_WITH_HYPHENS = ("typer", "tyro", "defopt")
_ALL_OPTIONS = ("fire", "tyro", "jsonargparse")


def function_options(tree: ast.Module, names: Names) -> ScriptOptions | None:
    """The options of the functions that a library makes commands of; None if there is none."""
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, Function)}
    options = list[Option]()
    library = ""
    for name, found in _commands(tree, functions):
        library = found
        options += _options(functions[name], library, names)
    commands = [option.subcommand for option in options]
    if len({*commands}) == 1:  # typer makes a single command the whole program
        options = [replaced(option, subcommand="") for option in options]
    return ScriptOptions(library, tuple(options)) if library else None


def _commands(tree: ast.Module, functions: dict[str, Function]) -> Iterator[tuple[str, str]]:
    """The functions that are commands, each with the library that makes them so."""
    uses_typer = any(
        isinstance(node, ast.Call) and dotted(node.func) in ("typer.Typer", "Typer")
        for node in ast.walk(tree)
    )
    for name, function in functions.items():
        for decorator in function.decorator_list:
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            if uses_typer and dotted(call).endswith(".command"):
                yield name, "typer"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func) in _STARTERS:
            started = dotted(node.args[0]) if node.args else ""
            if started in functions:
                yield started, _STARTERS[dotted(node.func)]


def _options(function: Function, library: str, names: Names) -> Iterator[Option]:
    for parameter, default in parameters_of(function):
        told = annotated_type(parameter.annotation, names)
        about, default = _about(told.extras, default, names)
        value = literal(default, names)
        is_argument = about is not None and about.function == "Argument"
        positional = library not in _ALL_OPTIONS and default is None and about is None
        hyphens = library in _WITH_HYPHENS
        name = parameter.arg.replace("_", "-") if hyphens else parameter.arg
        flag = None if is_argument or positional else _flag(about) or f"--{name}"
        required = default is None or value is Ellipsis
        option = option_of(name, flag, told, None if value == UNREAD else value, required, about)
        if flag is not None:
            option = replaced(option, name=flag.lstrip("-"))
        yield _as_switch(option, library, function.name)


def _about(
    extras: tuple[ast.Call, ...], default: ast.expr | None, names: Names
) -> tuple[CallArguments | None, ast.expr | None]:
    """The call of `typer.Option(...)`, and the default, which may be its first argument."""
    for call in extras:
        if dotted(call.func).rpartition(".")[2] in ("Option", "Argument", "arg"):
            return CallArguments(call, names), default
    if isinstance(default, ast.Call):
        about = CallArguments(default, names)
        if about.function in ("Option", "Argument"):
            first = default.args[0] if default.args else about.node("default")
            return about, first
    return None, default


def _flag(about: CallArguments | None) -> str | None:
    """The long option that `typer.Option(0.1, "--lr")` names."""
    written = [text for text in about.positional if isinstance(text, str)] if about else []
    return next((text.partition("/")[0] for text in written if text.startswith("--")), None)


def _as_switch(option: Option, library: str, function: str) -> Option:
    """A boolean is a pair of options, `--x` and `--no-x`, where the library makes it one."""
    if library == "typer":
        option = replaced(option, subcommand=function.replace("_", "-"))
    if option.kind == "yes-no" and library in _WITH_HYPHENS and option.flags:
        name = option.flags[0].lstrip("-")
        return replaced(option, kind="switch", flags=(f"--{name}", f"--no-{name}"))
    return option
