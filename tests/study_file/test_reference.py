"""`docs/study-files.md` names every key and placeholder, and what it shows can be read."""

import re
from pathlib import Path

import pytest

from priorband.study_file.keys import (
    BELIEF_KEYS,
    BUDGET_KEYS,
    CONDITION_KEYS,
    FIDELITY_KEYS,
    METRIC_KEYS,
    PARAMETER_KEYS,
    TOP_KEYS,
)
from priorband.study_file.read import read_study_file
from priorband.workers.command_words import BUILT_IN

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "study-files.md").read_text()
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_names_every_key_and_placeholder() -> None:
    tables = [TOP_KEYS, BUDGET_KEYS, FIDELITY_KEYS, METRIC_KEYS, CONDITION_KEYS]
    tables += [*PARAMETER_KEYS.values(), *BELIEF_KEYS.values()]
    keys = {key for table in tables for key in table}
    assert [key for key in sorted(keys) if not re.search(rf"[`{{ ]{key}[` ]", PAGE)] == []
    assert [name for name in BUILT_IN if f"`{{{name}}}`" not in PAGE] == []


@pytest.mark.parametrize("block", BLOCKS)
def test_what_the_page_shows_can_be_read(block: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(block)
    assert read_study_file(tmp_path / "study.toml").notes == ()


def test_the_page_has_examples_and_the_example_can_be_read() -> None:
    assert len(BLOCKS) == 2
    assert read_study_file(ROOT / "examples" / "study.toml").notes == ()
