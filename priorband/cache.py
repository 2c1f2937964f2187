"""A cache for what is derived from a history. Its keys know the types of their values."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, final

T = TypeVar("T")


@final
class CacheKey(Generic[T]):
    """The key of one cached value, and how to make the value when it is missing.

    A module defines its keys as constants. A key equals only itself, so two modules cannot use the
    same one by accident.

    >>> names: CacheKey[list[str]] = CacheKey(list)
    >>> cache = Cache()
    >>> cache.value(names).append("a")
    >>> cache.value(names)
    ['a']
    """

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], T]) -> None:
        self.make = make


@final
class Cache:
    """Values by their keys."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values: dict[CacheKey[Any], Any] = {}

    def value(self, key: CacheKey[T]) -> T:
        """The value of a key, made now if it is missing."""
        if key not in self._values:
            self._values[key] = key.make()
        value: T = self._values[key]
        return value
