"""Writing to a terminal or a file when a signal handler may want to write, too."""

import os
from collections import deque
from collections.abc import Callable
from typing import TextIO, final


@final
class OutputQueue:
    """Runs one write at a time, even if a signal handler starts another in the middle of it."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._busy = self._closed = False

    def run(self, action: Callable[[], None]) -> None:
        """Run an action now, or right after the one that is running."""
        self._waiting.append(action)
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
    """Writes lines to a stream, and escapes characters that its encoding lacks."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._queue = OutputQueue()

    def write(self, text: str) -> None:
        """Write one or more lines."""
        self._queue.run(lambda: self._write_now(f"{text}\n"))

    def _write_now(self, text: str) -> None:
        if self._stream is None:
            return
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._stream.flush()
        except RuntimeError:  # a signal interrupted another write to the same stream
            os.write(self._stream.fileno(), text.encode(encoding, "backslashreplace"))
