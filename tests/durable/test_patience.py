"""Asking and telling by hand while storage fails: calls wait, and nothing is written twice."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from amounts import slow
from servers import Server, fresh_url

import priorband as pb
from priorband.durable import study as study_module
from priorband.durable.messages import Assignment, Report
from priorband.errors import ArgumentError, StorageError
from priorband.events import Told

SPACE = pb.Space({"x": pb.Float(0, 1), "kind": pb.Categorical(["a", ("b", 1)])})
EPOCHS = pb.Fidelity("epochs", 1, 9)
CONFIG = {"x": 0.25, "kind": ("b", 1)}


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return fresh_url(request.getfixturevalue("postgres"))
    return str(tmp_path / "study")


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between retries are short."""
    monkeypatch.setattr(study_module, "FIRST_PAUSE", 0.001)


@contextmanager
def failing(study: pb.DurableStudy, times: int, written: bool) -> Iterator[list[int]]:
    """Let the next writes fail: before they are written, or after, so that the answer is lost."""
    real, failed = study.journal.transaction, list[int]()

    @contextmanager
    def transaction(*given: Any) -> Iterator[Any]:
        if len(failed) >= times:
            with real(*given) as inner:
                yield inner
            return
        failed.append(1)
        try:
            with real(*given) as inner:
                yield inner
                if not written:
                    raise StorageError("The disk is full.")
        finally:
            if written:
                raise StorageError("The connection was lost.")

    vars(study.journal)["transaction"] = transaction
    yield failed
    del vars(study.journal)["transaction"]


def ask(study: pb.DurableStudy) -> object:
    trial = study.ask()
    assert study.heartbeat.attempt(trial.id) == 1
    return trial.id


CALLS: dict[str, Callable[[pb.DurableStudy], object]] = {
    "ask": ask,
    "ask with hold": lambda study: study.ask(hold=100).id,
    "tell": lambda study: study.tell(0, 0.5, cost=2.0, accuracy=0.5),
    "tell by another": lambda study: study.tell(2, 0.5),
    "tell nan": lambda study: study.tell(0, float("nan")),
    "fail": lambda study: study.fail(0, "no reason"),
    "queue": lambda study: study.queue(CONFIG, 9),
    "add": lambda study: study.add(CONFIG, 0.25).loss,
    "limit": lambda study: study.limit(pb.Budget(trials=7)),
    "retry": lambda study: study.retry([1]),
    "follow": lambda study: study.follow([Told(0, 0.5)]),
}


def started(where: str, folder: Path, **options: Any) -> pb.DurableStudy:
    """A study with a running trial, a failed one, and one that another process has asked."""
    study = pb.open_study(where, SPACE, EPOCHS, folder=_folder(where, folder), **options)
    study.ask()
    study.fail(study.ask())
    with pb.open_study(where, folder=_folder(where, folder)) as other:
        other.ask(hold=1000)
    return study


def _folder(where: str, folder: Path) -> Path | None:
    return folder if "://" in where else None


def records(study: pb.DurableStudy) -> list[Any]:
    return [(row.kind, row.trial, json.loads(row.body)) for row in study.journal.read(1)]


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_is_repeated_is_written_once(
    where: str, tmp_path: Path, call: str, written: bool
) -> None:
    with started(str(tmp_path / "calm"), tmp_path) as calm:
        expected, all_records = CALLS[call](calm), records(calm)
    with started(where, tmp_path) as study:
        with failing(study, 3, written) as failed:
            assert CALLS[call](study) == expected
        assert len(failed) == 3
        assert records(study) == all_records
        assert study.replay().exact


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("call", [name for name in CALLS if name != "tell by another"])
def test_without_patience_it_fails_at_once_and_can_be_repeated(
    where: str, tmp_path: Path, call: str, written: bool
) -> None:
    with started(str(tmp_path / "calm"), tmp_path) as calm:
        expected, all_records = CALLS[call](calm), records(calm)
    with started(where, tmp_path, patience=0) as study:
        with failing(study, 1, written) as failed, pytest.raises(StorageError):
            CALLS[call](study)
        assert failed == [1]
        assert CALLS[call](study) == expected
        assert records(study) == all_records


def test_a_trial_whose_answer_was_lost_is_not_returned_once_another_has_it(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS, patience=0) as study:
        with failing(study, 1, written=True), pytest.raises(StorageError):
            study.ask()
        with pb.open_study(tmp_path) as other:
            other.turn(Report(0, 1, None, "preempted", "on behalf of the first"), "")
            taken = other.turn(None, "mine")
            assert isinstance(taken, Assignment) and taken.trial.id == 0
            assert study.ask().id == 1


def test_a_worker_has_its_own_patience(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        with failing(study, 1, written=False), pytest.raises(StorageError):
            study.turn(None, "mine")
        assert isinstance(study.turn(None, "mine"), Assignment)


def test_a_study_that_cannot_be_written_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        trial = study.ask(hold=100)
    with pb.open_study(tmp_path, read_only=True) as study:
        monkeypatch.setattr("priorband.durable.study.time.sleep", _forbidden)
        with pytest.raises(StorageError):
            study.tell(trial, 0.5)


def _forbidden(seconds: float) -> None:
    raise AssertionError("it waited")


@pytest.mark.parametrize("patience", [-1, "long", None, float("nan")])
def test_patience_is_a_number_of_seconds(tmp_path: Path, patience: Any) -> None:
    with pytest.raises(ArgumentError, match="`patience` must be a number of seconds"):
        pb.open_study(tmp_path / "s", SPACE, EPOCHS, patience=patience)
    assert not (tmp_path / "s").exists()


@slow
def test_calls_wait_for_a_server_that_restarts(
    tmp_path: Path, new_postgres: Callable[[], Server]
) -> None:
    server = new_postgres()
    with pb.open_study(fresh_url(server), SPACE, EPOCHS, folder=tmp_path, patience=600) as study:
        for count in range(2):
            server.kill()
            again = threading.Timer(0.2, server.restart)
            again.start()
            study.tell(study.ask(), 0.5)
            again.join()
            assert [kind for kind, _, _ in records(study)] == ["asked", "told"] * (count + 1)
