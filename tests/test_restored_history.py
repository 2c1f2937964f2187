"""A history that is restored from columns answers exactly like the one they were made of."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import MODELLED, examples, slow_unless_in
from hypothesis import given, settings
from hypothesis import strategies as st
from test_history import ALL, METHODS, SPACE, Act, perform, picture, played

from priorband import (
    Categorical,
    Config,
    Constant,
    Fidelity,
    Float,
    History,
    Integer,
    Ordinal,
    Space,
    State,
    Study,
    methods,
)
from priorband.log.columns import Columns
from priorband.log.log import Log
from priorband.space.config_columns import ConfigColumns
from priorband.values import field_names, replaced

EXAMPLES = settings(max_examples=examples(80))
EPOCHS = Fidelity("epochs", 1, 9)
WIDE = Space(
    {
        "lr": Float(-1.0, 1.0, prior=0.1),
        "size": Integer(-(2**40), 2**40, prior=3),
        "fixed": Constant(("a", 1)),
        "act": Categorical(["relu", None, True, 2.5, ("x", 1)], prior=None),
        "depth": Ordinal([2, 4, 8], prior=4),
    }
)


def again(history: History, space: Space, cut: int) -> History:
    """The same history: restored from the columns of its first events, then told the rest."""
    events = history.events
    columns = History.of(events[:cut]).columns(space)
    columns.check()
    restored = History.restored(columns)
    for event in events[cut:]:
        restored = restored.after(event)
    return restored


def shown(history: History) -> str:
    """Everything that a history answers, as text, which tells 1 from 1.0 and 0.0 from -0.0."""
    touched = [history.brackets_touched(since) for since in (0, 1, 5)]
    bases = [history.base(bracket) for bracket in sorted(set(touched[0]))]
    parts = [history.observations_since(2), history.ended_on(0, 2), history.succeeded_at(1, 2)]
    return repr((picture(history), touched, bases, parts, history.upcoming()))


@EXAMPLES
@given(st.sampled_from(METHODS), ALL, st.floats(0, 1))
def test_a_restored_history_answers_every_query_the_same(
    method: str, story: list[Act], share: float
) -> None:
    history = played(method, story).history
    cut = round(share * len(history.events))
    assert shown(again(history, SPACE, cut)) == shown(history)


@EXAMPLES
@given(st.sampled_from(METHODS), ALL, st.data())
def test_queries_in_any_order_while_it_grows(
    method: str, story: list[Act], data: st.DataObject
) -> None:
    """Indexes are built when they are first asked for, at whatever length that happens."""
    history = played(method, story).history
    events = history.events
    cut = data.draw(st.integers(0, len(events)))
    look = data.draw(st.integers(cut, len(events)))
    restored, folded = again(History.of(events[:look]), SPACE, cut), History.of(events[:look])
    names = data.draw(st.permutations(("incumbent", "drawn", "resources", "best", "trials")))
    for name in names[:2]:
        assert repr(getattr(restored, name)) == repr(getattr(folded, name))
    for event in events[look:]:
        restored, folded = restored.after(event), folded.after(event)
    assert shown(restored) == shown(folded)


@EXAMPLES
@given(st.sampled_from(METHODS), ALL, st.integers(0, 60), st.integers(0, 60))
def test_columns_do_not_depend_on_how_they_were_made(
    method: str, story: list[Act], one: int, other: int
) -> None:
    history = played(method, story).history
    whole = History.of(history.events).columns(SPACE)
    first, second = sorted((min(one, len(whole)), min(other, len(whole))))
    pieces = Columns.empty(SPACE)
    for start, stop in ((0, first), (first, second), (second, len(whole))):
        pieces = pieces.extended(history.events[start:stop])
    assert same(pieces, whole)
    assert same(again(history, SPACE, second).columns(SPACE), whole)
    assert same(History.of(history.events[:first]).columns(SPACE), whole) == (first == len(whole))


def same(one: Columns, other: Columns) -> bool:
    def content(part: Any) -> Any:
        if isinstance(part, ConfigColumns):
            return [content(column) for column in part.columns]
        return (part.dtype.str, part.tolist()) if isinstance(part, np.ndarray) else repr(part)

    return all(
        content(getattr(one, name)) == content(getattr(other, name)) for name in field_names(one)
    )


@EXAMPLES
@given(st.sampled_from(METHODS), ALL, st.integers(0, 60))
def test_an_older_history_of_a_restored_one_answers_as_it_did(
    method: str, story: list[Act], cut: int
) -> None:
    events = played(method, story).history.events
    restored = History.restored(History.of(events[:cut]).columns(SPACE))
    album = [restored]
    for event in events[cut:]:
        album.append(album[-1].after(event))
    for length, history in enumerate(album, start=min(cut, len(events))):
        assert shown(history) == shown(History.of(events[:length]))


def wide_study(method: str, trials: int) -> Study:
    """A study with all kinds of parameters, and with everything that can happen."""
    study = Study(WIDE, EPOCHS, method)
    rng = np.random.default_rng(7)
    study.add({**WIDE.decode([0.5, 0.5, 3.0, 0.5])}, 0.5, 3)
    study.add({**WIDE.decode([0.25, 0.5, 1.0, 0.5])}, math.inf, 1.5)
    for number in range(trials):
        if number % 11 == 3:
            study.queue({**WIDE.decode([0.5, rng.random(), 4.0, 0.5])}, 9 if number % 2 else None)
        trial = study.ask()
        if number % 13 == 5:
            study.fail(trial, "gone \ud800")
        elif number % 17 != 6:
            study.tell(trial, float(rng.normal()))
    return study


@pytest.mark.parametrize("method", slow_unless_in(set(methods()) - set(MODELLED), methods()))
def test_every_method_proposes_the_same_from_a_restored_history(method: str) -> None:
    study = wide_study(method, 40)
    state, events = study.state, study.state.history.events
    for cut in (0, 1, 7, 50, len(events)):
        restored = with_history(state, again(state.history, WIDE, cut))
        for _ in range(3):
            proposed = study.optimizer.decide(restored, seed=3)
            assert repr(proposed) == repr(study.optimizer.decide(state, seed=3))
    replay = Study(WIDE, EPOCHS, method)
    replay.follow(again(state.history, WIDE, len(events)).events)
    assert replay.replay().exact


def with_history(state: State, history: History) -> State:
    return replaced(state, history=history)


def test_configurations_come_back_bit_by_bit() -> None:
    configs = [
        WIDE.check({"lr": lr, "size": size, "fixed": ("a", 1), "act": act, "depth": 8})
        for lr in (-0.0, 0.0, 5e-324, -1.0, 0.1 + 0.2, 1)
        for size in (-(2**40), 0, np.int64(7))
        for act in ("relu", None, True, 2.5, ("x", 1))
    ]
    table = ConfigColumns.empty(WIDE).extended(configs[:7]).extended(configs[7:])
    assert repr(table.configs(range(len(configs)))) == repr(configs)
    assert [repr(values) for values in table.values()] == [
        repr(tuple(config.values())) for config in configs
    ]
    assert table.valid()


def test_a_fidelity_that_is_not_exact_as_a_float_has_no_columns() -> None:
    huge = Fidelity("samples", 1, 2**60)
    study = Study(SPACE, huge, "random")
    study.add({"n": 1}, 0.5, 2**60)
    with pytest.raises(OverflowError):
        study.state.history.columns(SPACE)


def test_a_bracket_of_more_than_32_bits_has_no_columns() -> None:
    study = Study(SPACE, EPOCHS, "hyperband")
    events = [study.ask() and study.state.history.events[0]]
    trial = replaced(events[0].trial, slot=(2**31, 0))  # type: ignore[union-attr]  # it is asked
    with pytest.raises(OverflowError):
        Columns.empty(SPACE).extended([replaced(events[0], trial=trial)])


Change = Callable[[Columns], Columns]


def set_at(name: str, index: int, value: float) -> Change:
    def change(columns: Columns) -> Columns:
        column = getattr(columns, name).copy()
        column[index] = value
        return replaced(columns, **{name: column})

    return change


def shorter(name: str) -> Change:
    return lambda columns: replaced(columns, **{name: getattr(columns, name)[:-1]})


def config_set(name: str, column: int, value: float) -> Change:
    def change(columns: Columns) -> Columns:
        table = [each.copy() for each in getattr(columns, name).columns]
        table[column][0] = value
        return replaced(columns, **{name: ConfigColumns(WIDE, table)})

    return change


ARRAYS = ("kinds", "fidelity", "bracket", "rung", "parent", "origin", "ended", "loss", "reason")
WRONG: dict[str, Change] = {
    **{f"{name} too short": shorter(name) for name in (*ARRAYS, "wish_fidelity")},
    **{f"{name} too small": set_at(name, 9, -2) for name in ARRAYS[1:7]},
    **{f"{name} too large": set_at(name, 9, 10**6) for name in ("fidelity", "origin", "ended")},
    "unknown kind": set_at("kinds", 3, 4),
    "queued later than asked": set_at("kinds", 0, 3),
    "a loss that is not a number": set_at("loss", 5, math.nan),
    "an infinite loss": set_at("loss", 5, math.inf),
    "a failure with a loss": set_at("loss", 1, 0.5),
    "a failure without a reason": set_at("reason", 1, -1),
    "a success with a reason": set_at("reason", 5, 0),
    "a trial that ends twice": set_at("ended", 5, 0),
    "a parent that comes later": set_at("parent", 9, 30),
    "a bracket without a rung": set_at("rung", 12, -1),
    "a position out of range": config_set("configs", 0, 1.5),
    "a number that is none": config_set("configs", 0, math.nan),
    "an integer out of range": config_set("wishes", 1, 2**50),
    "a choice out of range": config_set("configs", 2, 5),
    "a negative choice": config_set("configs", 3, -1),
    "a fidelity of text": lambda columns: replaced(columns, fidelities=("1",) * 9),
    "a fidelity of 0": lambda columns: replaced(columns, fidelities=(0,) * 9),
    "an infinite fidelity": lambda columns: replaced(columns, fidelities=(math.inf,) * 9),
    "an origin that is no text": lambda columns: replaced(columns, origins=(1,) * 9),
}


@pytest.mark.parametrize("what", WRONG)
def test_columns_that_no_history_has_are_refused(what: str) -> None:
    columns = wide_study("hyperband", 40).state.history.columns(WIDE)
    columns.check()
    with pytest.raises(ValueError, match="not those of a history"):
        WRONG[what](columns).check()


def test_what_is_not_looked_at_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    events = wide_study("priorband", 60).state.history.events
    columns, made = History.of(events[:-4]).columns(WIDE), list[int]()
    configs = ConfigColumns.configs

    def counted(table: ConfigColumns, rows: Any) -> list[Config]:
        made.extend(rows)
        return configs(table, rows)

    monkeypatch.setattr(ConfigColumns, "configs", counted)
    history = History.restored(columns)
    for event in events[-4:]:
        history = history.after(event)
    assert (len(history), history.finished, history.spent) != (0, 0, 0)
    assert history.best is not None and history.best_at(9) is not None
    assert history.observation_count > 50 and len(made) < 15
    assert "indexes" not in vars(history._log), "only decisions need the indexes"
    assert history.incumbent is not None
    assert isinstance(history._log, Log) and "indexes" in vars(history._log)
    assert len(made) < 20


def test_a_study_goes_on_from_a_restored_history() -> None:
    """Each act on it gives the same trial, and the same answers, as on the original."""
    acts = [Act(kind, 1 + n % 6, 3, n % 5) for n in range(60) for kind in ("ask", "tell", "add")]
    study, other = (Study(SPACE, EPOCHS, "priorband") for _ in range(2))
    for act in acts[:90]:
        perform(study, act)
    other.follow(study.state.history.events)
    other._state = with_history(other.state, again(study.state.history, SPACE, 80))
    for act in acts[90:]:
        perform(study, act)
        perform(other, act)
    assert shown(other.state.history) == shown(study.state.history)


@EXAMPLES
@given(st.sampled_from(METHODS), ALL, st.booleans())
def test_a_history_before_a_trial_is_that_of_the_events_until_then(
    method: str, story: list[Act], from_columns: bool
) -> None:
    history = played(method, story).history
    if from_columns:
        history = again(history, SPACE, len(history.events) // 2)
    for trial in history.trials[:: max(len(history) // 4, 1)]:
        asked = [getattr(e, "trial", None) for e in history.events].index(trial)
        expected = shown(History.of(history.events[:asked]))
        assert shown(history.before(trial.id, SPACE)) == expected
        columns = history.columns(SPACE).first(asked)
        columns.check()
        assert shown(History.restored(columns)) == expected
