"""`priorband.benchmarks` as users import it."""

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from priorband import benchmarks
from priorband.benchmarks.catalogue import catalogue_entries
from priorband.benchmarks.hartmann import Hartmann
from priorband.errors import DataError, SpaceError


def test_every_public_name_is_listed_once_and_documented() -> None:
    assert benchmarks.__all__ == sorted(set(benchmarks.__all__))
    assert set(benchmarks.__all__) <= set(dir(benchmarks))
    for name in benchmarks.__all__:
        value = getattr(benchmarks, name)
        assert value.__doc__ and not isinstance(value, ModuleType)


def test_type_checkers_see_the_same_names() -> None:
    assert benchmarks.__file__ is not None
    tree = ast.parse(Path(benchmarks.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("priorband")
        for alias in node.names
    }
    assert imported == benchmarks._MODULES
    assert sorted(imported) == benchmarks.__all__


def test_no_public_name_is_also_a_module() -> None:
    assert benchmarks.__file__ is not None
    modules = {path.stem for path in Path(benchmarks.__file__).parent.glob("*.py")}
    assert not modules & set(benchmarks.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Hartman'"):
        _ = benchmarks.Hartman


def test_importing_the_package_imports_no_benchmark_except_hartmann() -> None:
    script = "import priorband.benchmarks, sys; print(*sys.modules)"
    command = [sys.executable, "-c", script]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    for name in ("catalogue", "fitted", "jahs", "lcbench", "onnx", "pd1", "tabular", "taskset"):
        assert f"priorband.benchmarks.{name}" not in loaded


def test_a_benchmark_is_created_by_name() -> None:
    assert benchmarks.benchmark("hartmann6-bad") == Hartmann(6, "bad")
    assert benchmarks.benchmark_names() == tuple(catalogue_entries())
    with pytest.raises(SpaceError, match="Did you mean 'hartmann3-good'"):
        benchmarks.benchmark("hartman3-good")


def test_the_data_folder_of_a_benchmark_is_the_argument_or_the_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_folder, other = tmp_path / "set", tmp_path / "other"
    for folder in (set_folder, other):
        folder.mkdir()
    name, file = "lcbench-126026", Path("lcbench", "model.onnx")
    monkeypatch.delenv("PRIORBAND_DATA", raising=False)
    with pytest.raises(DataError, match="needs a folder with .* --data or PRIORBAND_DATA"):
        benchmarks.benchmark(name)
    monkeypatch.setenv("PRIORBAND_DATA", str(set_folder))
    with pytest.raises(DataError, match=f"needs the file {set_folder / file}"):
        benchmarks.benchmark(name)
    with pytest.raises(DataError, match=f"needs the file {other / file}"):
        benchmarks.benchmark(name, str(other))
