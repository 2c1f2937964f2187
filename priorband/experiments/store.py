"""Where results are kept: a folder that can be killed at any time and only ever grows.

A finished run is one line of JSON at the end of `runs.jsonl`. When all runs of a grid are done they
are put together, in the order of their names, into `results.npz`: numpy's own archive of columns,
compressed. It loads whole in one go, needs no package beside numpy, holds no code, and depends on
nothing but the runs, so that the same grid gives the same bytes however often it was cut off.
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
from priorband.experiments.cases import Case, case_from
from priorband.experiments.record import COLUMNS, Record, plain, record_from

LINES, SEALED, ABOUT, LOCK = "runs.jsonl", "results.npz", "about.json", "lock"
FORMAT = 1

_DAMAGE = (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error)

Records = dict[tuple[Any, ...], Record]


@final
class Store:
    """The results in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._records: Records | None = None

    def __repr__(self) -> str:
        return f"Store({str(self.folder)!r})"

    @property
    def records(self) -> Records:
        """All finished runs by key, in the order of keys; the longest of each."""
        if self._records is None:
            self._records = _sorted([*self._sealed(), *self._lines()])
        return self._records

    def has(self, case: Case) -> bool:
        """Whether a run is done, at least as long as asked."""
        found = self.records.get(case.key)
        return found is not None and found.case.budget >= case.budget

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only one to write into the folder."""
        import fcntl

        self.folder.mkdir(parents=True, exist_ok=True)
        with open(self.folder / LOCK, "wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StorageError(
                    f"Another process is writing results into {self.folder}. "
                    "Wait for it, or name another folder."
                ) from None
            self._drop_torn_line()
            self._records = None
            yield

    def add(self, record: Record) -> None:
        """Keep a finished run: from here on it is not run again."""
        line = json.dumps(plain(record), allow_nan=False, separators=(",", ":")) + "\n"
        with open(self.folder / LINES, "ab") as lines:
            lines.write(line.encode())
        self.records[record.case.key] = record

    def seal(self) -> Path:
        """Put all runs together into one file, and drop the lines they came in."""
        records = _sorted(self.records.values())
        path = self.folder / SEALED
        _replace(path, records)
        (self.folder / LINES).unlink(missing_ok=True)
        self._records = records
        return path

    def made_of(self) -> dict[str, str]:
        """What the runs are made of: a digest of each benchmark's data, and of what else counts."""
        path = self.folder / ABOUT
        found = _json(path).get("made_of", {}) if path.is_file() else {}
        if not isinstance(found, dict):
            raise FormatError(f"The file {path} is damaged: it does not say what runs are made of.")
        return found

    def agree(self, said: Mapping[str, str]) -> None:
        """Refuse runs that were made of something else than is said."""
        known = self.made_of()
        for name, digest in said.items():
            if known.get(name, digest) != digest:
                raise DataError(
                    f"The results in {self.folder} were made with other {name} "
                    f"({known[name]}, now {digest}), and cannot be mixed or compared. "
                    "Name a new folder, or what it was then."
                )

    def about(self, said: Mapping[str, str]) -> None:
        """Note what the runs are made of; refuse to mix them with others."""
        self.agree(said)
        known = dict(sorted((self.made_of() | dict(said)).items()))
        text = json.dumps({"format": FORMAT, "made_of": known})
        put(self.folder / ABOUT, text + "\n")

    def _drop_torn_line(self) -> None:
        """A line that was cut off while it was written was not acknowledged to anybody."""
        path = self.folder / LINES
        if path.is_file():
            whole = path.read_bytes().rfind(b"\n") + 1
            if whole < path.stat().st_size:
                os.truncate(path, whole)

    def _lines(self) -> Iterator[Record]:
        path = self.folder / LINES
        if not path.is_file():
            return
        *whole, _ = path.read_bytes().split(b"\n")  # what follows the last break was cut off
        for number, line in enumerate(whole, 1):
            try:
                read = json.loads(line)
                yield record_from(case_from(read["case"]), read["columns"], read["values"])
            except (ValueError, KeyError, TypeError) as error:
                raise FormatError(
                    f"Line {number} of {path} is damaged: {error}. "
                    "Delete that line; its run will be done again."
                ) from None

    def _sealed(self) -> Iterator[Record]:
        path = self.folder / SEALED
        if not path.is_file():
            return
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                yield from _unpacked({name: archive[name] for name in archive.files})
        except _DAMAGE as error:
            raise FormatError(f"The file {path} is damaged, or none of ours: {error}.") from None


def _sorted(records: Iterable[Record]) -> Records:
    longest: Records = {}
    for record in records:
        known = longest.get(record.case.key)
        if known is None or record.case.budget >= known.case.budget:
            longest[record.case.key] = record
    return dict(sorted(longest.items()))


def _replace(path: Path, records: Records) -> None:
    """Write the archive beside the old one, and put it in its place in one step."""
    runs = list(records.values())
    cases = json.dumps([record.case.plain() for record in runs], separators=(",", ":"))
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
    _settle(beside)
    os.replace(beside, path)


def _unpacked(packed: dict[str, Any]) -> Iterator[Record]:
    if int(packed["format"]) != FORMAT:
        raise FormatError(f"its format is {packed['format']}, this library reads {FORMAT}")
    cases = [case_from(one) for one in json.loads(packed["cases"].tobytes())]
    trials, numbers = pairwise(packed["trials"].tolist()), pairwise(packed["numbers"].tolist())
    for case, (start, end), (first, last) in zip(cases, trials, numbers, strict=True):
        columns = {name: packed[f"trial_{name}"][start:end] for name in COLUMNS}
        values = packed["values"][first:last].reshape(end - start, -1)
        yield record_from(case, columns, values)


def _edges(sizes: Iterable[int]) -> Any:
    return np.cumsum([0, *sizes], dtype=np.int64)


def _joined(parts: list[Any], kind: Any) -> Any:
    return np.concatenate([np.zeros(0, dtype=kind), *parts]).astype(kind, copy=False)


def _json(path: Path) -> dict[str, Any]:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise FormatError(f"The file {path} is damaged: delete it, it is written anew.")
    return read


def put(path: Path, text: str) -> None:
    """Write a file beside the old one, and put it in its place in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    _settle(beside)
    os.replace(beside, path)


def _settle(path: Path) -> None:
    """Wait until a file is on the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
