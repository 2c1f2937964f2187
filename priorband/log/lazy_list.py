"""A list whose first items are made when they are first looked at."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, final, overload

T = TypeVar("T")

_NOT_MADE: Any = object()


@final
class LazyList(Generic[T]):
    """A list of which `count` items exist as data only. An item is made once, and then kept.

    >>> squares = LazyList(4, lambda indices: [index**2 for index in indices])
    >>> squares.append(100)
    >>> len(squares), squares[3], squares[3:], list(squares)
    (5, 9, [9, 100], [0, 1, 4, 9, 100])
    """

    __slots__ = ("_items", "_make")

    def __init__(self, count: int, make: Callable[[list[int]], list[T]]) -> None:
        self._items: list[T] = [_NOT_MADE] * count
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    def append(self, item: T) -> None:
        """Add an item at the end."""
        self._items.append(item)

    def __setitem__(self, index: int, item: T) -> None:
        self._items[index] = item

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return self.many(range(len(self._items))[index])
        item = self._items[index]
        return item if item is not _NOT_MADE else self.many([range(len(self._items))[index]])[0]

    def __iter__(self) -> Iterator[T]:
        return iter(self[:])

    def many(self, indices: Sequence[int]) -> list[T]:
        """The items at these indices. Those that are missing are made together."""
        items = self._items
        missing = [index for index in indices if items[index] is _NOT_MADE]
        if missing:
            for index, item in zip(missing, self._make(missing), strict=True):
                items[index] = item
        return [items[index] for index in indices]
