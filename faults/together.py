"""Several things at a time, each in a process of its own: most faults wait more than they work."""

import os
import pickle
import signal
import traceback
from collections.abc import Callable, Sequence
from typing import TypeVar

from priorband.storage.identity import die_with_parent

T = TypeVar("T")


def together(acts: Sequence[Callable[[], T]], most: int = 4) -> list[T]:
    """What each act returns, in their order; an exception in one is raised here."""
    answers: list[T] = []
    for first in range(0, len(acts), most):
        begun = [_begun(act) for act in acts[first : first + most]]
        answers += [pickle.loads(_said(pid, pipe)) for pid, pipe in begun]
    return answers


def forked(act: Callable[[], object]) -> int:
    """A process that does something and ends with 0, or with 1 after an exception; its number."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        die_with_parent(signal.SIGKILL, parent)
        act()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _begun(act: Callable[[], object]) -> tuple[int, int]:
    listen, speak = os.pipe()

    def answer() -> None:
        os.close(listen)
        with open(speak, "wb") as pipe:
            pickle.dump(act(), pipe)

    pid = forked(answer)
    os.close(speak)
    return pid, listen


def _said(pid: int, listen: int) -> bytes:
    with open(listen, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f"Process {pid} ended with status {status}; what it said stands above.")
    return said
