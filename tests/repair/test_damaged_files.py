"""Damaged files: a study opens in full or is refused by name, and what is intact can be saved."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from amounts import slow
from stored_studies import (
    EPOCHS,
    PAGE,
    PROBLEM,
    SPACE,
    Shapes,
    alter_file,
    events,
    numbers,
    tell_some,
)

import priorband as pb
from priorband.events import Event
from priorband.repair.check import check
from priorband.repair.salvage import Salvage, salvage
from priorband.storage.high_water import HighWater

KEPT = ("study.db", "study.db-wal", "study.head")
FILES = [
    ("closed", "study.db"),
    ("closed", "study.head"),
    ("live", "study.db"),
    ("live", "study.db-wal"),
    ("live", "study.db-shm"),
    ("copied", "study.db-wal"),
    ("halfway", "study.db"),
    ("halfway", "study.db-wal"),
]
Change = Callable[[Path], object]
PARTS = [0, *(pytest.param(part, marks=slow) for part in range(1, 4))]
"""Of the places that are tried, the everyday part takes each fourth."""


class Case:
    """A damaged copy of a study, and what came of opening it."""

    def __init__(self, shapes: Shapes, place: Path, shape: str, change: Change) -> None:
        self.shapes, self.place = shapes, place / os.urandom(4).hex()
        self.folder = self.place / "damaged"
        shutil.copytree(getattr(shapes, shape), self.folder)
        change(self.folder)
        self.message = self.opened(read_only=True)
        assert bool(self.message) == bool(self.opened(read_only=False))

    def opened(self, read_only: bool) -> str:
        """Open a copy: all is there, or the refusal, which changes nothing, gives the reason."""
        copy = self.place / f"opened-{read_only}"
        shutil.copytree(self.folder, copy)
        try:
            assert events(copy, read_only) == self.shapes.events
        except (pb.errors.DamagedError, pb.errors.FormatError, pb.errors.StorageError) as error:
            message = str(error)
            assert str(copy) in message
            assert "priorband journal salvage" in message or " has format " in message
            for name in KEPT:
                assert _bytes(copy / name) == _bytes(self.folder / name)
            return message
        return ""

    def save(self) -> None:
        """What is wrong is found, and what is intact is in a new study; the old is as it was."""
        before = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        inspected = check(self.folder)
        assert not (self.message and inspected.sound)
        made = saved(self.folder, self.place / "new")
        assert {path.name: path.read_bytes() for path in self.folder.iterdir()} == before
        with pb.open_study(self.place / "new") as study:
            assert study.replay().exact
            assert set(_results(study.state.history.events)) <= set(_results(self.shapes.events))
        assert check(self.place / "new").sound
        unknown = any(finding.where == "study.head" for finding in inspected.findings)
        lost = numbers(made)
        assert made.kept + len(lost) == self.shapes.records or unknown
        shutil.rmtree(self.place)


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def saved(folder: Path, new: Path) -> Salvage:
    """A new study; what it is about is given again only where it must be."""
    try:
        return salvage(folder, new)
    except pb.errors.DamagedError as error:
        assert "problem=" in str(error)
        return salvage(folder, new, PROBLEM)


def _results(happened: tuple[Event, ...]) -> Iterator[tuple[str, float]]:
    """Each configuration, fidelity and loss that was told."""
    for ended in pb.History.of(happened).successes:
        yield repr((sorted(ended.config.items(), key=repr), ended.fidelity)), ended.loss


def _places(size: int, some: int) -> list[int]:
    """Offsets to try: those where formats have their headers, and others anywhere."""
    usual = {0, 1, 15, 16, 18, 24, 28, 31, 32, 40, 56, 63, 68, 99, 100, 511, 512, PAGE, PAGE + 1}
    random = Random(size)
    return sorted({n for n in usual if n < size} | {random.randrange(size) for _ in range(some)})


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("shape", "name"), FILES)
def test_a_file_that_is_cut_short(
    shapes: Shapes, place: Path, shape: str, name: str, part: int
) -> None:
    size = (getattr(shapes, shape) / name).stat().st_size
    for length in _places(size, 4)[part :: len(PARTS)]:
        Case(shapes, place, shape, lambda at: os.truncate(at / name, length)).save()  # noqa: B023  # run at once


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(("shape", "name"), FILES)
def test_a_file_with_a_flipped_bit(
    shapes: Shapes, place: Path, shape: str, name: str, part: int
) -> None:
    size = (getattr(shapes, shape) / name).stat().st_size
    version = range(60, 64) if name == "study.db" else ()
    for place_of_bit, offset in enumerate(_places(size, 8)):
        if offset not in version and place_of_bit % len(PARTS) == part:
            Case(shapes, place, shape, _flip(name, offset, place_of_bit % 8)).save()


def _flip(name: str, offset: int, bit: int) -> Change:
    def flip(data: bytearray) -> None:
        data[offset] ^= 1 << bit

    return lambda folder: alter_file(folder / name, flip)


@pytest.mark.parametrize("length", [pytest.param(512, marks=slow), PAGE])
@pytest.mark.parametrize(("shape", "name"), FILES)
def test_a_file_with_a_block_of_zeros(
    shapes: Shapes, place: Path, shape: str, name: str, length: int
) -> None:
    size = (getattr(shapes, shape) / name).stat().st_size
    starts = range(0, size, length)
    for start in Random(size).sample(starts, min(6, len(starts))):
        Case(shapes, place, shape, _zero(name, start, length)).save()


def _zero(name: str, start: int, length: int) -> Change:
    def zero(data: bytearray) -> None:
        data[start : start + length] = bytes(len(data[start : start + length]))

    return lambda folder: alter_file(folder / name, zero)


@pytest.mark.parametrize(("shape", "name"), FILES)
@pytest.mark.parametrize("how", ["deleted", "emptied", "random", "zeros", "text"])
def test_a_file_that_is_gone_or_another(
    shapes: Shapes, place: Path, shape: str, name: str, how: str
) -> None:
    contents = {"emptied": b"", "random": Random(0).randbytes(9_000), "zeros": bytes(90_000)}

    def replace(folder: Path) -> None:
        (folder / name).unlink()
        if how != "deleted":
            (folder / name).write_bytes(contents.get(how, b"SQLite format 3\0 or not\n" * 300))

    case = Case(shapes, place, shape, replace)
    assert case.message or name == "study.db-shm" or shape in ("live", "halfway")
    case.save()


@pytest.mark.parametrize(
    ("shape", "name", "old"),
    [
        ("closed", "study.db", "older"),
        ("live", "study.db-wal", "earlier"),
        ("copied", "study.db-wal", "earlier"),
        ("halfway", "study.db-wal", "earlier"),
        ("halfway", "study.db", "older"),
        ("closed", "study.head", "older"),
        ("live", "study.head", "earlier"),
        ("live", "study.db-shm", "earlier"),
    ],
)
def test_a_file_from_an_older_copy(
    shapes: Shapes, place: Path, shape: str, name: str, old: str
) -> None:
    source = getattr(shapes, old) / name
    case = Case(shapes, place, shape, lambda folder: shutil.copy(source, folder / name))
    assert bool(case.message) == ((shape, name) in {FILES[0], FILES[3], FILES[5], FILES[7]})
    case.save()


def test_a_log_from_before_a_checkpoint(shapes: Shapes, place: Path) -> None:
    """An old log is valid by itself, and would undo what was brought back since."""
    for old in ("earlier", "live"):
        source = getattr(shapes, old) / "study.db-wal"

        def put_back(folder: Path, source: Path = source) -> None:
            shutil.copy(source, folder / "study.db-wal")

        Case(shapes, place, "closed", put_back).save()


def test_a_log_that_was_not_copied_is_missed(shapes: Shapes, place: Path) -> None:
    for shape in ("live", "copied"):
        case = Case(shapes, place, shape, lambda folder: (folder / "study.db-wal").unlink())
        assert "study.head says" in case.message
        case.save()


@pytest.mark.parametrize("head", [True, False])
def test_a_foreign_database_is_not_a_study(shapes: Shapes, place: Path, head: bool) -> None:
    def replace(folder: Path) -> None:
        (folder / "study.db").unlink()
        with closing(sqlite3.connect(folder / "study.db")) as connection:
            connection.execute("CREATE TABLE record (seq INTEGER PRIMARY KEY, body TEXT)")
        if not head:
            (folder / "study.head").unlink()

    case = Case(shapes, place, "closed", replace)
    assert "not a study" in case.message
    if head:
        case.save()
    else:
        with pytest.raises(pb.errors.FormatError, match="no study"):
            check(case.folder)


def test_a_newer_version_is_refused_and_left_alone(shapes: Shapes, place: Path) -> None:
    case = Case(shapes, place, "closed", lambda folder: _set_version(folder, 5))
    assert "has format 5, this library reads up to 4. Install a newer" in case.message
    assert any("has format 5" in finding.what for finding in check(case.folder).findings)
    with pytest.raises(pb.errors.FormatError, match="Install a newer"):
        salvage(case.folder, place / "new")
    assert not (place / "new").exists()


def test_a_version_that_cannot_be_is_damage(shapes: Shapes, place: Path) -> None:
    case = Case(shapes, place, "closed", lambda folder: _set_version(folder, 1 << 24 | 1))
    assert salvage(case.folder, place / "new").dropped == ()
    assert events(place / "new") == shapes.events


def _set_version(folder: Path, version: int) -> None:
    alter_file(folder / "study.db", lambda d: d.__setitem__(slice(60, 64), version.to_bytes(4)))


def test_a_study_whose_records_are_gone_is_never_begun_anew(place: Path) -> None:
    with pb.open_study(place / "live", SPACE, EPOCHS) as study:
        tell_some(study, 1)
        shutil.copytree(place / "live", place / "copy", ignore=shutil.ignore_patterns("*-wal"))
    with pytest.raises(pb.errors.DamagedError, match="ends at record 0"):
        pb.open_study(place / "copy", SPACE, EPOCHS)
    assert HighWater(place / "copy").read()[0] == 3


def test_a_halfway_checkpoint_is_finished_by_the_next(shapes: Shapes, place: Path) -> None:
    shutil.copytree(shapes.halfway, place / "study")
    with pb.open_study(place / "study") as study:
        assert study.state.history.events == shapes.events
        tell_some(study, 3)
        told = study.state.history.events
    assert events(place / "study") == told
    assert check(place / "study").sound
