"""Random streams named by a path, so that any process can make the one it needs.

A study keeps no generator between trials. The stream of trial 17's sampler under seed 0 is the one
with the path `0/17/sampler`, in every process and at every time. Draws use `Generator.random` only,
the one method whose bits numpy has never changed.
"""

import sys
from hashlib import shake_128
from typing import Any, final

import numpy as np
from numpy.random import PCG64, Generator
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import DTypeLike, NDArray


@final
class Stream(ISpawnableSeedSequence):
    """A seed sequence whose entropy is the hash of a path. A twelfth of numpy's own in cost."""

    __slots__ = ("children", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.children = 0

    def generate_state(
        self, n_words: int, dtype: DTypeLike = np.uint32
    ) -> NDArray[np.uint32 | np.uint64]:
        """The first `n_words` words of the path's hash."""
        kind: np.dtype[Any] = np.dtype(dtype)
        words = np.frombuffer(shake_128(self.path.encode()).digest(n_words * kind.itemsize), kind)
        return words if sys.byteorder == "little" else words.byteswap()

    def spawn(self, n_children: int) -> list["Stream"]:
        """The next `n_children` streams below this one."""
        first = self.children
        self.children += n_children
        return [Stream(f"{self.path}/{child}") for child in range(first, self.children)]


def generator(seed: int, *path: int | str) -> Generator:
    """The generator at a path below a seed.

    >>> generator(0, 17, "sampler").random() == generator(0, 17, "sampler").random()
    True
    """
    return Generator(PCG64(Stream("/".join(map(str, (seed, *path))))))  # type: ignore[arg-type]  # any seed sequence will do
