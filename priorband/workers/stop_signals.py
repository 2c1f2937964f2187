"""Requests to stop: the first lets the running step finish, the second interrupts it."""

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, final

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGUSR1") if hasattr(signal, name)
)


@final
class StopSignals:
    """Whether this process was asked to stop, and why.

    Used as a context manager, it handles `SIGNALS` and restores the previous handlers at the end.
    Handlers can only be installed in the main thread; in others it waits for `request_stop`.
    """

    def __init__(self, on_request: Callable[[str, int], None] = lambda reason, count: None) -> None:
        self.reason = ""
        """Why to stop, such as the name of a signal; empty until a stop is requested."""
        self.count = 0
        """How many times a stop was requested."""
        self.duplicate_seconds = 0.0
        """Within this time the same signal again is a duplicate, not a second request."""
        self._last = -math.inf
        self._on_request = on_request
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._previous[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        name, now = signal.Signals(number).name, time.monotonic()
        if name == self.reason and now - self._last < self.duplicate_seconds:
            return
        self._last = now
        self.request_stop(name)

    def request_stop(self, reason: str) -> None:
        """Ask to stop, as a signal would; the second request raises KeyboardInterrupt."""
        self.reason, self.count = reason, self.count + 1
        self._on_request(reason, self.count)
        if self.count > 1:
            raise KeyboardInterrupt(reason)


def handle_in_this_process(handler: Callable[[int, FrameType | None], None]) -> None:
    """Handle `SIGNALS` with a function, but not in processes that are forked from this one.

    These would inherit it, and not end when they are sent SIGTERM, as `Process.terminate` does.
    """
    for number in SIGNALS:
        signal.signal(number, handler)

    def reset() -> None:
        for number in SIGNALS:
            if signal.getsignal(number) is handler:
                is_ctrl_c = number == signal.SIGINT
                signal.signal(number, signal.default_int_handler if is_ctrl_c else signal.SIG_DFL)
        unblock()

    masks: list[set[int]] = []  # a signal during the fork waits until the handlers are reset

    def block() -> None:
        masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS))

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, masks.pop())

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=block, after_in_parent=unblock, after_in_child=reset)
