"""How far a grid is and how long it will take: a bar for a terminal, lines for a file."""

import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TextIO, final

from priorband.display.text import about
from priorband.experiments.cases import Case

_BETWEEN_LINES = 10.0


@final
class Estimate:
    """The time left, from what runs of each method have taken so far."""

    def __init__(self, todo: Sequence[Case], processes: int) -> None:
        self.left: dict[tuple[str, ...], int] = defaultdict(int)
        self.taken: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self.processes = processes
        for case in todo:
            self.left[_kind(case)] += 1

    def ran(self, case: Case, seconds: float) -> None:
        """One run less."""
        self.left[_kind(case)] -= 1
        self.taken[_kind(case)].append(seconds)

    def seconds(self) -> float | None:
        """The time left; None before anything has ended."""
        every = [s for taken in self.taken.values() for s in taken]
        if not every:
            return None
        usual = sum(every) / len(every)
        total = 0.0
        for kind, left in self.left.items():
            taken = self.taken.get(kind)
            total += left * (sum(taken) / len(taken) if taken else usual)
        return total / self.processes


def _kind(case: Case) -> tuple[str, ...]:
    return case.rules, case.method, str(case.workers)


@final
class Progress:
    """Shows each run that ends."""

    def __init__(self, processes: int, to: TextIO | None = None) -> None:
        self.processes = processes
        self.to = to or sys.stderr
        self.done = self.total = 0
        self.processor = 0.0
        self._bar: Any = None
        self._task: Any = None
        self._start = self._last = time.monotonic()
        self._estimate = Estimate([], processes)

    def begin(self, todo: Sequence[Case], done: int) -> None:
        """So many runs are left, so many were done before."""
        self.done, self.total = done, done + len(todo)
        self._estimate = Estimate(todo, self.processes)
        self._start = time.monotonic()
        print(f"{self.total} runs, {done} of them done before.", file=self.to, flush=True)
        if self.to.isatty() and todo:
            self._bar = _bar(self.to)
            self._task = self._bar.add_task("runs", total=self.total, completed=done, left="")
            self._bar.start()

    def ran(self, case: Case, seconds: float) -> None:
        """One more has ended."""
        self.done += 1
        self.processor += seconds
        self._estimate.ran(case, seconds)
        left = self._estimate.seconds()
        said = "" if left is None else f"about {about(left)} left"
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, left=said)
        elif time.monotonic() - self._last >= _BETWEEN_LINES:
            self._last = time.monotonic()
            print(f"{self.done} of {self.total} runs, {said}", file=self.to, flush=True)

    def stop(self) -> None:
        """Give the terminal back, whether or not all are done."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def end(self) -> None:
        """All are done."""
        self.stop()
        wall = time.monotonic() - self._start
        said = f"All {self.total} runs are done: {about(wall)}, {self.processor:.0f} s of CPU"
        print(f"{said}.", file=self.to, flush=True)


def _bar(to: TextIO) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    return Bar(*columns, console=Console(file=to))
