"""Notes that are kept in a study."""

from pathlib import Path

import pytest
from stored_studies import EPOCHS, SPACE, tell_some

import priorband as pb
from priorband.durable.notes import LONGEST_NOTE, NoteReader
from priorband.errors import ArgumentError, StorageError, TrialError

ODD = "<script>\"'\n\u202e\N{PILE OF POO}\x00" * 500


def test_a_note_outlives_the_process_and_changes_no_decision(tmp_path: Path) -> None:
    with pb.open_study(tmp_path / "one", SPACE, EPOCHS, seed=3) as study:
        tell_some(study, 4)
        study.note(ODD)
        study.note("about it", trial=study.state.history.trial(2))
        tell_some(study, 4)
        events = study.state.history.events
    with pb.open_study(tmp_path / "two", SPACE, EPOCHS, seed=3) as other:
        tell_some(other, 8)
        assert other.state.history.events == events
    with pb.open_study(tmp_path / "one", read_only=True) as again:
        first, second = again.notes()
        assert (first.text, first.trial) == (ODD, None)
        assert (second.text, second.trial) == ("about it", 2)
        assert first.at <= second.at and first.number < second.number
        assert again.replay().exact


def test_a_reader_sees_notes_of_others_as_they_come(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study, pb.open_study(tmp_path) as other:
        reader = NoteReader(study.journal)
        assert reader.read() == []
        other.note("one")
        tell_some(other, 2)
        other.note("two")
        assert [note.text for note in reader.read()] == ["one", "two"]
        other.remove_note(reader.read()[0].number)
        assert [note.text for note in reader.read()] == ["two"]


@pytest.mark.parametrize("text", ["", " \n", "x" * (LONGEST_NOTE + 1), "\ud800", 7, None])
def test_a_note_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        with pytest.raises(ArgumentError, match="`text`"):
            study.note(text)
        assert study.notes() == []


def test_only_what_is_there_can_be_named(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        with pytest.raises(TrialError):
            study.note("x", trial=0)
        with pytest.raises(ArgumentError, match="number of a note"):
            study.remove_note(1)
        study.note("x")
        [note] = study.notes()
        study.remove_note(note.number)
        with pytest.raises(ArgumentError):
            study.remove_note(note.number)


def test_a_study_that_is_only_read_takes_no_note(tmp_path: Path) -> None:
    pb.open_study(tmp_path, SPACE, EPOCHS).close()
    with pb.open_study(tmp_path, read_only=True) as study, pytest.raises(StorageError):
        study.note("x")
