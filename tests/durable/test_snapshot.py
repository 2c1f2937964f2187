"""A snapshot changes nothing but the time to open a study, and is ignored when in doubt."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from amounts import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from servers import fresh_url
from space.conditional_spaces import random_spaces
from stored_studies import CONDITIONAL, EPOCHS, SPACE, fill, tell_some

import priorband as pb
from durable.golden import DATA
from priorband.durable import snapshot as snapshots
from priorband.durable.messages import Report
from priorband.durable.open import journal_at
from priorband.durable.problem_data import problem_from_data
from priorband.durable.records import CreatedRecord, decode
from priorband.durable.serialize import from_data
from priorband.durable.snapshot import packed_snapshot, restore
from priorband.durable.view import StudyView
from priorband.errors import DamagedError, MethodError
from priorband.problem import Problem
from priorband.repair.check import check
from priorband.storage.high_water import HighWater
from priorband.storage.journal import Row
from priorband.storage.snapshot_file import SNAPSHOT_NAME, packed, unpacked
from priorband.storage.sqlite import SqliteJournal
from priorband.streams import generator

GOLDEN = {
    name: [Row(*row) for row in rows]
    for name, rows in json.loads(DATA.read_text()).items()
    if name != "problems"
}


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots every few records, so that small studies have them."""
    monkeypatch.setattr(snapshots, "EVERY", 20)
    monkeypatch.setattr(snapshots, "ON_CLOSE", 5)


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "study")
    return fresh_url(request.getfixturevalue("postgres"))


def problem_of(row: Row) -> Problem:
    record = decode(row)
    assert isinstance(record, CreatedRecord)
    try:
        return problem_from_data(record.problem)
    except MethodError:
        prior = from_data(record.problem["space"]).prior
        return problem_from_data(record.problem, prior=prior, optimizer=pb.optimizer("random"))


def folded(rows: list[Row]) -> StudyView:
    view = StudyView(problem_of(rows[0]), "here", "me")
    view.apply(rows)
    return view


def of_view(view: StudyView) -> bytes:
    data = packed_snapshot(view.problem.space, view.state.history, view.ledger)
    assert data is not None
    return data


def restored(first: Row, data: bytes) -> StudyView:
    snapshot = unpacked(data)
    assert snapshot is not None
    view = StudyView(problem_of(first), "here", "me")
    restore(view, first, snapshot)
    return view


def everything(view: StudyView) -> str:
    """All that a view knows, as text."""
    ledger = {
        name: [_slots(each) for each in part.values()] if name in ("running", "waiting") else part
        for name, part in vars(view.ledger).items()
        if name != "active"
    } | view.ledger.active.to_data()
    history = view.state.history
    queries = (history.events, history.trials, history.observations, history.running)
    leaders = (history.best, history.incumbent, history.spent, history.resources, history.drawn)
    return repr((ledger, queries, leaders, history.upcoming()))


def _slots(opened: Any) -> list[Any]:
    return [getattr(opened, name) for name in opened.__slots__]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_snapshot_at_any_record_and_the_rest_give_the_same_view(name: str) -> None:
    rows = GOLDEN[name]
    whole, growing = folded(rows), StudyView(problem_of(rows[0]), "here", "me")
    for cut in range(1, len(rows) + 1):
        growing.apply(rows[cut - 1 : cut])
        data = of_view(growing)
        assert data == of_view(folded(rows[:cut])), "it depends on the records alone"
        view = restored(rows[0], data)
        assert everything(view) == everything(folded(rows[:cut]))
        view = restored(rows[0], data)
        view.apply(rows[cut:])
        assert everything(view) == everything(whole)
        assert of_view(view) == of_view(whole), "also where it began with a snapshot"


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(random_spaces(), st.data())
def test_a_snapshot_of_any_conditional_study_gives_the_same_view(
    tmp_path_factory: pytest.TempPathFactory, space: pb.Space, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("study")
    with pb.open_study(folder, space, EPOCHS, "hyperband", seed=data.draw(st.integers(0, 99))) as s:
        for number in range(12):
            if number % 4 == 3:
                s.queue(space.decode(s.prior.sample(generator(number, 0, "test"))))
            trial = s.ask()
            s.tell(trial, number % 3) if number % 5 else s.fail(trial, "no")
        rows = s.journal.read(0)
    cut = data.draw(st.integers(1, len(rows)))
    view = restored(rows[0], of_view(folded(rows[:cut])))
    assert everything(view) == everything(folded(rows[:cut]))
    view.apply(rows[cut:])
    assert everything(view) == everything(folded(rows))
    assert of_view(view) == of_view(folded(rows))
    again = restored(rows[0], of_view(folded(rows)))
    propose, seed = again.problem.optimizer.propose, again.problem.seed
    assert repr(propose(again.state, seed)) == repr(propose(folded(rows).state, seed))


def test_a_conditional_study_opens_with_its_snapshot(where: str, tmp_path: Path) -> None:
    folder = tmp_path / "trials" if where.startswith("postgres") else None
    with pb.open_study(where, CONDITIONAL, EPOCHS, "hyperband+prior", folder=folder) as study:
        fill(study, 60)
        happened = study.state.history.events
    with pb.open_study(where, CONDITIONAL, folder=folder) as study:
        assert study._snapshots._used
        assert study.state.history.events == happened
        assert study.replay().exact
    assert check(where).sound


def test_a_view_from_a_snapshot_decides_the_same() -> None:
    rows = GOLDEN["mixed"]
    for cut in range(20, len(rows), 7):
        view, other = restored(rows[0], of_view(folded(rows[:cut]))), folded(rows[:cut])
        propose, seed = view.problem.optimizer.propose, view.problem.seed
        assert repr(propose(view.state, seed)) == repr(propose(other.state, seed))
        assert shown_by_parts(view) == shown_by_parts(other)


def shown_by_parts(view: StudyView) -> str:
    history = view.state.history
    slots = [history.members(bracket, rung) for bracket in range(4) for rung in range(3)]
    lists = [(history.ended_on(r), history.promotions(r)) for r in range(3)]
    return repr((slots, lists, history.brackets_touched(0), history.latest_failures(3)))


def count_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each later call of `StudyView.apply` takes in."""
    counts, apply = list[int](), StudyView.apply

    def counting(view: StudyView, rows: Any) -> None:
        counts.append(len(rows))
        apply(view, rows)

    monkeypatch.setattr(StudyView, "apply", counting)
    return counts


def test_a_long_study_opens_with_its_snapshot(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pb.open_study(where, SPACE, EPOCHS) as study:
        tell_some(study, 9)
        assert study.journal.snapshot() is None, "a short study has none"
        fill(study, 60)
        events, ledger = study.state.history.events, study.ledger.to_data()
    counts = count_rows(monkeypatch)
    with pb.open_study(where) as study:
        assert sum(counts) < 5 and study.ledger.seq > 100
        assert study.state.history.events == events
        assert study.ledger.to_data() == ledger
        tell_some(study, 3)
        assert study.replay().exact
    assert max(counts) > 100, "replay reads all records"
    with pb.open_study(where, read_only=True) as study:
        assert study.replay().exact
    assert check(where).sound


def test_two_studies_that_open_with_and_without_it_go_on_the_same(
    where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (
        pb.open_study(where, SPACE, EPOCHS) as study,
        pb.open_study(tmp_path / "other", SPACE, EPOCHS) as other,
    ):
        for each in (study, other):
            fill(each, 40)
    with monkeypatch.context() as patch:
        patch.setattr(SqliteJournal, "snapshot", lambda _: None)
        other = pb.open_study(tmp_path / "other")
    with pb.open_study(where) as study, other:
        for each in (study, other):
            tell_some(each, 25)
        assert study.state.history.events == other.state.history.events
        assert shown_history(study) == shown_history(other)


def shown_history(study: pb.DurableStudy) -> str:
    history = study.state.history
    return repr((history.trials, history.observations, history.incumbent, history.best))


def test_one_of_many_processes_writes_it(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = list[int]()
    with (
        pb.open_study(where, SPACE, EPOCHS) as one,
        pb.open_study(where) as two,
        pb.open_study(where) as three,
    ):
        for study in (one, two, three):
            _note_writes(monkeypatch, study, written)
        for _ in range(20):
            for study in (one, two, three):
                tell_some(study, 1)
    numbers = [seq for seq in written if seq < 121]
    assert [seq // 20 for seq in numbers] == [1, 2, 3, 4, 5, 6], "each number once, by one process"


def _note_writes(
    monkeypatch: pytest.MonkeyPatch, study: pb.DurableStudy, written: list[int]
) -> None:
    journal: Any = study.journal
    write = journal.write_snapshot

    def noting(data: bytes, replace: bool) -> None:
        snapshot = unpacked(data)
        assert snapshot is not None
        written.append(snapshot.seq)
        write(data, replace)

    monkeypatch.setattr(journal, "write_snapshot", noting)


def test_another_process_writes_it_if_the_one_that_should_does_not(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pb.open_study(where, SPACE, EPOCHS) as lazy, pb.open_study(where) as other:
        monkeypatch.setattr(lazy.journal, "write_snapshot", lambda data, replace: None)
        tell_some(lazy, 18)
        other.queue({"x": 0.5, "n": 3, "kind": "b"})
        assert other.journal.snapshot_seq() == 0, "not yet"
        tell_some(lazy, 3)
        other.queue({"x": 0.25, "n": 3, "kind": "b"})
        assert other.journal.snapshot_seq() == other.ledger.seq > 40


def test_a_study_of_an_older_version_gets_one_from_the_first_writer(where: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshots, "EVERY", 10**9)
        with pb.open_study(where, SPACE, EPOCHS) as study:
            tell_some(study, 40)
    with pb.open_study(where, read_only=True) as study:
        assert study.journal.snapshot_seq() == 0
    with pb.open_study(where) as study:
        assert study.journal.snapshot_seq() == 0
        study.ask()
        assert study.journal.snapshot_seq() == study.ledger.seq


def test_opening_to_read_never_writes_one(where: str) -> None:
    with pb.open_study(where, SPACE, EPOCHS) as study:
        tell_some(study, 40)
        journal = study.journal
        journal.write_snapshot(packed(1, 1, []), True)
        stored = journal.snapshot_seq()
        study._snapshots._saved = study.ledger.seq  # nothing is new for this process
    with pb.open_study(where, read_only=True) as study:
        assert len(study.state.history) == 40
        assert study.journal.snapshot_seq() == stored == 1


def test_it_never_goes_backwards_unless_it_was_invalid(where: str) -> None:
    with pb.open_study(where, SPACE, EPOCHS) as study:
        tell_some(study, 15)
        later, before = of_view(study._view), study.ledger.seq
        study.journal.write_snapshot(later, False)
        study.journal.write_snapshot(packed(before - 5, 0, [b"older"]), False)
        assert study.journal.snapshot_seq() == before
        study.journal.write_snapshot(packed(before - 5, 0, [b"older"]), True)
        assert study.journal.snapshot_seq() == before - 5


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """The folder of a closed study with a snapshot and some records after it."""
    folder = tmp_path / "study"
    with pb.open_study(folder, SPACE, EPOCHS) as study:
        fill(study, 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshots, "EVERY", 10**9)
        with pb.open_study(folder) as study:
            tell_some(study, 4)
    assert 1 < SnapshotParts(folder).snapshot.seq < HighWater(folder).read()[0]
    yield folder


class SnapshotParts:
    """A snapshot taken apart, to be written with changes and a right checksum."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / SNAPSHOT_NAME
        self.data = self.path.read_bytes()
        snapshot = unpacked(self.data)
        assert snapshot is not None
        self.snapshot = snapshot
        content = bytes(snapshot.content)
        length = int.from_bytes(content[:8], "little")
        self.header: dict[str, Any] = json.loads(content[8 : 8 + length])
        self.arrays = content[8 + length + -length % 8 :]

    def write(self, **about: Any) -> None:
        text = json.dumps(self.header).encode()
        parts = [len(text).to_bytes(8, "little"), text, bytes(-len(text) % 8), self.arrays]
        seq, seal = about.get("seq", self.snapshot.seq), about.get("seal", self.snapshot.seal)
        self.path.write_bytes(packed(seq, seal, parts))


def change_header(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        parts = SnapshotParts(folder)
        parts.header |= changes
        parts.write()

    return change


def change_ledger(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        parts = SnapshotParts(folder)
        parts.header["ledger"] |= changes
        parts.write()

    return change


def change_open_trial(index: int, value: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        parts = SnapshotParts(folder)
        parts.header["ledger"]["running"][0][index] = value
        parts.write()

    return change


def replace(data: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / SNAPSHOT_NAME
        path.write_bytes(data(path.read_bytes()))

    return change


def change_content(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        parts = SnapshotParts(folder)
        content = change(bytes(parts.snapshot.content))
        parts.path.write_bytes(packed(parts.snapshot.seq, parts.snapshot.seal, [content]))

    return changed


def link(folder: Path) -> None:
    path = folder / SNAPSHOT_NAME
    os.replace(path, folder.parent / "elsewhere")
    path.symlink_to(folder.parent / "elsewhere")


def make_folder(folder: Path) -> None:
    (folder / SNAPSHOT_NAME).unlink()
    (folder / SNAPSHOT_NAME).mkdir()


DOUBTFUL: dict[str, Callable[[Path], None]] = {
    "missing": lambda folder: (folder / SNAPSHOT_NAME).unlink(),
    "a link": link,
    "a folder": make_folder,
    "empty": replace(lambda data: b""),
    "cut short": replace(lambda data: data[:-1]),
    "the header alone": replace(lambda data: data[:60]),
    "longer": replace(lambda data: data + b"\0"),
    "one bit in the content": replace(lambda data: data[:200] + b"\1" + data[201:]),
    "another number in its header": replace(lambda data: data.replace(b" 0000", b" 0001", 1)),
    "another version": replace(lambda data: data.replace(b"snapshot 1", b"snapshot 2", 1)),
    "another seal": lambda folder: SnapshotParts(folder).write(seal=1),
    "an earlier number": lambda folder: SnapshotParts(folder).write(seq=30),
    "a number beyond the last": lambda folder: SnapshotParts(folder).write(seq=10**6),
    "a number beyond all": lambda folder: SnapshotParts(folder).write(seq=10**19),
    "no content": change_content(lambda content: b""),
    "no JSON": change_content(lambda content: content[:8] + b"?" + content[9:]),
    "too long a header": change_content(lambda content: b"\xff" * 8 + content[8:]),
    "arrays too short": change_content(lambda content: content[:-8]),
    "arrays too long": change_content(lambda content: content + bytes(8)),
    "another study": change_header(study="0" * 16),
    "more events": change_header(events=10**15),
    "fewer trials": change_header(trials=3),
    "a negative number of trials": change_header(trials=-3),
    "half a trial": change_header(trials=3.5),
    "no fidelities": change_header(fidelities=[]),
    "fidelities above the highest": change_header(fidelities=[1, 3, 9, 10]),
    "fidelities of other rungs": change_header(fidelities=[1.5, 2.5, 3.5, 4.5]),
    "origins that are no text": change_header(origins=[1, 2, 3, 4, 5]),
    "no ledger": change_header(ledger=None),
    "a ledger of another record": change_ledger(seq=7),
    "another type of number": change_ledger(units="12"),
    "a count that is a float": change_ledger(trials=3.0),
    "a cost that is not finite": change_ledger(cost=1e999),
    "an endless time": change_ledger(seconds=1e999),
    "a time before all others": change_ledger(last=-1e999),
    "nobody at work": change_ledger(busy=False),
    "no times of workers, as in older versions": change_ledger(workers=None),
    "a worker without a time": change_ledger(workers=[["me", 1.0]]),
    "a worker whose time is a text": change_ledger(workers=[["me", "1", 1.0]]),
    "a worker without a name": change_ledger(workers=[[7, 1.0, 1.0]]),
    "too many workers": change_ledger(workers=[[str(n), 1.0, 1.0] for n in range(99)]),
    "an unknown limit": change_ledger(budget={"lives": 9}),
    "no trial running": change_ledger(running=[]),
    "a waiting trial that does not run": change_ledger(waiting=[1]),
    "an unknown failure": change_ledger(failures={"bored": 1}),
    "failures without number": change_ledger(failures={"raised": None}),
    "a repeated failure of two parts": change_ledger(repeated=["", 0]),
    "winners that are no pairs": change_ledger(winners=[1, 2]),
    "an open trial that ended": change_open_trial(0, 1),
    "an open trial that never was": change_open_trial(0, 10**6),
    "an open trial without number": change_open_trial(0, True),
    "an attempt that is text": change_open_trial(2, "1"),
    "an open trial held by a number": change_open_trial(4, 7),
    "an ending without a reason": change_open_trial(1, [[1, "lost", None, "me"]]),
    "an ending of an unknown kind": change_open_trial(1, [[1, "bored", "", "me"]]),
}


@pytest.mark.parametrize("what", DOUBTFUL)
def test_a_doubtful_snapshot_is_ignored(what: str, place: Path) -> None:
    with pb.open_study(place) as study:
        events, ledger = study.state.history.events, study.ledger.to_data()
    DOUBTFUL[what](place)
    with pb.open_study(place, read_only=True) as study:
        assert not study._snapshots._used
        assert study.state.history.events == events and study.ledger.to_data() == ledger
    assert check(place).sound or what in MISLEADING
    with pb.open_study(place) as study:
        tell_some(study, 12)
        events = study.state.history.events
        assert study.replay().exact
    with pb.open_study(place) as study:
        assert study._snapshots._used == (what != "a folder"), "a new one is written"
        assert study.state.history.events == events
    assert not list(place.glob("*.part"))
    if what == "a link":
        assert not (place / SNAPSHOT_NAME).is_symlink()


MISLEADING = {
    what
    for what, change in DOUBTFUL.items()
    if change.__qualname__.startswith("change_") and not what.startswith("another number")
}
"""They have a right checksum and a right seal, so the check finds that they do not agree."""


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_other_header_is_ignored_or_harmless(place: Path, data: st.DataObject) -> None:
    """It has a right checksum, so only its content can give it away."""
    path = place / SNAPSHOT_NAME
    before, parts = path.read_bytes(), SnapshotParts(place)
    at: Any = parts.header
    while True:
        keys = sorted(at) if isinstance(at, dict) else range(len(at))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(at[key], dict | list) or not at[key] or data.draw(st.booleans()):
            break
        at = at[key]
    at[key] = data.draw(_JSON)
    parts.write()
    try:
        with pb.open_study(place, read_only=True) as study:
            used = study._snapshots._used
            assert used or len(study.state.history) == len(study.state.history.trials)
            assert repr(study) and study.best is not None
    finally:
        path.write_bytes(before)


def test_a_snapshot_that_does_not_agree_is_found_by_a_check(place: Path) -> None:
    assert check(place).sound
    parts = SnapshotParts(place)
    parts.header["ledger"]["cost"] += 1.0
    parts.write()
    findings = [str(finding) for finding in check(place).findings]
    assert findings == [f"{SNAPSHOT_NAME} does not agree with the records: delete it"]
    (place / SNAPSHOT_NAME).unlink()
    assert check(place).sound


def test_a_snapshot_that_later_records_contradict_is_dropped(place: Path) -> None:
    """It is valid in itself: all records are read before anything is called damaged."""
    parts = SnapshotParts(place)
    parts.header["ledger"]["running"][0][2] += 1  # the attempt
    parts.write()
    with pb.open_study(place) as study:
        assert study._snapshots._used
        [number, *_] = study.ledger.running
    (place / SNAPSHOT_NAME).unlink()
    with pb.open_study(place) as study:
        study.turn(Report(number, 1, None, "preempted", "SIGTERM"), "")
    parts.write()
    with pb.open_study(place) as study:
        assert not study._snapshots._used
        assert [*study.ledger.waiting] == [number]


def test_a_database_that_lost_its_end_is_noticed(place: Path) -> None:
    for last in (SnapshotParts(place).snapshot.seq + 1, SnapshotParts(place).snapshot.seq - 2):
        _delete_after(place, last)
        with pytest.raises(DamagedError, match=f"ends at record {last}"):
            pb.open_study(place)


def _delete_after(folder: Path, last: int) -> None:
    with closing(sqlite3.connect(folder / "study.db")) as connection, connection:
        connection.execute("DELETE FROM record WHERE seq > ?", (last,))


def test_a_database_that_was_replaced_is_noticed(place: Path, tmp_path: Path) -> None:
    with pb.open_study(tmp_path / "other", SPACE, EPOCHS) as other:
        fill(other, 60)
    for name in ("study.db", "study.db-wal", "study.db-shm"):
        (place / name).unlink(missing_ok=True)
        if (tmp_path / "other" / name).exists():
            shutil.copy(tmp_path / "other" / name, place / name)
    with pytest.raises(DamagedError, match="has another record"):
        pb.open_study(place)


def test_a_head_file_that_is_behind_is_compared_all_the_same(place: Path) -> None:
    """After a power loss the head file may name a record before the snapshot's."""
    journal = journal_at(place, read_only=True)
    rows = journal.read(0)
    journal.close()
    number = SnapshotParts(place).snapshot.seq - 7
    for seal, sound in ((rows[number - 1].seal, True), (12345, False)):
        (place / "study.head").unlink()
        head = HighWater(place)
        head.write(number, seal)
        head.close()
        if sound:
            with pb.open_study(place, read_only=True) as study:
                assert study._snapshots._used
        else:
            with pytest.raises(DamagedError, match=f"has another record {number}"):
                pb.open_study(place)


def test_a_damaged_record_before_it_is_found_by_a_check_and_by_replay(place: Path) -> None:
    with closing(sqlite3.connect(place / "study.db")) as connection, connection:
        connection.execute("UPDATE record SET worker = 'someone' WHERE seq = 9")
    with pb.open_study(place, read_only=True) as study:
        assert study._snapshots._used, "as the documentation says"
        with pytest.raises(DamagedError, match="record 9 is not what was written"):
            study.replay()
    assert [str(finding) for finding in check(place).findings][0].startswith("record 9 ")


def test_a_view_that_was_dropped_begins_with_the_snapshot_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pb.open_study(place) as study:
        counts, events = count_rows(monkeypatch), study.state.history.events
        study._view.forget()
        tell_some(study, 1)
        assert study.state.history.events[: len(events)] == events
        assert sum(counts) < 20 < len(events)


def test_what_was_not_committed_is_never_in_a_snapshot(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "ON_CLOSE", 1)
    study = pb.open_study(place)
    before = SnapshotParts(place).snapshot.seq

    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(SqliteJournal, "_copy_log_back", broken)
        patch.setattr("priorband.storage.sql.write_statements", broken)
        study.ask()
    study.close()
    assert SnapshotParts(place).snapshot.seq == before
    with pb.open_study(place) as study:
        assert study.replay().exact


@pytest.mark.parametrize("failing", ["open", "replace"])
def test_an_error_while_it_is_written_harms_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = (place / SNAPSHOT_NAME).read_bytes()
    with pb.open_study(place) as study, monkeypatch.context() as patch:
        target = "priorband.storage.snapshot_file."
        patch.setattr(target + ("open_own" if failing == "open" else "os.replace"), full)
        tell_some(study, 30)
    assert (place / SNAPSHOT_NAME).read_bytes() == before
    assert not list(place.glob("*.part"))


def test_what_a_killed_process_left_is_removed(place: Path) -> None:
    old, new = (place / f"{SNAPSHOT_NAME}.{name}.part" for name in ("0123", "4567"))
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (1, 1))
    with pb.open_study(place) as study:
        tell_some(study, 30)
    assert not old.exists() and new.exists()


def test_a_salvaged_study_has_none_of_the_old_one(place: Path, tmp_path: Path) -> None:
    from priorband.repair.salvage import salvage

    salvage(place, tmp_path / "new")
    new = tmp_path / "new" / SNAPSHOT_NAME
    assert not new.exists() or new.read_bytes() != (place / SNAPSHOT_NAME).read_bytes()
    with pb.open_study(tmp_path / "new") as study, pb.open_study(place) as old:
        assert study.state.history.trials == old.state.history.trials
    assert check(tmp_path / "new").sound
