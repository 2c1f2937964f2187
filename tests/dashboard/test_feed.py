"""How often a study is read: when something has changed, and not otherwise."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from stored_studies import EPOCHS, SPACE, tell_some

import priorband as pb
from priorband.dashboard import feed as feeds
from priorband.dashboard.feed import StudyFeed
from priorband.dashboard.places import study_place
from priorband.storage.journal import Row
from priorband.storage.sqlite import SqliteJournal
from priorband.study_analysis import StudyData


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A clock that moves only when it is told to."""
    now = [1000.0]
    monkeypatch.setattr("priorband.dashboard.feed.time.monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, now[0] + seconds)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with pb.open_study(tmp_path / "one", SPACE, EPOCHS) as study:
        tell_some(study, 4)
    return tmp_path / "one"


def errors(feed: StudyFeed) -> list[str]:
    return [] if feed.error is None else [feed.error]


def test_a_study_at_rest_is_not_read_again(
    folder: Path, later: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = StudyFeed(study_place(str(folder)))
    assert feed.look()
    reads = list[int]()
    read = SqliteJournal.read

    def counted(self: SqliteJournal, after: int) -> list[Row]:
        reads.append(after)
        return read(self, after)

    monkeypatch.setattr(SqliteJournal, "read", counted)
    for _ in range(100):
        later(feeds.LONGEST)
        assert not feed.look()
    assert reads == []
    with pb.open_study(folder) as study:
        tell_some(study, 1)
    later(feeds.SHORTEST)
    assert feed.look() and len(feed.table) == 5
    feed.close()


def test_a_busy_study_is_not_read_too_often(folder: Path, later: Callable[[float], None]) -> None:
    feed = StudyFeed(study_place(str(folder)))
    with pb.open_study(folder) as study:
        study.ask()
        assert feed.look() and feed.overview is not None and feed.overview.running
        assert not feed.look()
        later(feeds.SHORTEST / 2)
        assert not feed.look()
        later(2 * feeds.SHORTEST)
        assert feed.look()
        assert feed.look(force=True)
    feed.close()


def test_a_study_that_is_gone_says_so_and_is_shown_again_when_it_is_back(
    folder: Path, tmp_path: Path, later: Callable[[float], None]
) -> None:
    feed = StudyFeed(study_place(str(folder)))
    feed.look()
    assert errors(feed) == []
    shutil.move(folder, tmp_path / "away")
    later(feeds.LONGEST)
    assert feed.look() and len(errors(feed)) == 1
    shutil.move(tmp_path / "away", folder)
    later(10 * feeds.LONGEST)
    assert feed.look() and errors(feed) == [] and len(feed.table) == 4
    feed.close()


def test_results_are_computed_once_for_each_state(folder: Path) -> None:
    feed = StudyFeed(study_place(str(folder)))
    calls = list[int]()

    def count(data: StudyData) -> int:
        calls.append(data.records)
        return len(calls)

    for _ in range(3):
        assert feed.result(("x",), count) == 1
    with pb.open_study(folder) as study:
        tell_some(study, 1)
    feed.look(force=True)
    assert feed.result(("x",), count) == 2
    feed.close()
