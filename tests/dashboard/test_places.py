"""Where studies are found, and what they are called."""

from pathlib import Path

import pytest
from stored_studies import EPOCHS, SPACE

import priorband as pb
from priorband.dashboard.places import DEPTH, study_place, study_places
from priorband.errors import FormatError


def create(folder: Path) -> Path:
    pb.open_study(folder, SPACE, EPOCHS).close()
    return folder


def test_a_study_a_folder_of_studies_and_a_database_are_found(tmp_path: Path) -> None:
    one, two = create(tmp_path / "runs" / "one"), create(tmp_path / "runs" / "deep" / "er" / "two")
    create(tmp_path / "runs" / "too" / "deep" / "for" / "us")
    assert DEPTH == 3
    url = "postgresql://ann:secret@host/lab#resnet"
    found = study_places([str(tmp_path / "runs"), str(one), url])
    assert [place.where for place in found] == [str(two), str(one), url]
    assert [place.name for place in found] == ["two", "one", "resnet"]
    assert "secret" not in found[-1].shown + found[-1].id + found[-1].name


def test_ids_are_stable_differ_and_are_safe_in_an_address(tmp_path: Path) -> None:
    odd = study_place(str(tmp_path / "Ünï /<b>"))
    assert odd.id == study_place(str(tmp_path / "Ünï /<b>")).id
    assert odd.id != study_place(str(tmp_path / "other" / "<b>")).id
    assert odd.id.replace("-", "").isascii() and odd.id.replace("-", "").isalnum()


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="There is no study in .*nowhere"):
        study_places([str(tmp_path / "nowhere")])
    assert study_places([str(tmp_path)]) == ()
