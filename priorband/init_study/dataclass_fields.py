"""Options that are the fields of dataclasses: HfArgumentParser, tyro, simple-parsing, draccus."""

import ast
from collections.abc import Iterator

from priorband.init_study.annotations import annotated_type, option_of
from priorband.init_study.calls import CallArguments, dotted
from priorband.init_study.literals import UNREAD, Names, literal
from priorband.init_study.option import Option, ScriptOptions
from priorband.values import replaced

_PARSERS = {
    "HfArgumentParser": "HfArgumentParser",
    "TrlParser": "HfArgumentParser",
    "tyro.cli": "tyro",
    "simple_parsing.parse": "simple-parsing",
    "add_arguments": "simple-parsing",
    "draccus.wrap": "draccus",
    "draccus.parse": "draccus",
    "pyrallis.wrap": "draccus",
    "pyrallis.parse": "draccus",
    "chz.entrypoint": "chz",
}
_FIELD_CALLS = ("field", "HfArg", "list_field", "Field", "attrib", "ib")


def dataclass_options(tree: ast.Module, names: Names) -> ScriptOptions | None:
    """The options of the dataclasses that a library parses; None if there is none."""
    classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    parsed = list(_parsed(tree, classes))
    if not parsed:
        return None
    library = parsed[0][1]
    options = [
        option
        for name in dict.fromkeys(name for name, _ in parsed)
        for option in _fields(classes[name], library, names, classes)
    ]
    unclear = [f"the fields of {name} are defined elsewhere" for name in _elsewhere(tree, classes)]
    return ScriptOptions(f"dataclasses ({library})", tuple(options), tuple(unclear))


def _parsed(tree: ast.Module, classes: dict[str, ast.ClassDef]) -> Iterator[tuple[str, str]]:
    """The classes that a parser is made of, with the library."""
    for call, library in _parser_calls(tree):
        for name in _class_names(call):
            if name in classes:
                yield name, library
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            wrapped = [dotted(getattr(d, "func", d)) for d in node.decorator_list]
            wraps = next((_PARSERS[name] for name in wrapped if name in _PARSERS), None)
            for argument in node.args.args[:1] if wraps else []:
                if argument.annotation and dotted(argument.annotation) in classes:
                    yield dotted(argument.annotation), wraps or ""


def _parser_calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            library = _PARSERS.get(name) or _PARSERS.get(name.rpartition(".")[2])
            if library:
                yield node, library


def _class_names(call: ast.Call) -> Iterator[str]:
    for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
        parts = argument.elts if isinstance(argument, ast.Tuple | ast.List) else [argument]
        yield from filter(None, map(dotted, parts))


def _elsewhere(tree: ast.Module, classes: dict[str, ast.ClassDef]) -> Iterator[str]:
    """Classes of a parser that other modules define, such as `TrainingArguments`."""
    for call, _ in _parser_calls(tree):
        for name in _class_names(call):
            last = name.rpartition(".")[2]
            if last not in classes and last[:1].isupper():
                yield f"`{last}`"


def _fields(
    of: ast.ClassDef, library: str, names: Names, classes: dict[str, ast.ClassDef]
) -> Iterator[Option]:
    for base in of.bases:
        if dotted(base) in classes:
            yield from _fields(classes[dotted(base)], library, names, classes)
    for statement in of.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            nested = dotted(statement.annotation)
            if nested in classes and _is_dataclass(classes[nested]):
                inner = _fields(classes[nested], library, names, classes)
                yield from (_within(option, statement.target.id, library) for option in inner)
            else:
                yield _option(statement, statement.target.id, library, names)


def _is_dataclass(node: ast.ClassDef) -> bool:
    wrapped = [dotted(getattr(decorator, "func", decorator)) for decorator in node.decorator_list]
    return any(name.rpartition(".")[2] in ("dataclass", "define", "frozen") for name in wrapped)


def _within(option: Option, outer: str, library: str) -> Option:
    """An option of a nested dataclass; simple-parsing has no prefixes."""
    if library == "simple-parsing":
        return option
    outer = outer.replace("_", "-") if library == "tyro" else outer
    name = f"{outer}.{option.name}"
    flags = tuple(f"--{outer}.{flag.removeprefix('--')}" for flag in option.flags)
    return replaced(option, name=name, flags=flags)


def _option(statement: ast.AnnAssign, field: str, library: str, names: Names) -> Option:
    told = annotated_type(statement.annotation, names)
    default, about = statement.value, None
    if isinstance(default, ast.Call):
        about = CallArguments(default, names)
        if about.function in _FIELD_CALLS:
            default = about.node("default") or (default.args[0] if default.args else None)
    value = literal(default, names)
    made_later = about is not None and about.has("default_factory")
    missing = (default is None and not made_later) or value is Ellipsis
    name = field.replace("_", "-") if library == "tyro" else field
    shown = None if value == UNREAD else value
    option = option_of(name, f"--{name}", told, shown, missing, None)
    option = replaced(option, **_from_metadata(about, names))
    if option.kind == "yes-no" and library == "tyro":
        return replaced(option, kind="switch", flags=(f"--{name}", f"--no-{name}"))
    return option


def _from_metadata(about: CallArguments | None, names: Names) -> dict[str, object]:
    """Help and choices of `field(metadata={"help": ..., "choices": ...})`."""
    metadata = about.value("metadata") if about else None
    if not isinstance(metadata, dict):
        return {}
    found: dict[str, object] = {}
    if isinstance(metadata.get("help"), str):
        found["help"] = " ".join(metadata["help"].split())
    if isinstance(metadata.get("choices"), list):
        found["choices"] = tuple(metadata["choices"])
    return found
