"""The catalogue: every benchmark by name, what it needs, and whether that is here."""

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
from priorband.benchmarks.folder import DATA
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
_DATA_IS = f"--data or {DATA}"
_ONNX = ("onnxruntime", "'priorband[surrogates]'")
_XGBOOST = ("xgboost", "'priorband[surrogates]'")


@final
@frozen
class CatalogueEntry:
    """A benchmark that can be made, or what is missing to make it."""

    name: str
    title: str
    """How tables and figures call it. A stand-in says that it is one."""
    family: str
    make: Make
    files: tuple[str, ...] = ()
    """Files of the data folder that it needs."""
    package: str | None = None
    """A package that it needs, and what installs it."""
    install: str = ""
    published: str | None = None
    """What the paper's tables call it, or what it stands in for."""
    stands_in: bool = False
    apart: bool = False
    """Whether its files lie in a folder of their own, which is named for them alone."""
    table: Path | None = None
    """The user's own file that it is made of."""

    def missing(self, data: Folder) -> str:
        """What is not here, and where it would be found; empty where nothing is missing."""
        if self.table is not None and not self.table.is_file():
            return f"the file {self.table}"
        folder, named = self._root(data)
        if self.files and folder is None:
            return f"a folder with {self.files[0]}: name it with {named}"
        for file in self.files:
            if folder is not None and not (folder / file).is_file():
                return f"the file {folder / file}"
        if self.package is not None and find_spec(self.package) is None:
            return f"the package {self.package}: pip install {self.install}"
        return ""

    def digest(self, data: Folder) -> str:
        """A hash of the files it is made of: results of other data must not be mixed."""
        folder, _ = self._root(data)
        made = blake2b(digest_size=8)
        paths = [(folder or Path()) / file for file in self.files]
        for path in paths if self.table is None else [self.table]:
            made.update(path.read_bytes())
        return made.hexdigest()

    def _root(self, data: Folder) -> tuple[Folder, str]:
        """Where its files lie, and how one says so."""
        return (jahs_folder(), f"--jahs or {JAHS_FOLDER}") if self.apart else (data, _DATA_IS)


def benchmark(name: str, data: Folder) -> Benchmark:
    """A benchmark by name, or an error that says what is missing to make it."""
    require(name, data)
    return entry(name).make(data)


def require(name: str, data: Folder) -> None:
    """Refuse a benchmark that cannot be made here."""
    missing = entry(name).missing(data)
    if missing:
        raise DataError(f"The benchmark {name} needs {missing}.")


def catalogue() -> dict[str, CatalogueEntry]:
    """Every benchmark with a name, in the order they are shown."""
    return {entry.name: entry for entry in _entries()}


def entry(name: str) -> CatalogueEntry:
    """A benchmark of the catalogue, or a table of the user's own: `table:runs.csv`."""
    known = catalogue()
    if name in known:
        return known[name]
    kind, _, rest = name.partition(":")
    path, *columns = rest.split(":")
    if kind in _TABLES and path and len(columns) <= len(_COLUMNS) and all(columns):
        made, what = _TABLES[kind]
        named = (*columns, *_COLUMNS[len(columns) :])
        own, title = Path(path), f"{Path(path).name} ({what})"
        return CatalogueEntry(name, title, "own", lambda folder: made(own, *named), table=own)
    raise SpaceError(
        f"Unknown benchmark {name!r}. A table of your own is table:FILE.csv[:FIDELITY[:LOSS]], "
        f"or fitted:FILE.csv for a surrogate of it. {suggestion(name, known)}"
    )


_COLUMNS = ("epoch", "loss")
"""The columns of a table, unless others are named."""
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
    named = title if task in PAPER_TASKS else None
    return CatalogueEntry(f"lcbench-{task}", title, "LCBench", make, (MODEL, CODES), *_ONNX, named)


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
    where = f"assembled_surrogates/{dataset}/{jahs.METRIC}"
    return CatalogueEntry(
        f"jahs-{dataset}",
        title,
        "JAHS",
        lambda folder: JAHS(dataset, jahs_folder()),
        tuple(f"{where}/{file}" for file in jahs.FILES),
        "jahs_bench",
        "jahs-bench",
        title,
        apart=True,
    )
