"""The budget: limits on a study, for all of its workers together and over all restarts."""

from collections.abc import Mapping
from typing import final

from priorband.errors import ArgumentError, suggestion
from priorband.numeric import real, whole
from priorband.values import field_names, frozen, settle


@final
@frozen
class Budget:
    """Limits on a study; the first one that is reached ends it. None means no limit.

    Args:
        trainings: full trainings: the fidelity handed out, divided by the highest fidelity.
        trials: the number of trials.
        cost: the sum of what trials report as "cost".
        hours: the time during which at least one worker was working.

    Raises:
        ArgumentError: if a limit is not a number above 0.

    >>> Budget(trainings=12, hours=8).limits
    {'trainings': 12, 'hours': 8}
    """

    trainings: float | None = None
    trials: int | None = None
    cost: float | None = None
    hours: float | None = None

    def __post_init__(self) -> None:
        for name, limit in self.limits.items():
            if not (real(limit) or 0) > 0:
                raise ArgumentError(f"`budget` needs a number above 0 for `{name}`, got {limit!r}.")
            if type(limit) not in (int, float):  # numpy's, which JSON does not take
                settle(self, **{name: int(limit) if whole(limit) else float(limit)})
        if self.trials is not None and not whole(self.trials):
            raise ArgumentError(f"`budget` needs a whole number for `trials`, got {self.trials!r}.")

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set, by name."""
        every = {name: getattr(self, name) for name in field_names(self)}
        return {name: limit for name, limit in every.items() if limit is not None}

    def __str__(self) -> str:
        shown = [limit_text(limit, name) for name, limit in self.limits.items()]
        return " or ".join(shown) or "no limit"


def limit_text(limit: float, name: str) -> str:
    """A limit with its name, which is in the singular for 1.

    >>> limit_text(12, "trainings"), limit_text(1, "trainings"), limit_text(1, "cost")
    ('12 trainings', '1 training', '1 cost')
    """
    return f"{limit:g} {name.removesuffix('s') if limit == 1 else name}"


BudgetLike = Budget | float | Mapping[str, float] | None
"""What is accepted as a budget: a number means full trainings, None means no limit."""


def as_budget(limits: BudgetLike) -> Budget:
    """Return a `Budget` for what a user gave.

    >>> as_budget(12)
    Budget(trainings=12, trials=None, cost=None, hours=None)
    """
    if isinstance(limits, Budget):
        return limits
    if limits is None:
        return Budget()
    if isinstance(limits, Mapping):
        for name in limits:
            if name not in field_names(Budget()):
                raise ArgumentError(
                    f"`budget` has an unknown limit {name!r}. "
                    f"{suggestion(name, field_names(Budget()))}"
                )
        return Budget(**limits)  # type: ignore[arg-type]  # which checks each limit
    if (real(limits) or 0) > 0:
        return Budget(trainings=limits)
    raise ArgumentError(
        "`budget` must be a number of full trainings above 0, or a Budget(trainings=, trials=, "
        f"cost=, hours=), got {limits!r}. Write budget=12, or budget=pb.Budget(trials=100)."
    )


@final
@frozen
class Spending:
    """How much of each limit is used or handed out."""

    trainings: float
    trials: int
    cost: float
    hours: float

    def reached(self, limits: Budget) -> tuple[str, ...]:
        """The limits that leave no room for another trial."""
        tolerance = 1e-9  # sums of fidelities are not exact
        return tuple(
            name
            for name, limit in limits.limits.items()
            if getattr(self, name) >= limit * (1 - tolerance)
        )

    def share(self, limits: Budget) -> float:
        """How much of the budget is used, from 0 to 1; 0 without a limit."""
        used = (getattr(self, name) / limit for name, limit in limits.limits.items())
        return min(max(used, default=0.0), 1.0)
