"""What a searchable parameter can do."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Parameter(Protocol):
    """One hyperparameter: its values, and how they map to codes."""

    @property
    def prior(self) -> Any:
        """What is believed of it: None, a value, a dict of weights or a belief."""

    @property
    def confidence(self) -> Any:
        """How sure one is of a plain value."""

    @property
    def choices(self) -> Sequence[Any]:
        """Its values in order, where they are listed one by one."""

    @property
    def size(self) -> int | None:
        """How many choices a categorical has; None where values have an order."""

    def check(self, value: Any) -> Any:
        """The value in its plain form, or an error that says what is allowed."""

    def encode(self, value: Any) -> float:
        """Where a value lies in the unit interval, or a category's index."""

    def decode(self, code: float) -> Any:
        """The value at a position of the unit interval, or at an index."""

    def centred(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The codes of the values that some codes stand for: the centres of their cells."""
