"""The protocol of a searched parameter."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Parameter(Protocol):
    """One searched hyperparameter: its allowed values, and how they are encoded as numbers.

    A value with an order (a number, or one choice of an ordinal) is encoded as a position in
    [0, 1]. A choice of a categorical is encoded as its index.
    """

    @property
    def prior(self) -> object:
        """The prior: None, a value, a dict of weights, or a belief such as `Normal`."""

    @property
    def confidence(self) -> float | str:
        """How strongly a prior that is a plain value is believed."""

    @property
    def when(self) -> Mapping[str, Any] | None:
        """The conditions under which the parameter is active; None if it always is."""

    @property
    def choices(self) -> Sequence[Any]:
        """The allowed values in order, if they are listed one by one; otherwise empty."""

    @property
    def size(self) -> int | None:
        """The number of choices of a categorical; None if values have an order."""

    def check(self, value: Any) -> Any:
        """Return the value in its plain Python form, or raise `ConfigError`."""

    def encode(self, value: Any) -> float:
        """Return a value's position in [0, 1], or the index of a categorical's choice."""

    def decode(self, code: float) -> Any:
        """Return the value at a position in [0, 1], or at an index."""

    def centred(self, codes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each code rounded to the code of the value that it decodes to."""
