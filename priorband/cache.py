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
    >>> cache[names].append("a")
    >>> cache[names]
    ['a']
    """

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], T]) -> None:
        self.make = make


@final
class Cache(dict[CacheKey[Any], Any]):
    """Values by their keys; a missing one is made when it is looked up."""

    __slots__ = ()

    def __missing__(self, key: CacheKey[T]) -> T:
        value = self[key] = key.make()
        return value
