"""The schema for editors: current, and of one mind with the reader."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from study_texts import VALID, WRONG

from priorband.errors import StudyFileError
from priorband.study_file.read import read_study_file
from priorband.study_file.schema import study_file_schema

ROOT = Path(__file__).parents[2]
CHECKED_IN = ROOT / "docs" / "study-file.schema.json"


def accepts(text: str) -> bool:
    data: Any = json.loads(json.dumps(tomllib.loads(text), default=lambda date: {"date": 1}))
    validator = jsonschema.Draft202012Validator(study_file_schema())
    return bool(validator.is_valid(data))


def reads(text: str, folder: Path) -> bool:
    (folder / "study.toml").write_text(text)
    try:
        read_study_file(folder / "study.toml")
    except StudyFileError:
        return False
    return True


def test_the_schema_in_the_docs_is_current() -> None:
    assert json.loads(CHECKED_IN.read_text()) == study_file_schema(), (
        "write it again: priorband schema > docs/study-file.schema.json"
    )
    jsonschema.Draft202012Validator.check_schema(study_file_schema())


@pytest.mark.parametrize("name", VALID)
def test_schema_and_reader_accept_what_is_right(name: str, tmp_path: Path) -> None:
    assert accepts(VALID[name])
    assert reads(VALID[name], tmp_path)


@pytest.mark.parametrize("name", WRONG)
def test_schema_and_reader_refuse_what_is_wrong(name: str, tmp_path: Path) -> None:
    assert not reads(WRONG[name], tmp_path)
    assert not accepts(WRONG[name])


def test_every_key_is_explained() -> None:
    def properties(schema: Any) -> list[tuple[str, Any]]:
        if isinstance(schema, list):
            return [item for part in schema for item in properties(part)]
        if not isinstance(schema, dict):
            return []
        own = list(schema.get("properties", {}).items())
        return own + [item for part in schema.values() for item in properties(part)]

    found = properties(study_file_schema())
    keys = [(name, about) for name, about in found if isinstance(about, dict)]
    assert len(keys) > 50
    assert [name for name, about in keys if not about.get("description")] == []
