"""The state: everything that a decision may depend on."""

from typing import Literal, final

from priorband.cache import CacheKey
from priorband.events import Event, PriorChanged
from priorband.history import History
from priorband.ladder import Ladder
from priorband.space.densities import Array
from priorband.space.prior import Prior
from priorband.space.space import Space
from priorband.trial import Observation, Trial
from priorband.values import frozen

Regard = Literal["lowest", "max_fidelity_first"]


@final
@frozen
class State:
    """The space, the prior, the ladder and the history; s_t in the paper."""

    space: Space
    """The search space."""
    prior: Prior
    """What is believed about good configurations; the last one, if it was changed."""
    ladder: Ladder
    """The fidelities of the rungs, and the sizes of brackets."""
    history: History
    """What has happened so far."""
    regard: Regard = "lowest"
    """Which configuration is the incumbent."""

    def after(self, event: Event) -> "State":
        """The state after one more event."""
        prior = event.prior if isinstance(event, PriorChanged) else self.prior
        return State(self.space, prior, self.ladder, self.history.after(event), self.regard)

    def with_history(self, history: History) -> "State":
        """The state with another history; its prior is the last one that was set there, if any."""
        changed = history.changed_prior
        prior = self.prior if changed is None else changed
        return State(self.space, prior, self.ladder, history, self.regard)

    @property
    def incumbent(self) -> Observation | None:
        """The configuration that local search starts from.

        With "lowest", each configuration counts with its loss at the highest fidelity it has
        finished, and the lowest loss wins. With "max_fidelity_first", only losses at the highest
        fidelity with a success count: for objectives whose losses are lower at low fidelities.
        """
        if self.regard == "lowest":
            return self.history.incumbent
        return self.history.best_at(self.history.highest)

    def success_count(self, rung: int) -> int:
        """How many successes there are at a rung's fidelity."""
        return self.history.success_count(self.ladder.fidelities[rung])

    def scored_rung(self) -> int | None:
        """The highest rung with at least `eta` successes; None if there is none."""
        return self.rung_with(self.ladder.eta)

    def rung_with(self, successes: int) -> int | None:
        """The highest rung with at least this many successes; None if there is none."""
        for rung in range(self.ladder.top, -1, -1):
            if self.history.success_count(self.ladder.fidelities[rung]) >= successes:
                return rung
        return None

    def row(self, trial: Trial) -> Array:
        """The encoded configuration of a trial."""
        return self.history.cached(_ROWS, _Rows.row, self.space, trial)


@final
class _Rows:
    """Encoded configurations of one space, by the id of a trial's `root`."""

    __slots__ = ("by_root", "space")

    def __init__(self) -> None:
        self.space: Space | None = None
        self.by_root: dict[int, Array] = {}

    def row(self, space: Space, trial: Trial) -> Array:
        if space is not self.space:
            self.space, self.by_root = space, {}
        row = self.by_root.get(trial.root)
        if row is None:
            row = self.by_root[trial.root] = space.encode([trial.config])[0]
        return row


_ROWS: CacheKey[_Rows] = CacheKey(_Rows)
