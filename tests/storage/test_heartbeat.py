"""The heartbeat says so when it cannot renew leases, long before they expire."""

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from waiting import LONGEST, wait_until

from priorband.errors import StorageError
from priorband.storage.heartbeat import Heartbeat
from priorband.storage.journal import Beat

LEASE = 1.2


class Storage:
    """Renews leases, or fails, or hangs."""

    where = "somewhere"

    def __init__(self) -> None:
        self.fails = self.hangs = False
        self.beats = 0
        self.goes_on = threading.Event()

    def now(self) -> float:
        return time.time()

    def beat(self, worker: str, beats: Sequence[Beat], seconds: float) -> set[int]:
        self.beats += 1
        if self.hangs:
            assert self.goes_on.wait(LONGEST)
        if self.fails:
            raise StorageError("somewhere cannot be reached.")
        return {beat.trial for beat in beats}


@pytest.fixture
def storage() -> Storage:
    return Storage()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def heartbeat(storage: Storage, said: list[str]) -> Iterator[Heartbeat]:
    journal: Any = storage
    beating = Heartbeat(journal, "me", LEASE)
    beating.say = said.append
    yield beating
    storage.goes_on.set()
    beating.stop()


def test_leases_that_are_renewed_are_not_worth_a_message(
    heartbeat: Heartbeat, storage: Storage, said: list[str]
) -> None:
    heartbeat.seconds = LONGEST * 6  # so that a busy machine is never late
    heartbeat.hold(1, 1)
    heartbeat._beat()
    heartbeat._beat()
    assert storage.beats == 2 and not said


def test_a_lease_that_cannot_be_renewed_is_reported_and_also_that_it_can_again(
    heartbeat: Heartbeat, storage: Storage, said: list[str]
) -> None:
    storage.fails = True
    heartbeat.hold(7, 1)
    wait_until(lambda: said, "a warning")
    assert said[0].startswith("WARNING: the lease on trial 7 was not renewed for")
    assert "somewhere cannot be reached." in said[0]
    storage.fails = False
    wait_until(lambda: any("renewed again" in text for text in said), "the end of it")


def test_storage_that_hangs_is_reported_too(
    heartbeat: Heartbeat, storage: Storage, said: list[str]
) -> None:
    storage.hangs = True
    heartbeat.hold(7, 1)
    wait_until(lambda: said, "a warning")
    assert "somewhere does not respond." in said[0] and storage.beats == 1


def test_a_worker_without_trials_has_nothing_to_report(
    heartbeat: Heartbeat, storage: Storage, said: list[str]
) -> None:
    storage.fails = True
    heartbeat.hold(7, 1)
    heartbeat.release(7)
    heartbeat._renewed_at = 0.0  # long ago
    assert not heartbeat._overdue(0)
    heartbeat.hold(8, 1)
    assert not heartbeat._overdue(0)  # its lease is new
