"""Values: immutable, compared by their fields, and known to editors by their signature."""

import inspect
import typing

import pytest

from priorband.values import derived, field_defaults, frozen


@frozen
class Point:
    """A point."""

    x: float
    y: float | None = None
    length: float = derived()


def test_the_signature_shows_types_and_defaults() -> None:
    assert str(inspect.signature(Point)) == "(x: float, y: float | None = None) -> None"
    assert typing.get_type_hints(Point.__init__)["y"] == float | None


def test_defaults_are_known_by_name() -> None:
    assert field_defaults(Point) == {"y": None}


@pytest.mark.parametrize("default", [{}, [], set()])
def test_a_mutable_default_is_refused(default: object) -> None:
    space = {"__annotations__": {"items": object}, "items": default}
    with pytest.raises(TypeError, match=r"Shared\.items has a mutable default"):
        frozen(type("Shared", (), space))
