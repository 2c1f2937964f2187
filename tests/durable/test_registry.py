"""The registry: tags are literals, and a field that is added later changes no stored byte."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from priorband.conditions import Trained
from priorband.durable import registry
from priorband.durable.problem_data import differences, problem_data, problem_from_data
from priorband.durable.registry import STORED, StoredClass
from priorband.durable.serialize import from_data, to_data
from priorband.errors import FormatError
from priorband.optimizers import Optimizer
from priorband.problem import Problem, make_problem
from priorband.samplers.gaussian import GPSearch
from priorband.samplers.simple import FromUniform
from priorband.schedulers.full import FullFidelity
from priorband.schedulers.synchronous import Hyperband
from priorband.space.parameters import Float
from priorband.space.space import Space
from priorband.values import field_defaults, frozen, replaced


@frozen
class LaterUniform:
    """A sampler that has got an option since."""

    spread: float = 1.0

    def sample(self, state: Any, rung: int, rng: Any) -> Any:
        """As uniform draws."""
        return FromUniform().sample(state, rung, rng)


@pytest.fixture
def renamed() -> Iterator[None]:
    """`FromUniform` has another class name, and an option that it did not have."""
    allowed = {kind: (*classes, LaterUniform) for kind, classes in registry._ALLOWED.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STORED, "FromUniform", StoredClass(LaterUniform))
        patch.setattr(registry, "_ALLOWED", allowed)
        _forget_tags()
        yield
    _forget_tags()


def _forget_tags() -> None:
    registry.registry.cache_clear()
    registry.tags.cache_clear()


def problem(optimizer: Optimizer) -> Problem:
    return make_problem(Space({"x": Float(0, 1)}), method=optimizer)


def test_every_field_that_is_not_listed_has_a_default() -> None:
    for tag, (cls, fields) in STORED.items():
        names: tuple[str, ...] = cls.__match_args__  # type: ignore[attr-defined]  # values have them
        assert tuple(fields.split()) == names[: len(fields.split())], tag
        assert {*names[len(fields.split()) :]} <= {*field_defaults(cls)}, tag


def test_a_class_that_is_renamed_keeps_its_tag(renamed: None) -> None:
    assert to_data(LaterUniform()) == {"@": "FromUniform"}
    assert from_data({"@": "FromUniform"}) == LaterUniform()


def test_a_later_field_is_stored_only_where_it_is_not_the_default(renamed: None) -> None:
    assert to_data(LaterUniform(2.0)) == {"@": "FromUniform", "spread": 2.0}
    assert from_data({"@": "FromUniform", "spread": 2.0}) == LaterUniform(2.0)
    with pytest.raises(FormatError):
        from_data({"@": "FromUniform", "width": 2.0})


def test_hyperband_stores_chosen_bases_only() -> None:
    assert to_data(Hyperband()) == {"@": "Hyperband"}
    stored = to_data(Hyperband(bases=(0, 1)))
    assert stored == {"@": "Hyperband", "bases": {"@": "tuple", "items": [0, 1]}}
    assert from_data(stored) == Hyperband(bases=(0, 1))
    with pytest.raises(FormatError):
        from_data({"@": "Hyperband", "bases": "01"})


def test_a_model_search_stores_later_options_only_where_they_are_used() -> None:
    usual = {"over": "rung", "beta": 0.0, "two_step": True, "combine": "sum"}
    assert to_data(GPSearch()) == {"@": "GPSearch", **usual, "candidates": 512, "most": 400}
    chosen = GPSearch("joint", 10.0, aim="full", scale="log", trust=Trained(3))
    assert from_data(json.loads(json.dumps(to_data(chosen)))) == chosen
    with pytest.raises(FormatError):
        from_data(to_data(GPSearch()) | {"trust": {"@": "FromUniform"}})


def test_an_older_study_agrees_with_the_default_of_a_later_field(renamed: None) -> None:
    new = problem(Optimizer(FullFidelity(), LaterUniform()))
    old = json.loads(json.dumps(problem_data(new)))
    assert problem_from_data(old).optimizer == new.optimizer
    assert differences(old, problem_data(new)) == []
    other = replaced(new, optimizer=Optimizer(FullFidelity(), LaterUniform(2.0)))
    expected = ["method: sampler.spread is 1.0 in the study, 2.0 here"]
    assert differences(old, problem_data(other)) == expected
    expected = ["method: sampler.spread is 2.0 in the study, 1.0 here"]
    assert differences(problem_data(other), old) == expected
