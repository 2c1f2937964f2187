"""The section `[space]` of a study file: one entry per parameter."""

from collections.abc import Callable, Mapping
from typing import Any

from priorband.errors import SpaceError
from priorband.space.choices import Categorical, Constant, Ordinal
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space
from priorband.space.when import when_from_data
from priorband.study_file.beliefs import read_belief, weights_by_choice
from priorband.study_file.keys import CONDITION_KEYS, PARAMETER_KEYS
from priorband.study_file.kinds import as_choice, is_choice
from priorband.study_file.mistakes import proposal
from priorband.study_file.tables import Source, Table, got, toml_text

SPACE = "space"
_KINDS: Mapping[str, Callable[..., Any]] = {
    "float": Float,
    "integer": Integer,
    "choices": Categorical,
    "ordinal": Ordinal,
    "constant": Constant,
}
_ADVICE = {
    **dict.fromkeys(
        ("low", "high", "min", "max", "range", "bounds"),
        " Write the bounds as `float = [low, high]` or `integer = [low, high]`.",
    ),
    "default": " Write what you expect to be best as `prior`.",
    "type": " The kind of a parameter is its first key, as in { float = [0, 1] }.",
}
_SYNONYMS = {
    "int": "integer",
    **dict.fromkeys(("real", "uniform", "log_uniform", "loguniform"), "float"),
    **dict.fromkeys(("categorical", "values", "choice", "enum", "options"), "choices"),
    **dict.fromkeys(("value", "fixed", "const"), "constant"),
}


def read_space(source: Source, data: Mapping[str, Any]) -> Space | None:
    """The space of a study file; None, and mistakes, if something is wrong with it."""
    if not data:
        source.mistake(
            (SPACE,), "`space` has no parameters. Add one, such as x = { float = [0, 1] }."
        )
        return None
    before = len(source.mistakes)
    parameters = {name: _parameter(source, name, about, data) for name, about in data.items()}
    if len(source.mistakes) > before:
        return None
    try:
        return Space(parameters)
    except SpaceError as error:
        _note_space_error(source, data, str(error))
        return None


def _parameter(source: Source, name: str, about: Any, siblings: Mapping[str, Any]) -> Any:
    path = (SPACE, name)
    if not isinstance(about, dict):
        source.mistake(path, f"`{name}` must be a table: {_example(about)}{got(about)}")
        return None
    kinds = [kind for kind in PARAMETER_KEYS if kind in about]
    table = Table(source, path, about, f"`{name}`")
    if len(kinds) != 1:
        _note_kind(table, name, about, kinds)
        return None
    [kind] = kinds
    found = table.values(PARAMETER_KEYS[kind], _ADVICE)
    if len(found) < len(about):
        return None
    return _made(table, kind, found, siblings)


def _example(about: Any) -> str:
    """What a parameter that is no table may be meant as."""
    if isinstance(about, list) and all(map(is_choice, about)):
        both = len(about) == 2 and all(type(item) in (int, float) for item in about)
        return f"{{ {'float' if both else 'choices'} = {toml_text(about)} }}"
    return f"{{ constant = {toml_text(about)} }}" if is_choice(about) else "{ float = [0, 1] }"


def _note_kind(table: Table, name: str, about: Mapping[str, Any], kinds: list[str]) -> None:
    """Note that a parameter has no kind, or several."""
    listed = ", ".join(f"`{kind}`" for kind in PARAMETER_KEYS)
    if kinds:
        both = " and ".join(f"`{kind}`" for kind in kinds)
        table.mistake(None, f"`{name}` has {both}. A parameter has one of {listed}.")
        return
    for key in about:
        meant = f" Did you mean `{_SYNONYMS[key]}`?" if key in _SYNONYMS else ""
        hint = _ADVICE.get(key) or meant or proposal(key, PARAMETER_KEYS)
        if hint:
            table.mistake(key, f"`{name}` has no key `{key}`.{hint}", at_key=True)
            return
    table.mistake(
        None, f"`{name}` needs one of the keys {listed}, as in {{ float = [0, 1] }}.", at_key=True
    )


def _made(table: Table, kind: str, found: dict[str, Any], siblings: Mapping[str, Any]) -> Any:
    """The parameter; each part is tried alone, so that a mistake is noted where it is."""
    first = found.pop(kind)
    given = [*first] if kind in ("float", "integer") else [first]
    options: dict[str, Any] = {key: found[key] for key in ("log", "step") if key in found}
    try:
        parameter = _KINDS[kind](*given, **options)
    except SpaceError as error:
        blamed = "step" if "`step`" in str(error) and "step" in found else kind
        table.mistake(blamed, str(error).replace("`log=True`", "`log = true`"))
        return None
    choices = getattr(parameter, "choices", ())
    options |= _prior_options(table, found, choices)
    if "when" in found:
        options["when"] = _conditions(table, found["when"], siblings)
    if None in options.values():
        return None
    try:
        return _KINDS[kind](*given, **options)
    except SpaceError as error:
        table.mistake(_blamed(found, str(error)), str(error))
        return None


def _prior_options(table: Table, found: Mapping[str, Any], choices: Any) -> dict[str, Any]:
    """`prior` and `confidence` of a parameter; None for what is wrong."""
    options: dict[str, Any] = {}
    if "weights" in found and "prior" in found:
        table.mistake("weights", f"{table.what} has a `prior` and `weights`. Drop one of them.")
        return {"prior": None}
    if "confidence" in found and is_choice(table.data.get("prior")):
        options["confidence"] = found["confidence"]
    elif "confidence" in found:
        table.mistake(
            "confidence",
            f"{table.what} has a `confidence`, but no `prior` that is a value. Add one, or "
            "drop the `confidence`.",
            at_key=True,
        )
    if "weights" in found:
        try:
            options["prior"] = weights_by_choice(found["weights"], choices)
        except SpaceError as error:
            table.mistake("weights", str(error))
            options["prior"] = None
    if "prior" in found:
        path = (*table.path, "prior")
        options["prior"] = read_belief(table.source, path, table.data["prior"], choices)
    return options


def _blamed(found: Mapping[str, Any], message: str) -> str:
    """The key that an error is about."""
    if "confidence" in message and "confidence" in found:
        return "confidence"
    return "prior" if "prior" in found else "weights" if "weights" in found else "when"


def _conditions(table: Table, when: dict[str, Any], siblings: Mapping[str, Any]) -> Any:
    """The conditions of a parameter; None if one is wrong."""
    path, before = (*table.path, "when"), len(table.source.mistakes)
    for name, condition in when.items():
        inner = Table(table.source, path, when, f"`when` of {table.what}")
        if name not in siblings:
            hint = proposal(name, siblings) or f" The parameters are {', '.join(siblings)}."
            message = f"{inner.what} names `{name}`, which is no parameter.{hint}"
            inner.mistake(name, message, at_key=True)
        elif isinstance(condition, dict):
            bounds = Table(table.source, (*path, name), condition, f"The condition on `{name}`")
            bounds.values(CONDITION_KEYS)
            if not condition:
                bounds.mistake(
                    None, f"{bounds.what} is empty. Write {{ at_least = 4 }}, for example."
                )
        elif not is_choice(condition):
            inner.mistake(name, f"The condition on `{name}` must be a value{got(condition)}")
    if len(table.source.mistakes) > before:
        return None
    try:
        return when_from_data(
            {name: _condition(item, siblings[name]) for name, item in when.items()}
        )
    except SpaceError as error:
        table.mistake("when", str(error))
        return None


def _condition(stated: Any, parent: Any) -> Any:
    """A condition with lists as tuples where the parent's choices are lists."""
    if not isinstance(stated, list):
        return stated
    listed = [item for key in ("choices", "ordinal") for item in _list(parent, key)]
    constant = parent.get("constant") if isinstance(parent, dict) else None
    if stated in listed or stated == constant:
        return as_choice(stated)
    return [as_choice(item) for item in stated]


def _list(parent: Any, key: str) -> list[Any]:
    value = parent.get(key) if isinstance(parent, dict) else None
    return value if isinstance(value, list) else []


def _note_space_error(source: Source, data: Mapping[str, Any], message: str) -> None:
    """Note an error of the whole space at the parameter that it names first."""
    named = [name for name in data if f"`{name}`" in message]
    named.sort(key=lambda name: message.index(f"`{name}`"))
    for name in named:
        if "when" in data[name]:
            source.mistake((SPACE, name, "when"), message)
            return
    path = (SPACE, named[0]) if named else (SPACE,)
    source.mistake(path, message, key=True)
