"""The space: an ordered product of parameters, and its encoding as arrays."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.errors import ConfigError, SpaceError
from priorband.numeric import whole
from priorband.space.base import Parameter
from priorband.space.beliefs import belief
from priorband.space.choices import Categorical, Constant, Ordinal
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.streams import Generator

if TYPE_CHECKING:
    from priorband.space.prior import Independent

Array = NDArray[np.float64]


@final
class Space:
    """What is searched: parameters by name, in the order given.

    A configuration is encoded as a row with one column a searched parameter: a position in [0, 1],
    or the index of a categorical's choice. Constants have no column.

    >>> from priorband import Categorical, Constant, Float, Space
    >>> space = Space({"lr": Float(1e-4, 1e-1, log=True), "act": Categorical(["relu", "gelu"]),
    ...                "classes": Constant(10)})
    >>> space.encode([{"lr": 0.1, "act": "gelu", "classes": 10}])
    array([[1., 1.]])
    >>> space.decode([1.0, 0.0])
    {'lr': 0.1, 'act': 'relu', 'classes': 10}
    """

    __slots__ = ("_constant", "_decoders", "names", "parameters", "searched", "sizes")

    parameters: Mapping[str, Parameter | Constant]
    searched: Mapping[str, Parameter]
    names: tuple[str, ...]
    sizes: tuple[int | None, ...]

    def __init__(self, parameters: Mapping[str, Parameter | Constant]) -> None:
        _check_names(parameters)
        self.parameters = dict(parameters)
        self.searched = {n: p for n, p in parameters.items() if not isinstance(p, Constant)}
        self.names = tuple(self.searched)
        if not self.searched:
            raise SpaceError(
                "A space needs at least one parameter to search, got "
                + ("only constants." if parameters else "an empty one.")
            )
        self._decoders = [(name, p.decode) for name, p in self.searched.items()]
        self._constant = {n: p.value for n, p in parameters.items() if isinstance(p, Constant)}
        self.sizes = tuple(p.size for p in self.searched.values())

    def __repr__(self) -> str:
        return f"Space({dict(self.parameters)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and list(self.parameters.items()) == list(
            other.parameters.items()
        )

    def __hash__(self) -> int:
        return hash(tuple(self.parameters))

    @property
    def prior(self) -> "Independent":
        """What its parameters were given as priors; flat where nothing was said."""
        from priorband.space.prior import prior

        stated = {name: belief(p.prior, p.confidence) for name, p in self.searched.items()}
        return prior(self, stated)

    def __len__(self) -> int:
        """The number of searched parameters: the columns of an encoded row."""
        return len(self.names)

    def uniform(self, n: int, rng: Generator) -> Array:
        """`n` encoded configurations, every value as likely as any other."""
        if not hasattr(rng, "random"):
            raise SpaceError(f"`rng` must be a numpy Generator, got {rng!r}.")
        if not whole(n) or n < 0:
            raise SpaceError(f"`n` must be a whole number of at least 0, got {n!r}.")
        rows = rng.random((n, len(self.names)))
        for column, size in enumerate(self.sizes):
            if size is not None:
                rows[:, column] = np.floor(rows[:, column] * size)
        return rows

    def encode(self, configs: Iterable[Mapping[str, Any]]) -> Array:
        """One row for each configuration; each is checked to lie in the space."""
        if isinstance(configs, Mapping) or not isinstance(configs, Iterable):
            raise ConfigError(
                "Give a list of configurations; put a single one in a list: [config]."
            )
        rows = [self._row(config) for config in configs]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self.names))

    def decode(self, row: Array | Sequence[float]) -> Config:
        """The configuration that a row stands for; the row is checked."""
        codes = row.tolist() if isinstance(row, np.ndarray) else row
        if not isinstance(codes, Sequence) or len(codes) != len(self._decoders):
            raise ConfigError(f"A row of this space has {len(self._decoders)} values, got {row!r}.")
        for name, code, size in zip(self.names, codes, self.sizes, strict=True):
            if not _fits(code, size):
                allowed = "a position in [0, 1]" if size is None else f"an index below {size}"
                raise ConfigError(f"The row's value for `{name}` must be {allowed}, got {code!r}.")
        return self.config(codes)

    def config(self, codes: Sequence[float]) -> Config:
        """The configuration that a row of our own making stands for."""
        values = {
            name: decode(code) for (name, decode), code in zip(self._decoders, codes, strict=True)
        }
        return self.complete(values) if self._constant else Config(values)

    def centred(self, rows: Array) -> Array:
        """Rows moved to the centre of the cell of the configuration that each stands for."""
        columns = [p.centred(rows[:, i]) for i, p in enumerate(self.searched.values())]
        return np.stack(columns, axis=1)

    def changed(self, config: Mapping[str, Any], codes: Mapping[int, float]) -> Config:
        """A configuration with some columns set anew; the others keep their very values."""
        values = dict(config)
        for column, code in codes.items():
            name, decode = self._decoders[column]
            values[name] = decode(code)
        return Config(values)

    def complete(self, values: Mapping[str, Any]) -> Config:
        """Searched values joined by the constants, in the space's order."""
        known = {**self._constant, **values}
        return Config((name, known[name]) for name in self.parameters)

    def check(self, config: Mapping[str, Any]) -> Config:
        """The configuration in the space's order, or an error that says what does not fit."""
        return self.complete(self._each(config, "check"))

    def _row(self, config: Mapping[str, Any]) -> list[float]:
        return list(self._each(config, "encode").values())

    def _each(self, config: Mapping[str, Any], method: str) -> dict[str, Any]:
        """What a method of its parameter makes of each value."""
        if not isinstance(config, Mapping):
            raise ConfigError(f"A configuration is a dict of values by name, got {config!r}.")
        if config.keys() != self.parameters.keys():
            raise ConfigError(_keys_message(config, self.parameters))
        for name, value in self._constant.items():
            if config[name] != value:
                raise ConfigError(f"`{name}` is the constant {value!r}, got {config[name]!r}.")
        made = {}
        for name, parameter in self.searched.items():
            try:
                made[name] = getattr(parameter, method)(config[name])
            except ConfigError as error:
                raise ConfigError(f"`{name}` {error}.") from None
        return made


def plain(name: str) -> str:
    """A name in Unicode's plainest form: names that differ in form only are the same to people."""
    return unicodedata.normalize("NFKC", name)


def _fits(code: Any, size: int | None) -> bool:
    try:
        return bool(0 <= code <= 1 if size is None else 0 <= code < size and code == int(code))
    except (TypeError, ValueError):
        return False


def _keys_message(config: Mapping[str, Any], parameters: Mapping[str, object]) -> str:
    missing = [repr(name) for name in parameters if name not in config]
    extra = [repr(name) for name in config if name not in parameters]
    parts = [f"lacks {', '.join(missing)}"] * bool(missing)
    parts += [f"has unknown {', '.join(extra)}"] * bool(extra)
    return f"The configuration {' and '.join(parts)}. It needs exactly: {', '.join(parameters)}."


def _check_names(parameters: Mapping[str, Parameter | Constant]) -> None:
    if not isinstance(parameters, Mapping):
        raise SpaceError(f"A space is made of a dict of parameters by name, got {parameters!r}.")
    kinds = (Float, Integer, Categorical, Ordinal, Constant)
    seen: dict[str, str] = {}
    for name, parameter in parameters.items():
        if not isinstance(name, str) or not name.strip() == name != "" or not name.isprintable():
            raise SpaceError(
                f"A parameter's name must be printable text, got {name!r}. "
                "It must not be empty, nor begin or end with a space."
            )
        twin = seen.setdefault(plain(name), name)
        if twin != name:
            raise SpaceError(f"The names {twin!r} and {name!r} are the same text in Unicode.")
        if not isinstance(parameter, kinds):
            known = ", ".join(kind.__name__ for kind in kinds)
            raise SpaceError(f"Parameter `{name}` must be one of {known}, got {parameter!r}.")
