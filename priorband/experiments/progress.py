"""Progress of a grid and the time left: a bar in a terminal, lines of text elsewhere."""

import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TextIO, final

from priorband.display.text import about
from priorband.experiments.cases import Case
from priorband.experiments.expected_cost import cost_text

_SECONDS_BETWEEN_LINES = 10.0


@final
class TimeEstimate:
    """An estimate of the time left, from the CPU time of finished runs of each method."""

    def __init__(self, todo: Sequence[Case], processes: int) -> None:
        self.left: dict[tuple[str, ...], int] = defaultdict(int)
        self.taken: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self.processes = processes
        for case in todo:
            self.left[_kind(case)] += 1

    def case_done(self, case: Case, seconds: float) -> None:
        """Count a finished run."""
        self.left[_kind(case)] -= 1
        self.taken[_kind(case)].append(seconds)

    def seconds(self) -> float | None:
        """The time left in seconds; None before the first run has ended."""
        times = [seconds for taken in self.taken.values() for seconds in taken]
        if not times:
            return None
        mean = sum(times) / len(times)
        total = 0.0
        for kind, left in self.left.items():
            taken = self.taken.get(kind)
            total += left * (sum(taken) / len(taken) if taken else mean)
        return total / self.processes


def _kind(case: Case) -> tuple[str, ...]:
    return case.rules, case.method, str(case.workers)


@final
class Progress:
    """Shows the progress after each finished run."""

    def __init__(self, processes: int, to: TextIO | None = None) -> None:
        self.processes = processes
        self.to = to or sys.stderr
        self.done = self.total = 0
        self.cpu_seconds = 0.0
        self._bar: Any = None
        self._task: Any = None
        self._start = self._last = time.monotonic()
        self._estimate = TimeEstimate([], processes)

    def begin(self, todo: Sequence[Case], done: int) -> None:
        """Start with the runs to do and the number of runs that were done before."""
        self.done, self.total = done, done + len(todo)
        self._estimate = TimeEstimate(todo, self.processes)
        self._start = time.monotonic()
        text = f"{self.total} runs, {done} already done."
        cost = cost_text(todo).replace("They take", "The others take" if done else "They take")
        print(f"{text} {cost}".rstrip(), file=self.to, flush=True)
        if self.to.isatty() and todo:
            self._bar = _bar(self.to)
            self._task = self._bar.add_task("runs", total=self.total, completed=done, left="")
            self._bar.start()

    def case_done(self, case: Case, seconds: float) -> None:
        """Show that a run has ended."""
        self.done += 1
        self.cpu_seconds += seconds
        self._estimate.case_done(case, seconds)
        left = self._estimate.seconds()
        time_left = "" if left is None else f"about {about(left)} left"
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done, left=time_left)
        elif time.monotonic() - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            print(f"{self.done} of {self.total} runs, {time_left}", file=self.to, flush=True)

    def stop(self) -> None:
        """Remove the bar from the terminal, whether or not all runs are done."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def end(self) -> None:
        """Show that all runs are done."""
        self.stop()
        elapsed = about(time.monotonic() - self._start)
        summary = (
            f"All {self.total} runs are done: {elapsed}, {self.cpu_seconds:.0f} s of CPU time."
        )
        print(summary, file=self.to, flush=True)


def _bar(to: TextIO) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    return Bar(*columns, console=Console(file=to))
