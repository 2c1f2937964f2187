"""Words between the ranks of a job: JSON in tensors, over a gloo group of their own.

Nothing is pickled. The job's own group, which may be on accelerators, is left to the training.
"""

import json
import os
import time
from datetime import timedelta
from typing import Any, final

from priorband.errors import ExtraError

NO_LIMIT = timedelta(days=365)  # a rank that dies is noticed at once; one that waits may wait long
LOOK = 0.05  # seconds between looks for others

Word = dict[str, Any]


class Lost(BaseException):
    """A rank has ended while others counted on it."""


class Absent(BaseException):
    """Some ranks do not come to where one waits for them."""


def distributed() -> Any:
    """torch.distributed, or the word that it is missing."""
    try:
        import torch.distributed as dist
    except ImportError:
        raise ExtraError(
            "Training on several ranks needs torch, which is not installed: pip install torch."
        ) from None
    if not dist.is_available():
        raise ExtraError(
            "Training on several ranks needs a torch that was built with torch.distributed: "
            "pip install torch."
        )
    return dist


@final
class RankChannel:
    """The way from each rank of a group to the others. All of them make it at the same time."""

    def __init__(self, group: Any = None) -> None:
        self._dist = distributed()
        self._training = self._dist.group.WORLD if group is None else group
        ranks = self._dist.get_process_group_ranks(self._training)
        self._group = self._dist.new_group(
            ranks, NO_LIMIT, backend="gloo", use_local_synchronization=group is not None
        )
        self._first = ranks[0]
        self._meetings = 0
        self.rank: int = self._dist.get_rank(self._group)
        self.size = len(ranks)
        name = self.tell({"name": f"priorband-{os.urandom(8).hex()}"})["name"]
        self._store = self._dist.PrefixStore(name, _store(self._dist, self._group))

    def tell(self, word: Word | None = None) -> Word:
        """What rank 0 says, on every rank."""
        import torch

        said = json.dumps(word).encode()
        length = torch.tensor([len(said)])
        try:
            self._dist.broadcast(length, self._first, group=self._group)
            data = _tensor(said, int(length)) if self.rank == 0 else _tensor(b"", int(length))
            self._dist.broadcast(data, self._first, group=self._group)
        except RuntimeError as error:
            raise Lost(str(error)) from error
        return _word(data)

    def gather(self, word: Word, patience: float | None = None) -> list[Word]:
        """What every rank says, on every rank; with patience the others must come in time."""
        import torch

        self._meetings += 1
        said = json.dumps(word).encode()
        lengths = [torch.tensor([0]) for _ in range(self.size)]
        try:
            self._store.add("arrived", 1)
            if patience is not None:
                self._wait_for_all(patience)
            self._dist.all_gather(lengths, torch.tensor([len(said)]), group=self._group)
            longest = max(map(int, lengths))
            padded = [_tensor(b"", longest) for _ in range(self.size)]
            self._dist.all_gather(padded, _tensor(said, longest), group=self._group)
        except RuntimeError as error:
            raise Lost(str(error)) from error
        return [_word(data[: int(n)]) for data, n in zip(padded, lengths, strict=True)]

    def collectives(self) -> int | None:
        """How many collectives this rank has begun in the training's group; None if unknown."""
        try:
            return int(self._training._get_sequence_number_for_group())
        except (AttributeError, RuntimeError):  # another torch, or a backend that does not count
            return None

    def _wait_for_all(self, seconds: float) -> None:
        """Wait outside of any collective: one that is left waiting cannot be ended any more."""
        deadline = time.monotonic() + seconds
        while self._store.add("arrived", 0) < self._meetings * self.size:
            if time.monotonic() > deadline:
                raise Absent(f"other ranks did not come within {seconds:g} s")
            time.sleep(LOOK)

    def alarm(self, key: str, word: Word) -> None:
        """Leave word for those who wait for this rank in a collective; the first one stays."""
        try:
            if not self._store.check([key]):
                self._store.set(key, json.dumps(word))
        except RuntimeError as error:
            raise Lost(str(error)) from error

    def alarmed(self, key: str) -> Word | None:
        """The word that was left, if any; also while another thread waits in a collective."""
        try:
            if not self._store.check([key]):
                return None
            left: Word = json.loads(self._store.get(key))
        except RuntimeError:  # whoever keeps these words has ended
            return None
        return left

    def forget(self, key: str) -> None:
        """Remove a word that was left."""
        try:
            self._store.delete_key(key)
        except RuntimeError as error:
            raise Lost(str(error)) from error

    def close(self) -> None:
        """Let go of the connections, and wait for torch's threads that serve them.

        One that still holds a tensor when the interpreter ends would take the process with it.
        """
        self._dist.destroy_process_group(self._group)
        self._group = self._store = self._training = None


def _store(dist: Any, group: Any) -> Any:
    """The store through which a group's ranks have found one another."""
    if hasattr(group, "get_group_store"):
        return group.get_group_store()
    return dist.distributed_c10d._get_default_store()


def _tensor(data: bytes, length: int) -> Any:
    """Bytes as a tensor, filled up to a length."""
    import torch

    return torch.frombuffer(bytearray(data.ljust(length, b"\0")), dtype=torch.uint8)


def _word(data: Any) -> Word:
    word: Word = json.loads(bytes(data.tolist()))
    return word
