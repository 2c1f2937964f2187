"""Mutated studies: whatever is done to one, readers refuse it in words, at once, and harm nothing.

`PRIORBAND_FUZZ=10000 scripts/test tests/repair/test_fuzz.py` tries ten thousand mutations.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from stored_studies import Shapes, end, events, resealed, rows, write_rows

import priorband as pb
from priorband.events import Event
from priorband.repair.check import check
from priorband.storage.journal import Row
from repair.mutations import mutated_bytes, mutated_rows

TIMES = int(os.environ.get("PRIORBAND_FUZZ", "400"))
PARTS = 8  # which run side by side
Patience = Callable[[], None]


@pytest.fixture
def sentinel(place: Path) -> Iterator[Path]:
    """A folder beside a study, which readers have no business with."""
    (place / "sentinel" / "trials").mkdir(parents=True)
    (place / "sentinel" / "study.db").write_text("not yours")
    before = _seen(place / "sentinel")
    yield place / "sentinel"
    assert _seen(place / "sentinel") == before
    assert os.listdir(place) == ["sentinel"]


def _seen(folder: Path) -> list[tuple[str, int, int]]:
    found = [folder, *folder.rglob("*")]
    return sorted((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in found)


def read(folder: Path) -> tuple[Event, ...] | None:
    """What a study says to two readers; None if they refuse it. Nothing else may come of it."""
    happened = None
    try:
        happened = events(folder, read_only=True)
    except pb.PriorbandError as error:
        assert str(error)
    try:
        sound = check(folder).sound
    except (pb.errors.FormatError, pb.errors.StorageError):
        sound = False
    assert happened is not None or not sound
    shutil.rmtree(folder)
    return happened


@pytest.mark.parametrize("part", range(PARTS))
def test_readers_of_mutated_records(
    shapes: Shapes, place: Path, sentinel: Path, patience: Patience, part: int
) -> None:
    genuine = rows(shapes.closed)
    for number in range(part, TIMES // 2, PARTS):
        random = Random(f"records {number}")
        made = mutated_rows(genuine, random)
        sealed_again = random.random() < 0.5 and bool(made)
        made = resealed(made) if sealed_again else made
        head = end(made) if sealed_again else end(genuine)
        patience()
        happened = read(write_rows(place / "study", made, head if head[0] >= 0 else (0, 0)))
        if not sealed_again and happened is not None:
            assert happened == shapes.events, number


@pytest.mark.parametrize("part", range(2))
def test_readers_of_mutated_conditions(
    conditional: list[Row], place: Path, sentinel: Path, patience: Patience, part: int
) -> None:
    """Every other change is in the first record, which has the conditions."""
    for number in range(part, TIMES // 4, 2):
        random = Random(f"conditions {number}")
        made = mutated_rows(conditional[: 1 if number % 4 > 1 else None], random)
        if number % 4 > 1:
            both = {row.seq: row for row in (*made, *conditional[1:])}
            made = [both[seq] for seq in sorted(both)]
        made = resealed(made)
        patience()
        if made:
            last = end(made) if made[-1].seq >= 0 else (0, 0)
            read(write_rows(place / "study", made, last))


@pytest.mark.parametrize("part", range(PARTS))
def test_readers_of_mutated_files(
    shapes: Shapes, place: Path, sentinel: Path, patience: Patience, part: int
) -> None:
    for number in range(part, TIMES - TIMES // 2, PARTS):
        random = Random(f"files {number}")
        source = getattr(shapes, random.choice(("closed", "live", "copied", "halfway")))
        shutil.copytree(source, place / "study")
        names = [path.name for path in source.iterdir() if path.name != "study.lock"]
        for name in random.sample(sorted(names), random.choice((1, 1, 2))):
            path = place / "study" / name
            path.write_bytes(mutated_bytes(path.read_bytes(), random))
        patience()
        happened = read(place / "study")
        assert happened in (None, shapes.events), number
