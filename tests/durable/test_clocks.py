"""Only the storage's clock decides: not that of a process, and not one that jumps."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers import fresh_url

import priorband as pb
from priorband.display.overview import study_overview
from priorband.durable import dispatch
from priorband.durable.activity import WORKERS, ActiveTime
from priorband.durable.messages import Assignment, Idle, Report
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.storage import heartbeat
from priorband.storage.journal import Beat, Row
from priorband.storage.json_text import from_json

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
EPOCHS = pb.Fidelity("epochs", 1, 9)
HOUR = 3600.0
NIGHT = 8 * HOUR

SKEWED = """
import sys, time
right = time.time
time.time = lambda: right() + float(sys.argv[2])  # before anything of the library is imported
import json
import priorband as pb
from priorband.durable.messages import Assignment, Report
from priorband.durable.open import open_study
where, folder = sys.argv[1], sys.argv[3]
with open_study(where, folder=folder) as study:
    looked = [study.spending().hours]
    looked.append(open_study(where, folder=folder, read_only=True).spending().hours)
    first = study.turn(None, "a")
    if isinstance(first, Assignment):
        first = study.turn(Report(first.trial.id, 1, 0.5), "b")
    looked.append(study.spending().hours)
    held = isinstance(first, Assignment) and first.trial.id
    print(json.dumps({"looked": looked, "held": held, "idle": study.is_idle()}), flush=True)
    sys.stdin.read()  # and hold the second trial
"""


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return fresh_url(request.getfixturevalue("postgres"))
    return str(tmp_path / "study")


@pytest.mark.parametrize("skew", [2 * HOUR, -2 * HOUR])
def test_a_process_with_a_wrong_clock_does_not_spend_the_hours(
    where: str, tmp_path: Path, skew: float
) -> None:
    folder = tmp_path / "study"
    with pb.open_study(where, SPACE, EPOCHS, folder=folder) as study:
        study.limit(pb.Budget(hours=1))
        mine = taken(study, "mine")
        before = study.journal.now()
        words = [sys.executable, "-c", SKEWED, where, str(skew), str(folder)]
        with subprocess.Popen(words, stdin=-1, stdout=-1, text=True) as other:
            assert other.stdin is not None and other.stdout is not None
            found = json.loads(other.stdout.readline())
            assert all(0 <= hours < 0.5 for hours in found["looked"])
            assert found["held"] == 2 and not found["idle"]
            after = study.journal.now()
            study.refresh()
            rows = [row for row in study.journal.read(1) if row.worker != study.worker]
            assert len(rows) == 3 and all(before - 1 <= row.at <= after for row in rows)
            [lease] = [each for each in study.journal.leases() if each.trial == 2]
            assert before - 1 <= lease.until - lease.seconds <= after
            assert 0 <= study.spending().hours < 0.5
            overview = study_overview(study, study.journal.leases(), after)
            assert not overview.reached and not any(one.lost for one in overview.running)
            assert taken(study, "next").trial.id == 3  # neither trial 2, nor the end
            other.stdin.close()
        study.turn(Report(mine.trial.id, 1, 0.25), "")
        assert 0 <= study.spending().hours < 0.5 and study.replay().exact


def taken(study: pb.DurableStudy, request: str) -> Assignment:
    answer = study.turn(None, request)
    assert isinstance(answer, Assignment)
    return answer


class Clock:
    """A storage's clock that all processes of a test share."""

    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def study(
    where: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pb.DurableStudy]:
    """A study whose leases are renewed by the test alone."""
    with with_clock(where, tmp_path, clock, monkeypatch) as opened:
        opened.limit(pb.Budget(hours=1))
        yield opened


def with_clock(
    where: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> pb.DurableStudy:
    opened = pb.open_study(where, SPACE, EPOCHS, folder=tmp_path / "study")
    journal: Any = opened.journal
    begin = getattr(journal, "_begin", None)
    if begin is None:
        monkeypatch.setattr(journal, "now", clock)
    else:
        use_clock(journal, clock, monkeypatch)
    monkeypatch.setattr(opened.heartbeat, "_run", lambda: None)
    monkeypatch.setattr(dispatch, "SHORT_WAIT", 0.0)  # hours pass between two requests
    # The clock of the process stands still, as in a machine that sleeps.
    monkeypatch.setattr(heartbeat, "time", SimpleNamespace(monotonic=lambda: 0.0))
    return opened


def use_clock(journal: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server tell another time to one process."""
    run, run_together, write = journal._run, journal._run_together, journal._write_together

    def told(text: str) -> str:
        return text.replace(NOW, repr(clock.time) + "::float8")

    monkeypatch.setattr(journal, "_run", lambda text, values=(): run(told(text), values))
    monkeypatch.setattr(journal, "_run_together", lambda text: run_together(told(text)))
    monkeypatch.setattr(
        journal, "_write_together", lambda all_: write([(told(t), v) for t, v in all_])
    )


NOW = "extract(epoch FROM clock_timestamp())::float8"


def pauses(study: pb.DurableStudy) -> list[float]:
    bodies = [from_json(row.body) for row in study.journal.read(0) if row.kind == "remark"]
    return [body["active_until"] for body in bodies if "active_until" in body]


@pytest.mark.parametrize("renewed", [True, False])
def test_a_night_that_the_machine_sleeps_is_not_counted(
    study: pb.DurableStudy, clock: Clock, renewed: bool
) -> None:
    begin = clock.time
    trial = taken(study, "a").trial.id
    clock.time += NIGHT  # while the clock of the process stands still
    assert study.spending().hours == 0
    if renewed:
        study.heartbeat._beat()
    study.turn(Report(trial, 1, 0.5), "")
    assert study.spending().hours == 0
    assert pauses(study) == [begin]
    assert taken(study, "b").trial.id == 1
    assert study.replay().exact


def test_it_is_told_apart_from_storage_that_did_not_respond(
    study: pb.DurableStudy, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = SimpleNamespace(monotonic=lambda: clock.time)
    monkeypatch.setattr(heartbeat, "time", ticks)
    trial = taken(study, "a").trial.id
    clock.time += HOUR / 2  # no renewal reached the storage, but the worker was at work
    study.heartbeat._beat()
    study.turn(Report(trial, 1, 0.5), "")
    assert study.spending().hours == pytest.approx(0.5) and not pauses(study)


def test_time_counts_if_one_of_several_workers_was_at_work(
    study: pb.DurableStudy,
    where: str,
    tmp_path: Path,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = taken(study, "a").trial.id
    with with_clock(where, tmp_path, clock, monkeypatch) as elsewhere:
        taken(elsewhere, "b")
        for _ in range(40):
            clock.time += 30
            elsewhere.journal.beat(elsewhere.worker, list(elsewhere.heartbeat._held.values()), 60)
        study.turn(Report(first, 1, 0.5), "")
    assert study.spending().hours == pytest.approx(1 / 3) and not pauses(study)


def test_each_pause_is_written_once(
    study: pb.DurableStudy,
    where: str,
    tmp_path: Path,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = taken(study, "a").trial.id
    with with_clock(where, tmp_path, clock, monkeypatch) as beside:
        second = taken(beside, "b").trial.id
        clock.time += NIGHT
        beside.heartbeat._beat()
        clock.time += 5
        study.heartbeat._beat()
        study.turn(Report(first, 1, 0.5), "")
        beside.turn(Report(second, 1, 0.5), "")
        assert len(pauses(study)) == 1
        assert beside.spending().hours == pytest.approx(5 / HOUR)


def test_what_a_dead_worker_held_is_not_counted_when_another_one_asks(
    study: pb.DurableStudy, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("priorband.durable.expiry.liveness", lambda owner: "unknown")
    taken(study, "a")
    study.heartbeat.release(0)
    clock.time += NIGHT
    assert taken(study, "b").trial.id == 1  # the first look only suspects the worker
    assert study.spending().hours == 0
    for _ in range(10):
        clock.time += 50
        study.journal.beat(study.worker, [Beat(1, 1)], 60)  # the other one goes on
    assert taken(study, "c").trial.id == 0
    assert study.spending().hours == pytest.approx(500 / HOUR)


def test_a_worker_that_was_lost_for_the_last_time_does_not_count_either(
    where: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("priorband.durable.expiry.liveness", lambda owner: "dead")
    with with_clock(where, tmp_path, clock, monkeypatch) as study:
        for number in range(3):
            assert taken(study, str(number)).attempt == number + 1
            study.heartbeat.release(0)
            clock.time += NIGHT
        assert taken(study, "next").trial.id == 1
        assert study.ledger.failures == {"lost": 1}
        assert study.spending().hours == 0


def test_a_trial_that_is_held_for_a_time_counts_for_that_time(
    study: pb.DurableStudy, clock: Clock
) -> None:
    trial = study.ask(hold=1800)
    clock.time += 600
    assert study.spending().hours == pytest.approx(1 / 6)
    clock.time += NIGHT
    assert study.spending().hours == pytest.approx(1 / 2)
    study.tell(trial, 0.5)
    assert study.spending().hours == pytest.approx(1 / 2)


def test_the_hours_are_spent_when_the_work_was_done(study: pb.DurableStudy, clock: Clock) -> None:
    trial = taken(study, "a").trial.id
    for _ in range(121):
        clock.time += 30
        study.journal.beat(study.worker, list(study.heartbeat._held.values()), 60)
    idle = study.turn(Report(trial, 1, 0.5), "b")
    assert isinstance(idle, Idle) and "1 hour is" in idle.reason


def test_a_pause_survives_a_check_a_salvage_and_a_snapshot(
    study: pb.DurableStudy, where: str, tmp_path: Path, clock: Clock
) -> None:
    trial = taken(study, "a").trial.id
    clock.time += NIGHT
    study.turn(Report(trial, 1, 0.5), "")
    seconds = study.ledger.active.seconds
    assert check(where).sound
    salvage(where, tmp_path / "new")
    with pb.open_study(tmp_path / "new") as other:
        assert other.ledger.active.seconds == seconds and other.replay().exact
    assert ActiveTime.from_data(study.ledger.active.to_data()).seconds == seconds


def counted(*records: tuple[str, float]) -> float:
    """The seconds of records of workers at times, with a trial held all the while."""
    active = ActiveTime()
    for number, (worker, at) in enumerate(records, 1):
        active.count(Row(number, "remark", None, worker, at, "{}", 0), None, True)
        active = ActiveTime.from_data(from_json(json.dumps(active.to_data())))
    return active.seconds


def test_a_record_with_a_wrong_time_is_corrected_by_the_next_ones() -> None:
    assert counted(("a", 100.0), ("b", 7300.0), ("b", 7330.0), ("a", 135.0)) == 35
    assert counted(("a", 100.0), ("b", 7300.0), ("c", 7301.0), ("a", 102.0)) == 2
    again = counted(("a", 100.0), ("b", 7300.0), ("c", 7301.0), ("a", 102.0), ("c", 7303.0))
    assert again == pytest.approx(3, abs=1)
    assert counted(("a", 100.0), ("b", -7100.0), ("a", 160.0)) == 60


def test_a_clock_that_is_set_back_takes_nothing_back() -> None:
    assert counted(("a", 9000.0), ("b", 9060.0), ("b", 60.0), ("a", 120.0), ("b", 180.0)) == 180


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 100)), min_size=1))
def test_records_in_order_count_in_full(steps: list[tuple[str, int]]) -> None:
    at, records = 1000.0, list[tuple[str, float]]()
    for worker, seconds in steps:
        at += seconds
        records.append((worker, at))
    assert counted(*records) == at - records[0][1]


def test_only_so_many_workers_are_remembered() -> None:
    active = ActiveTime()
    for number in range(10 * WORKERS):
        active.count(Row(number, "remark", None, str(number), 1.0, "{}", 0), None, False)
    assert len(active.to_data()["workers"]) == WORKERS
