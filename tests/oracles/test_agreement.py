"""The library and the oracle decide the same, trial for trial, in random studies.

The oracle was written from the description of the methods alone. Where that is silent, its
docstring lists how it was read, and `docs/guardband.md` how the library decides.
"""

from collections import Counter
from collections.abc import Iterable

import pytest
from amounts import slow

from oracles.agreement import Difference, compare
from oracles.stories import random_story
from priorband import optimizer
from priorband.guard import first_size, placed
from priorband.ladder import Ladder
from priorband.named_methods import methods
from priorband.optimizers import Optimizer
from priorband.samplers import GPSearch
from priorband.schedulers import StagedScheduler
from priorband.state import State
from priorband.values import replaced

METHODS = ("guardband", "guardband+bo")
KINDS = {
    "guardband": {"opening", "new", "new, incumbent", "promote", "continue", "queued"},
    "guardband+bo": {
        *("opening", "new", "new, incumbent", "promote", "continue", "queued"),
        *("duel", "model", "model, proven"),
    },
}
EVERYDAY = (1, 2, 8, 13, 14, 19, 26, 29, 41, 68)
"""Stories in which each kind of decision occurs, with 1, 4 and 16 workers and 1 to 4 rungs."""
WITH_PROCESS = (14, 29)
ALL = range(200)


def check(method: str, stories: Iterable[int], longest: int) -> None:
    """Compare all decisions, and require that each kind of decision occurs."""
    decisions, differences = Counter[str](), list[Difference]()
    for number in stories:
        found = compare(random_story(number, longest), method)
        decisions += found.decisions
        differences += found.differences
    report = f"{len(differences)} stories differ, such as\n"
    assert not differences, report + "\n".join(map(str, differences[:3]))
    assert set(decisions) == KINDS[method]


@pytest.mark.parametrize("method", METHODS)
def test_both_decide_the_same(method: str) -> None:
    check(method, EVERYDAY, longest=90)


@pytest.mark.parametrize("number", WITH_PROCESS)
def test_both_decide_the_same_where_the_gaussian_process_proposes(number: int) -> None:
    found = compare(random_story(number, 50), "guardband+bo", real_model=True)
    assert not found.differences, found.differences[0]
    assert found.decisions["model"] + found.decisions["model, proven"] > 2


@slow
@pytest.mark.parametrize("method", METHODS)
def test_both_decide_the_same_in_two_hundred_studies(method: str) -> None:
    check(method, ALL, longest=400)


@slow
def test_both_decide_the_same_in_forty_studies_of_the_gaussian_process() -> None:
    for number in ALL[::5]:
        found = compare(random_story(number, 120), "guardband+bo", real_model=True)
        assert not found.differences, found.differences[0]


def test_stories_cover_what_can_happen() -> None:
    stories = [random_story(number, 400) for number in ALL]
    ladders = [Ladder(story.fidelity, story.eta) for story in stories]
    assert {ladder.top + 1 for ladder in ladders} == {1, 2, 3, 4, 5, 8}
    assert {ladder.eta for ladder in ladders} == {2, 3, 4}
    assert {story.workers for story in stories} == {1, 4, 16}
    assert {len(story.space) for story in stories} == set(range(1, 9))
    assert {story.prior for story in stories} == {"flat", "partial", "full"}
    assert {story.space.conditional for story in stories} == {True, False}
    assert {story.fidelity.integer for story in stories} == {True, False}
    assert {story.failing for story in stories} == {0.0, 0.1, 0.4, 1.0}


# The comparison notices wrong rules. Each ablation breaks one rule of its method.


BROKEN = {name: optimizer(name) for name in methods() if name.startswith("guardband(")} | {
    name: optimizer(name)
    for name in methods()
    if name.startswith("guardband+bo(")
    and name not in ("guardband+bo(sum)", "guardband+bo(linear)")
}
"""All but those that change the Gaussian process alone, whose proposals are not compared."""


def patient(proven: int, unproven: int) -> Optimizer:
    method = optimizer("guardband+bo")
    assert isinstance(method.scheduler, StagedScheduler)
    return replaced(method, scheduler=replaced(method.scheduler, patience=(proven, unproven)))


def trusting(beta: float) -> Optimizer:
    method = optimizer("guardband+bo")
    assert isinstance(method.extra, GPSearch)
    return replaced(method, extra=replaced(method.extra, beta=beta))


BROKEN |= {
    "guardband+bo, less patience if proven": patient(2, 1),
    "guardband+bo, more patience if unproven": patient(3, 2),
    "guardband+bo, a lower weight of the prior": trusting(9.0),
    "guardband+bo, another incumbent": optimizer("guardband+bo", incumbent="max_fidelity_first"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_wrong_rule_is_noticed(name: str) -> None:
    method = "guardband+bo" if name.startswith("guardband+bo") else "guardband"
    assert is_noticed(method, BROKEN[name])


def is_noticed(method: str, library: Optimizer | None = None) -> bool:
    stories = (random_story(number, 90) for number in EVERYDAY)
    return any(compare(story, method, library).differences for story in stories)


def one_more(ladder: Ladder) -> int:
    return first_size(ladder) // ladder.eta + 1


@pytest.mark.parametrize("method", METHODS)
def test_a_guard_of_another_size_is_noticed(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("priorband.guard.guard_size", one_more)
    assert is_noticed(method)


@pytest.mark.parametrize("method", METHODS)
def test_one_uniform_draw_more_is_noticed(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def guarded(state: State) -> bool:
        return placed(state) < one_more(state.ladder)

    monkeypatch.setattr("priorband.samplers.ensemble_policy.is_guarded", guarded)
    assert is_noticed(method)


def test_a_wrong_proof_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oracles.agreement.is_proven", lambda state: False)
    assert is_noticed("guardband+bo")
