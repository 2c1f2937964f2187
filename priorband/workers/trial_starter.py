"""Start the processes of a worker's trials: forked from a server, or from nothing.

The server (warm_process.py) is started before the first trial is assigned, and again when it has
died, when files of the user's modules or the environment have changed, and after `TRIALS_EACH`
trials. If it cannot fork trials, all start from nothing, and the worker says so once.

It also imports the libraries that trials have imported (lazy_imports.py). If it ends while it does
so, another takes its place, and no server of this worker imports more than the objective does.
"""

from collections.abc import Callable
from typing import Literal, final

from priorband.errors import ArgumentError
from priorband.numeric import one_of
from priorband.workers.attempt import TrialTask
from priorband.workers.lazy_imports import MOST_LIBRARIES
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
        self._learned: dict[str, None] = {}
        """The libraries that trials have imported, in this order."""
        self._may_learn = True

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

    def note_end(self, child: TrialProcess) -> None:
        """After a trial: learn what it has imported, or say so if it could not be forked."""
        server = self._server
        if server is not None and server.unfit:
            self._stay_cold(server.unfit)
        elif server is not None and child.was_refused and server.is_learning:
            self._stop_learning()
        elif server is not None and self._may_learn:
            new = [name for name in child.imported if name not in self._learned]
            new = new[: MOST_LIBRARIES - len(self._learned)]
            self._learned.update(dict.fromkeys(new))
            if new:
                server.learn(new)

    def close(self) -> None:
        """End the server."""
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def _update_server(self) -> None:
        """Start a server if trials are forked, and none runs that can do it."""
        server = self._server
        if server is not None and not server.is_alive and server.is_learning:
            self._stop_learning()
        elif server is not None and not server.is_alive:
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
            if self._learned:
                self._server.learn([*self._learned])

    def _stop_learning(self) -> None:
        """End a server that cannot fork, or has died, because of what it has imported since."""
        self._may_learn = False
        self._learned.clear()
        self.close()

    def _stay_cold(self, reason: str) -> None:
        self._is_warm = False
        self.close()
        self.say(
            f"Trials start cold: {reason}. Each imports its modules again, as with start='cold'."
        )
