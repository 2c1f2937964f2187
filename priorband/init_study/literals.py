"""Values that can be read from source code without running it."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, final

from priorband.values import frozen


@final
@frozen
class UnreadValue:
    """Stands for a value that only running the code would tell."""


UNREAD: Final = UnreadValue()
_LONGEST_POWER = 64
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.Pow: operator.pow,
}
_OF_A_COLLECTION = ("list", "tuple", "sorted", "set")

Names = Mapping[str, ast.expr]
"""What is assigned to names at the level of a module or a class."""


def assigned_names(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """The names of a module or a class that are assigned once, with what is assigned."""
    found: dict[str, ast.expr] = {}
    again = set[str]()
    for statement in body:
        for name, value in _assignments(statement):
            if name in found:
                again.add(name)
            found[name] = value
    return {name: value for name, value in found.items() if name not in again}


def _assignments(statement: ast.stmt) -> list[tuple[str, ast.expr]]:
    if isinstance(statement, ast.Assign):
        names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        return [(name, statement.value) for name in names]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [(statement.target.id, statement.value)] if statement.value else []
    if isinstance(statement, ast.ClassDef):
        return [(statement.name, _members(statement))]
    return []


def _members(class_definition: ast.ClassDef) -> ast.Dict:
    """The members of a class as a dict, so that those of an enum can be read."""
    pairs = [pair for statement in class_definition.body for pair in _assignments(statement)]
    members = ast.Dict(keys=[ast.Constant(name) for name, _ in pairs], values=[v for _, v in pairs])
    return ast.copy_location(members, class_definition)


def literal(node: ast.expr | None, names: Names | None = None, depth: int = 12) -> Any:
    """The value of an expression; `UNREAD` if it cannot be told without running code.

    >>> literal(ast.parse("[2 ** 10, -1e-3, 'a']", mode="eval").body)
    [1024, -0.001, 'a']
    """
    known = names or {}
    if node is None or depth == 0:
        return UNREAD
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return literal(known.get(node.id), known, depth - 1)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        items = [literal(item, known, depth - 1) for item in node.elts]
        return UNREAD if UNREAD in items else items
    if isinstance(node, ast.Dict):
        return _dict(node, known, depth)
    return _computed(node, known, depth)


def _computed(node: ast.expr, names: Names, depth: int) -> Any:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal(node.operand, names, depth - 1)
        return -value if isinstance(value, int | float) else UNREAD
    if isinstance(node, ast.BinOp):
        return _arithmetic(node, names, depth)
    if isinstance(node, ast.Call):
        return _call(node, names, depth)
    if isinstance(node, ast.Attribute | ast.Subscript):
        return _member(node, names, depth)
    return UNREAD


def _dict(node: ast.Dict, names: Names, depth: int) -> Any:
    """A dict; what its values are matters less than its keys, so unread ones stay."""
    keys = [literal(key, names, depth - 1) for key in node.keys]
    if not all(isinstance(key, str | int | float) for key in keys):
        return UNREAD
    values = [literal(value, names, depth - 1) for value in node.values]
    return dict(zip(keys, values, strict=True))


def _arithmetic(node: ast.BinOp, names: Names, depth: int) -> Any:
    left, right = (literal(side, names, depth - 1) for side in (node.left, node.right))
    act = _OPERATORS.get(type(node.op))
    numbers = all(isinstance(side, int | float) for side in (left, right))
    joined = (
        isinstance(node.op, ast.Add) and type(left) is type(right) and type(left) in (str, list)
    )
    if act is None or not (numbers or joined):
        return UNREAD
    if isinstance(node.op, ast.Pow | ast.LShift) and abs(right) > _LONGEST_POWER:
        return UNREAD
    try:
        return act(left, right)
    except (ArithmeticError, TypeError, ValueError):
        return UNREAD


def _call(node: ast.Call, names: Names, depth: int) -> Any:
    """`list(X)`, `sorted(X)`, `X.keys()`, `X.split()`, `range(1, 5)`, `float("1e-3")`."""
    name = ast.unparse(node.func)
    arguments = [literal(argument, names, depth - 1) for argument in node.args]
    if isinstance(node.func, ast.Attribute) and not arguments and node.func.attr in _METHODS:
        of = literal(node.func.value, names, depth - 1)
        return _METHODS[node.func.attr](of)
    if name in _OF_A_COLLECTION and len(arguments) == 1:
        return _items(arguments[0], in_order=name == "sorted")
    if name == "range" and 1 <= len(arguments) <= 2 and all(type(n) is int for n in arguments):
        return list(range(*arguments)) if abs(arguments[-1]) < 10_000 else UNREAD
    if name in ("int", "float", "str") and len(arguments) == 1:
        return _converted(name, arguments[0])
    return UNREAD


def _keys(of: Any) -> Any:
    return list(of) if isinstance(of, dict) else UNREAD


def _words(of: Any) -> Any:
    return of.split() if isinstance(of, str) else UNREAD


_METHODS: dict[str, Callable[[Any], Any]] = {"keys": _keys, "split": _words}


def _items(of: Any, *, in_order: bool) -> Any:
    if not isinstance(of, list | dict):
        return UNREAD
    try:
        return sorted(of) if in_order else list(of)
    except TypeError:
        return UNREAD


def _converted(name: str, value: Any) -> Any:
    if not isinstance(value, str | int | float):
        return UNREAD
    try:
        return {"int": int, "float": float, "str": str}[name](value)
    except (ValueError, OverflowError):
        return UNREAD


def _member(node: ast.Attribute | ast.Subscript, names: Names, depth: int) -> Any:
    """`Optimizer.ADAM`, `Optimizer.ADAM.value` or `DEFAULTS["lr"]`."""
    if isinstance(node, ast.Attribute) and node.attr == "value":
        return literal(node.value, names, depth - 1)
    of = literal(node.value, names, depth - 1)
    key = node.attr if isinstance(node, ast.Attribute) else literal(node.slice, names, depth - 1)
    if isinstance(of, dict) and isinstance(key, str | int | float):
        return of.get(key, UNREAD)
    if isinstance(of, list) and type(key) is int and -len(of) <= key < len(of):
        return of[key]
    return UNREAD
