"""Open a study, and retry while its storage is busy, still starting, or out of connections."""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from priorband.durable.open import open_study
from priorband.durable.study import DurableStudy
from priorband.errors import StorageError
from priorband.storage.retry import is_permanent

OPEN_PATIENCE = 60.0
PAUSE = 0.5

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
            if time.monotonic() - began > patience or is_permanent(error):
                raise
            if not announced:
                say(f"{error} Waiting for it to respond, up to {patience:g} s.")
                announced = True
        time.sleep(PAUSE)
