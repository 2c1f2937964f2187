"""Messages between the ranks of a job: JSON in tensors, over a gloo group of their own.

Nothing is pickled. The job's own process group, which may use GPUs, is left to the training.
"""

import json
import os
import time
from datetime import timedelta
from typing import Any, final

from priorband.errors import ExtraError

NO_LIMIT = timedelta(
    days=365
)  # gloo notices at once when a rank dies; a slow one may be waited for
LOOK = 0.05  # seconds between checks for other ranks

Message = dict[str, Any]


class RankLost(BaseException):
    """A rank has exited while others were communicating with it."""


class RankTimeout(BaseException):
    """Some ranks have not arrived in time."""


def distributed() -> Any:
    """The module torch.distributed; raise ExtraError if it is not installed."""
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
    """The connection of one rank to the others. All ranks must create theirs at the same time."""

    def __init__(self, group: Any = None) -> None:
        self._dist = distributed()
        self._training = self._dist.group.WORLD if group is None else group
        ranks = self._dist.get_process_group_ranks(self._training)
        self._group = self._dist.new_group(
            ranks, NO_LIMIT, backend="gloo", use_local_synchronization=group is not None
        )
        self._first = ranks[0]
        self._gathers = 0
        self.rank: int = self._dist.get_rank(self._group)
        self.size = len(ranks)
        name = self.broadcast({"name": f"priorband-{os.urandom(8).hex()}"})["name"]
        self._store = self._dist.PrefixStore(name, _store(self._dist, self._group))

    def broadcast(self, message: Message | None = None) -> Message:
        """Send a message from rank 0 to all; every rank calls this, and gets rank 0's message."""
        import torch

        data = json.dumps(message).encode()
        length = torch.tensor([len(data)])
        try:
            self._dist.broadcast(length, self._first, group=self._group)
            tensor = _tensor(data if self.rank == 0 else b"", int(length))
            self._dist.broadcast(tensor, self._first, group=self._group)
        except RuntimeError as error:
            raise RankLost(str(error)) from error
        return _message(tensor)

    def all_gather(self, message: Message, patience: float | None = None) -> list[Message]:
        """Exchange a message with all ranks; return those of all, in the order of the ranks.

        With `patience`, raise RankTimeout if others do not arrive within that many seconds.
        """
        import torch

        self._gathers += 1
        data = json.dumps(message).encode()
        lengths = [torch.tensor([0]) for _ in range(self.size)]
        try:
            self._store.add("arrived", 1)
            if patience is not None:
                self._wait_for_all(patience)
            self._dist.all_gather(lengths, torch.tensor([len(data)]), group=self._group)
            longest = max(map(int, lengths))
            tensors = [_tensor(b"", longest) for _ in range(self.size)]
            self._dist.all_gather(tensors, _tensor(data, longest), group=self._group)
        except RuntimeError as error:
            raise RankLost(str(error)) from error
        return [_message(tensor[: int(n)]) for tensor, n in zip(tensors, lengths, strict=True)]

    def collectives(self) -> int | None:
        """How many collectives this rank has started in the training's group; None if unknown."""
        try:
            return int(self._training._get_sequence_number_for_group())
        except (AttributeError, RuntimeError):  # another torch, or a backend that does not count
            return None

    def _wait_for_all(self, seconds: float) -> None:
        """Wait outside of any collective, since waiting in one cannot be cancelled."""
        deadline = time.monotonic() + seconds
        while self._store.add("arrived", 0) < self._gathers * self.size:
            if time.monotonic() > deadline:
                raise RankTimeout(f"other ranks did not come within {seconds:g} s")
            time.sleep(LOOK)

    def post_failure(self, key: str, message: Message) -> None:
        """Publish a failure to ranks that may be stuck in a collective; the first one is kept."""
        try:
            if not self._store.check([key]):
                self._store.set(key, json.dumps(message))
        except RuntimeError as error:
            raise RankLost(str(error)) from error

    def posted_failure(self, key: str) -> Message | None:
        """The failure that was posted, if any. Works while another thread is in a collective."""
        try:
            if not self._store.check([key]):
                return None
            message: Message = json.loads(self._store.get(key))
        except RuntimeError:  # the rank that hosts the store has exited
            return None
        return message

    def delete_failure(self, key: str) -> None:
        """Delete a failure that was posted."""
        try:
            self._store.delete_key(key)
        except RuntimeError as error:
            raise RankLost(str(error)) from error

    def close(self) -> None:
        """Close the connections, and wait for the threads of torch that serve them.

        A thread that still holds a tensor when the interpreter exits would crash the process.
        """
        self._dist.destroy_process_group(self._group)
        self._group = self._store = self._training = None


def _store(dist: Any, group: Any) -> Any:
    """The key-value store through which the ranks of a group have connected."""
    if hasattr(group, "get_group_store"):
        return group.get_group_store()
    return dist.distributed_c10d._get_default_store()


def _tensor(data: bytes, length: int) -> Any:
    """Bytes as a tensor, padded to a length."""
    import torch

    return torch.frombuffer(bytearray(data.ljust(length, b"\0")), dtype=torch.uint8)


def _message(tensor: Any) -> Message:
    message: Message = json.loads(bytes(tensor.tolist()))
    return message
