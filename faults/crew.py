"""A crew of worker processes, of which any may be killed and is replaced at once."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import final

from faults.work import Post, work

PATIENCE = 300.0


@final
class Crew:
    """Workers that were forked from this process, so that none can be mistaken for another."""

    def __init__(self, post: Post, size: int, life: Callable[[Post, int], None]) -> None:
        self.post = post
        self.size = size
        self.life = life
        self.members: list[BaseProcess] = []
        self.codes: list[int | None] = []
        """The exit codes of those who ended by themselves."""

    def fill(self) -> None:
        """Start as many as are missing."""
        context = multiprocessing.get_context("fork")
        while len(self.members) < self.size:
            member = context.Process(target=self.life, args=(self.post, os.getpid()))
            member.start()
            self.members.append(member)

    def look(self) -> int:
        """Take note of those who have ended by themselves; how many are left."""
        for member in [m for m in self.members if not m.is_alive()]:
            self.codes.append(member.exitcode)
            self.members.remove(member)
        return len(self.members)

    def kill(self, index: int) -> None:
        """End a worker in the middle of anything."""
        member = self.members.pop(index)
        assert member.pid is not None
        self.post.diary.note("killed", victim=member.pid)
        os.kill(member.pid, signal.SIGKILL)
        member.join()
        self.post.diary.note("dead", victim=member.pid)
        if member.exitcode != -signal.SIGKILL:  # it was quicker
            self.codes.append(member.exitcode)

    def signal(self, number: int) -> None:
        """Send a signal to everybody."""
        for member in self.members:
            assert member.pid is not None
            os.kill(member.pid, number)

    def wait(self, seconds: float = PATIENCE) -> bool:
        """Whether all end by themselves within some seconds."""
        deadline = time.monotonic() + seconds
        while self.look():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def dismiss(self) -> None:
        """End all who are left."""
        for member in self.members:
            member.kill()
            member.join()
        self.members.clear()


def until(done: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Waited in vain for {what}.")
        time.sleep(0.02)


@contextmanager
def crew(post: Post, size: int, life: Callable[[Post, int], None] = work) -> Iterator[Crew]:
    """A crew at work, of which nobody is left afterwards."""
    made = Crew(post, size, life)
    try:
        made.fill()
        yield made
    finally:
        made.dismiss()
