"""The space: the parameters to search, and how configurations are encoded as arrays."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from priorband.errors import ConfigError, SpaceError
from priorband.numeric import real, whole
from priorband.space.activation import Activation
from priorband.space.base import Parameter
from priorband.space.beliefs import as_belief
from priorband.space.choices import Categorical, Constant, Ordinal
from priorband.space.config import Config
from priorband.space.parameters import Float, Integer
from priorband.space.short_form import expanded
from priorband.streams import Generator

if TYPE_CHECKING:
    from priorband.space.prior import Independent

Array = NDArray[np.float64]

_FEW = 4  # rows: up to here, plain Python is faster than numpy


@final
class Space:
    """The search space: parameters by name, in order.

    A configuration is encoded as a row with one column for each searched parameter. The column is
    a position in [0, 1], or the index of a categorical's choice. Constants have no column.

    A parameter with conditions (`when`) is active only if they hold. A configuration has active
    parameters only, each after those that it depends on. A row has NaN, the mark, in the column of
    an inactive one.

    Args:
        parameters: A `Float`, `Integer`, `Categorical`, `Ordinal` or `Constant` for each name. Use
            a dict for names that are not identifiers in Python, such as "weight-decay".
        **named: The same, as keywords. They follow those in `parameters`.

    Raises:
        SpaceError: If there is no parameter to search, a name or a parameter is not allowed, or
            conditions name an unknown parameter, form a cycle or can never hold.

    Example:
        >>> from priorband import Categorical, Constant, Float, Space
        >>> Space(lr=Float(1e-4, 1e-1, log=True), act=Categorical(["relu", "gelu"])).names
        ('lr', 'act')

        >>> space = Space({"lr": Float(1e-4, 1e-1, log=True), "act": Categorical(["relu", "gelu"]),
        ...                "classes": Constant(10)})
        >>> space.encode([{"lr": 0.1, "act": "gelu", "classes": 10}])
        array([[1., 1.]])
        >>> space.decode([1.0, 0.0])
        {'lr': 0.1, 'act': 'relu', 'classes': 10}

        >>> space = Space({"optimizer": Categorical(["sgd", "adam"]),
        ...                "momentum": Float(0, 1, when={"optimizer": "sgd"})})
        >>> space.encode([{"optimizer": "sgd", "momentum": 0.5}, {"optimizer": "adam"}])
        array([[0. , 0.5],
               [1. , nan]])
    """

    __slots__ = (
        *("_choices", "_constant", "_decoders"),
        *("activation", "names", "parameters", "searched", "sizes"),
    )

    parameters: Mapping[str, Parameter | Constant]
    """All parameters by name, including constants."""
    searched: Mapping[str, Parameter]
    """The parameters that are not constants."""
    names: tuple[str, ...]
    """The names of the searched parameters, in the order of the columns."""
    sizes: tuple[int | None, ...]
    """The number of choices for each column; None for a column of positions."""
    activation: Activation | None
    """Which parameters are active; None if all always are."""

    def __init__(
        self,
        parameters: Mapping[str, Parameter | Constant] = MappingProxyType({}),
        /,
        **named: Parameter | Constant,
    ) -> None:
        parameters = expanded(_merged(parameters, named))
        _check_names(parameters)
        self.activation = None
        if any(p.when is not None for p in parameters.values()):
            self.activation = Activation(parameters)
            parameters = self.activation.parameters
        self.parameters = dict(parameters)
        self.searched = {n: p for n, p in parameters.items() if not isinstance(p, Constant)}
        self.names = tuple(self.searched)
        if not self.searched:
            raise SpaceError(
                "A space needs at least one parameter to search, got "
                + ("only constants. " if parameters else "none. ")
                + "Add one with a range or choices, such as Float(0, 1)."
            )
        self._decoders = [(name, p.decode) for name, p in self.searched.items()]
        self._constant = {n: p.value for n, p in parameters.items() if isinstance(p, Constant)}
        self.sizes = tuple(p.size for p in self.searched.values())
        self._choices = [(i, size) for i, size in enumerate(self.sizes) if size is not None]

    def __repr__(self) -> str:
        return f"Space({dict(self.parameters)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and list(self.parameters.items()) == list(
            other.parameters.items()
        )

    def __hash__(self) -> int:
        return hash(tuple(self.parameters))

    def __reduce__(self) -> tuple[type["Space"], tuple[dict[str, Parameter | Constant]]]:
        return Space, (dict(self.parameters),)

    @property
    def conditional(self) -> bool:
        """Whether some parameter has conditions: then rows may have marks."""
        return self.activation is not None

    @property
    def order(self) -> tuple[int, ...]:
        """The columns, parents before their children, otherwise as declared."""
        return self.activation.order if self.activation else tuple(range(len(self.names)))

    @property
    def prior(self) -> "Independent":
        """The prior made of the parameters' own priors; flat for parameters without one."""
        from priorband.space.prior import prior

        beliefs = {name: as_belief(p.prior, p.confidence) for name, p in self.searched.items()}
        return prior(self, beliefs)

    def __len__(self) -> int:
        """The number of searched parameters, which is the number of columns of an encoded row."""
        return len(self.names)

    def uniform(self, n: int, rng: Generator) -> Array:
        """Draw `n` encoded configurations uniformly at random.

        Args:
            n: How many.
            rng: The random generator.

        Returns:
            An array of shape (n, number of searched parameters).

        Raises:
            SpaceError: If `n` is not a whole number of at least 0.
        """
        if not hasattr(rng, "random"):
            raise SpaceError(f"`rng` must be a numpy Generator, got {rng!r}.")
        if not whole(n) or n < 0:
            raise SpaceError(f"`n` must be a whole number of at least 0, got {n!r}.")
        if self.activation and n <= _FEW:
            return self._few_uniform(n, rng, self.activation)
        rows = rng.random((n, len(self.names)))
        for column, size in enumerate(self.sizes):
            if size is not None:
                rows[:, column] = np.floor(rows[:, column] * size)
        return self.activation.mark_rows(rows) if self.activation else rows

    def _few_uniform(self, n: int, rng: Generator, activation: Activation) -> Array:
        """The same numbers in plain Python, which is faster for a few rows."""
        rows = rng.random((n, len(self.names))).tolist()
        for row in rows:
            for column, size in self._choices:
                row[column] = float(int(row[column] * size))
            activation.mark(row)
        return np.array(rows, dtype=np.float64).reshape(n, len(self.names))

    def mask(self, rows: Array) -> NDArray[np.bool_]:
        """Return whether each entry of some rows is active, decided on the codes of its parents.

        Args:
            rows: Encoded configurations. Inactive entries may be marked with NaN or not.

        Returns:
            An array of the same shape.
        """
        return self.activation.mask(rows) if self.activation else np.ones(rows.shape, bool)

    def marked(self, rows: Array) -> Array:
        """Return the rows with NaN, the mark, in place of each inactive entry."""
        return self.activation.mark_rows(rows.copy()) if self.activation else rows

    def active(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the active parameters, parents first.

        Args:
            values: A configuration, or at least values for the parameters that others depend on.
                A parameter that depends on one without a value counts as inactive.

        Returns:
            The names, including constants.
        """
        return self.activation.active(values) if self.activation else tuple(self.parameters)

    def encode(self, configs: Iterable[Mapping[str, Any]]) -> Array:
        """Encode configurations as rows.

        Args:
            configs: The configurations: dicts with a value for every parameter.

        Returns:
            An array with one row for each configuration.

        Raises:
            ConfigError: If a configuration is not in the space.
        """
        if isinstance(configs, Mapping) or not isinstance(configs, Iterable):
            raise ConfigError(
                "`configs` must be a list of configurations. Put a single one in a list: [config]."
            )
        rows = [self._row(config) for config in configs]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self.names))

    def decode(self, row: Array | Sequence[float]) -> Config:
        """Decode one row.

        Args:
            row: One number for each searched parameter. The number of an inactive one is not
                used: it may be NaN, the mark.

        Returns:
            The configuration, including the constants: active parameters only, parents first.

        Raises:
            ConfigError: If the row has the wrong length, or a number that is not allowed.
        """
        codes = row.tolist() if isinstance(row, np.ndarray) else row
        if not isinstance(codes, Sequence) or len(codes) != len(self._decoders):
            raise ConfigError(f"A row of this space has {len(self._decoders)} values, got {row!r}.")
        for name, code, size in zip(self.names, codes, self.sizes, strict=True):
            if not _fits(code, size) and not (self.activation and code != code):
                allowed = "a position in [0, 1]" if size is None else f"an index below {size}"
                raise ConfigError(f"The row's value for `{name}` must be {allowed}, got {code!r}.")
        return self.config(codes)

    def config(self, codes: Sequence[float]) -> Config:
        """Decode one row without checking it. Inactive entries are not read."""
        if self.activation:
            return self.activation.config(codes)
        values = {
            name: decode(code) for (name, decode), code in zip(self._decoders, codes, strict=True)
        }
        return self.complete(values) if self._constant else Config(values)

    def centred(self, rows: Array) -> Array:
        """Round each row to the encoding of the configuration that it decodes to."""
        columns = [p.centred(rows[:, i]) for i, p in enumerate(self.searched.values())]
        return np.stack(columns, axis=1)

    def changed(self, config: Mapping[str, Any], codes: Mapping[int, float]) -> Config:
        """Return a configuration with the values of some columns decoded from new codes.

        All other values stay exactly as they are: they are not encoded and decoded again. What
        becomes inactive is dropped. What becomes active must be among the codes.
        """
        if self.activation:
            return self.activation.changed(config, codes)
        values = dict(config)
        for column, code in codes.items():
            name, decode = self._decoders[column]
            values[name] = decode(code)
        return Config(values)

    def complete(self, values: Mapping[str, Any]) -> Config:
        """Add the constants to the searched values, and put all in the space's order.

        Values of inactive parameters are dropped.
        """
        if self.activation:
            return self.activation.completed(values)
        all_values = {**self._constant, **values}
        return Config((name, all_values[name]) for name in self.parameters)

    def check(self, config: Mapping[str, Any]) -> Config:
        """Check that a configuration is in the space.

        Args:
            config: A value for every parameter.

        Returns:
            The configuration with plain Python values, in the space's order.

        Raises:
            ConfigError: If a name is missing or unknown, or a value is not allowed.
        """
        if self.activation:
            return self.activation.checked(_mapping(config))
        return self.complete(self._by_name(config, "check"))

    def _row(self, config: Mapping[str, Any]) -> list[float]:
        if self.activation:
            return self.activation.row(_mapping(config))
        return list(self._by_name(config, "encode").values())

    def _by_name(self, config: Mapping[str, Any], method: str) -> dict[str, Any]:
        """Apply a method of each searched parameter to its value."""
        if _mapping(config).keys() != self.parameters.keys():
            raise ConfigError(_keys_message(config, self.parameters))
        for name, value in self._constant.items():
            if config[name] != value:
                raise ConfigError(f"`{name}` is the constant {value!r}, got {config[name]!r}.")
        results = {}
        for name, parameter in self.searched.items():
            try:
                results[name] = getattr(parameter, method)(config[name])
            except ConfigError as error:
                raise ConfigError(f"`{name}` {error}.") from None
        return results


def _mapping(config: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(config, Mapping):
        raise ConfigError(f"A configuration is a dict of values by name, got {config!r}.")
    return config


def normalised_name(name: str) -> str:
    """Return a name in Unicode form NFKC, in which names that look the same are the same."""
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


def _merged(parameters: Any, named: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters of a dict and those given as keywords."""
    if isinstance(named.get("parameters"), Mapping) and not parameters and len(named) == 1:
        parameters, named = named["parameters"], {}  # the dict, by the name of the argument
    if not isinstance(parameters, Mapping):
        raise SpaceError(
            "`parameters` must be a dict of parameters by name, such as "
            f"{{'lr': Float(1e-5, 1e-1, log=True)}}, got {parameters!r}. As keywords: "
            "Space(lr=Float(1e-5, 1e-1, log=True))."
        )
    twice = [name for name in named if name in parameters]
    if twice:
        raise SpaceError(
            f"Parameter `{twice[0]}` is given twice: in the dict and as a keyword. Give it once."
        )
    return {**parameters, **named} if named else parameters


def _check_names(parameters: Mapping[str, Parameter | Constant]) -> None:
    kinds = (Float, Integer, Categorical, Ordinal, Constant)
    seen: dict[str, str] = {}
    for name, parameter in parameters.items():
        if not isinstance(name, str) or not name.strip() == name != "" or not name.isprintable():
            raise SpaceError(
                f"A parameter's name must be printable text, got {name!r}. "
                "It must not be empty, nor start or end with a space."
            )
        first = seen.setdefault(normalised_name(name), name)
        if first != name:
            raise SpaceError(f"The names {first!r} and {name!r} are the same text in Unicode.")
        if not isinstance(parameter, kinds):
            allowed = ", ".join(kind.__name__ for kind in kinds)
            given = (
                f"the class {parameter.__name__}"
                if isinstance(parameter, type)
                else repr(parameter)
            )
            raise SpaceError(
                f"Parameter `{name}` must be one of {allowed}, got {given}.{_meant(parameter)}"
            )


_EXAMPLES: Mapping[type, str] = {
    Float: "Float(1e-5, 1e-1, log=True)",
    Integer: "Integer(1, 8)",
    Categorical: "Categorical(['sgd', 'adam'])",
    Ordinal: "Ordinal([16, 32, 64])",
    Constant: "Constant(10)",
}


def _meant(given: Any) -> str:
    """What to write for something that is not a parameter."""
    if isinstance(given, type):
        return f" Give its values, such as {_EXAMPLES.get(given, f'{given.__name__}(...)')}."
    if isinstance(given, tuple) and len(given) == 2 and all(real(n) is not None for n in given):
        kinds = ("Float", "Integer") if all(map(whole, given)) else ("Float",)
        ways = " or ".join(f"{kind}({given[0]!r}, {given[1]!r})" for kind in kinds)
        return f" For a range, write {ways}."
    if isinstance(given, list | tuple):
        return f" For choices, write Categorical({list(given)!r})."
    if isinstance(given, str | int | float):
        return f" For a fixed value, write Constant({given!r})."
    return ""
