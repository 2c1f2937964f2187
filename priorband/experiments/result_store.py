"""The folder with the results of runs. A process that writes it can be killed at any time.

Each finished run is appended to `runs.jsonl` as one line of JSON. When all runs of a grid are done,
they are moved to `results.npz` in the order of their keys. This is a compressed archive of numpy
arrays: it loads at once, needs numpy only, and has no code in it. Its bytes depend only on the
runs, however often the grid was interrupted.
"""

import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, final

import numpy as np

from priorband.errors import DataError, FormatError, StorageError
from priorband.experiments.cases import Case, case_from_json
from priorband.experiments.run_record import COLUMNS, RunRecord, record_from_columns, record_to_json

LINES_FILE, ARCHIVE_FILE, ABOUT_FILE, LOCK_FILE = "runs.jsonl", "results.npz", "about.json", "lock"
FORMAT = 1

_DAMAGE = (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error)

Records = dict[tuple[Any, ...], RunRecord]


@final
class ResultStore:
    """The results in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._records: Records | None = None

    def __repr__(self) -> str:
        return f"ResultStore({str(self.folder)!r})"

    @property
    def records(self) -> Records:
        """All finished runs, sorted by key; the longest run for each key."""
        if self._records is None:
            self._records = _longest_by_key([*self._archived(), *self._lines()])
        return self._records

    def has(self, case: Case) -> bool:
        """Whether there is a run of a case with at least its budget."""
        record = self.records.get(case.key)
        return record is not None and record.case.budget >= case.budget

    @contextmanager
    def write_lock(self) -> Iterator[None]:
        """Keep other processes from writing to the folder."""
        import fcntl

        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / LOCK_FILE, "wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StorageError(
                    f"Another process is writing results to {self.folder}. "
                    "Wait for it, or use another folder."
                ) from None
            self._drop_incomplete_line()
            self._records = None
            yield

    def add(self, record: RunRecord) -> None:
        """Append a finished run; after this, it will not be run again."""
        line = json.dumps(record_to_json(record), allow_nan=False, separators=(",", ":")) + "\n"
        with open(self.folder / LINES_FILE, "ab") as lines:
            lines.write(line.encode())
        self.records[record.case.key] = record

    def pack(self) -> Path:
        """Write all runs to the archive, delete `runs.jsonl`, and return the archive's path."""
        records = _longest_by_key(self.records.values())
        path = self.folder / ARCHIVE_FILE
        _replace_archive(path, records)
        (self.folder / LINES_FILE).unlink(missing_ok=True)
        self._records = records
        return path

    def input_digests(self) -> dict[str, str]:
        """The digests of everything that the runs depend on, such as the benchmarks' data."""
        path = self.folder / ABOUT_FILE
        digests = _read_json(path).get("made_of", {}) if path.is_file() else {}
        if not isinstance(digests, dict):
            raise FormatError(f"The file {path} is damaged: it has no digests of the runs' inputs.")
        return digests

    def check_inputs(self, digests: Mapping[str, str]) -> None:
        """Raise `DataError` if the runs were made with other inputs."""
        stored = self.input_digests()
        for name, digest in digests.items():
            if stored.get(name, digest) != digest:
                raise DataError(
                    f"The results in {self.folder} were made with other {name} "
                    f"({stored[name]}, now {digest}), and cannot be mixed or compared. "
                    "Use a new folder, or the same inputs as before."
                )

    def add_inputs(self, digests: Mapping[str, str]) -> None:
        """Store the digests of inputs; raise `DataError` if the runs were made with others."""
        self.check_inputs(digests)
        merged = dict(sorted((self.input_digests() | dict(digests)).items()))
        text = json.dumps({"format": FORMAT, "made_of": merged})
        write_atomically(self.folder / ABOUT_FILE, text + "\n")

    def _drop_incomplete_line(self) -> None:
        """Remove the last line if it is incomplete: its run does not count as done."""
        path = self.folder / LINES_FILE
        if path.is_file():
            end = path.read_bytes().rfind(b"\n") + 1
            if end < path.stat().st_size:
                os.truncate(path, end)

    def _lines(self) -> Iterator[RunRecord]:
        path = self.folder / LINES_FILE
        if not path.is_file():
            return
        *lines, _ = path.read_bytes().split(b"\n")  # the text after the last newline is incomplete
        for number, line in enumerate(lines, 1):
            try:
                data = json.loads(line)
                yield record_from_columns(
                    case_from_json(data["case"]), data["columns"], data["values"]
                )
            except (ValueError, KeyError, TypeError) as error:
                raise FormatError(
                    f"Line {number} of {path} is damaged: {error}. "
                    "Delete this line, and its run will be repeated."
                ) from None

    def _archived(self) -> Iterator[RunRecord]:
        path = self.folder / ARCHIVE_FILE
        if not path.is_file():
            return
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                yield from _unpacked({name: archive[name] for name in archive.files})
        except _DAMAGE as error:
            raise FormatError(
                f"The file {path} is damaged or in an unknown format: {error}."
            ) from None


def _longest_by_key(records: Iterable[RunRecord]) -> Records:
    longest: Records = {}
    for record in records:
        other = longest.get(record.case.key)
        if other is None or record.case.budget >= other.case.budget:
            longest[record.case.key] = record
    return dict(sorted(longest.items()))


def _replace_archive(path: Path, records: Records) -> None:
    """Write the archive to a new file, and then replace the old one by it."""
    runs = list(records.values())
    cases = json.dumps([record.case.to_json() for record in runs], separators=(",", ":"))
    packed: dict[str, Any] = {
        "format": np.array(FORMAT),
        "cases": np.frombuffer(cases.encode(), dtype=np.uint8),
        "trials": _edges(len(record) for record in runs),
        "numbers": _edges(record.values.size for record in runs),
        "values": _joined([record.values.ravel() for record in runs], np.float64),
    }
    for name, kind in COLUMNS.items():
        packed[f"trial_{name}"] = _joined([record.columns[name] for record in runs], kind)
    beside = path.with_suffix(".new.npz")
    np.savez_compressed(beside, **packed)
    _fsync(beside)
    os.replace(beside, path)


def _unpacked(packed: dict[str, Any]) -> Iterator[RunRecord]:
    if int(packed["format"]) != FORMAT:
        raise FormatError(f"its format is {packed['format']}, but this version reads {FORMAT}")
    cases = [case_from_json(case) for case in json.loads(packed["cases"].tobytes())]
    trials, numbers = pairwise(packed["trials"].tolist()), pairwise(packed["numbers"].tolist())
    for case, (start, end), (first, last) in zip(cases, trials, numbers, strict=True):
        columns = {name: packed[f"trial_{name}"][start:end] for name in COLUMNS}
        values = packed["values"][first:last].reshape(end - start, -1)
        yield record_from_columns(case, columns, values)


def _edges(sizes: Iterable[int]) -> Any:
    return np.cumsum([0, *sizes], dtype=np.int64)


def _joined(parts: list[Any], kind: Any) -> Any:
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind, copy=False)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise FormatError(f"The file {path} is damaged: delete it, and it will be created again.")
    return data


def write_atomically(path: Path, text: str) -> None:
    """Write a new file, and then replace the old one by it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    _fsync(beside)
    os.replace(beside, path)


def _fsync(path: Path) -> None:
    """Wait until a file is on the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
