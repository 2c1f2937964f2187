"""What every part of a method must have: its method, a repr, equality, and copies."""

import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from types import FunctionType
from typing import Any

PURE = (
    "The result must depend on the arguments only: take all random numbers from `rng`, and keep "
    "nothing in `self`, in globals or in files. Otherwise a study cannot be replayed."
)
_EXAMPLES = {
    "sample": """Add:

    def sample(self, state, rung, rng):
        return Draw(state.space.decode(state.prior.sample(rng)), "mine")""",
    "next": """Add:

    def next(self, state, rng):
        return Sample(Slot(bracket=0, rung=0))""",
    "propose": 'Use Optimizer(scheduler, sampler), or optimizer("hyperband").',
}
_DATACLASS = """Make it a frozen dataclass:

    @dataclass(frozen=True)
    class {name}:"""
_OR_REPR = """

or add:

    def __repr__(self):
        return {text}"""
_OR_EQUALITY = """

or add:

    def __eq__(self, other):
        return type(self) is type(other) and repr(self) == repr(other)"""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def check_part(part: object, kind: str, method: str) -> None:
    """Check that a part has its method, a readable repr and equality."""
    check_instance(part, kind)
    assert callable(getattr(part, method, None)), (
        f"{_name(part)} has no method `{method}`, which every {kind} needs. {_EXAMPLES[method]}"
    )
    _check_repr(part)
    _check_copy(part)


def check_instance(part: object, kind: str) -> None:
    """Check that a part is not a class."""
    if isinstance(part, type):
        name = part.__name__
        raise AssertionError(
            f"`{kind}` must be an instance, got the class {name}. Write check_{kind}({name}())."
        )


def check_json(config: Mapping[str, Any], where: str) -> None:
    """Check that a configuration can be stored as JSON: it has no numbers of numpy."""
    for name, value in config.items():
        assert isinstance(value, str | int | float | tuple | list | None), (
            f"{where}: `{name}` is {value} of type {type(value).__name__}, which cannot be stored "
            "as JSON. Return Draw(state.space.check(config), ...), which has plain values."
        )


def difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> str:
    """The items that differ between two results, as text."""
    names = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    one, other = (
        ", ".join(f"{name}={result[name]!r}" for name in names if name in result)
        for result in (first, second)
    )
    return f"{one}, then {other}" if names else ""


def _check_repr(part: object) -> None:
    culprit = _culprit(part, lambda item: bool(_ADDRESS.search(repr(item))))
    if culprit is None:
        return
    if isinstance(culprit, FunctionType):
        what = "is a function, which has no `repr` that stays the same"
        advice = "Make it a frozen dataclass with the method `__call__`."
    elif type(culprit).__repr__ is object.__repr__:
        what = "has no `__repr__`"
        advice = _DATACLASS.format(name=_name(culprit)) + _OR_REPR.format(text=_text(culprit))
    else:
        what = "prints a memory address in its `__repr__`"
        advice = f"Return text such as {_text(culprit)}."
    raise AssertionError(
        f"{_place(culprit, part)} {what}. A study stores the `repr` of its method, and compares it "
        f"when it is opened again, so it must name the class and all options. {advice}"
    )


def _check_copy(part: object) -> None:
    try:
        copied = deepcopy(part)
    except Exception as error:
        raise AssertionError(
            f"{_name(part)} cannot be copied ({error}). Each worker has a copy of its own, so it "
            "may hold options only, such as numbers, strings and other parts; no generator, lock "
            "or file."
        ) from error
    culprit = _culprit(part, lambda item: not _equal(item, deepcopy(item)))
    if culprit is not None:
        what = (
            "has no `__eq__`. Each worker has a copy of its own, and the copy must equal it. "
            + _DATACLASS.format(name=_name(culprit))
            + _OR_EQUALITY
            if type(culprit).__eq__ is object.__eq__
            else "does not equal its copy, and each worker has a copy of its own. Let `__eq__` "
            "compare the class and the options, and hold tuples instead of arrays."
        )
        raise AssertionError(f"{_place(culprit, part)} {what}")
    assert repr(copied) == repr(part), (
        f"{_name(part)} and its copy have different reprs, {part!r} and {copied!r}. Let `__repr__` "
        "name the class and the options, and nothing else."
    )


def _culprit(part: object, faulty: Callable[[object], bool]) -> object:
    """The innermost part of a part that has a fault; None if it has none."""
    if not faulty(part):
        return None
    names: Iterable[str] = getattr(type(part), "__match_args__", ()) or getattr(
        part, "__dict__", ()
    )
    inner = part if isinstance(part, tuple | list) else [getattr(part, name) for name in names]
    found = (_culprit(item, faulty) for item in inner)
    return next((item for item in found if item is not None), part)


def _equal(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:  # such as arrays, which are compared element by element
        return False


def _name(part: object) -> str:
    return part.__name__ if isinstance(part, FunctionType) else type(part).__name__


def _place(culprit: object, part: object) -> str:
    """How to call a part: by its name, and by what it is a part of."""
    inner = culprit is not part
    return f"{_name(culprit)}, a part of {_name(part)}," if inner else _name(part)


def _text(part: object) -> str:
    """What a `__repr__` could return, as code."""
    options = [*getattr(part, "__dict__", ())]
    fields = ", ".join(f"{option}={{self.{option}!r}}" for option in options)
    return f'{"f" if options else ""}"{_name(part)}({fields})"'
