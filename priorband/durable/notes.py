"""Notes: texts that people keep in a study, about a trial or about all of it.

A note is a remark in the journal, so it is as durable as a result, is seen by all who read the
study, and changes nothing that is decided. A removed note stays in the journal, and is not shown.
"""

from collections.abc import Iterable
from typing import Any, final

from priorband.durable.records import RemarkRecord, decode
from priorband.errors import ArgumentError
from priorband.storage.journal import Journal, Row
from priorband.values import frozen

NOTE, REMOVED_NOTE = "note", "removed_note"
"""The details of a remark that say that it is a note, or which note is removed."""
LONGEST_NOTE = 20_000
"""Characters of a note."""


@final
@frozen
class Note:
    """A text that somebody keeps in a study."""

    number: int
    """The number of its record."""
    text: str
    trial: int | None
    """The trial it is about; None if it is about the study."""
    at: float
    """When it was written, in seconds since 1970 by the storage's clock."""
    writer: str
    """The process that wrote it, which begins with the name of its machine."""


def note_record(text: str, trial: int | None) -> RemarkRecord:
    """The record of a note; raise `ArgumentError` if it is empty, too long or not valid text."""
    if not isinstance(text, str) or not text.strip():
        raise ArgumentError(f"`text` must be the text of a note, got {text!r:.40}.")
    if len(text) > LONGEST_NOTE:
        raise ArgumentError(
            f"`text` must have at most {LONGEST_NOTE} characters, got {len(text)}. Keep a longer "
            "text in a file, and its name in a note."
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ArgumentError("`text` must be valid Unicode, but has half a character.") from None
    return RemarkRecord(trial, text, details={NOTE: True})


def removal_record(number: int) -> RemarkRecord:
    """The record that removes a note."""
    return RemarkRecord(None, f"note {number} was removed", details={REMOVED_NOTE: number})


def is_note(row: Row) -> bool:
    """Whether a record is a note, or removes one; reads no more of it than is needed."""
    return row.kind == RemarkRecord.kind and f'{NOTE}"' in row.body


@final
class NoteReader:
    """Reads the notes of a study again and again: each time only what is new."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seq = 0
        self._notes: dict[int, Note] = {}

    def read(self) -> list[Note]:
        """The notes of the study, the oldest first."""
        pages: Iterable[list[Row]] = (
            [self._journal.read(self._seq)] if self._seq else self._journal.read_in_pages()
        )
        for page in pages:
            for row in filter(is_note, page):
                self._take_in(row, decode(row))
            self._seq = page[-1].seq if page else self._seq
        return list(self._notes.values())

    def _take_in(self, row: Row, record: Any) -> None:
        removed = record.details.get(REMOVED_NOTE)
        if isinstance(removed, int):
            self._notes.pop(removed, None)
        elif record.details.get(NOTE) is True:
            self._notes[row.seq] = Note(row.seq, record.text, record.trial, row.at, row.worker)
