"""The fidelity: how much training a trial gets, such as epochs or a share of the data."""

import warnings
from typing import Any, final

from priorband.errors import SingleRungWarning, SpaceError
from priorband.numeric import real, unquoted, whole
from priorband.values import frozen, settle

USUAL_ETA = 3


@final
@frozen
class Fidelity:
    """The range of training lengths, from the lowest useful one to a full training.

    It is an integer if both bounds are integers, otherwise a real number.

    Args:
        name: what is counted, such as "epochs".
        low: the shortest training that says something about a configuration; above 0.
        high: a full training.
        prior: must be None, since the scheduler sets the fidelity.

    Raises:
        SpaceError: if the name is empty, the bounds are not numbers with 0 < low <= high, or a
            prior is given.

    >>> Fidelity("epochs", 1, 81).integer, Fidelity("share", 0.1, 1.0).integer
    (True, False)
    """

    name: str
    low: float
    high: float
    prior: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not self.name.isprintable():
            raise SpaceError(
                f"`name` of a fidelity must be text such as 'epochs', got {self.name!r}. Write "
                "Fidelity('epochs', 1, 81)."
            )
        if self.prior is not None:
            raise SpaceError(
                f"A fidelity takes no prior: the schedule sets `{self.name}`, it is not searched. "
                f"Drop prior={self.prior!r}."
            )
        for bound in ("low", "high"):
            value = getattr(self, bound)
            if real(value) is None:
                raise SpaceError(
                    f"`{bound}` of the fidelity `{self.name}` must be a finite number, "
                    f"got {value!r}.{unquoted(value)}"
                )
        _check_bounds(self.name, self.low, self.high)
        kind = int if self.integer else float
        settle(self, low=kind(self.low), high=kind(self.high))
        warn_single_rung(self, USUAL_ETA, stacklevel=4)

    @property
    def integer(self) -> bool:
        """Whether fidelities are integers."""
        return whole(self.low) and whole(self.high)


def _check_bounds(name: str, low: float, high: float) -> None:
    """Raise `SpaceError` unless 0 < low <= high."""
    if low > 0 and low > high:
        raise SpaceError(
            f"`low` of the fidelity `{name}` must not be above `high`, got low={low!r} and "
            f"high={high!r}. The shortest training comes first: "
            + (f"Fidelity({name!r}, {high!r}, {low!r})." if high > 0 else "such as 1, 81.")
        )
    if not low > 0:
        raise SpaceError(
            f"`low` of the fidelity `{name}` must be above 0, got {low!r}. Give the shortest "
            "training that says something about a configuration, such as 1."
        )


def warn_single_rung(fidelity: Fidelity, eta: int, stacklevel: int = 3) -> None:
    """Warn when a range has a single rung, so that every trial is a full training."""
    if fidelity.low * eta <= fidelity.high * (1 + 1e-12):
        return
    lows = {rungs: lower_bound(fidelity, eta ** (rungs - 1)) for rungs in (2, 3, 4)}
    advice = ", ".join(f"low={low!r} for {rungs} rungs" for rungs, low in lows.items() if low > 0)
    warnings.warn(
        f"`{fidelity.name}` from {fidelity.low!r} to {fidelity.high!r} has a single rung with "
        f"eta={eta}: every trial is a full training, nothing is tried at low cost. "
        f"{f'Use {advice}' if advice else f'Raise high to {fidelity.low * eta}'}.",
        SingleRungWarning,
        stacklevel=stacklevel,
    )


def lower_bound(fidelity: Fidelity, share: int) -> float:
    """A lower bound of at most `high / share`, rounded to few digits where possible."""
    if fidelity.integer:
        return fidelity.high // share
    exact = fidelity.high / share
    short = float(f"{exact * 0.9995:.3g}")
    return short if 0 < short <= exact else exact
