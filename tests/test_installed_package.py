"""The package as users get it: installed from a wheel, with types that a strict checker accepts."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from amounts import slow

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "examples" / "ask_and_tell.py"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the repository; building it must not touch the repository itself."""
    source, folder = (tmp_path_factory.mktemp(name) for name in ("source", "wheel"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "priorband", source / "priorband", ignore=ignored)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"]
    command += ["-w", str(folder), str(source)]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        pytest.skip(f"the wheel cannot be built here: {built.stderr[-300:]}")
    [path] = folder.glob("*.whl")
    return path


@slow
def test_the_wheel_holds_the_package_and_says_that_it_is_typed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "priorband/py.typed" in names and "priorband/durable/records.py" in names
    assert not [name for name in names if name.startswith(("tests/", "faults/", "benchmarks/"))]


@slow
def test_a_typed_script_passes_a_strict_check_against_the_installed_package(
    wheel: Path, tmp_path: Path
) -> None:
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True
    )
    python = tmp_path / "env" / "bin" / "python"
    version = f"python{sysconfig.get_python_version()}"
    packages = tmp_path / "env" / "lib" / version / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    script = str(shutil.copy(SCRIPT, tmp_path))
    strict = ["--strict", "--python-executable", str(python), "--cache-dir", str(tmp_path / "c")]
    command = [sys.executable, "-m", "mypy", *strict]
    checked = subprocess.run([*command, script], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import priorband as pb\npb.tune(len, budget='12', workers='two')\n")
    checked = subprocess.run([*command, wrong], cwd=tmp_path, capture_output=True, text=True)
    assert 'Argument "workers" to "tune" has incompatible type "str"' in checked.stdout
    assert 'Argument "budget" to "tune" has incompatible type "str"' in checked.stdout
