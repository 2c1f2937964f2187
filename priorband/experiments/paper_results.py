"""The paper's own results: the cells of its tables, and its authors' traces for each seed."""

import csv
import gzip
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from priorband.errors import DataError
from priorband.values import frozen

TABLES_FILE, TRACES_FILE = "tables.csv", "traces/by_integer_budget.csv.gz"
LAST_BUDGET = 24
"""The last budget of the traces, which start at 1."""


class PaperCellKey(NamedTuple):
    """What identifies a cell of the paper's tables."""

    benchmark: str
    prior: str
    algorithm: str
    horizon: float
    workers: int


@final
@frozen
class PaperCell:
    """A cell of the paper's tables: a mean and a standard deviation over seeds."""

    mean: float
    sd: float
    seeds: int


Traces = dict[tuple[str, str, str], NDArray[np.float64]]
"""The lowest loss so far by benchmark, prior and algorithm: one row per seed, one column per
budget."""


def paper_cells(paper: Path | None) -> dict[PaperCellKey, PaperCell]:
    """All cells of the paper's tables; none if the paper's folder is not available."""
    if paper is None or not (paper / TABLES_FILE).is_file():
        return {}
    path = paper / TABLES_FILE
    with _data_errors(path), open(path, encoding="utf-8", newline="") as lines:
        return dict(map(_cell, csv.DictReader(lines)))


@contextmanager
def _data_errors(path: Path) -> Iterator[None]:
    """Turn errors in the content of a file into a `DataError` that names it."""
    errors = (AttributeError, KeyError, TypeError, ValueError, EOFError, csv.Error, zlib.error)
    try:
        yield
    except (*errors, gzip.BadGzipFile) as error:
        raise DataError(f"{path} does not have the expected content: {error!r}.") from None


def _cell(row: dict[str, Any]) -> tuple[PaperCellKey, PaperCell]:
    horizon = float(row["horizon"].removesuffix("x"))
    prior = row["prior"].replace("_", "-")
    key = PaperCellKey(row["benchmark"], prior, row["algorithm"], horizon, int(row["workers"]))
    return key, PaperCell(float(row["mean"]), float(row["std"]), int(row["seeds"]))


def authors_traces(paper: Path | None) -> Traces:
    """The authors' runs with one worker; none if the paper's folder is not available."""
    if paper is None or not (paper / TRACES_FILE).is_file():
        return {}
    traces: dict[tuple[str, str, str], list[list[float]]] = {}
    path = paper / TRACES_FILE
    with _data_errors(path), gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            key = row["benchmark"], row["prior"].replace("_", "-"), row["algorithm"]
            budgets = [row[f"b{k}"] for k in range(1, LAST_BUDGET + 1)]
            traces.setdefault(key, []).append([float(b) if b else math.nan for b in budgets])
    return {key: np.array(rows) for key, rows in traces.items()}
