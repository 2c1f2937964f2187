"""The screens at 60, 80 and 120 columns are those in `golden`.

To rewrite them after a change that is meant, and read the difference before you commit it:

    PRIORBAND_REWRITE_GOLDEN=1 scripts/test tests/display/test_golden_screens.py
    git diff tests/display/golden
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from display.screens import HEIGHT, make_halted_study, make_study, screens

GOLDEN = Path(__file__).parent / "golden"
REWRITE = "PRIORBAND_REWRITE_GOLDEN"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    place = tmp_path_factory.mktemp("golden")
    with make_study(place / "good") as good, make_halted_study(place / "halted") as halted:
        made = screens(good, halted)
    if os.environ.get(REWRITE):
        GOLDEN.mkdir(exist_ok=True)
        for name, text in made.items():
            (GOLDEN / name).write_text(text)
    yield made


def test_each_screen_is_as_it_was(made: dict[str, str]) -> None:
    stored = {path.name: path.read_text() for path in sorted(GOLDEN.glob("*.txt"))}
    assert stored.keys() == made.keys()
    for name, text in made.items():
        assert text == stored[name], f"{name} differs: see the head of this file"


def test_no_screen_is_too_wide_or_too_high(made: dict[str, str]) -> None:
    for name, text in made.items():
        width = int(name.removesuffix(".txt").rpartition("-")[2])
        lines = text.splitlines()
        assert max(map(len, lines)) <= width, name
        height = {"live-low": 16}.get(name.rpartition("-")[0], HEIGHT)
        assert not name.startswith("live") or len(lines) < height, name
