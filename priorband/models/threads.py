"""Limit linear algebra to one thread while a model is fitted, because trials train meanwhile.

Matrices of a few hundred rows are no faster with more threads, and waiting threads take processors
from the training. With one thread, results also do not depend on the number of threads. This works
with the OpenBLAS libraries in the wheels of numpy and scipy; with other libraries set
OMP_NUM_THREADS=1.
"""

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy
import scipy

_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "_64", "")


class _Library(NamedTuple):
    """The functions that get and set the number of threads of one library."""

    get: Callable[[], int]
    set: Callable[[int], None]


def _folders() -> Iterator[str]:
    """The folders in which the wheels of numpy and scipy keep their libraries, by platform."""
    for package in (numpy, scipy):
        home = os.path.dirname(os.path.abspath(str(package.__file__)))
        yield from (f"{home}.libs", os.path.join(home, ".dylibs"))


def _functions(path: str) -> _Library | None:
    try:
        library: Any = ctypes.CDLL(path)
    except OSError:
        return None
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            getter = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
            setter = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
            if getter is not None and setter is not None:
                return _Library(getter, setter)
    return None


@cache
def libraries() -> tuple[_Library, ...]:
    """The OpenBLAS libraries of numpy and scipy that were found."""
    paths = [
        os.path.join(folder, name)
        for folder in _folders()
        if os.path.isdir(folder)
        for name in sorted(os.listdir(folder))
        if "openblas" in name
    ]
    return tuple(filter(None, map(_functions, paths)))


_lock = Lock()
_inside = 0
_before: list[int] = []


@contextmanager
def one_thread() -> Iterator[None]:
    """A context manager in which linear algebra uses one thread.

    Several Python threads may be inside it at the same time. The last one to leave restores the
    number of threads.
    """
    global _inside
    with _lock:
        if not _inside:
            _before[:] = [library.get() for library in libraries()]
            for library in libraries():
                library.set(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                for library, threads in zip(libraries(), _before, strict=True):
                    library.set(threads)
