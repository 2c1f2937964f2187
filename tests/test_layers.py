"""Who may import whom, and the other rules that keep the code as it is drawn."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import priorband
from priorband.study import BaseStudy

PACKAGE = Path(priorband.__file__).parent
TESTS = Path(__file__).parent

# From the bottom to the top. A line's modules may import what it names, each other, and what all
# may import; a longer name wins over a shorter one. A line names only lines above it.
EVERYBODY_MAY_IMPORT = "errors failures keywords numeric streams values"
LAYERS = {
    "errors": "",
    "failures": "",
    "keywords": "",
    "numeric": "",
    "streams": "",
    "values": "",
    "notebook": "",
    "attribute_hints": "",
    "toml_text": "",
    "models": "",
    "space": "",
    "fidelity": "",
    "ladder": "fidelity",
    "trial": "space notebook attribute_hints",
    "events": "space trial",
    "cache": "",
    "log.columns": "space trial events",
    "log": "space trial events cache log.columns",
    "history": "space trial events cache log",
    "state": "space ladder trial events cache history",
    "guard": "ladder trial cache state",
    "brackets": "ladder trial cache history state",
    "proof": "ladder trial cache state guard brackets",
    "conditions": "state guard proof",
    "schedulers.base": "trial state",
    "schedulers": "ladder trial cache state guard brackets proof conditions schedulers.base",
    "samplers.base": "space state",
    "samplers": "models space ladder trial cache state guard conditions brackets samplers.base",
    "optimizers": "space fidelity ladder trial history state schedulers.base samplers.base",
    "named_methods": "conditions schedulers samplers optimizers",
    "method_names": "schedulers named_methods optimizers",
    "choose_method": "space fidelity ladder named_methods optimizers",
    "explanations": "trial state guard schedulers samplers optimizers",
    "replay": "trial events state samplers.base optimizers",
    "arguments": "space fidelity ladder trial history",
    "problem": "space fidelity state schedulers optimizers choose_method arguments",
    "results": "notebook space trial history explanations",
    "prior_report": "toml_text space trial events state guard brackets conditions "
    "samplers optimizers",
    "study": "notebook attribute_hints space fidelity trial events state optimizers explanations "
    "replay arguments problem results prior_report",
    "timeline": "fidelity ladder trial events history guard space state schedulers samplers "
    "optimizers",
    "storage": "",
    "durable": "space fidelity trial events log.columns history state guard conditions schedulers "
    "samplers optimizers named_methods method_names choose_method explanations replay arguments "
    "problem results study storage",
    "study_analysis": "space ladder trial events history state schedulers samplers optimizers "
    "explanations arguments problem results prior_report study storage durable",
    "repair": "space trial events history problem storage durable",
    "display": "space trial history brackets schedulers explanations timeline storage durable "
    "study_analysis",
    "benchmarks": "models space fidelity",
    "planning": "space fidelity ladder history state samplers optimizers named_methods "
    "choose_method problem timeline durable display",
    "workers": "notebook attribute_hints space fidelity trial schedulers optimizers "
    "choose_method arguments results study timeline storage durable display planning",
    "study_file": "space fidelity named_methods storage durable workers",
    "analysis": "fidelity history samplers study benchmarks",
    "testing": "space fidelity trial history state schedulers samplers optimizers study",
    "plots": "space study study_analysis",
    "experiments": "space ladder trial events conditions schedulers samplers optimizers "
    "named_methods arguments prior_report study timeline durable display benchmarks workers "
    "analysis plots",
    "init_study": "toml_text",
    "dashboard": "explanations method_names space timeline storage durable display planning "
    "study_analysis",
}
MAY_IMPORT_ALL_AND_BE_IMPORTED_BY_NONE = ("__init__", "__main__", "cli")

NEVER_TOGETHER = ("schedulers", "samplers")
BELOW_STUDY = tuple(LAYERS)[: list(LAYERS).index("study")]
ONLY_FROM_STUDY_UPWARDS = {
    *("asyncio", "concurrent", "datetime", "glob", "io", "multiprocessing", "os", "pathlib"),
    *("pickle", "queue", "shutil", "signal", "socket", "sqlite3", "subprocess", "tempfile"),
    *("threading", "time"),
}
ALLOWED_ALL_THE_SAME = {
    "log.log": {"threading"},  # a lock: one thread grows what others read
    "results.trial_records": {
        "datetime",
        "pathlib",
    },  # types: a stored study knows times and folders
    "models.threads": {"os", "threading"},  # where the libraries lie; who else is within
}
NOWHERE = {"random", "secrets", "uuid"}
SEEDS_GLOBAL_GENERATORS = ("experiments.peers.neps_peers",)
"""NePS has no argument for a seed: it draws from the global generators."""
NOT_BEFORE_THEY_ARE_NEEDED = {
    *("jahs_bench", "matplotlib", "onnxruntime", "pandas", "pyarrow", "rich", "scipy", "sklearn"),
    *("torch", "xgboost", "yaml"),
}
MADE_OF_A_SEED = ("default_rng", "RandomState")
OF_NUMPY_RANDOM = {"BitGenerator", "Generator", "PCG64", "SeedSequence", "bit_generator"}

MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}
WAIVER = re.compile(r"#\s*(type:\s*ignore|noqa)")
REASONED = re.compile(
    r"# (type: ignore\[[a-z-]+(, [a-z-]+)*\]|noqa: [A-Z]+\d+(, [A-Z]+\d+)*)  # \w.*\w"
)


_LINES = (*LAYERS, *MAY_IMPORT_ALL_AND_BE_IMPORTED_BY_NONE)


def imports(tree: ast.AST) -> Iterator[str]:
    """The full names that a tree imports, wherever the statement stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(tree: ast.AST) -> set[str]:
    """The modules of this package among them."""
    names = [
        name.removeprefix("priorband.") for name in imports(tree) if _root(name) == "priorband"
    ]
    return {_module(name) for name in names}


def _root(name: str) -> str:
    return name.split(".")[0]


def _module(name: str) -> str:
    """`space.space` for `space.space.Space`, `space.normal` for that module."""
    while name not in MODULES and f"{name}.__init__" not in MODULES and "." in name:
        name = name.rpartition(".")[0]
    return name


def line(module: str) -> str:
    """The line of the table on which a module stands."""
    names = [name for name in _LINES if f"{module}.".startswith(f"{name}.")]
    assert names, f"{module} has no line in the table: say what it may import."
    return max(names, key=len)


def _when_imported(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported: neither bodies of functions nor what is for mypy."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for other in child.orelse:
                yield other
                yield from _when_imported(other)
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _when_imported(child)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_its_layer_may(module: str) -> None:
    own = line(module)
    if own in MAY_IMPORT_ALL_AND_BE_IMPORTED_BY_NONE:
        return
    allowed = {own, *LAYERS[own].split(), *EVERYBODY_MAY_IMPORT.split()}
    for other in ours(TREES[module]):
        fine = any(f"{other}.".startswith(f"{name}.") for name in allowed)
        assert fine, f"{module} may import {sorted(allowed)}, not {other}."


def test_a_layer_names_only_layers_below_it() -> None:
    order = list(LAYERS)
    for name, allowed in LAYERS.items():
        for other in allowed.split():
            assert order.index(other) < order.index(name), f"{name} may not import {other}"


def test_every_permission_is_used() -> None:
    for name, allowed in LAYERS.items():
        others = [ours(TREES[module]) for module in MODULES if line(module) == name]
        used = {package for other in set().union(*others) for package in _and_parents(other)}
        unused = [package for package in allowed.split() if package not in used]
        assert not unused, f"{name} may import {unused}, but does not: take it off its line."


def _and_parents(module: str) -> list[str]:
    """`a.b.c`, `a.b` and `a`."""
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def test_class_names_are_unique() -> None:
    """One word, one thing: also where two classes never meet."""
    homes: dict[str, list[str]] = {}
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.lstrip("_"), []).append(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


@pytest.mark.parametrize("module", MODULES)
def test_schedulers_and_samplers_do_not_know_each_other(module: str) -> None:
    for one, other in (NEVER_TOGETHER, NEVER_TOGETHER[::-1]):
        if _root(module) == one:
            assert other not in map(_root, ours(TREES[module]))


@pytest.mark.parametrize("module", MODULES)
def test_nothing_below_the_study_knows_a_clock_a_file_or_a_process(module: str) -> None:
    found = {_root(name) for name in imports(TREES[module])}
    assert not found & NOWHERE or module in SEEDS_GLOBAL_GENERATORS
    if line(module) in BELOW_STUDY:
        assert not found & ONLY_FROM_STUDY_UPWARDS - ALLOWED_ALL_THE_SAME.get(module, set())
        calls = [node.func for node in ast.walk(TREES[module]) if isinstance(node, ast.Call)]
        assert "open" not in [call.id for call in calls if isinstance(call, ast.Name)]


@pytest.mark.parametrize("module", MODULES)
def test_heavy_packages_are_imported_when_they_are_needed(module: str) -> None:
    """Models need scipy, so whoever needs a model imports it when it does."""
    needed = {"scipy"} if _root(module) == "models" else set()
    for node in _when_imported(TREES[module]):
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert not {_root(name) for name in imports(node)} & NOT_BEFORE_THEY_ARE_NEEDED - needed
            if _root(module) != "models":
                assert "models" not in map(_root, ours(node))


def test_the_first_ask_loads_nothing_heavy() -> None:
    script = """
import sys, priorband
from priorband import Categorical, Fidelity, Float, Space, Study, methods
space = Space({"x": Float(0, 1, prior=0.3), "c": Categorical(("a", "b"))})
for method in methods():
    Study(space, Fidelity("epochs", 1, 27), method).ask()
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    loaded = {_root(name) for name in done.stdout.split()}
    assert "numpy" in loaded
    assert not loaded & (NOT_BEFORE_THEY_ARE_NEEDED | {"multiprocessing", "sqlite3", "psycopg"})


@pytest.mark.parametrize("module", sorted(set(MODULES) - set(SEEDS_GLOBAL_GENERATORS)))
def test_no_random_number_comes_from_a_global_generator(module: str) -> None:
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.ImportFrom) and node.module == "numpy.random":
            assert {alias.name for alias in node.names} <= OF_NUMPY_RANDOM
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in (
            "np.random",
            "numpy.random",
        ):
            assert node.attr in {*OF_NUMPY_RANDOM, *MADE_OF_A_SEED}
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(MADE_OF_A_SEED):
            assert node.args and ast.unparse(node.args[0]) != "None", "a generator needs a seed"


def _waivers(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and WAIVER.search(token.string):
            yield token.string


@pytest.mark.parametrize("path", [*MODULES.values(), *sorted(TESTS.rglob("*.py"))], ids=str)
def test_every_waiver_has_a_code_and_a_reason(path: Path) -> None:
    for waiver in _waivers(path.read_text()):
        assert REASONED.fullmatch(waiver), waiver


@pytest.mark.parametrize(
    ("comment", "reasoned"),
    [
        ("# type: ignore", False),
        ("# type: ignore[arg-type]", False),
        ("# type: ignore[arg-type]  # any seed sequence will do", True),
        ("# noqa", False),
        ("# noqa: E501", False),
        ("# noqa: E501, B008  # a table", True),
    ],
)
def test_a_waiver_without_code_or_reason_is_found(comment: str, reasoned: bool) -> None:
    [waiver] = _waivers(f"x = 1  {comment}\n")
    assert bool(REASONED.fullmatch(waiver)) == reasoned


def test_the_public_names_are_listed_sorted_and_complete() -> None:
    listed = priorband.__all__
    assert listed == sorted(set(listed))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(TREES["__init__"])
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("priorband.")
        for alias in node.names
    }
    assert set(listed) == {name for name in imported if not name.startswith("_")}
    assert not [name for name in listed if isinstance(getattr(priorband, name), ModuleType)]


def _documented(tree: ast.AST, name: str) -> Iterator[tuple[str, bool]]:
    """Each public class and function, methods included, and whether it has a docstring.

    A method of a study may take the docstring of the abstract method that it implements.
    """
    bases = [ast.unparse(base) for base in tree.bases] if isinstance(tree, ast.ClassDef) else []
    inherited = BaseStudy.__abstractmethods__ if "BaseStudy" in bases else ()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            documented = ast.get_docstring(node) is not None or node.name in inherited
            yield f"{name}.{node.name}", documented
            if isinstance(node, ast.ClassDef):
                yield from _documented(node, f"{name}.{node.name}")


@pytest.mark.parametrize("module", MODULES)
def test_every_module_and_public_name_has_a_docstring(module: str) -> None:
    assert ast.get_docstring(TREES[module])
    assert [name for name, documented in _documented(TREES[module], module) if not documented] == []


def test_every_public_name_says_what_it_is() -> None:
    assert [n for n in priorband.__all__ if not getattr(priorband, n).__doc__] == []


@pytest.mark.parametrize("module", MODULES)
def test_private_names_stay_in_their_module(module: str) -> None:
    names = [name for name in imports(TREES[module]) if _root(name) == "priorband"]
    own = [name.split(".")[-1] for name in names if not name.endswith("__")]
    assert [name for name in own if name.startswith("_")] == []
