"""The pulse: a thread that renews a worker's leases while it is at work.

Trainings run in processes of their own, so nothing here holds the interpreter for long; where they
run in this very process, code that holds it for longer than a lease loses the trial to others.
"""

import threading
from typing import final

from priorband.errors import PriorbandError
from priorband.storage.journal import Beat, Journal

BEATS = 6  # in a lease: so many may be missed
SOON = 1.0  # seconds after which progress is shown to others


@final
class Heartbeat:
    """The trials that a worker holds, and the signs of life it gives for them."""

    def __init__(self, journal: Journal, worker: str, seconds: float) -> None:
        self.journal = journal
        self.worker = worker
        self.seconds = seconds
        self._held: dict[int, Beat] = {}
        self._gone: set[int] = set()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def hold(self, trial: int, attempt: int) -> None:
        """Begin to renew the lease on a trial."""
        with self._lock:
            self._held[trial] = Beat(trial, attempt)
            self._gone.discard(trial)
            if self._thread is None or not self._thread.is_alive():
                self._stopped.clear()
                self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)
                self._thread.start()

    def let_go(self, trial: int) -> None:
        """Stop renewing it."""
        with self._lock:
            self._held.pop(trial, None)
            self._gone.discard(trial)

    def progress(self, trial: int, step: float | None, loss: float | None) -> None:
        """Say how far a trial has come; what is None stays as it was said before."""
        with self._lock:
            known = self._held.get(trial)
            if known is not None:
                step = known.step if step is None else step
                loss = known.loss if loss is None else loss
                self._held[trial] = Beat(trial, known.attempt, step, loss)
        self._wake.set()

    def gone(self, trial: int) -> bool:
        """Whether a trial was ended by somebody else, or taken over."""
        return trial in self._gone

    def attempt(self, trial: int) -> int | None:
        """At which attempt this worker holds a trial; None where it does not."""
        held = self._held.get(trial)
        return held.attempt if held else None

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        self._wake.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopped.is_set():
            hurried = self._wake.wait(self.seconds / BEATS)
            if hurried:
                self._stopped.wait(min(SOON, self.seconds / BEATS))
                self._wake.clear()
            self._beat()

    def _beat(self) -> None:
        with self._lock:
            beats = list(self._held.values())
        if not beats or self._stopped.is_set():
            return
        try:
            still = self.journal.beat(self.worker, beats, self.seconds)
        except PriorbandError:  # the next beat comes soon, and the result is what counts
            return
        with self._lock:
            for beat in beats:
                held = self._held.get(beat.trial)
                if beat.trial not in still and held and held.attempt == beat.attempt:
                    self._gone.add(beat.trial)
