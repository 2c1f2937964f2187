"""docs/methods.md names every method, and no other."""

import re
from pathlib import Path

import pytest

import priorband as pb
from priorband.choose_method import DEFAULT_METHOD, TABLE, TableRow

PAGE = (Path(__file__).parent.parent / "docs" / "methods.md").read_text(encoding="utf-8")
QUOTED = set(re.findall(r"`([^`\n]+)`", PAGE))


def test_every_method_is_on_the_page() -> None:
    assert set(pb.methods()) - QUOTED == set()


def test_every_name_on_the_page_is_a_method() -> None:
    words = {word.partition("+")[0].partition("(")[0] for word in pb.methods()}
    named = {name for name in QUOTED if name.partition("+")[0].partition("(")[0] in words}
    for name in named:
        pb.optimizer(name)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.reason)
def test_the_evidence_of_a_choice_is_a_section_of_the_page(row: TableRow) -> None:
    assert f"\n## {row.evidence}\n" in PAGE


def test_the_default_is_said_to_be_the_default() -> None:
    assert f"`{DEFAULT_METHOD}`, the default" in PAGE
