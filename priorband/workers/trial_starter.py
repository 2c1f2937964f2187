"""Start the processes of a worker's trials: forked from a server, or from nothing.

The server (warm_process.py) is started before the first trial is assigned, and again when it has
died, when files of the user's modules or the environment have changed, and after `TRIALS_EACH`
trials. If it cannot fork trials, all start from nothing, and the worker says so once.
"""

from collections.abc import Callable
from typing import Literal, final

from priorband.errors import ArgumentError
from priorband.numeric import one_of
from priorband.workers.attempt import TrialTask
from priorband.workers.objective_results import Objective
from priorband.workers.trial_process import NAME, TrialProcess
from priorband.workers.warm_process import CAN_BE_WARM, WarmServer

Start = Literal["warm", "cold", "same-process"]
STARTS: tuple[Start, ...] = ("warm", "cold", "same-process")
TRIALS_EACH = 500  # trials that a server forks before another takes its place
MAX_DEATHS = 3  # servers that may die, one after another, before trials start from nothing


def checked_start(start: object) -> None:
    """Raise `ArgumentError` if this is not one of `STARTS`."""
    if not one_of(start, STARTS):
        raise ArgumentError(f"`start` must be 'warm', 'cold' or 'same-process', got {start!r}.")


@final
class TrialStarter:
    """Starts the processes of a worker's trials."""

    def __init__(
        self, objective: Objective, start: Start, show_output: bool, say: Callable[[str], None]
    ) -> None:
        self.objective = objective
        self.show_output = show_output
        self.say = say
        self._server: WarmServer | None = None
        self._deaths = 0
        self._is_warm = start == "warm"
        """Whether trials are forked from a server."""

    def prepare(self) -> None:
        """Start the server, so that it imports what it needs while a trial is assigned."""
        if self._is_warm and CAN_BE_WARM:
            try:
                self._update_server()
            except Exception:  # starting a trial will fail in the same way, and report it
                self.close()

    def start(self, task: TrialTask) -> TrialProcess:
        """Start the process of a trial."""
        self._update_server()
        return TrialProcess(self.objective, task, self.show_output, self._server)

    def note_end(self) -> None:
        """After a trial: say so if its process could not be forked."""
        if self._server is not None and self._server.unfit:
            self._stay_cold(self._server.unfit)

    def close(self) -> None:
        """End the server."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _update_server(self) -> None:
        """Start a server if trials are forked, and none runs that can do it."""
        server = self._server
        if server is not None and not server.is_alive:
            self._deaths += 1
            self.close()
            if self._deaths >= MAX_DEATHS:
                self._stay_cold("the process that forks trials has died several times")
        elif server is not None and (server.is_outdated or server.forked >= TRIALS_EACH):
            self.close()
        if self._is_warm and not CAN_BE_WARM:
            self._stay_cold("this system cannot fork processes safely")
        if self._is_warm and self._server is None:
            self._server = WarmServer(self.objective, NAME)

    def _stay_cold(self, reason: str) -> None:
        self._is_warm = False
        self.close()
        self.say(
            f"Trials start cold: {reason}. Each imports its modules again, as with start='cold'."
        )
