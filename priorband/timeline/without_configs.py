"""Run a method for its schedule alone, without a space and without drawing configurations.

A sampler is asked after the scheduler has decided, and has random numbers of its own. So it can
change what a scheduler does only through the configurations in the history. Here the scheduler sees
a state whose configurations, space and prior cannot be read: an attempt raises
`ReadsConfigurations`. A run that ends without it has jobs that are the same for every sampler, as
long as the losses are the same and the sampler always has a configuration.
"""

from typing import Any, NoReturn, final

from priorband.fidelity import Fidelity
from priorband.guard import MODE
from priorband.history import History
from priorband.ladder import Ladder
from priorband.optimizers import Opening, Optimizer
from priorband.samplers.base import MODEL, Draw, Sampler
from priorband.schedulers.base import Scheduler, Step
from priorband.space.config import ReadOnlyDict
from priorband.state import State
from priorband.streams import RandomSource
from priorband.values import frozen, replaced

_OF_CONFIGURATIONS = frozenset(
    ("seen", "incumbent", "resources", "events", "columns", "queued", "upcoming")
)
"""What a history derives from configurations, or from what people add."""


class ReadsConfigurations(Exception):
    """A scheduler looked at a configuration, the space or the prior."""


def without_configs(
    optimizer: Optimizer, fidelity: Fidelity, flat: bool = False
) -> tuple[Optimizer, State]:
    """A method with the same scheduler that draws no configurations, and its first state.

    `flat` says whether the prior is flat: some methods have no opening then.
    """
    seal = _Seal()
    method = replaced(
        optimizer,
        scheduler=_WatchedScheduler(optimizer.scheduler, seal),
        sampler=_StandIn(seal, "any"),
        opening=_opening(optimizer.opening, _StandIn(seal, MODE), flat),
        extra=None if optimizer.extra is None else _StandIn(seal, MODEL),
    )
    nothing: Any = _Unreadable()
    ladder = Ladder(fidelity, optimizer.eta, optimizer.sizes)
    return method, State(nothing, nothing, ladder, History(), optimizer.incumbent)


def _opening(
    opening: Sampler | Opening | None, stand_in: Sampler, flat: bool
) -> Sampler | Opening | None:
    if not isinstance(opening, Opening):
        return None if opening is None else stand_in
    if flat and not opening.if_flat:
        return None
    return Opening(stand_in, opening.below, if_flat=True)


@final
class _Seal:
    """Whether configurations cannot be read at the moment."""

    closed = False


@final
class _SealedConfig(ReadOnlyDict):
    """The configuration of a trial: different from all others, and not to be read."""

    __slots__ = ("number", "seal")

    number: int
    seal: _Seal

    def values(self) -> Any:
        """Return something different for each trial: the history's indexes need it."""
        if self.seal.closed:
            _refuse()
        return (self.number,)

    def _unreadable(self, *args: object, **kwargs: object) -> NoReturn:
        _refuse()

    __getitem__ = __iter__ = __len__ = __contains__ = __eq__ = __ne__ = _unreadable
    get = items = keys = copy = __or__ = __ror__ = __reversed__ = _unreadable
    __hash__ = __repr__ = __bool__ = _unreadable


@final
class _Unreadable:
    """Stands for the space and the prior."""

    def __getattr__(self, name: str) -> NoReturn:
        _refuse()


def _refuse() -> NoReturn:
    raise ReadsConfigurations


@final
@frozen
class _StandIn:
    """A sampler whose configurations cannot be read."""

    seal: _Seal
    origin: str

    def sample(self, state: State, rung: int, rng: object) -> Draw:
        """Return a configuration that is different from all others."""
        del rung, rng
        config: Any = _SealedConfig()
        config.number, config.seal = len(state.history), self.seal
        return Draw(config, self.origin)


@final
@frozen
class _WatchedScheduler:
    """A scheduler that sees no configurations."""

    inner: Scheduler
    seal: _Seal

    def next(self, state: State, rng: RandomSource) -> Step:
        """Return the scheduler's decision, or raise `ReadsConfigurations`."""
        watched: Any = _WatchedState(state)
        self.seal.closed = True
        try:
            return self.inner.next(watched, rng)
        finally:
            self.seal.closed = False


@final
class _WatchedState:
    """A state of which only the ladder and the counts and losses of the history can be read."""

    __slots__ = ("history", "ladder", "regard", "state")

    def __init__(self, state: State) -> None:
        self.state = state
        self.ladder, self.regard = state.ladder, state.regard
        self.history = _WatchedHistory(state.history)

    def success_count(self, rung: int) -> int:
        """How many successes there are at a rung's fidelity."""
        return self.state.success_count(rung)

    def __getattr__(self, name: str) -> NoReturn:
        _refuse()


@final
class _WatchedHistory:
    """A history of which only what does not come from configurations can be read."""

    __slots__ = ("_history",)

    def __init__(self, history: History) -> None:
        self._history = history

    def __len__(self) -> int:
        return len(self._history)

    def __getattr__(self, name: str) -> Any:
        if name in _OF_CONFIGURATIONS:
            _refuse()
        return getattr(self._history, name)
