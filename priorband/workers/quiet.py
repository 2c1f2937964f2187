"""What `show="quiet"` means for warnings: those of this library are not shown."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from priorband.errors import SingleRungWarning


@contextmanager
def own_warnings_hidden(hidden: bool) -> Iterator[None]:
    """Hide the warnings of this library within a `with` block, but not those of an objective."""
    if not hidden:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"priorband(\.|$)")
        warnings.simplefilter("ignore", SingleRungWarning)  # it names the caller's line
        yield
