"""The budget: what all workers of a study may use together, over all restarts."""

from typing import Any, final

from priorband.errors import SpaceError
from priorband.numeric import real, whole
from priorband.values import field_names, frozen, settle


@final
@frozen
class Budget:
    """Limits on a study; the first that is reached ends it. What is None is not limited.

    >>> Budget(trainings=12, hours=8).limits
    {'trainings': 12, 'hours': 8}
    """

    trainings: float | None = None
    """Full trainings: the fidelity handed out, in units of the highest."""
    trials: int | None = None
    cost: float | None = None
    """The sum of what trials report as "cost"."""
    hours: float | None = None
    """The time in which some worker was at work."""

    def __post_init__(self) -> None:
        for name, limit in self.limits.items():
            if not (real(limit) or 0) > 0:
                raise SpaceError(f"A budget's `{name}` must be a number above 0, got {limit!r}.")
            if type(limit) not in (int, float):  # numpy's, which JSON does not take
                settle(self, **{name: int(limit) if whole(limit) else float(limit)})
        if self.trials is not None and not whole(self.trials):
            raise SpaceError(f"A budget's `trials` must be a whole number, got {self.trials!r}.")

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set, by name."""
        every = {name: getattr(self, name) for name in field_names(self)}
        return {name: limit for name, limit in every.items() if limit is not None}

    def __str__(self) -> str:
        shown = [f"{limit:g} {name}" for name, limit in self.limits.items()]
        return " or ".join(shown) or "no limit"


def budget(given: Any) -> Budget:
    """A budget from what a person gave: a number counts full trainings.

    >>> budget(12)
    Budget(trainings=12, trials=None, cost=None, hours=None)
    """
    if isinstance(given, Budget):
        return given
    if given is None:
        return Budget()
    if isinstance(given, dict) and given.keys() <= set(field_names(Budget())):
        return Budget(**given)
    if (real(given) or 0) > 0:
        return Budget(trainings=given)
    raise SpaceError(
        f"`budget` must be a number of full trainings above 0, or a Budget(trainings=, trials=, "
        f"cost=, hours=), got {given!r}."
    )


@final
@frozen
class Spending:
    """How much of each kind is used or handed out."""

    trainings: float
    trials: int
    cost: float
    hours: float

    def reached(self, limits: Budget) -> tuple[str, ...]:
        """The limits that leave no room for another trial."""
        little = 1e-9  # sums of fidelities are not exact
        used = {name: getattr(self, name) for name in field_names(self)}
        return tuple(n for n, limit in limits.limits.items() if used[n] >= limit * (1 - little))

    def share(self, limits: Budget) -> float:
        """How far the budget is used, from 0 to 1; 0 where there is none."""
        used = (getattr(self, name) / limit for name, limit in limits.limits.items())
        return min(max(used, default=0.0), 1.0)
