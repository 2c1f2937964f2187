"""A change of the prior, and where it is among the trials."""

from typing import NamedTuple

from priorband.space.prior import Prior


class PriorChange(NamedTuple):
    """A change of the prior."""

    prior: Prior
    """The new one."""
    asked: int
    """How many trials were asked before it; later ones have this id or a higher one."""
    ended: int
    """How many trials had ended."""
