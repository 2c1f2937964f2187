"""A stranger's study: no link leads out of it, nothing stored is run, odd names are only names."""

import ast
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from servers import fresh_url
from stored_studies import EPOCHS, SPACE, Shapes, checkpoints_in, events, tell_some

import priorband as pb
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.storage import identity

PACKAGE = Path(pb.__file__).parent

LINKS = [
    *("study.db", "study.db-wal", "study.db-shm", "study.db-journal", "study.head", "study.lock"),
    *("trials", "trials/study.json", "trials/0", "trials/0/1-01234567", "trials/0/log-1.txt"),
    *("trials/0/1.part-01234567", "trials/0/1.step-3-01234567", "trials/0/curve-1.jsonl"),
    *("trials/0/2-01234567", "trials/0/2.from-3-01234567", "trials/0/1-01234567/identity.json"),
    *("trials/0/1-01234567/checkpoint", "trials/0/1-01234567/checkpoint/model"),
    *("trials/0/1", "trials/0/1.part", "trials/0/1.step-3", "trials/0/1/model"),
]


@pytest.fixture(params=["file", "folder", "nothing"])
def outside(request: pytest.FixtureRequest, place: Path) -> Iterator[Path]:
    """Something that a link leads to, and that must be as it was."""
    target = place / "outside" / "target"
    (target if request.param == "folder" else target.parent).mkdir(parents=True)
    if request.param == "folder":
        (target / "1").mkdir()
        (target / "model").write_text("precious")
        (target / "1" / "model").write_text("precious")
    elif request.param == "file":
        target.write_text("precious")
    before = _seen(target.parent)
    yield target
    assert _seen(target.parent) == before


def _seen(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() if p.is_file() else b"" for p in folder.rglob("*")}


def _plant(path: Path, target: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def _work(folder: Path) -> Iterator[Callable[[], object]]:
    """All that may be done with a study's folder."""
    checkpoints = checkpoints_in(folder)
    yield lambda: _ask_and_tell(folder)
    yield lambda: checkpoints.workplace(0, 1)
    yield lambda: checkpoints.new_part(0, 1)
    yield lambda: checkpoints.put(0, 1, 3)
    yield lambda: checkpoints.seal(0, 1, 4)
    yield lambda: checkpoints.stamp(0, 1)
    yield lambda: checkpoints.sync(0, 1)
    yield lambda: os.close(checkpoints.open_log(0, 1))
    yield lambda: checkpoints.add_point(0, 1, "{}")
    yield lambda: checkpoints.left_by(0, 1)
    yield lambda: checkpoints.take_over(0, 2)
    yield lambda: checkpoints.settle(0, 2)
    yield lambda: checkpoints.remove(0)
    yield lambda: checkpoints.held()
    yield lambda: check(folder)
    yield lambda: salvage(folder, folder.parent / "new")


def _ask_and_tell(folder: Path) -> None:
    with pb.open_study(folder, SPACE, EPOCHS) as study:
        tell_some(study, 1)


@pytest.mark.parametrize("name", LINKS)
def test_no_link_leads_out_of_a_study(
    shapes: Shapes, place: Path, outside: Path, name: str
) -> None:
    shutil.copytree(shapes.closed, place / "study")
    for work in _work(place / "study"):
        _plant(place / "study" / name, outside)  # each finds it anew
        with suppress(pb.PriorbandError, OSError):
            work()


@pytest.mark.parametrize("name", LINKS[:6])
def test_a_linked_file_of_a_study_is_refused_by_name(
    shapes: Shapes, place: Path, name: str
) -> None:
    shutil.copytree(shapes.closed, place / "study")
    _plant(place / "study" / name, place / "elsewhere")
    with pytest.raises(pb.errors.FormatError, match=f"{name} is a link"):
        _ask_and_tell(place / "study")


FORBIDDEN = {"pickle", "marshal", "shelve", "yaml", "dill", "cloudpickle", "joblib", "runpy"}
RUNS = {"eval", "exec", "compile", "__import__", "import_module"}
ALLOWED = {
    "values.py": {"exec"},  # of code made from the names of a class's own fields
    "__init__.py": {"import_module"},  # of names in a table there
    "benchmarks/__init__.py": {"import_module"},  # of names in a table there
    "cli/load_objects.py": {"import_module"},  # of what a person names in a command
    "experiments/compare_with_peers.py": {"import_module"},  # of names in a table there
    "init_study/yaml_text.py": {"yaml"},  # `safe_load`, of a file that a person names
    "plots/__init__.py": {"import_module"},  # of names in a table there
    "workers/lazy_imports.py": {"import_module"},  # of libraries that a trial has imported
    "workers/sent_function.py": {"cloudpickle"},  # between a worker and its own processes
    "workers/warm_request.py": {"pickle"},  # between a worker and its own processes
}
MODULES = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}


def _faults(source: str) -> set[str]:
    """What a module imports or calls that could run what is stored."""
    found = set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module).split(".")[0]} & FORBIDDEN
        elif isinstance(node, ast.Call):
            found |= {_name(node.func)} & RUNS
    return found


def _name(called: ast.expr) -> str:
    """A function's name; of a module's function only where it is known for one thing."""
    if isinstance(called, ast.Name):
        return called.id
    named = isinstance(called, ast.Attribute) and called.attr in ("import_module", "exec", "eval")
    return called.attr if named and isinstance(called, ast.Attribute) else ""


@pytest.mark.parametrize("module", MODULES)
def test_nothing_that_is_stored_is_run(module: str) -> None:
    assert _faults(MODULES[module].read_text()) == ALLOWED.get(module, set())


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("import re\nre.compile('x')", set()),
        ("compile('x', 'x', 'exec')", {"compile"}),
        ("import builtins\nbuiltins.eval('1')", {"eval"}),
        ("def f():\n    import pickle.x as p", {"pickle"}),
        ("from yaml import load", {"yaml"}),
        ("import importlib\nimportlib.import_module('os')", {"import_module"}),
    ],
)
def test_a_module_that_runs_what_is_stored_is_found(source: str, faults: set[str]) -> None:
    assert _faults(source) == faults


ODD_NAMES = [
    "it's",
    'say "x"',
    "a; DROP TABLE record; --",
    "<script>alert(1)</script>",
    "%s %d {0} ${x} $1 :a ?",
    "\\ \\n \\u0000",
    "🙂 日本 é",
    "../../etc/passwd",
    "@",
]
ODD_CHOICES = [*ODD_NAMES, "two\nlines", "tab\t\x1b[2J", "nul\0", "", " "]


@pytest.mark.parametrize("storage", ["sqlite", "postgres"])
def test_odd_names_survive_a_round_trip(
    request: pytest.FixtureRequest, place: Path, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = str(place / "it's; a 'study' 🙂 %s?#&")
    if storage == "postgres":
        where = fresh_url(request.getfixturevalue("postgres"))
    space = pb.Space({name: pb.Categorical(ODD_CHOICES) for name in ODD_NAMES})
    config = dict(zip(ODD_NAMES, ODD_CHOICES, strict=False))
    host = "host' \"; -- <b>🙂"
    mine = identity.this_process()
    owner = identity.Owner(host, host, host, mine.pid, host)
    monkeypatch.setattr("priorband.durable.clients.this_process", lambda: owner)
    folder = place if storage == "postgres" else None
    with pb.open_study(where, space, EPOCHS, folder=folder) as study:
        study.queue(config)
        trial = study.ask()
        [lease] = study.journal.leases()
        assert lease.owner == owner
        metrics: dict[str, Any] = {name: name for name in ODD_CHOICES}
        study.tell(trial, 0.5, **metrics)
        study.fail(study.ask(), "\n".join(ODD_CHOICES))
        happened = study.state.history.events
    assert {**trial.config} == config
    assert events(where) == happened
    assert check(where).sound
    salvage(where, place / "new")
    assert events(place / "new") == happened


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON lease BEGIN DELETE FROM record; END",
        "CREATE VIEW v AS SELECT * FROM record",
        "CREATE TABLE more (x)",
        "CREATE INDEX i ON record (trial)",
        "CREATE TABLE t (x PRIMARY KEY) WITHOUT ROWID",
        "ALTER TABLE record ADD COLUMN more TEXT",
        "ALTER TABLE record RENAME COLUMN body TO text",
        "DROP TABLE lease",
    ],
)
def test_a_database_with_other_things_in_it_is_refused(
    shapes: Shapes, place: Path, statement: str
) -> None:
    shutil.copytree(shapes.closed, place / "study")
    with closing(sqlite3.connect(place / "study" / "study.db")) as connection:
        connection.execute(statement)
    for read_only in (True, False):
        with pytest.raises(pb.errors.DamagedError, match="its tables are not those of a study"):
            pb.open_study(place / "study", read_only=read_only)


def test_a_view_in_place_of_the_records_is_not_asked(shapes: Shapes, place: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n"
    shutil.copytree(shapes.closed, place / "study")
    with closing(sqlite3.connect(place / "study" / "study.db")) as connection:
        connection.execute("ALTER TABLE record RENAME TO real")
        connection.execute(f"CREATE VIEW record AS {endless}")
    with pytest.raises(pb.errors.DamagedError):
        pb.open_study(place / "study")
    assert check(place / "study").records == shapes.records  # found in the pages
