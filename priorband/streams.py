"""Random streams identified by a path, so that every process gets the same numbers.

A study keeps no generator between trials. With seed 0, the sampler of trial 17 always uses the
stream with the path `0/17/sampler`, in every process. Draws use only `Generator.random`, the one
method whose output numpy has never changed.
"""

import sys
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from numpy.random import Generator
else:  # numpy.random is imported on first use: that is slow
    Generator = Any

__all__ = ["Generator", "RandomSource", "RandomStream", "Stream", "aside", "generator"]


@final
class Stream:
    """A seed sequence made from the hash of a path, ten times faster than numpy's own."""

    __slots__ = ("children", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.children: dict[str, int] = {}

    def child(self, label: str) -> "Stream":
        """The next child stream with this label; each label counts for itself."""
        number = self.children.get(label, 0)
        self.children[label] = number + 1
        return Stream(f"{self.path}/{label}{number}")

    def spawn(self, n_children: int) -> list["Stream"]:
        """The next child streams, as numpy's seed sequences return them."""
        return [self.child("") for _ in range(n_children)]

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        """The hash of the path, up to 64 bytes; PCG64 needs 32."""
        size = n_words * (8 if dtype is np.uint64 else np.dtype(dtype).itemsize)
        words = np.frombuffer(blake2b(self.path.encode(), digest_size=size).digest(), dtype)
        return words if sys.byteorder == "little" else words.byteswap()


class RandomSource(Protocol):
    """A source of uniform numbers, such as a numpy Generator."""

    def random(self) -> float:
        """The next number in [0, 1)."""


@final
class RandomStream:
    """Uniform numbers, each from a hash of a path: fast to create, for drawing only a few.

    >>> 0 <= RandomStream(0, 17, "scheduler").random() < 1
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
    """numpy's random module, with `Stream` registered as a seed sequence."""
    from numpy import random
    from numpy.random import bit_generator

    bit_generator.ISpawnableSeedSequence.register(Stream)
    return random


def generator(seed: int, trial: int, part: str) -> Generator:
    """The generator for one part of a decision.

    >>> generator(0, 17, "sampler").random() == generator(0, 17, "sampler").random()
    True
    """
    random = _numpy_random()
    rng: Generator = random.Generator(random.PCG64(Stream(f"{seed}/{trial}/{part}")))
    return rng


def aside(rng: Generator, label: str) -> float:
    """A uniform number that does not change later draws of `rng` or of other labels."""
    sequence: Any = rng.bit_generator.seed_seq
    child = sequence.child(label) if isinstance(sequence, Stream) else sequence.spawn(1)[0]
    return _uniform(child)


def _uniform(stream: Any) -> float:
    [word] = stream.generate_state(1, np.uint64).tolist()
    return float(word >> 11) * 2.0**-53
