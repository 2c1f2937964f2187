"""Public names as an editor shows them: typed signatures, and docstrings that explain them."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from matplotlib.figure import Figure

import priorband as pb

ROOT = Path(__file__).parent.parent
NAMESPACES = ("samplers", "schedulers", "conditions", "benchmarks", "errors", "plots")
MOST_FLAT_NAMES = 46
KEPT = [
    "optimizer",
    "methods",
    "prior",
    "Study",
    "tune",
    "open_study",
    "simulate",
    "Float",
    "Integer",
    "Categorical",
    "Ordinal",
    "Constant",
    "Normal",
    "Uniform",
    "Beta",
    "Weights",
    "Histogram",
    "Mixture",
    "Fidelity",
    "Budget",
    "Space",
    "at_least",
    "at_most",
    "between",
]
"""Names that people type, which stay where they are."""


def public() -> Iterator[tuple[str, Any]]:
    """Every public name, and what it stands for."""
    for name in pb.__all__:
        yield f"pb.{name}", getattr(pb, name)
    for namespace in NAMESPACES:
        module = getattr(pb, namespace)
        for name in module.__all__:
            yield f"pb.{namespace}.{name}", getattr(module, name)


NAMES = dict(public())
FUNCTIONS = {name: item for name, item in NAMES.items() if inspect.isfunction(item)}
CLASSES = {name: item for name, item in NAMES.items() if inspect.isclass(item)}
MADE_BY_USERS = {
    name: cls
    for name, cls in CLASSES.items()
    if not issubclass(cls, BaseException)
    and not getattr(cls, "_is_protocol", False)
    and not inspect.isabstract(cls)
    and name not in ("pb.Config", "pb.samplers.Generator")  # a dict, and numpy's
}


def test_the_flat_namespace_has_the_names_that_people_type() -> None:
    assert len([name for name in pb.__all__ if name not in NAMESPACES]) <= MOST_FLAT_NAMES
    assert {*KEPT} <= {*pb.__all__}
    assert {*NAMESPACES} <= {*dir(pb)}


def test_names_come_from_where_type_checkers_look_for_them() -> None:
    tree = ast.parse(Path(pb.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    for node in imports:
        for alias in node.names if (node.module or "").startswith("priorband.") else ():
            module = importlib.import_module(str(node.module))
            assert getattr(pb, alias.name) is getattr(module, alias.name)
    assert not hasattr(pb, "Studdy")


def test_reporting_a_metric_needs_no_numpy() -> None:
    script = "import sys, priorband; priorband.report_metric(loss=1); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    loaded = {*done.stdout.split()}
    assert "priorband.workers.metric_reports" in loaded, done.stderr
    assert not loaded & {"numpy", "scipy", "rich", "multiprocessing", "priorband.space"}


def test_no_public_name_is_both_a_function_and_a_module() -> None:
    for name, item in NAMES.items():
        assert not isinstance(item, ModuleType) or name.removeprefix("pb.") in NAMESPACES, name
        module = name.replace("pb", "priorband", 1).replace(".", "/")
        paths = (ROOT / f"{module}.py", ROOT / module / "__init__.py")
        clash = any(path.exists() for path in paths) and name.removeprefix("pb.") not in NAMESPACES
        assert not clash, f"{name} is also a module"


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_says_what_it_is(name: str) -> None:
    item = NAMES[name]
    if isinstance(item, ModuleType) or inspect.isfunction(item) or inspect.isclass(item):
        assert item.__doc__, name


def annotated(signature: inspect.Signature) -> Iterator[tuple[str, Any]]:
    for parameter in signature.parameters.values():
        if parameter.name not in ("self", "cls"):
            yield parameter.name, parameter.annotation


@pytest.mark.parametrize("name", [*FUNCTIONS, *MADE_BY_USERS])
def test_the_signature_shows_a_type_for_each_argument(name: str) -> None:
    signature = inspect.signature(NAMES[name])
    missing = [a for a, kind in annotated(signature) if kind is inspect.Parameter.empty]
    assert not missing, f"{name} has no type for {missing}"
    if name in FUNCTIONS:
        assert signature.return_annotation is not inspect.Signature.empty
        assert typing.get_type_hints(NAMES[name], localns={"Figure": Figure})  # imported later


def documented(item: Any) -> str:
    return inspect.getdoc(item) or ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_docstring_of_a_function_names_arguments_result_and_example(name: str) -> None:
    text, signature = documented(FUNCTIONS[name]), inspect.signature(FUNCTIONS[name])
    for argument in signature.parameters:
        assert re.search(rf"^\s+\**{argument}:", text, re.M), f"{name} does not explain {argument}"
    if signature.return_annotation not in (None, "None"):
        assert "Returns:" in text, f"{name} does not say what it returns"
    assert ">>>" in text or name in WITHOUT_EXAMPLE, f"{name} has no example"


WITHOUT_EXAMPLE = {"pb.tune_in_group", "pb.rank_attempt"}
"""They need a job of several processes; docs/ddp.md has examples that a test runs."""


@pytest.mark.parametrize("name", MADE_BY_USERS)
def test_the_docstring_of_a_class_names_each_argument(name: str) -> None:
    cls = MADE_BY_USERS[name]
    text, source = documented(cls), ast.parse(inspect.getsource(inspect.getmodule(cls)))  # type: ignore[arg-type]  # all are in modules
    explained = _field_docstrings(source, cls.__name__)
    for argument, _ in annotated(inspect.signature(cls)):
        found = re.search(rf"(^\s*\**{argument}:|`{argument}`)", text, re.M)
        assert found or argument in explained, f"{name} does not explain `{argument}`"


def _field_docstrings(tree: ast.Module, name: str) -> set[str]:
    """The fields of a class that have a docstring below them."""
    [cls] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    fields = set()
    for field, text in zip(cls.body, cls.body[1:], strict=False):
        is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
            fields.add(field.target.id)
    return fields


def test_the_typed_example_runs() -> None:
    script = ROOT / "examples" / "ask_and_tell.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("prior's settings ")


@pytest.mark.parametrize("cls", [pb.Study, pb.DurableStudy])
@pytest.mark.parametrize(
    "name", ["ask", "tell", "fail", "queue", "add", "follow", "metrics", "trials", "curves"]
)
def test_help_of_a_studys_methods_names_each_argument(cls: type, name: str) -> None:
    method = getattr(cls, name)
    text = documented(method)
    for argument, _ in annotated(inspect.signature(method)):
        assert re.search(rf"^\s+\**{argument}:", text, re.M), f"{name} does not explain {argument}"
