"""Joining a study that may be busy, or whose database may be starting, for the moment."""

import errno
import time
from collections.abc import Callable, Mapping
from typing import Any

from priorband.durable.open import open_study
from priorband.durable.study import DurableStudy
from priorband.errors import StorageError

PATIENCE = 60.0
PAUSE = 0.5
HOPELESS = (errno.ENOTDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP)


def open_with_retry(
    opening: Mapping[str, Any],
    say: Callable[[str], None] = lambda text: None,
    patience: float = PATIENCE,
) -> DurableStudy:
    """Open a study as `open_study` does, waiting a while for storage that does not answer."""
    began, told = time.monotonic(), False
    while True:
        try:
            return open_study(**opening)
        except StorageError as error:
            if time.monotonic() - began > patience or _hopeless(error):
                raise
            if not told:
                say(f"{error} Waiting for it, for up to {patience:g} s.")
                told = True
        time.sleep(PAUSE)


def _hopeless(error: StorageError) -> bool:
    """Whether waiting will not help: a file where the folder should be, or no permission."""
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in HOPELESS
