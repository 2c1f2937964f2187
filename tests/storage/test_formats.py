"""Studies of every format that was ever released: they open, say what they said, and go on."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from stored_studies import rows, tell_some

import priorband as pb
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.storage.journal import FORMAT
from storage.make_format import DATA, SPACES, plain, write

FORMATS = sorted(DATA.glob("format-*"))


def test_each_format_has_its_study() -> None:
    assert [path.name for path in FORMATS] == [f"format-{n}" for n in range(1, FORMAT + 1)]
    for path in FORMATS:
        assert sorted(file.name for file in path.iterdir()) == [
            *("events.json", "study.db", "study.head"),
        ]
        assert (path / "study.db").stat().st_size < 100_000


@pytest.mark.parametrize("version", SPACES)
def test_a_study_gets_the_oldest_format_that_has_a_form_for_it(version: int, place: Path) -> None:
    write(place / "study", version)
    with closing(sqlite3.connect(place / "study" / "study.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    stated = {1: 1, 2: 2, 3: 2, 4: 1}[version]  # a retry or a new prior comes later
    assert f'{{"format":{stated},' in rows(place / "study")[0].body[:20]


@pytest.fixture(params=FORMATS, ids=lambda path: str(path.name))
def old(request: pytest.FixtureRequest, place: Path) -> Path:
    """A copy of an old study."""
    shutil.copytree(request.param, place / "study")
    return place / "study"


def test_an_old_study_says_what_it_said(old: Path) -> None:
    said = json.loads((old / "events.json").read_text())
    assert check(old).sound
    for read_only in (True, False):
        with pb.open_study(old, read_only=read_only) as study:
            assert plain(study.state.history.events) == said
            assert study.maximize and study.budget == pb.Budget(trainings=500)
            assert study.replay().exact


def test_an_old_study_goes_on(old: Path) -> None:
    with pb.open_study(old) as study:
        before = len(study.state.history.observations)
        tell_some(study, 12)
        assert len(study.state.history.observations) == before + 12
        assert study.replay().exact
        happened = study.state.history.events
    with pb.open_study(old) as study:
        assert study.state.history.events == happened
    assert check(old).sound


def test_an_old_study_can_be_salvaged(old: Path, place: Path) -> None:
    said = json.loads((old / "events.json").read_text())
    made = salvage(old, place / "new")
    assert not made.dropped and not made.changed
    with pb.open_study(place / "new") as study:
        assert plain(study.state.history.events) == said
