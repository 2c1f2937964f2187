"""Running several functions at once, each in a process of its own: most faults only wait."""

import os
import pickle
import signal
import traceback
from collections.abc import Callable, Sequence
from typing import TypeVar

from priorband.storage.identity import die_with_parent

T = TypeVar("T")


def run_in_parallel(functions: Sequence[Callable[[], T]], at_once: int = 4) -> list[T]:
    """What each function returns, in order; raise an error if one of them raises an exception."""
    answers: list[T] = []
    for first in range(0, len(functions), at_once):
        started = [_start(function) for function in functions[first : first + at_once]]
        answers += [pickle.loads(_answer(pid, pipe)) for pid, pipe in started]
    return answers


def fork_process(function: Callable[[], object]) -> int:
    """Run a function in a forked process, and return its pid.

    The process exits with 0, or with 1 after an exception.
    """
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        die_with_parent(signal.SIGKILL, parent)
        function()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _start(function: Callable[[], object]) -> tuple[int, int]:
    """Start a process; its pid, and the pipe that its answer comes through."""
    reader, writer = os.pipe()

    def answer() -> None:
        os.close(reader)
        with open(writer, "wb") as pipe:
            pickle.dump(function(), pipe)

    pid = fork_process(answer)
    os.close(writer)
    return pid, reader


def _answer(pid: int, reader: int) -> bytes:
    with open(reader, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f"Process {pid} ended with status {status}. Its output is above.")
    return data
