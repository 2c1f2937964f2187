"""Random streams named by a path, so that any process can make the one it needs.

A study keeps no generator between trials. The stream of trial 17's sampler under seed 0 is the one
with the path `0/17/sampler`, in every process and at every time. Draws use `Generator.random` only,
the one method whose bits numpy has never changed.
"""

import sys
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from numpy.random import Generator
else:  # numpy loads its generators when they are first used, and so do we
    Generator = Any

__all__ = ["Dice", "Generator", "Random", "Stream", "aside", "generator"]


@final
class Stream:
    """A seed sequence whose entropy is the hash of a path: a tenth of the cost of numpy's own."""

    __slots__ = ("children", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.children: dict[str, int] = {}

    def child(self, label: str) -> "Stream":
        """The next stream below this one under a label; labels do not disturb each other."""
        number = self.children.get(label, 0)
        self.children[label] = number + 1
        return Stream(f"{self.path}/{label}{number}")

    def spawn(self, n_children: int) -> list["Stream"]:
        """The next streams below this one, as numpy asks for them."""
        return [self.child("") for _ in range(n_children)]

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        """The path's hash, up to 64 bytes: PCG64 takes 32."""
        size = n_words * (8 if dtype is np.uint64 else np.dtype(dtype).itemsize)
        words = np.frombuffer(blake2b(self.path.encode(), digest_size=size).digest(), dtype)
        return words if sys.byteorder == "little" else words.byteswap()


class Random(Protocol):
    """A source of uniform numbers, such as a numpy Generator."""

    def random(self) -> float:
        """The next number in [0, 1)."""


@final
class Dice:
    """Uniform numbers at a path, a hash each: for those who draw few, or none at all.

    >>> 0 <= Dice(0, 17, "scheduler").random() < 1
    True
    """

    __slots__ = ("_stream",)

    def __init__(self, seed: int, trial: int, part: str) -> None:
        self._stream = Stream(f"{seed}/{trial}/{part}")

    def random(self) -> float:
        """The next number in [0, 1)."""
        return _uniform(self._stream.child(""))


@cache
def _numpy_random() -> Any:
    """numpy's random module, told that a Stream is a seed sequence."""
    from numpy import random
    from numpy.random import bit_generator

    bit_generator.ISpawnableSeedSequence.register(Stream)
    return random


def generator(seed: int, trial: int, part: str) -> Generator:
    """The generator of one part of a decision.

    >>> generator(0, 17, "sampler").random() == generator(0, 17, "sampler").random()
    True
    """
    random = _numpy_random()
    made: Generator = random.Generator(random.PCG64(Stream(f"{seed}/{trial}/{part}")))
    return made


def aside(rng: Generator, label: str) -> float:
    """A uniform number that leaves a generator's own draws, and other labels' numbers, alone."""
    sequence: Any = rng.bit_generator.seed_seq
    below = sequence.child(label) if isinstance(sequence, Stream) else sequence.spawn(1)[0]
    return _uniform(below)


def _uniform(stream: Any) -> float:
    [word] = stream.generate_state(1, np.uint64).tolist()
    return float(word >> 11) * 2.0**-53
