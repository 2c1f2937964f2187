"""Arguments of calls in source code, by keyword."""

import ast
from typing import Any, final

from priorband.init_study.literals import UNREAD, Names, literal
from priorband.values import frozen


@final
@frozen
class CallArguments:
    """What a call passes, with the names that its module knows."""

    call: ast.Call
    names: Names

    @property
    def function(self) -> str:
        """The last part of what is called: `add_argument` of `parser.add_argument(...)`."""
        return dotted(self.call.func).rpartition(".")[2]

    @property
    def computed(self) -> bool:
        """Whether the call passes `*x` or `**x`, which only running it would tell."""
        return any(keyword.arg is None for keyword in self.call.keywords) or any(
            isinstance(argument, ast.Starred) for argument in self.call.args
        )

    def has(self, name: str) -> bool:
        """Whether a keyword is given."""
        return self.node(name) is not None

    def node(self, name: str) -> ast.expr | None:
        """The expression of a keyword."""
        found = (keyword.value for keyword in self.call.keywords if keyword.arg == name)
        return next(found, None)

    def value(self, name: str, otherwise: Any = None) -> Any:
        """The value of a keyword; `otherwise` if it is not given or cannot be read."""
        node = self.node(name)
        value = literal(node, self.names)
        return otherwise if node is None or value == UNREAD else value

    def text(self, name: str) -> str:
        """The value of a keyword, if it is text."""
        value = self.value(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> float | None:
        """The value of a keyword, if it is a number."""
        return as_number(self.value(name))

    def source(self, name: str) -> str:
        """The expression of a keyword as it is written."""
        node = self.node(name)
        return "" if node is None else ast.unparse(node)

    @property
    def positional(self) -> list[Any]:
        """The values of the positional arguments."""
        return [literal(argument, self.names) for argument in self.call.args]


def as_number(value: object) -> float | None:
    """A number, or None for anything else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def dotted(node: ast.expr) -> str:
    """`a.b.c` as written; empty for what is not a name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else node.attr
    return ""


def plain(value: Any) -> Any:
    """A default as a scalar or a list; None for what a study file cannot hold."""
    if isinstance(value, str | int | float | list):
        return value
    return None
