"""A configuration: a dict that cannot be changed, because the history remembers it."""

from typing import Any, NoReturn, final


@final
class Config(dict[str, Any]):
    """A value for each parameter, by name.

    It prints, compares, unpacks and serialises as the dict it is. Objectives that pop or overwrite
    entries would change what the study believes to have run, so writing is refused.

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

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none because it can change
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type["Config"], tuple[dict[str, Any]]]:
        return Config, (dict(self),)
