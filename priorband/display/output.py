"""Writing in turns: a signal handler may want to speak in the middle of another line."""

import os
from collections import deque
from collections.abc import Callable
from typing import TextIO, final


@final
class OutputQueue:
    """One act of writing at a time, also when a signal handler speaks in the middle of another."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._busy = self._closed = False

    def take(self, act: Callable[[], None]) -> None:
        """Do something now, or right after what is being done."""
        self._waiting.append(act)
        if self._busy or self._closed:
            return
        self._busy = True
        try:
            while self._waiting:
                self._waiting.popleft()()
        except (OSError, ValueError):  # the reader is gone, or the stream is closed
            self._closed = True
        finally:
            self._busy = False


@final
class LineWriter:
    """Lines on a stream, in characters that it can write."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._turns = OutputQueue()

    def write(self, text: str) -> None:
        """Write a line, or several."""
        self._turns.take(lambda: self._put(f"{text}\n"))

    def _put(self, text: str) -> None:
        if self._stream is None:
            return
        code = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            self._stream.write(text.encode(code, "backslashreplace").decode(code))
            self._stream.flush()
        except RuntimeError:  # a signal came while somebody else was writing
            os.write(self._stream.fileno(), text.encode(code, "backslashreplace"))
