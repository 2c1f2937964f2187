"""The paper's own figures: the cells of its tables, and its authors' traces seed by seed."""

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

TABLES, TRACES = "tables.csv", "traces/by_integer_budget.csv.gz"
LAST_BUDGET = 24
"""Traces hold the budgets from 1 to this."""


class Place(NamedTuple):
    """Where a cell stands in the paper's tables."""

    benchmark: str
    prior: str
    algorithm: str
    horizon: float
    workers: int


@final
@frozen
class Printed:
    """What the paper prints in a cell: a mean and a standard deviation over seeds."""

    mean: float
    sd: float
    seeds: int


Traces = dict[tuple[str, str, str], NDArray[np.float64]]
"""By benchmark, prior and algorithm: the lowest loss seen, a row a seed, a column a budget."""


def printed_cells(paper: Path | None) -> dict[Place, Printed]:
    """All cells of the paper's tables; none where its folder is not here."""
    if paper is None or not (paper / TABLES).is_file():
        return {}
    with _reading(paper / TABLES), open(paper / TABLES, encoding="utf-8", newline="") as lines:
        return dict(map(_cell, csv.DictReader(lines)))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever goes wrong with a file's content is told of the file."""
    wrong = (AttributeError, KeyError, TypeError, ValueError, EOFError, csv.Error, zlib.error)
    try:
        yield
    except (*wrong, gzip.BadGzipFile) as error:
        raise DataError(f"{path} does not hold what it should: {error!r}.") from None


def _cell(row: dict[str, Any]) -> tuple[Place, Printed]:
    horizon = float(row["horizon"].removesuffix("x"))
    prior = row["prior"].replace("_", "-")
    place = Place(row["benchmark"], prior, row["algorithm"], horizon, int(row["workers"]))
    return place, Printed(float(row["mean"]), float(row["std"]), int(row["seeds"]))


def authors_traces(paper: Path | None) -> Traces:
    """The authors' runs with one worker; none where their folder is not here."""
    if paper is None or not (paper / TRACES).is_file():
        return {}
    found: dict[tuple[str, str, str], list[list[float]]] = {}
    path = paper / TRACES
    with _reading(path), gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            key = row["benchmark"], row["prior"].replace("_", "-"), row["algorithm"]
            budgets = [row[f"b{k}"] for k in range(1, LAST_BUDGET + 1)]
            found.setdefault(key, []).append([float(b) if b else math.nan for b in budgets])
    return {key: np.array(rows) for key, rows in found.items()}
