"""Places where there can be no study are refused at once, with a proposal."""

import re
from pathlib import Path

import pytest
from stored_studies import EPOCHS, SPACE

import priorband as pb
from priorband.errors import ArgumentError, StorageError
from priorband.storage.study_folder import create_folder
from priorband.workers.open_with_retry import open_with_retry


def never(text: str) -> None:
    raise AssertionError(f"it waits: {text}")


def refused(where: Path | str) -> str:
    """What opening a new study says; it must not wait."""
    with pytest.raises(ArgumentError) as raised:
        open_with_retry({"where": where, "space": SPACE, "fidelity": EPOCHS}, never)
    return str(raised.value)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.touch()
    for where in (file, file / "study", file / "a" / "b"):
        assert refused(where) == (
            f"`study` must be a folder, but {file} is a file. Choose another place for the study, "
            "such as 'runs/train'."
        )


def test_the_database_of_a_study_is_not_its_folder(tmp_path: Path) -> None:
    pb.open_study(tmp_path, SPACE, EPOCHS).close()
    assert refused(tmp_path / "study.db") == (
        f"`study` must be a folder, but {tmp_path}/study.db is a file. For the study in it, give "
        f"the folder: '{tmp_path}'."
    )


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
def test_a_place_that_takes_no_folders_is_refused_at_once() -> None:
    for where in ("/proc/resnet", "/proc/self/resnet"):
        assert refused(where) == (
            f"`study` must be a folder that can be created, but {Path(where).parent} takes no new "
            f"folders, so there can be no {where}. Choose a place on a disk, such as "
            "'runs/resnet'."
        )


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
def test_the_error_of_the_system_is_not_shown_above_it() -> None:
    with pytest.raises(ArgumentError) as caught:
        create_folder(Path("/proc/resnet"))
    assert caught.value.__suppress_context__ and caught.value.__cause__ is None


def test_a_folder_above_that_vanishes_is_worth_another_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanish(self: Path, **options: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", str(self))

    monkeypatch.setattr(Path, "mkdir", vanish)
    with pytest.raises(FileNotFoundError):
        create_folder(tmp_path / "away" / "study")


def test_a_name_that_is_too_long_is_not_waited_for(tmp_path: Path) -> None:
    opening = {"where": tmp_path / ("n" * 300), "space": SPACE, "fidelity": EPOCHS}
    with pytest.raises(StorageError, match=re.escape("File name too long")):
        open_with_retry(opening, never)
