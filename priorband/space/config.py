"""A configuration: a read-only dict of hyperparameter values."""

from typing import Any, NoReturn, Self, final


class ReadOnlyDict(dict[str, Any]):
    """A dict that cannot be changed, so that it has a hash."""

    __slots__ = ()

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError(f"A {type(self).__name__} cannot be changed. Change a copy: `dict(...)`.")

    __setitem__ = __delitem__ = _refuse
    __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # a dict can change, so it has no hash
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, Any]]]:
        return type(self), (dict(self),)


@final
class Config(ReadOnlyDict):
    """A value for each active parameter, by name. It is a dict that cannot be changed.

    It prints, compares, unpacks and serialises like any dict. It is read-only because the study
    keeps it: an objective that popped or overwrote entries would change the record of what ran.
    To get a dict that you can change, copy it with `dict(config)`.

    Args:
        *args: As for `dict`: a mapping, or an iterable of pairs.
        **kwargs: As for `dict`: values by name.

    Raises:
        TypeError: On every attempt to change it.

    Example:
        >>> config = Config(lr=0.1)
        >>> config["lr"], dict(config, lr=0.2)
        (0.1, {'lr': 0.2})
    """

    __slots__ = ()

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError("A trial's config cannot be changed. Change a copy: `dict(trial.config)`.")

    __setitem__ = __delitem__ = _refuse
    __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
