"""A generator whose numbers are written down, for examples worked by hand."""

from collections.abc import Iterable
from typing import Any

import numpy as np


class Scripted:
    """Gives the stated numbers in order, and fails when they are used up."""

    def __init__(self, *numbers: float | Iterable[float]) -> None:
        parts = [[n] if isinstance(n, int | float) else list(n) for n in numbers]
        self.left = [float(number) for part in parts for number in part]

    def random(self, shape: Any = None) -> Any:
        """The next numbers, in the shape that is asked for."""
        count = 1 if shape is None else int(np.prod(shape))
        assert count <= len(self.left), f"{count} numbers were asked for, {len(self.left)} are left"
        taken, self.left = self.left[:count], self.left[count:]
        return taken[0] if shape is None else np.array(taken).reshape(shape)
