"""Which lines of a traceback are the user's own: those to look at first after a failure."""

import inspect
import linecache
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Frame = list[Any]
"""A place in the code as JSON data: file, line, function, and the text of the line."""

MOST_FRAMES = 3
LONGEST_LINE = 160
_OURS = str(Path(__file__).parents[1])
_NOT_OWN = tuple(
    {_OURS, *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib"))}
)
_IN_LOG = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)


def own_frames(error: BaseException) -> list[Frame]:
    """The last lines of an exception's traceback that are neither ours nor of a package."""
    found = traceback.extract_tb(error.__traceback__)
    return _frames([(one.filename, one.lineno or 0, one.name) for one in found])


def frames_in_log(text: str) -> list[Frame]:
    """The user's own lines in the last stack that `faulthandler` has written into a log.

    >>> frames_in_log('Thread 0x1:\\n  File "b.py", line 3 in f\\n  File "a.py", line 9 in g')
    [['a.py', 9, 'g', ''], ['b.py', 3, 'f', '']]
    """
    blocks = re.split(r"^(?:Current thread|Thread|Stack) .*$", text, flags=re.MULTILINE)[1:]
    stacks = [[(m[1], int(m[2]), m[3]) for m in _IN_LOG.finditer(block)] for block in blocks]
    own = [frames for stack in stacks if (frames := _frames(reversed(stack)))]
    return own[-1] if own else []


def definition(objective: Callable[..., Any]) -> list[Frame]:
    """Where an objective is defined, as a list of one frame; empty if that is not known."""
    code = getattr(inspect.unwrap(objective), "__code__", None)
    if code is None:
        code = getattr(type(objective).__call__, "__code__", None)
    return [] if code is None else _frames([(code.co_filename, code.co_firstlineno, code.co_name)])


def _frames(places: Iterable[tuple[str, int, str]]) -> list[Frame]:
    return [_frame(*place) for place in places if _is_own(place[0])][-MOST_FRAMES:]


def _frame(file: str, line: int, function: str) -> Frame:
    return [file, line, function, linecache.getline(file, line).strip()[:LONGEST_LINE]]


def _is_own(file: str) -> bool:
    if file.startswith(("<frozen", "<string>")) or "site-packages" in file:
        return False
    return "dist-packages" not in file and not file.startswith(_NOT_OWN)
