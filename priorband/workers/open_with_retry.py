"""Open a study, and retry while its storage is busy, still starting, or out of connections."""

import errno
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from priorband.durable.open import open_study
from priorband.durable.study import DurableStudy
from priorband.errors import StorageError

OPEN_PATIENCE = 60.0
PAUSE = 0.5
PERMANENT = (errno.ENOTDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP)

T = TypeVar("T")


def open_with_retry(
    opening: Mapping[str, Any],
    say: Callable[[str], None] = lambda text: None,
    patience: float = OPEN_PATIENCE,
) -> DurableStudy:
    """Call `open_study(**opening)`, for up to `patience` seconds until storage responds."""
    return retried(lambda: open_study(**opening), say, patience)


def retried(
    action: Callable[[], T],
    say: Callable[[str], None] = lambda text: None,
    patience: float = OPEN_PATIENCE,
) -> T:
    """Call a function, again and again for up to `patience` seconds until storage responds."""
    began, announced = time.monotonic(), False
    while True:
        try:
            return action()
        except StorageError as error:
            if time.monotonic() - began > patience or _permanent(error):
                raise
            if not announced:
                say(f"{error} Waiting for it to respond, up to {patience:g} s.")
                announced = True
        time.sleep(PAUSE)


def _permanent(error: StorageError) -> bool:
    """Whether retrying cannot help: a file in place of the folder, or missing permissions."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in PERMANENT
