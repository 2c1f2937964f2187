"""A history is a value: the fold of what happened, always answering as it did."""

import copy
import math
import pickle
from collections import Counter
from typing import Any, NamedTuple

import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from priorband import Config, Fidelity, History, Integer, Observation, Space, State, Study, Trial
from priorband.events import Asked, Event, Failed, Queued, Told
from priorband.trial import Slot

SPACE = Space({"n": Integer(1, 6, prior=2)})  # small, so that configurations come again
FIDELITIES = (1, 2, 3, 5, 9)  # rungs, and others
LARGE = Space({"n": Integer(1, 10**9, prior=2)})
METHODS = ("hyperband", "sh", "asha", "async-hyperband+esp", "priorband")
PROPERTIES = sorted(
    name
    for name, member in vars(History).items()
    if isinstance(member, property) and not name.startswith("_")
)
EXAMPLES = settings(max_examples=examples(80))


class Act(NamedTuple):
    """Something that a person or a worker does to a study."""

    kind: str
    number: int
    fidelity: int
    loss: float


def acts(*kinds: str) -> st.SearchStrategy[list[Act]]:
    losses = st.sampled_from([0.0, 0.5, 1.0, 2.0, -1.0, math.nan, math.inf, -math.inf])
    act = st.builds(
        Act, st.sampled_from(kinds), st.integers(1, 6), st.sampled_from(FIDELITIES), losses
    )
    return st.lists(act, max_size=10) | st.lists(act, min_size=40, max_size=90)


OWN = acts("ask", "ask", "ask", "tell", "tell", "tell", "fail")
ALL = acts("ask", "ask", "ask", "tell", "tell", "tell", "fail", "queue", "queue at", "add", "add")


def perform(study: Study, act: Act) -> None:
    config, running = {"n": act.number}, study.state.history.running
    match act.kind:
        case "queue":
            study.queue(config)
        case "queue at":
            study.queue(config, act.fidelity)
        case "add":
            study.add(config, act.loss, act.fidelity)
        case "tell" if running:
            study.tell(running[act.number % len(running)], act.loss)
        case "fail" if running:
            study.fail(running[act.number % len(running)], "gone")
        case _:
            study.ask()


def told(method: str, story: list[Act], space: Space = SPACE) -> History:
    return played(method, story, space).history


def played(method: str, story: list[Act], space: Space = SPACE) -> State:
    study = Study(space, Fidelity("epochs", 1, 9), method)
    for act in story:
        perform(study, act)
    return study.state


def picture(history: History) -> dict[str, Any]:
    """Everything that a history answers, copied."""
    numbers = range(len(history))
    members = {
        (bracket, rung): history.members(bracket, rung) for bracket in range(4) for rung in range(3)
    }
    return {
        **{name: getattr(history, name) for name in PROPERTIES},
        "print": repr(history),
        "trial": [history.trial(number) for number in numbers],
        "outcome": [history.outcome(number) for number in numbers],
        "promoted": [history.promoted(number) for number in numbers],
        "cost": [history.cost(history.trial(number)) for number in numbers],
        "seen": [history.seen(Config(n=n)) for n in range(1, 7)],
        "best_at": [history.best_at(fidelity) for fidelity in FIDELITIES],
        "succeeded_at": [tuple(history.succeeded_at(fidelity)) for fidelity in FIDELITIES],
        "ended_on": [tuple(history.ended_on(rung)) for rung in range(3)],
        "promotions": [history.promotions(rung) for rung in range(3)],
        "latest_failures": [history.latest_failures(count) for count in (0, 1, 3, 99)],
        "members": members,
        "ranked_member": {
            slot: [history.ranked_member(*slot, place) for place in range(found.ended)]
            for slot, found in members.items()
        },
    }


class Naive:
    """What the events say, read from the first to the last with no index at all."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        self.trials = [event.trial for event in events if isinstance(event, Asked)]
        self.ended = [
            Observation(self.trials[event.trial], event.loss)
            if isinstance(event, Told)
            else Observation(self.trials[event.trial], math.inf, event.reason)
            for event in events
            if isinstance(event, Told | Failed)
        ]
        self.successes = [ended for ended in self.ended if math.isfinite(ended.loss)]
        self.wishes = [event for event in events if isinstance(event, Queued)]

    def cost(self, trial: Trial) -> float:
        return trial.fidelity - (0 if trial.parent is None else self.trials[trial.parent].fidelity)

    def highest(self) -> list[Observation]:
        """The observation at the highest fidelity of each configuration, the best of several."""
        found: dict[int, list[Observation]] = {}
        for ended in self.ended:
            found.setdefault(ended.config["n"], []).append(ended)
        return [min(each, key=lambda o: (-o.fidelity, *o.ranking)) for each in found.values()]

    def lowest(self, observations: list[Observation]) -> Observation | None:
        return min(observations, key=lambda o: (o.loss, o.trial.root), default=None)


@EXAMPLES
@given(st.sampled_from(METHODS), ALL)
def test_an_older_history_answers_as_it_did(method: str, story: list[Act]) -> None:
    study = Study(SPACE, Fidelity("epochs", 1, 9), method)
    album = [(study.state.history, picture(study.state.history))]
    for act in story:
        perform(study, act)
        album.append((study.state.history, picture(study.state.history)))
    for history, before in album:
        assert picture(history) == before
    for history, before in reversed(album):
        assert picture(history) == before


@EXAMPLES
@given(st.sampled_from(METHODS), ALL, st.integers(0, 60))
def test_two_futures_of_one_history_do_not_know_each_other(
    method: str, story: list[Act], fork: int
) -> None:
    events = told(method, story).events
    past = History.of(events[:fork])
    now = picture(past)
    wish = Queued(SPACE.check({"n": 6}), None)
    other = past.after(wish)
    mine = past
    for event in events[fork:]:
        mine = mine.after(event)
    assert picture(past) == now
    assert picture(mine) == picture(History.of(events))
    assert picture(other) == picture(History.of((*events[:fork], wish)))


@EXAMPLES
@given(st.sampled_from(METHODS), ALL)
def test_the_fold_of_the_events_is_the_history(method: str, story: list[Act]) -> None:
    history = told(method, story)
    assert picture(History.of(history.events)) == picture(history)
    assert picture(History.of(list(history.events))) == picture(history)


@EXAMPLES
@given(st.sampled_from(METHODS), ALL)
def test_what_was_asked_and_told_is_all_there(method: str, story: list[Act]) -> None:
    history = told(method, story)
    naive = Naive(history.events)
    open_ = {trial.id for trial in naive.trials} - {ended.trial.id for ended in naive.ended}
    asked_for = [t for t in naive.trials if t.origin == "queued" and t.parent is None]
    imported = [t for t in naive.trials if t.origin == "imported"]
    waiting = naive.wishes[len(asked_for) :]
    assert history.trials == tuple(naive.trials) and len(history) == len(naive.trials)
    assert history.observations == tuple(naive.ended)
    assert history.successes == tuple(naive.successes)
    failed = [ended for ended in naive.ended if math.isinf(ended.loss)]
    assert history.latest_failures(2) == tuple(failed[-2:])
    assert history.latest_failures(0) == ()
    assert history.finished == len(naive.successes)
    assert {trial.id for trial in history.running} == open_
    new = [t for t in naive.trials if t.parent is None]
    assert history.drawn == len(new) - len(asked_for) - len(imported)
    assert history.queued == (waiting[0] if waiting else None)
    outcomes = {ended.trial.id: ended for ended in naive.ended}
    parents = {trial.parent for trial in naive.trials}
    for trial in naive.trials:
        assert history.outcome(trial.id) == outcomes.get(trial.id)
        assert history.promoted(trial.id) == (trial.id in parents)
        assert history.cost(trial) == naive.cost(trial)


@EXAMPLES
@given(st.sampled_from(METHODS), ALL)
def test_the_plan_is_counted_right(method: str, story: list[Act]) -> None:
    history = told(method, story)
    naive = Naive(history.events)
    started = Counter(trial.slot for trial in naive.trials)
    for bracket in range(4):
        for rung in range(3):
            members = history.members(bracket, rung)
            ended = [o for o in naive.ended if o.trial.slot == Slot(bracket, rung)]
            assert members.started == started[Slot(bracket, rung)]
            assert members.succeeded == sum(not o.failed for o in ended)
            ranked = sorted(ended, key=lambda o: (o.loss, o.trial.root))
            assert members.ended == len(ended)
            for place, member in enumerate(ranked):
                assert history.ranked_member(bracket, rung, place) == member
    for rung in range(3):
        on = [o for o in naive.ended if o.trial.slot and o.trial.slot.rung == rung]
        risen = [t for t in naive.trials if t.parent is not None and t.slot]
        assert list(history.ended_on(rung)) == on
        assert history.promotions(rung) == sum(t.slot[1] == rung + 1 for t in risen if t.slot)


@EXAMPLES
@given(st.sampled_from(METHODS), ALL)
def test_the_leaders_are_the_best_by_hand(method: str, story: list[Act]) -> None:
    history = told(method, story)
    naive = Naive(history.events)
    losses = [ended.loss for ended in naive.successes]
    first = naive.successes[losses.index(min(losses))] if losses else None
    assert history.best == first
    for fidelity in FIDELITIES:
        there = [ended for ended in naive.successes if ended.fidelity == fidelity]
        assert list(history.succeeded_at(fidelity)) == there
        assert history.best_at(fidelity) == naive.lowest(there)
    assert history.highest == max((ended.fidelity for ended in naive.successes), default=0)
    standing = [ended for ended in naive.highest() if not ended.failed]
    assert history.incumbent == naive.lowest(standing)


@EXAMPLES
@given(st.sampled_from(METHODS), ALL)
def test_spent_is_what_every_ended_trial_of_our_own_cost(method: str, story: list[Act]) -> None:
    history = told(method, story)
    naive = Naive(history.events)
    own = [naive.cost(o.trial) for o in naive.ended if o.trial.origin != "imported"]
    assert history.spent == pytest.approx(sum(own))


@EXAMPLES
@given(st.sampled_from(METHODS), OWN)
def test_without_imports_resources_are_what_was_spent(method: str, story: list[Act]) -> None:
    history = told(method, story, LARGE)
    assert history.resources == history.spent


@EXAMPLES
@given(st.sampled_from(METHODS), ALL)
def test_resources_are_what_was_spent_and_what_imports_add(method: str, story: list[Act]) -> None:
    """A configuration's imported results count for what they add to how far ours took it."""
    history = told(method, story)
    naive = Naive(history.events)
    reach: dict[bool, dict[int, float]] = {True: {}, False: {}}
    for ended in naive.ended:
        side, n = reach[ended.trial.origin == "imported"], ended.config["n"]
        side[n] = max(side.get(n, 0.0), ended.fidelity)
    extra = sum(max(far - reach[False].get(n, 0.0), 0.0) for n, far in reach[True].items())
    assert history.resources == pytest.approx(history.spent + extra)


@EXAMPLES
@given(st.sampled_from(METHODS), ALL)
def test_a_history_can_be_copied_and_pickled(method: str, story: list[Act]) -> None:
    state = played(method, story)
    before = picture(state.history)
    for twin in (copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert picture(twin.history) == before
        assert (twin.space, twin.ladder) == (state.space, state.ladder)


def test_the_pictures_show_every_public_property() -> None:
    assert {"best", "events", "incumbent", "resources", "running", "spent"} <= set(PROPERTIES)
    history = told("asha", [Act(kind, 1, 1, 0.5) for kind in ("ask", "tell", "ask", "queue")])
    assert picture(history) != picture(History())
