"""Waiting for facts: tests wait for what stays true, never for a number of seconds."""

import os
import time
from collections.abc import Callable
from pathlib import Path

LONGEST = 120.0
"""Seconds after which a test that still waits fails; only something that hangs takes so long."""


def wait_until(is_true: Callable[[], object], what: str) -> None:
    """Return as soon as something is true; fail, and say what did not happen, after `LONGEST`."""
    deadline = time.monotonic() + LONGEST
    while not is_true():
        assert time.monotonic() < deadline, f"waited {LONGEST:g} s for {what}"
        time.sleep(0.02)


def has_open(pid: int, path: Path) -> bool:
    """Whether a process has a file open, such as the lock that it waits for; only on Linux."""
    files = Path("/proc", str(pid), "fd")
    try:
        return any(os.readlink(file) == str(path) for file in files.iterdir())
    except OSError:  # one was closed meanwhile
        return False
