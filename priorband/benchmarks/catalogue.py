"""The catalogue: every benchmark by name, the files it needs, and whether they are available."""

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import final

from priorband.benchmarks import jahs, jahs_prototype, pd1, pd1_tasks, taskset
from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.fitted import Fitted
from priorband.benchmarks.folder import DATA_VARIABLE, data_folder
from priorband.benchmarks.hartmann import CORRELATIONS, Hartmann
from priorband.benchmarks.jahs import JAHS, JAHS_FOLDER, jahs_folder
from priorband.benchmarks.jahs_prototype import JAHSPrototype
from priorband.benchmarks.lcbench import CODES, MODEL, PAPER_TASKS, TASKS, LCBench
from priorband.benchmarks.pd1 import PD1, PD1StandIn
from priorband.benchmarks.tabular import Tabular
from priorband.benchmarks.taskset import TaskSet
from priorband.errors import DataError, SpaceError, suggestion
from priorband.values import frozen

Folder = Path | None
Make = Callable[[Folder], Benchmark]
_SET_DATA = f"--data or {DATA_VARIABLE}"
_ONNX = ("onnxruntime", "'priorband[surrogates]'")
_XGBOOST = ("xgboost", "'priorband[surrogates]'")


@final
@frozen
class CatalogueEntry:
    """A named benchmark: how to create it, and what it needs."""

    name: str
    title: str
    """Its name in tables and figures. That of a stand-in says that it is one."""
    family: str
    make: Make
    files: tuple[str, ...] = ()
    """The files it needs, relative to the data folder."""
    package: str | None = None
    """A package it needs."""
    install: str = ""
    """What to pass to `pip install` to get that package."""
    paper_name: str | None = None
    """Its name in the paper's tables, or the name of the benchmark it stands in for."""
    is_stand_in: bool = False
    own_folder: bool = False
    """Whether its files are in a folder of their own instead of the data folder."""
    table: Path | None = None
    """The CSV file it reads, for a table of the user's own."""

    def missing(self, data: Folder) -> str:
        """What is missing to create the benchmark; empty if nothing is."""
        if self.table is not None and not self.table.is_file():
            return f"the file {self.table}"
        folder, setting = self._folder(data)
        if self.files and folder is None:
            return f"a folder with {self.files[0]}: set it with {setting}"
        for file in self.files:
            if folder is not None and not (folder / file).is_file():
                return f"the file {folder / file}"
        if self.package is not None and find_spec(self.package) is None:
            return f"the package {self.package}: pip install {self.install}"
        return ""

    def digest(self, data: Folder) -> str:
        """A hash of its files, which keeps results from different data apart."""
        folder, _ = self._folder(data)
        digest = blake2b(digest_size=8)
        paths = [(folder or Path()) / file for file in self.files]
        for path in paths if self.table is None else [self.table]:
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def _folder(self, data: Folder) -> tuple[Folder, str]:
        """The folder of its files, and the options that set it."""
        return (jahs_folder(), f"--jahs or {JAHS_FOLDER}") if self.own_folder else (data, _SET_DATA)


def benchmark(name: str, data: str | Path | None = None) -> Benchmark:
    """Create a benchmark by name.

    Args:
        name: A name from `benchmark_names`, or a CSV file of your own runs as
            `table:FILE.csv[:FIDELITY[:LOSS]]` (see `Tabular`) or
            `fitted:FILE.csv[:FIDELITY[:LOSS]]` (see `Fitted`).
        data: The folder with the benchmarks' data files. The default is the folder named by the
            environment variable `PRIORBAND_DATA`.

    Returns:
        The benchmark.

    Raises:
        SpaceError: If there is no benchmark with this name.
        DataError: If a file or a package that it needs is missing; the message says which.

    Example:
        >>> benchmark("hartmann3-good")
        Hartmann(dimensions=3, correlation='good', seed=0)
    """
    folder = data_folder(data)
    require_benchmark(name, folder)
    return catalogue_entry(name).make(folder)


def benchmark_names() -> tuple[str, ...]:
    """The names that `benchmark` takes, whether or not their data is available.

    Returns:
        The names, without those of your own files.

    Example:
        >>> benchmark_names()[:2]
        ('hartmann3-good', 'hartmann3-moderate')
    """
    return tuple(catalogue_entries())


def require_benchmark(name: str, data: Folder) -> None:
    """Raise `DataError` if something that a benchmark needs is missing."""
    missing = catalogue_entry(name).missing(data)
    if missing:
        raise DataError(f"The benchmark {name} needs {missing}.")


def catalogue_entries() -> dict[str, CatalogueEntry]:
    """All named benchmarks by name, in the order in which they are listed."""
    return {entry.name: entry for entry in _entries()}


def catalogue_entry(name: str) -> CatalogueEntry:
    """The entry of a named benchmark, or of the user's own CSV file: `table:runs.csv`."""
    entries = catalogue_entries()
    if name in entries:
        return entries[name]
    kind, _, rest = name.partition(":")
    path, *columns = rest.split(":")
    if kind in _TABLES and path and len(columns) <= len(_COLUMNS) and all(columns):
        benchmark_class, description = _TABLES[kind]
        fidelity_and_loss = (*columns, *_COLUMNS[len(columns) :])
        file, title = Path(path), f"{Path(path).name} ({description})"
        return CatalogueEntry(
            name, title, "own", lambda folder: benchmark_class(file, *fidelity_and_loss), table=file
        )
    raise SpaceError(
        f"Unknown benchmark {name!r}. A table of your own is table:FILE.csv[:FIDELITY[:LOSS]], "
        f"or fitted:FILE.csv for a surrogate of it. {suggestion(name, entries)}"
    )


_COLUMNS = ("epoch", "loss")
"""The default columns of the fidelity and the loss."""
_TABLES: dict[str, tuple[Callable[..., Benchmark], str]] = {
    "table": (Tabular, "nearest row"),
    "fitted": (Fitted, "fitted surrogate"),
}


def _entries() -> Iterator[CatalogueEntry]:
    for dimensions, correlation in product((3, 6), CORRELATIONS):
        make: Make = partial(_hartmann, dimensions, correlation)
        title = f"MFH{dimensions} ({correlation} correlation)"
        yield CatalogueEntry(f"hartmann{dimensions}-{correlation}", title, "Hartmann", make)
    yield from map(_lcbench, (*PAPER_TASKS, *(task for task in TASKS if task not in PAPER_TASKS)))
    yield from (_pd1(name, task) for name, task in pd1_tasks.TASKS.items())
    yield from (_pd1_stand_in(name, task) for name, task in pd1_tasks.TASKS.items())
    yield from map(_jahs, jahs.DATASETS)
    make, files = JAHSPrototype, (jahs_prototype.MODEL,)
    title = "mixed-cifar10 (early prototype, not JAHS-Bench-201)"
    yield CatalogueEntry("mixed-cifar10", title, "prototype", make, files, *_ONNX)
    for name in taskset.TASKS:
        files = (taskset.FILE.format(name),)
        make = partial(TaskSet, name)
        yield CatalogueEntry(f"taskset-{name}", f"TaskSet {name}", "TaskSet", make, files)


def _hartmann(dimensions: int, correlation: str, folder: Folder) -> Benchmark:
    del folder
    return Hartmann(dimensions, correlation)


def _lcbench(task: str) -> CatalogueEntry:
    title, make = f"LC-{task}", partial(LCBench, task)
    paper_name = title if task in PAPER_TASKS else None
    files = (MODEL, CODES)
    return CatalogueEntry(f"lcbench-{task}", title, "LCBench", make, files, *_ONNX, paper_name)


def _pd1(name: str, task: pd1_tasks.PD1Task) -> CatalogueEntry:
    files = (pd1.SURROGATE.format(task.surrogate),)
    make = partial(PD1, name)
    return CatalogueEntry(f"pd1-{name}", task.paper, "PD1", make, files, *_XGBOOST, task.paper)


def _pd1_stand_in(name: str, task: pd1_tasks.PD1Task) -> CatalogueEntry:
    files, title = (pd1.STAND_IN.format(task.stand_in),), f"{task.paper} (stand-in)"
    make = partial(PD1StandIn, name)
    return CatalogueEntry(
        f"pd1-{name}-standin", title, "PD1 stand-in", make, files, *_ONNX, task.paper, True
    )


def _jahs(dataset: str) -> CatalogueEntry:
    title = jahs.DATASETS[dataset]
    folder = f"assembled_surrogates/{dataset}/{jahs.METRIC}"
    return CatalogueEntry(
        f"jahs-{dataset}",
        title,
        "JAHS",
        lambda folder: JAHS(dataset, jahs_folder()),
        tuple(f"{folder}/{file}" for file in jahs.FILES),
        "jahs_bench",
        "jahs-bench",
        title,
        own_folder=True,
    )
