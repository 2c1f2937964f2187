"""Being asked to stop: the first signal lets the running step finish, the second does not."""

import math
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
    """Whether this process was asked to stop, and by what."""

    def __init__(self, heard: Callable[[str, int], None] = lambda why, times: None) -> None:
        self.why = ""
        self.times = 0
        self.echo = 0.0
        """Seconds in which the same signal again is an echo, not a second word."""
        self._last = -math.inf
        self._heard = heard
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        del frame
        name, now = signal.Signals(number).name, time.monotonic()
        if name == self.why and now - self._last < self.echo:
            return
        self._last = now
        self.ask(name)

    def ask(self, why: str) -> None:
        """Ask to stop, as a signal would."""
        self.why, self.times = why, self.times + 1
        self._heard(why, self.times)
        if self.times > 1:
            raise KeyboardInterrupt(why)
