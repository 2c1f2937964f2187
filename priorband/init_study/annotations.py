"""Options from annotated names: parameters of functions and fields of dataclasses."""

import ast
from collections.abc import Iterator
from typing import Any, final

from priorband.init_study.calls import CallArguments, dotted, plain
from priorband.init_study.literals import UNREAD, Names, literal
from priorband.init_study.option import Kind, Option, kind_of_name, kind_of_value
from priorband.values import frozen, replaced


@final
@frozen
class AnnotatedType:
    """What an annotation says: the kind of value, choices, and calls within `Annotated[...]`."""

    kind: Kind
    choices: tuple[Any, ...] = ()
    extras: tuple[ast.Call, ...] = ()


def annotated_type(node: ast.expr | None, names: Names) -> AnnotatedType:
    """What an annotation says, `Optional`, `Annotated` and `Literal` included."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return annotated_type(ast.parse(node.value, mode="eval").body, names)
        except SyntaxError:
            return AnnotatedType("unknown")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _first_of([node.left, node.right], names)
    if isinstance(node, ast.Subscript):
        return _subscript(node, names)
    if isinstance(node, ast.Name | ast.Attribute):
        return _named(node, names)
    return AnnotatedType("unknown")


def _first_of(nodes: list[ast.expr], names: Names) -> AnnotatedType:
    """The first of several types that says something."""
    found = [annotated_type(node, names) for node in nodes]
    return next((one for one in found if one.kind != "unknown"), AnnotatedType("unknown"))


def _subscript(node: ast.Subscript, names: Names) -> AnnotatedType:
    outer = dotted(node.value).rpartition(".")[2]
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if outer in ("Optional", "Union", "Final", "ClassVar", "Suppress", "Positional"):
        return _first_of(inner, names)
    if outer == "Annotated":
        told = annotated_type(inner[0], names)
        calls = tuple(part for part in inner[1:] if isinstance(part, ast.Call))
        return replaced(told, extras=calls)
    if outer == "Literal":
        values = [literal(part, names) for part in inner]
        return AnnotatedType("text", () if UNREAD in values else tuple(values))
    if outer.lower() in ("list", "tuple", "sequence", "set", "dict", "iterable"):
        return AnnotatedType("list")
    return AnnotatedType("unknown")


def _named(node: ast.Name | ast.Attribute, names: Names) -> AnnotatedType:
    members = literal(node, names)
    if isinstance(members, dict) and members:  # an enum of the same module
        values = [value for value in members.values() if isinstance(value, str | int | float)]
        if len(values) == len(members):
            return AnnotatedType("text", tuple(values))
    return AnnotatedType(kind_of_name(dotted(node)) or "unknown")


def option_of(  # noqa: PLR0913  # one for each part of a declaration
    name: str,
    flag: str | None,
    told: AnnotatedType,
    default: Any,
    required: bool,
    about: CallArguments | None,
) -> Option:
    """An option from a name, its annotation and its default; `about` says more, if anything."""
    default = plain(default)
    kind = told.kind if told.kind != "unknown" else kind_of_value(default)
    if kind == "float" and type(default) is int:
        default = float(default)
    return Option(
        name=name,
        flags=() if flag is None else (flag,),
        kind=kind,
        default=default,
        choices=told.choices,
        low=about.number("min") if about else None,
        high=about.number("max") if about else None,
        required=required,
        help=" ".join(about.text("help").split()) if about else "",
    )


def parameters_of(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """The parameters of a function with their defaults."""
    arguments = function.args
    listed = [*arguments.posonlyargs, *arguments.args]
    missing = len(listed) - len(arguments.defaults)
    yield from zip(listed, [*[None] * missing, *arguments.defaults], strict=True)
    yield from zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
