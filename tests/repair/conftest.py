"""Fixtures of the tests of repair."""

from pathlib import Path

import pytest
from stored_studies import CONDITIONAL, EPOCHS, Shapes, fill, rows

import priorband as pb
from priorband.storage.journal import Row


@pytest.fixture(scope="session")
def _genuine_rows(shapes: Shapes) -> tuple[Row, ...]:
    return tuple(rows(shapes.closed))


@pytest.fixture
def genuine(_genuine_rows: tuple[Row, ...]) -> list[Row]:
    """The records of the undamaged study."""
    return list(_genuine_rows)


@pytest.fixture(scope="session")
def _conditional_rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[Row, ...]:
    folder: Path = tmp_path_factory.mktemp("conditional")
    with pb.open_study(folder, CONDITIONAL, EPOCHS, "hyperband+prior") as study:
        fill(study, 12)
        return tuple(study.journal.read(0))


@pytest.fixture
def conditional(_conditional_rows: tuple[Row, ...]) -> list[Row]:
    """The records of an undamaged study with conditions."""
    return list(_conditional_rows)
