"""The heartbeat: a thread that renews a worker's leases while it works.

Trials usually run in processes of their own, so nothing in this process blocks the thread for long.
If a trial runs in the worker's own process and holds the interpreter lock for longer than a lease,
other workers take the trial over.
"""

import threading
from typing import final

from priorband.errors import PriorbandError
from priorband.storage.journal import Beat, Journal

BEATS = 6
"""How often a lease is renewed before it would expire."""
PROGRESS_DELAY = 1.0
"""Seconds after which reported progress is written, so that others see it."""


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
        self._thread: threading.Thread | None = None

    def hold(self, trial: int, attempt: int) -> None:
        """Start to renew the lease on a trial."""
        with self._lock:
            self._held[trial] = Beat(trial, attempt)
            self._lost.discard(trial)
            if self._thread is None or not self._thread.is_alive():
                self._stopped.clear()
                self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
                self._thread.start()

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

    def stop(self) -> None:
        """Stop the thread."""
        self._stopped.set()
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopped.is_set():
            woken = self._wake.wait(self.seconds / BEATS)
            if woken:
                self._stopped.wait(min(PROGRESS_DELAY, self.seconds / BEATS))
                self._wake.clear()
            self._beat()

    def _beat(self) -> None:
        with self._lock:
            beats = list(self._held.values())
        if not beats or self._stopped.is_set():
            return
        try:
            still_held = self.journal.beat(self.worker, beats, self.seconds)
        except PriorbandError:  # the next renewal comes soon
            return
        with self._lock:
            for beat in beats:
                current = self._held.get(beat.trial)
                if beat.trial not in still_held and current and current.attempt == beat.attempt:
                    self._lost.add(beat.trial)
