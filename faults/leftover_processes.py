"""Finding processes that outlive the fault that started them.

A fault sets an environment variable to a random mark. All processes that it starts inherit the
mark, also those that its workers and trainings start.
"""

import os
import signal
import time
from contextlib import suppress

VARIABLE = "PRIORBAND_FAULTS"


def mark_new_processes() -> str:
    """Mark all processes that are started from now on, and return the mark."""
    os.environ[VARIABLE] = os.urandom(8).hex()
    return os.environ[VARIABLE]


def kill_leftovers(mark: str, seconds: float = 30.0) -> list[str]:
    """Kill the marked processes that do not end by themselves; what they were."""
    deadline = time.monotonic() + seconds
    while (pids := _marked_processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = {*pids}
    while pids:  # until those that start others are gone, too
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
        pids = _marked_processes(mark)
        left |= {*pids}
    return [f"process {pid}" for pid in sorted(left)]


def _marked_processes(mark: str) -> list[int]:
    """The running processes, other than this one, that have a mark."""
    pids = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if f"{VARIABLE}={mark}".encode() in file.read().split(b"\0"):
                        pids.append(int(name))
            except OSError:
                continue
    return [pid for pid in pids if is_running(pid)]


def is_running(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
