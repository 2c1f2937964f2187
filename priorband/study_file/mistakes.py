"""What is wrong with a study file: the message, and the place with the line that it is in."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import final

from priorband.errors import StudyFileError
from priorband.study_file.positions import TextSpan, line_and_column
from priorband.values import frozen

_PASSWORD = re.compile(r"(://[^:@/\s\"']*:)([^\s\"']+)@")
_MOST = 10  # mistakes that are shown
_WHOLE = 74  # columns of a line that is shown in full
_WIDTH = 68  # columns that are shown of a longer one


@final
@frozen
class Mistake:
    """Something wrong in a text, and where; None for what is missing in all of it."""

    span: TextSpan | None
    message: str


def study_file_error(name: str, text: str, mistakes: Iterable[Mistake]) -> StudyFileError:
    """The error that lists the mistakes in a file, each with its line and a caret below it."""
    ordered = sorted(mistakes, key=lambda mistake: mistake.span.start if mistake.span else -1)
    parts = [_described(name, text, mistake) for mistake in ordered[:_MOST]]
    if len(ordered) > _MOST:
        parts.append(f"There are {len(ordered) - _MOST} more mistakes.")
    return StudyFileError(_PASSWORD.sub(_hidden, "\n\n".join(parts)))


def _hidden(match: re.Match[str]) -> str:
    """An address without its password, as long as before, so that carets stay in their place."""
    return f"{match[1]}{'*' * len(match[2])}@"


def _described(name: str, text: str, mistake: Mistake) -> str:
    if mistake.span is None:
        return f"{name}: {mistake.message}"
    line, column = line_and_column(text, mistake.span.start)
    return f"{name}:{line}:{column}: {mistake.message}\n{excerpt(text, mistake.span)}"


def excerpt(text: str, span: TextSpan) -> str:
    r"""The line in which a part of a text begins, and carets below that part.

    >>> print(excerpt("a = 1\nworkers = 0", TextSpan(16, 17)))
      2 | workers = 0
        |           ^
    """
    number, column = line_and_column(text, span.start)
    line = text.split("\n")[number - 1].expandtabs(1)
    before = column - 1
    length = max(min(span.end - span.start, len(line) - before), 1)
    width = _WHOLE if len(line) <= _WHOLE else _WIDTH
    first = max(min(before - width // 2, len(line) - width), 0)
    shown = ("..." if first else "") + line[first : first + width]
    shown += "..." if len(line) > first + width else ""
    carets = "^" * min(length, max(width - (before - first), 1))
    margin = f"  {number} | "
    indent = " " * (before - first + (3 if first else 0))
    return f"{margin}{shown.rstrip()}\n{' ' * (len(margin) - 2)}| {indent}{carets}"


def proposal(word: str, known: Iterable[str]) -> str:
    """`Did you mean ...?` for a word that is close to a known one, with a space before it.

    >>> proposal("worker", ["workers", "budget"]), proposal("qqq", ["workers"])
    (' Did you mean `workers`?', '')
    """
    close = get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return f" Did you mean `{close[0]}`?" if close else ""
