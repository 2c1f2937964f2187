"""The heartbeat: a thread that renews a worker's leases while it works.

Trials usually run in processes of their own, so nothing in this process blocks the thread for long.
If a trial runs in the worker's own process and holds the interpreter lock for longer than a lease,
other workers take the trial over.

A second thread watches the first one, which may hang in a call to storage. If leases are not
renewed for a third of their time, the worker says so.
"""

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import final

from priorband.errors import PriorbandError
from priorband.storage.journal import Beat, Journal

BEATS = 6
"""How often a lease is renewed before it would expire."""
PROGRESS_DELAY = 1.0
"""Seconds after which reported progress is written, so that others see it."""
PAUSE = 60.0
"""Seconds that the storage's clock and this process's may drift apart between two renewals.

If it is more, then the machine was suspended, or the storage's clock was set ahead.
"""
MESSAGES = 3
"""How often a lease that cannot be renewed is reported before it expires."""


@final
class Heartbeat:
    """The trials that a worker holds, and the thread that renews their leases."""

    def __init__(self, journal: Journal, worker: str, seconds: float) -> None:
        self.journal = journal
        self.worker = worker
        self.seconds = seconds
        """How long a lease lasts."""
        self._held: dict[int, Beat] = {}
        self._lost: set[int] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []
        self._renewed_at = 0.0
        """When the leases were last renewed, by `time.monotonic`."""
        self._clocks: tuple[float, float] | None = None
        """The storage's clock and `time.monotonic` at the last renewal."""
        self.note_pause: Callable[[], None] = lambda: None
        """Called in a thread before leases are renewed after a pause, which it writes down."""
        self._problem = ""
        """Why the last renewal failed; empty if it did not."""
        self.say: Callable[[str], None] = lambda text: None
        """Called in a thread with messages: leases are not renewed, or renewed again."""

    def hold(self, trial: int, attempt: int, since: float | None = None) -> None:
        """Start to renew the lease on a trial, held `since` a time of the storage's clock."""
        with self._lock:
            if not self._held:
                self._renewed_at = time.monotonic()
                self._clocks = None if since is None else (since, self._renewed_at)
            self._held[trial] = Beat(trial, attempt)
            self._lost.discard(trial)
            if not any(thread.is_alive() for thread in self._threads):
                self._stopped.clear()
                self._threads = [
                    threading.Thread(target=run, name=f"heartbeat {name}", daemon=True)
                    for name, run in (("renewal", self._run), ("watch", self._watch))
                ]
                for thread in self._threads:
                    thread.start()

    def release(self, trial: int) -> None:
        """Stop renewing the lease on a trial."""
        with self._lock:
            self._held.pop(trial, None)
            self._lost.discard(trial)

    def progress(self, trial: int, step: float | None, loss: float | None) -> None:
        """Report how far a trial has come. A value of None leaves the last one as it is."""
        with self._lock:
            beat = self._held.get(trial)
            if beat is not None:
                step = beat.step if step is None else step
                loss = beat.loss if loss is None else loss
                self._held[trial] = Beat(trial, beat.attempt, step, loss)
        self._wake.set()

    def lost(self, trial: int) -> bool:
        """Whether a trial was ended or taken over by another worker."""
        return trial in self._lost

    def attempt(self, trial: int) -> int | None:
        """The attempt at a trial that this worker holds; None if it does not hold the trial."""
        beat = self._held.get(trial)
        return beat.attempt if beat else None

    def active_until(self, now: float) -> float:
        """Until when this process was at work on its trials, at a time of the storage's clock.

        That is `now`, less what its machine was suspended for since the last renewal. If it holds
        no trial, the result is minus infinity.
        """
        with self._lock:
            if not self._held or self._clocks is None:
                return -math.inf
            at, renewed_at = self._clocks
            return min(at + time.monotonic() - renewed_at, now)

    def stop(self) -> None:
        """Stop the threads."""
        self._stopped.set()
        self._wake.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopped.is_set():
            woken = self._wake.wait(self.seconds / BEATS)
            if woken:
                self._stopped.wait(min(PROGRESS_DELAY, self.seconds / BEATS))
                self._wake.clear()
            self._beat()

    def _watch(self) -> None:
        """Say so when leases are not renewed for a third of their time, and when they are again."""
        said = 0
        while not self._stopped.wait(self.seconds / BEATS / 2):
            said = self._overdue(said)

    def _overdue(self, said: int) -> int:
        """How many thirds of a lease have passed without a renewal; say so if it was less."""
        with self._lock:
            trials, silent = sorted(self._held), time.monotonic() - self._renewed_at
        passed = int(silent / self.seconds * MESSAGES) if trials else 0
        if passed > said:
            self.say(self._warning(trials, silent))
        elif said and not passed:
            self.say(f"{self.journal.where}: leases are renewed again.")
        return passed

    def _warning(self, trials: list[int], silent: float) -> str:
        which = f"{'trial' if len(trials) == 1 else 'trials'} {', '.join(map(str, trials))}"
        why = self._problem or f"{self.journal.where} does not respond."
        left = self.seconds - silent
        when = f"in {left:.0f} s" if left > 0 else "from now on"
        return (
            f"WARNING: the lease on {which} was not renewed for {silent:.0f} s. {why} If that does "
            f"not change, other workers take over {when}, and train again what this one trains."
        )

    def _beat(self) -> None:
        with self._lock:
            beats = list(self._held.values())
        if not beats or self._stopped.is_set():
            return
        began = time.monotonic()
        try:
            now = self.journal.now()
            if -math.inf < self.active_until(now) < now - PAUSE:
                with suppress(PriorbandError):  # then the pause is counted
                    self.note_pause()
            still_held = self.journal.beat(self.worker, beats, self.seconds)
        except PriorbandError as error:  # the next renewal comes soon
            self._problem = str(error)
            return
        self._problem, self._renewed_at = "", began
        with self._lock:
            self._clocks = now, began
            for beat in beats:
                current = self._held.get(beat.trial)
                if beat.trial not in still_held and current and current.attempt == beat.attempt:
                    self._lost.add(beat.trial)
