"""Fixtures of the tests of repair."""

import pytest
from stored_studies import Shapes, rows

from priorband.storage.journal import Row


@pytest.fixture(scope="session")
def _genuine_rows(shapes: Shapes) -> tuple[Row, ...]:
    return tuple(rows(shapes.closed))


@pytest.fixture
def genuine(_genuine_rows: tuple[Row, ...]) -> list[Row]:
    """The records of the undamaged study."""
    return list(_genuine_rows)
