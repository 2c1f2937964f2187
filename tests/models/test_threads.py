"""One thread for linear algebra: within, afterwards, and for several at a time."""

from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Event, Thread

import numpy as np
import pytest
import scipy
from waiting import LONGEST

from priorband.models import threads
from priorband.models.threads import libraries, one_thread


def counts() -> list[int]:
    return [library.get() for library in libraries()]


@pytest.fixture
def before() -> Iterator[list[int]]:
    """As many threads as no default would be: three, four, and so on."""
    kept, wanted = counts(), [3 + place for place, _ in enumerate(libraries())]
    for library, number in zip(libraries(), wanted, strict=True):
        library.set(number)
    yield wanted
    for library, number in zip(libraries(), kept, strict=True):
        library.set(number)


def wheels() -> list[Path]:
    """The libraries that wheels for Linux bring along."""
    homes = [Path(str(package.__file__)).parent for package in (np, scipy)]
    return [path for home in homes for path in Path(f"{home}.libs").glob("*openblas*")]


@pytest.mark.skipif(not wheels(), reason="numpy and scipy are from no wheels for Linux")
def test_the_libraries_of_numpys_and_scipys_wheels_are_found() -> None:
    assert len(libraries()) == len(wheels()) >= 1
    assert all(number >= 1 for number in counts())
    assert libraries() is libraries()


@pytest.mark.skipif(not wheels(), reason="numpy and scipy are from no wheels for Linux")
def test_another_package_sees_the_same(before: list[int]) -> None:
    others = pytest.importorskip("threadpoolctl")

    def seen() -> list[int]:
        known = {str(path) for path in wheels()}
        return sorted(
            info["num_threads"] for info in others.threadpool_info() if info["filepath"] in known
        )

    assert seen() == before
    with one_thread():
        assert seen() == [1] * len(before)
    assert seen() == before


def test_within_all_take_one_thread_and_afterwards_what_they_had(before: list[int]) -> None:
    assert counts() == before
    with one_thread():
        assert counts() == [1] * len(before)
        assert np.linalg.cholesky(np.eye(3)).trace() == 3.0
    assert counts() == before


def test_an_exception_restores_them_as_well(before: list[int]) -> None:
    with pytest.raises(ZeroDivisionError), one_thread():
        assert 1 / (counts() == [1] * len(before)) == 1
        raise ZeroDivisionError
    assert counts() == before


def test_a_block_within_a_block_ends_nothing(before: list[int]) -> None:
    with one_thread():
        with one_thread():
            assert counts() == [1] * len(before)
        assert counts() == [1] * len(before)
        with pytest.raises(KeyError), one_thread():
            raise KeyError
        assert counts() == [1] * len(before)
    assert counts() == before


@pytest.mark.parametrize("leaves_first", [0, 1])
def test_the_last_of_two_python_threads_restores(before: list[int], leaves_first: int) -> None:
    both_within, leave = Barrier(3), (Event(), Event())
    seen: list[list[int]] = []

    def work(own: Event) -> None:
        with one_thread():
            both_within.wait(LONGEST)
            seen.append(counts())
            own.wait(LONGEST)
            seen.append(counts())

    workers = [Thread(target=work, args=[event]) for event in leave]
    for worker in workers:
        worker.start()
    both_within.wait(LONGEST)
    for place in (leaves_first, 1 - leaves_first):
        assert counts() == [1] * len(before)
        leave[place].set()
        workers[place].join(LONGEST)
    assert seen == [[1] * len(before)] * 4
    assert counts() == before


def test_many_python_threads_in_and_out_leave_no_trace(before: list[int]) -> None:
    wrong: list[list[int]] = []

    def work() -> None:
        for _ in range(200):
            with one_thread():
                if (found := counts()) != [1] * len(before):
                    wrong.append(found)

    workers = [Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(LONGEST)
    assert wrong == [] and counts() == before


def test_what_was_set_in_between_is_what_is_restored(before: list[int]) -> None:
    with one_thread():
        pass
    for library in libraries():
        library.set(2)
    with one_thread():
        assert counts() == [1] * len(before)
    assert counts() == [2] * len(before)


def test_threads_are_counted_and_set_by_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        number, alone = 5, True

        def get(self) -> int:
            self.alone &= threads._lock.locked()
            return self.number

        def set(self, number: int) -> None:
            self.alone &= threads._lock.locked()
            self.number = number

    library = Library()
    monkeypatch.setattr(threads, "libraries", lambda: (library,))
    with one_thread():
        assert library.number == 1 and not threads._lock.locked()
    assert library.number == 5 and library.alone


def test_without_any_library_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "libraries", lambda: ())
    with one_thread():
        assert threads.libraries() == ()


def test_a_file_that_is_no_library_is_passed_over(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("numpy.libs")
    (folder / "libopenblas.so").write_text("no library")
    (folder / "readme").write_text("nor this")
    monkeypatch.setattr(threads, "_folders", lambda: iter([str(folder), str(folder / "none")]))
    assert libraries.__wrapped__() == ()
