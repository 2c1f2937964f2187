"""A history keeps its answers while another thread makes longer ones from it.

No test here depends on timing. Each one stops the reading thread at every access to a log in turn.
There, a second thread makes a longer history, unless the log is locked: then it would have to wait.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from threading import Thread, get_ident
from typing import Any, Protocol

import pytest

from priorband import Config, Fidelity, History, Integer, Space, State, Study, Trial
from priorband.brackets import brackets_over
from priorband.cache import CacheKey
from priorband.events import Asked, Event, Failed, PriorChanged, Queued, Told
from priorband.log.log import Log
from priorband.samplers import Hypersphere, Perturb
from priorband.samplers.scores import scores
from priorband.schedulers import ASHA, Hyperband
from priorband.streams import RandomStream, generator
from priorband.trial import Slot


def trial(number: int, fidelity: int, slot: Slot | None, **more: Any) -> Trial:
    """A trial whose configuration is its number, unless it continues another."""
    parent, origin = more.get("parent"), more.get("origin", "uniform")
    root = number if parent is None else parent
    return Trial(number, Config(n=root), fidelity, slot, parent, origin, root)


SPACE = Space({"n": Integer(0, 9, prior=2)})
START: tuple[Event, ...] = (
    Asked(trial(0, 1, Slot(0, 0))),
    Told(0, 0.5),
    Asked(trial(1, 1, Slot(0, 0))),
    Told(1, 0.75),
    Asked(trial(2, 1, Slot(0, 0))),
    Asked(trial(3, 1, None, origin="imported")),
    Told(3, 0.875),
)
GROWTH: tuple[Event, ...] = (
    Told(2, 0.25),
    Asked(trial(4, 3, Slot(0, 1), parent=0)),
    Told(4, 0.125),
    Asked(trial(5, 3, None, origin="imported")),
    Told(5, 0.0625),
    PriorChanged(SPACE.prior),
    Asked(trial(6, 3, Slot(1, 1))),
    Asked(trial(7, 3, Slot(1, 1))),
    Failed(7, "crashed: on purpose"),
    Queued(Config(n=8), None),
)

Query = Callable[[History], Any]

QUERIES: dict[str, Query] = {
    **{
        name: lambda history, name=name: getattr(history, name)  # type: ignore[misc]  # mypy cannot infer a lambda's default
        for name, member in vars(History).items()
        if isinstance(member, property)
    },
    "len": len,
    "repr": repr,
    "upcoming": lambda history: history.upcoming(),
    "trial": lambda history: history.trial(6),
    "trials_since": lambda history: history.trials_since(1),
    "before": lambda history: history.before(6, SPACE).events,
    "prior_number": lambda history: history.prior_number(trial(6, 3, Slot(1, 1))),
    "from_current_prior": lambda history: history.from_current_prior(trial(0, 1, Slot(0, 0))),
    "outcome": lambda history: history.outcome(2),
    "latest_failures": lambda history: history.latest_failures(1),
    "best_at": lambda history: history.best_at(1),
    "cost": lambda history: history.cost(trial(8, 9, None, parent=4)),
    "promoted": lambda history: history.promoted(0),
    "promotions": lambda history: history.promotions(0),
    "next_winner": lambda history: history.next_winner(0, 0, 0),
    "retried": lambda history: history.retried(0),
    "replacement": lambda history: history.replacement(0),
    "retry_of": lambda history: history.retry_of(0),
    "seen": lambda history: history.seen(Config(n=5)),
    "members": lambda history: history.members(0, 0),
    "ranked_member": lambda history: history.ranked_member(0, 0, 0),
    "base": lambda history: history.base(1),
    "brackets_touched": lambda history: history.brackets_touched(1),
    "ended_on": lambda history: history.ended_on(0),
    "observations_since": lambda history: history.observations_since(1),
    "success_count": lambda history: history.success_count(1),
    "succeeded_at": lambda history: history.succeeded_at(1),
    "columns": lambda history: History.restored(history.columns(SPACE)).events,
}


OF_RETRIES = ("retried", "replacement", "retry_of")
"""Nothing is retried here: such a history has no columns."""

EMPTY = Study(SPACE, Fidelity("epochs", 1, 3)).state
DECISIONS: dict[str, Callable[[State], Any]] = {
    "asha": lambda state: ASHA().next(state, RandomStream(0, 0, "")),
    "hyperband": lambda state: Hyperband().next(state, RandomStream(0, 0, "")),
    "brackets over": brackets_over,
    "scores": scores,
    "perturb": lambda state: Perturb().sample(state, 0, generator(0, 0, "")),
    "hypersphere": lambda state: Hypersphere().sample(state, 0, generator(0, 0, "")),
}


def answer(history: History, query: Query) -> Any:
    try:
        return query(history)
    except LookupError as error:
        return repr(error)


class Intruder:
    """Acts once from another thread, at the first unlocked access to a log from the nth on."""

    def __init__(self, history: History, act: Callable[[History], object], nth: int) -> None:
        self.history, self.act, self.nth = history, act, nth
        self.reader = get_ident()
        self.accesses = 0
        self.acted = False

    def notice(self) -> None:
        """Called at each access to a log; count the reader's own and let the other thread act."""
        if get_ident() != self.reader or self.acted:
            return
        self.accesses += 1
        if self.accesses > self.nth:
            thread = Thread(target=self._act_unless_locked)
            thread.start()
            thread.join()

    def _act_unless_locked(self) -> None:
        lock = self.history._log.lock
        if lock.acquire(blocking=False):
            self.acted = True
            try:
                self.act(self.history)
            finally:
                lock.release()


class Disturbed(Protocol):
    """What `read` returns when `act` comes in between, once for each place where it can."""

    def __call__(
        self,
        make: Callable[[], History],
        read: Callable[[History], Any],
        act: Callable[[History], object],
    ) -> Iterator[Any]: ...


@pytest.fixture
def disturbed(monkeypatch: pytest.MonkeyPatch) -> Disturbed:
    present: list[Intruder] = []

    def get_attribute(log: Log, name: str) -> Any:
        for intruder in present:
            intruder.notice()
        return object.__getattribute__(log, name)

    monkeypatch.setattr(Log, "__getattribute__", get_attribute, raising=False)

    def results(
        make: Callable[[], History],
        read: Callable[[History], Any],
        act: Callable[[History], object],
    ) -> Iterator[Any]:
        for nth in count():
            history = make()
            intruder = Intruder(history, act, nth)
            present.append(intruder)
            try:
                value = read(history)
            finally:
                present.clear()
            if not intruder.acted:
                return
            yield value

    return results


def grow(history: History) -> History:
    for event in GROWTH:
        history = history.after(event)
    return history


def newest() -> History:
    return History.of(START)


def outdated() -> History:
    history = History.of(START)
    grow(history)
    return history


def test_all_queries_are_tested() -> None:
    public = {name for name in vars(History) if not name.startswith("_")}
    assert public - set(QUERIES) == {"of", "restored", "after", "cached"}


def test_the_growth_changes_every_answer() -> None:
    history = newest()
    longer = grow(newest())
    for name, query in QUERIES.items():
        if name not in OF_RETRIES:
            assert answer(history, query) != answer(longer, query), name


@pytest.mark.parametrize("make", [newest, outdated])
@pytest.mark.parametrize("name", QUERIES)
def test_a_query_is_not_disturbed_by_growth(
    name: str, make: Callable[[], History], disturbed: Disturbed
) -> None:
    query = QUERIES[name]
    expected = answer(newest(), query)
    values = list(disturbed(make, lambda history: answer(history, query), grow))
    assert values == [expected] * len(values) != []


@pytest.mark.parametrize("name", QUERIES)
def test_an_answer_that_was_given_does_not_change(name: str) -> None:
    history = newest()
    value = answer(history, QUERIES[name])
    grow(history)
    assert value == answer(newest(), QUERIES[name])


@pytest.mark.parametrize("make", [newest, outdated])
@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_is_not_disturbed_by_growth(
    name: str, make: Callable[[], History], disturbed: Disturbed
) -> None:
    """Nor by a decision on the longer history, which extends what is cached."""

    def decide(history: History) -> Any:
        return DECISIONS[name](State(EMPTY.space, EMPTY.prior, EMPTY.ladder, history))

    expected = decide(newest())
    assert decide(grow(newest())) != expected
    values = list(disturbed(make, decide, lambda history: decide(grow(history))))
    assert values == [expected] * len(values) != []


def test_a_cached_value_is_made_once_for_a_history_and_longer_ones() -> None:
    first: CacheKey[list[int]] = CacheKey(list)
    second: CacheKey[list[int]] = CacheKey(list)
    history = newest()
    history.cached(first, lambda numbers: numbers.append(1))
    assert grow(history).cached(first, tuple) == (1,)
    assert history.cached(first, tuple) == ()  # it no longer is the newest: it has its own cache
    assert history.cached(second, tuple) == ()


@pytest.mark.parametrize("make", [newest, outdated])
def test_two_threads_can_make_longer_histories_from_one(
    make: Callable[[], History], disturbed: Disturbed
) -> None:
    event, others = Queued(Config(n=9), None), list[History]()
    for longer in disturbed(
        make, lambda history: history.after(event), lambda history: others.append(grow(history))
    ):
        assert longer.events == (*START, event)
        assert longer.queued == event
    assert others
    for other in others:
        assert other.events == (*START, *GROWTH)
        assert other.finished == 6


class Interrupt(BaseException):
    """What a signal handler raises."""


@contextmanager
def signals(seconds: float) -> Iterator[None]:
    """A real signal again and again, whose handler raises, wherever this thread is."""

    def handler(number: int, frame: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def is_free(log: Log) -> bool:
    """Whether another thread can take the lock."""
    answers: list[bool] = []

    def take() -> None:
        answers.append(log.lock.acquire(blocking=False))
        if answers[0]:
            log.lock.release()

    thread = Thread(target=take)
    thread.start()
    thread.join()
    return answers[0]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
@pytest.mark.parametrize("name", ["len", "upcoming", "best", "succeeded_at", "incumbent"])
def test_an_exception_from_a_signal_handler_never_leaves_the_lock_held(name: str) -> None:
    history, query = History.of(START), QUERIES[name]
    for number in range(100):
        with suppress(Interrupt), signals(0.0005 + number * 1e-6):
            while True:
                query(history)
        assert is_free(history._log), f"the lock is held after {number + 1} signals"
