"""Values: immutable objects that are printed, compared and hashed by their fields.

`@frozen` makes what `dataclass(frozen=True, slots=True)` makes, but compiles one function per class
instead of six. With some eighty classes that is half of the time it takes to import the package.
"""

from collections.abc import Callable
from typing import Any, Literal, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")

_DERIVED: Any = object()


def derived(*, init: Literal[False] = False) -> Any:
    """A field that is computed in `__post_init__`, and neither printed nor compared."""
    del init
    return _DERIVED


@dataclass_transform(frozen_default=True, field_specifiers=(derived,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class with annotated fields a value.

    >>> @frozen
    ... class Point:
    ...     x: float
    ...     y: float = 0.0
    >>> Point(1.0), Point(1.0) == Point(1.0, 0.0)
    (Point(x=1.0, y=0.0), True)
    """
    names = tuple(cls.__dict__.get("__annotations__", {}))
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    given = tuple(name for name in names if defaults.get(name) is not _DERIVED)
    skipped = {*names, "__dict__", "__weakref__"}
    namespace = {name: item for name, item in cls.__dict__.items() if name not in skipped}
    namespace |= {"__slots__": names, "__match_args__": given, "__qualname__": cls.__qualname__}
    usual = {method.__name__: method for method in (__repr__, __eq__, __hash__, __reduce__)}
    namespace = usual | namespace  # a class may have its own
    namespace |= {"__setattr__": _refuse, "__delattr__": _refuse}
    for name, default in defaults.items():
        if type(default) in (list, dict, set):
            raise TypeError(f"{cls.__name__}.{name} has a mutable default, which all would share.")
    value_class: Any = type(cls.__name__, cls.__bases__, namespace)
    value_class.__init__ = _init(value_class, given, defaults)
    return value_class  # type: ignore[no-any-return]  # the same class, with slots


def settle(making: object, **fields: Any) -> None:
    """Set fields of a value that is being made. For its `__post_init__` only."""
    for name, item in fields.items():
        object.__setattr__(making, name, item)


def field_names(of: object) -> tuple[str, ...]:
    """The fields that a value is made of, in order."""
    names: tuple[str, ...] = type(of).__match_args__  # type: ignore[attr-defined]  # all have them
    return names


def field_defaults(cls: type) -> dict[str, Any]:
    """The defaults of a value class's fields, by name; fields without a default are left out."""
    init: Any = cls.__init__  # type: ignore[misc]  # the one that `frozen` has made
    names, defaults = cls.__match_args__, init.__defaults__ or ()  # type: ignore[attr-defined]  # all have them
    return dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))


def replaced(old: T, **changes: Any) -> T:
    """A copy of a value with some fields changed."""
    names = field_names(old)
    return type(old)(**{name: changes.get(name, getattr(old, name)) for name in names})


def _init(cls: type, names: tuple[str, ...], defaults: dict[str, Any]) -> Any:
    scope: dict[str, Any] = {f"_set_{name}": cls.__dict__[name].__set__ for name in names}
    scope |= {f"_default_{name}": default for name, default in defaults.items()}
    shown = [f"{name}=_default_{name}" if name in defaults else name for name in names]
    body = [f"_set_{name}(self, {name})" for name in names]
    body += ["self.__post_init__()"] * hasattr(cls, "__post_init__") or ["pass"] * (not body)
    exec(f"def __init__({', '.join(['self', *shown])}):\n " + "\n ".join(body), scope)
    init = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    init.__annotations__ = {name: cls.__annotations__[name] for name in names} | {"return": None}
    return init


def _fields(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name in self.__match_args__)


def __repr__(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def repr_without_defaults(*names: str) -> Callable[[Any], str]:
    """A `__repr__` for a class that got these fields later: it omits them at their default.

    >>> @frozen
    ... class Point:
    ...     x: float
    ...     label: str | None = None
    ...     __repr__ = repr_without_defaults("label")
    >>> Point(1.0), Point(1.0, "a")
    (Point(x=1.0), Point(x=1.0, label='a'))
    """

    def show(self: Any) -> str:
        defaults = field_defaults(type(self))
        fields = {name: getattr(self, name) for name in self.__match_args__}
        shown = (
            f"{name}={item!r}"
            for name, item in fields.items()
            if name not in names or item != defaults[name]
        )
        return f"{type(self).__qualname__}({', '.join(shown)})"

    return show


def __eq__(self: Any, other: object) -> bool:
    return _fields(self) == _fields(other) if type(self) is type(other) else NotImplemented


def __hash__(self: Any) -> int:
    return hash((type(self).__qualname__, _fields(self)))


def __reduce__(self: Any) -> tuple[type, tuple[Any, ...]]:
    return type(self), _fields(self)


def _refuse(self: Any, name: str, item: object = None) -> NoReturn:
    raise AttributeError(
        f"{type(self).__qualname__} cannot be changed: it is a value. Make a new one."
    )
