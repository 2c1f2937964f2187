"""Open a study, and retry while its storage is busy or still starting."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from priorband.durable.open import open_study
from priorband.durable.study import DurableStudy
from priorband.errors import StorageError
from priorband.storage.retry import is_permanent

OPEN_PATIENCE = 60.0
PAUSE = 0.5


def open_with_retry(
    opening: Mapping[str, Any],
    say: Callable[[str], None] = lambda text: None,
    patience: float = OPEN_PATIENCE,
) -> DurableStudy:
    """Call `open_study(**opening)`, for up to `patience` seconds until storage responds."""
    began, announced = time.monotonic(), False
    while True:
        try:
            return open_study(**opening)
        except StorageError as error:
            if time.monotonic() - began > patience or is_permanent(error):
                raise
            if not announced:
                say(f"{error} Waiting for it to respond, up to {patience:g} s.")
                announced = True
        time.sleep(PAUSE)
