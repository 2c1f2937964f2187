"""The files of the user's own modules, and whether they have changed since they were imported.

These are all modules that are neither part of Python or this library nor installed, and those of
the objective's own package, even if it is installed.
"""

import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

Stamp = tuple[int, int]
"""When a file was changed, in nanoseconds, and its size; zeros if there is none."""

_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def own_files(package: str) -> dict[str, Stamp]:
    """The files of the user's modules that are imported in this process, with their stamps."""
    return {path: stamp(path) for path in _paths(package)}


def changed(files: dict[str, Stamp]) -> bool:
    """Whether one of the files is no longer what it was."""
    return any(stamp(path) != known for path, known in files.items())


def stamp(path: str) -> Stamp:
    """The stamp of a file."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def library_folders() -> tuple[str, ...]:
    """The folders of this library and of Python's own modules."""
    library = str(Path(__file__).parent.parent) + os.sep
    places = sysconfig.get_paths()
    return library, *(places[name] + os.sep for name in ("stdlib", "platstdlib"))


def is_foreign(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a module at this path is in one of the `library_folders`, or installed."""
    path = os.path.abspath(path)
    return path.startswith(folders) or any(part in path for part in _INSTALLED)


def _paths(package: str) -> Iterator[str]:
    folders = library_folders()
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if not isinstance(path, str):
            continue
        own = bool(package) and f"{name}.".startswith(f"{package}.")
        if own or not is_foreign(path, folders):
            yield os.path.abspath(path)
