"""A problem is described so that it comes back, and that two can be told apart."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from amounts import MODELLED, examples, slow
from hypothesis import given, settings
from hypothesis import strategies as st
from space.conditional_spaces import random_spaces
from stored_studies import CONDITIONAL

from priorband import (
    Beta,
    Categorical,
    Config,
    Constant,
    Fidelity,
    Float,
    Integer,
    Mixture,
    Normal,
    Optimizer,
    Ordinal,
    Prior,
    Space,
    State,
    Study,
    Trial,
    Weights,
    at_least,
    between,
    from_samples,
    methods,
    optimizer,
    prior,
)
from priorband.durable.problem_data import (
    differences,
    needed_format,
    problem_data,
    problem_from_data,
)
from priorband.durable.registry import registry
from priorband.durable.serialize import config_reader, config_writer, short_repr, to_data
from priorband.errors import ConfigError, FormatError, MethodError, SpaceError
from priorband.problem import Problem
from priorband.samplers import Draw, Ensemble, FromPrior, FromUniform, Perturb
from priorband.samplers.ensemble_policy import ensemble
from priorband.schedulers import ASHA, Hyperband
from priorband.space.densities import Array
from priorband.streams import Generator, generator
from priorband.testing import example_space, noise
from priorband.values import replaced

EPOCHS = Fidelity("epochs", 1, 81)
SMALL = Space(
    {
        "lr": Float(1e-3, 0.1, log=True, prior=1e-2),
        "act": Categorical((1, "relu", (2, math.inf))),
        "classes": Constant(10),
    }
)


def problem(space: Space = SMALL, **changes: Any) -> Problem:
    """A small problem with some fields of another."""
    made = Problem(space, space.prior, EPOCHS, optimizer("priorband"), 0)
    return replaced(made, **changes)


def text(data: Any) -> Any:
    """Data after a way through text."""
    return json.loads(json.dumps(data, allow_nan=False))


def again(problem: Problem) -> Problem:
    return problem_from_data(text(problem_data(problem)))


def trials(problem: Problem, count: int = 40) -> list[Trial]:
    """The first trials of a study, three of them open at a time."""
    study = Study(
        problem.space, problem.fidelity, problem.optimizer, problem.seed, prior=problem.prior
    )
    asked: list[Trial] = []
    for number in range(count):
        asked.append(study.ask())
        if number >= 2:
            trial = asked[number - 2]
            study.tell(trial, noise(dict(trial.config), trial.fidelity))
    return asked


OPTIONS: list[dict[str, Any]] = [
    {},
    {"eta": 2, "sizes": "ceil"},
    {"incumbent": "max_fidelity_first"},
]
PRIORS: dict[str, Callable[[Space], Prior]] = {
    "its own": lambda space: space.prior,
    "stated": lambda space: prior(
        space, {"lr": Mixture([1e-4, 1e-2], [0.1, 0.3]), "momentum": Beta(3, 2), "layers": 2}
    ),
    "samples": lambda space: from_samples(
        space, [space.decode(row) for row in space.uniform(7, generator(1, 1, "test"))]
    ),
}


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
@pytest.mark.parametrize(
    ("method", "count"),
    [
        *((method, 12 if method in MODELLED else 40) for method in methods()),
        *(pytest.param(method, 40, marks=slow) for method in MODELLED),
    ],
)
def test_a_restored_problem_decides_alike(method: str, count: int, options: dict[str, Any]) -> None:
    made = problem(example_space(), optimizer=optimizer(method, **options), seed=7)
    assert again(made) == made
    assert trials(again(made), count) == trials(made, count)
    assert differences(text(problem_data(made)), problem_data(again(made))) == []


@pytest.mark.parametrize("method", ["priorband", "hyperband+prior", "priorband(crossover)"])
@pytest.mark.parametrize("name", PRIORS)
def test_a_restored_prior_decides_alike(name: str, method: str) -> None:
    space = example_space()
    made = problem(space, prior=PRIORS[name](space), optimizer=optimizer(method))
    assert again(made) == made
    assert trials(again(made)) == trials(made)
    assert (problem_data(made)["prior"] is None) == (name == "its own")
    assert differences(text(problem_data(made)), problem_data(again(made))) == []


def test_a_prior_over_another_space_comes_back_with_that_space() -> None:
    wide, narrow = Space({"x": Float(0, 4)}), Space({"x": Float(0, 2)})
    made = problem(wide, prior=prior(narrow, {"x": 1.0}))
    assert again(made).prior.around({"x": 0.5}) == made.prior.around({"x": 0.5})
    assert trials(again(made)) == trials(made)
    [line, *_] = differences(
        problem_data(made), problem_data(problem(wide, prior=prior(wide, {"x": 1})))
    )
    assert line.startswith("prior: over Space({'x': Float(low=0.0, high=2.0")


NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
NUMBERS = st.floats(-1e9, 1e9).map(lambda x: round(x, 3))
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
)
LISTED = VALUES | st.lists(VALUES, max_size=3).map(tuple)


@st.composite
def parameters(draw: st.DrawFn) -> Any:
    """A parameter of any kind, with a belief of any kind that fits, or none."""
    kind = draw(st.sampled_from(["float", "integer", "categorical", "ordinal", "constant"]))
    if kind == "constant":
        return Constant(draw(LISTED))
    if kind in ("float", "integer"):
        low, width = draw(st.integers(1, 10**6)), draw(st.integers(1, 10**6))
        value = draw(st.integers(low, low + width))
        stated: Any = draw(
            st.sampled_from(
                [
                    *(None, value, Normal(value, 0.3), Beta(2, 3.5)),
                    Mixture([value, Normal(value, "low")], weights=[0.1, 0.6]),
                ]
            )
        )
        make: Any = Float if kind == "float" else Integer
        return make(low, low + width, draw(st.booleans()), stated)
    choices = draw(st.lists(LISTED, min_size=2, max_size=5, unique=True))
    pick = draw(st.sampled_from(choices))
    stated = draw(st.sampled_from([None, {pick: 0.3, choices[0]: 2}, Weights(pick, "high")]))
    return (Categorical if kind == "categorical" else Ordinal)(choices, stated)


SPACES = st.dictionaries(NAMES, parameters(), min_size=1, max_size=5).filter(
    lambda made: not all(isinstance(p, Constant) for p in made.values())
)


@given(SPACES.map(Space), st.integers(), st.randoms(use_true_random=False))
def test_any_space_and_its_configurations_come_back(space: Space, seed: int, rng: Any) -> None:
    made = problem(space, seed=seed)
    read, write = config_reader(again(made).space), config_writer(space)
    assert again(made) == made
    assert repr(again(made)) == repr(made)
    for _ in range(5):
        row = [rng.random() if size is None else rng.randrange(size) for size in space.sizes]
        config = space.config(row)
        assert repr(read(text(write(config)))) == repr(config)
        assert type(read(write(config))) is Config


@given(random_spaces(), st.randoms(use_true_random=False))
def test_any_conditional_space_and_its_configurations_come_back(space: Space, rng: Any) -> None:
    made = problem(space)
    read, write = config_reader(again(made).space), config_writer(space)
    assert again(made) == made
    assert repr(again(made)) == repr(made)
    stepped = any(getattr(p, "step", None) for p in space.parameters.values())
    assert needed_format(problem_data(made)) == (2 if space.conditional or stepped else 1)
    for _ in range(5):
        row = [rng.random() if size is None else rng.randrange(size) for size in space.sizes]
        config = space.config(row)
        assert repr(read(text(write(config)))) == repr(config)
        assert write(config).keys() == config.keys()


def mutated(tree: Any, data: st.DataObject) -> Any:
    """A tree of data with one thing in it changed."""
    if not isinstance(tree, dict | list) or not tree or data.draw(st.integers(0, 5)) == 0:
        return data.draw(REPLACEMENTS)
    keys = list(tree) if isinstance(tree, dict) else range(len(tree))
    key = data.draw(st.sampled_from(keys))
    changed = tree.copy()
    change = data.draw(st.sampled_from(["within"] * 6 + ["drop", "double", "swap", "tag"]))
    if change == "drop":
        del changed[key]
    elif change == "double" and isinstance(changed, list):
        changed.append(changed[key])
    elif change == "swap":
        other = data.draw(st.sampled_from(keys))
        changed[key], changed[other] = changed[other], changed[key]
    elif change == "tag" and isinstance(changed, dict):
        changed["@"] = data.draw(st.sampled_from([*registry(), "tuple", "dict", "float", "x"]))
    else:
        changed[key] = mutated(tree[key], data)
    return changed


REPLACEMENTS: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, 0, -1, 1, 2, 0.5, -1.5, 1e300, 10**400, "", "a", "medium", [], {}, [[]]),
        *({"@": "tuple", "items": []}, {"@": "float", "value": "nan"}, {"@": "FromPrior"}),
        *({"@": "Never"}, {"@": "Flat"}, {"@": "choice", "index": 0}, {"@": "Uniform"}),
        *({"@": "When", "conditions": [["n", 3]]}, {"@": "When", "conditions": [["kind", "a"]]}),
        {"@": "dict", "items": [["at_least", 2]]},
    ]
) | st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
)

SEEDS = {
    "named": problem(example_space()),
    "staged": problem(optimizer=optimizer("priorband(mode@min)", eta=4)),
    "stated": problem(example_space(), prior=PRIORS["stated"](example_space())),
    "samples": problem(prior=from_samples(SMALL, [SMALL.prior.mode] * 3)),
    "conditional": problem(CONDITIONAL),
    "conditional stated": problem(CONDITIONAL, prior=prior(CONDITIONAL, {"kind": "a", "x": 0.9})),
}


@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=examples(150))
@given(data=st.data())
def test_changed_data_is_another_problem_or_none(name: str, data: st.DataObject) -> None:
    original = text(problem_data(SEEDS[name]))
    changed = mutated(original, data)
    try:
        made = problem_from_data(changed)
    except FormatError as error:
        assert "This version does not write such data" in str(error)
    else:
        assert text(problem_data(made)) is not None
        assert problem_from_data(problem_data(made)) == made
        assert (differences(original, problem_data(made)) == []) == (
            json.dumps(problem_data(made)) == json.dumps(original)
        )


@pytest.mark.parametrize(
    "change",
    [
        *({"seed": True}, {"seed": "0"}, {"seed": None}, {"seed": 1.0}, {"more": 1}),
        *({"space": None}, {"fidelity": None}, {"method": None}, {"prior": 3}),
        *({"fidelity": to_data(Fidelity("lr", 1, 9))}, {"space": to_data(EPOCHS)}),
        *({"method": to_data(Hyperband())}, {"prior": to_data(Normal(0.1))}),
        *({"prior": to_data(Space({"x": Float(0, 1)}).prior)}, {"method": {"@": "own"}}),
        {"prior": {"@": "own", "name": 3, "shown": ""}},
    ],
    ids=short_repr,
)
def test_data_that_is_no_problem_is_refused(change: dict[str, Any]) -> None:
    for data in ({**problem_data(problem()), **change}, change, [change], None, "text"):
        with pytest.raises(FormatError, match="This version does not write such data"):
            problem_from_data(data)


class OwnSampler:
    """A sampler of one's own."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        return FromUniform().sample(state, rung, rng)


class OwnPrior:
    """A prior of one's own."""

    mode = SMALL.prior.mode

    def __repr__(self) -> str:
        return "OwnPrior(" + "x" * 500 + ")"

    def sample(self, rng: Generator) -> Array:
        return SMALL.prior.sample(rng)

    def logpdf(self, rows: Array) -> Array:
        return SMALL.prior.logpdf(rows)

    def around(self, config: Mapping[str, Any]) -> Prior:
        return SMALL.prior.around(config)


OWN = Optimizer(Hyperband(), ensemble(around=OwnSampler()))


def test_a_method_of_ones_own_is_named_and_must_be_given_again() -> None:
    made = problem(optimizer=OWN)
    data = text(problem_data(made))
    assert data["method"]["@"] == "own"
    assert data["method"]["name"] == "durable.test_problem.OwnSampler"
    assert " at 0x" not in data["method"]["shown"]
    message = (
        r"^This study's method has custom parts "
        r"\(durable.test_problem.OwnSampler\): open it in "
    )
    with pytest.raises(MethodError, match=message + r"Python with `open_study\(where, method="):
        problem_from_data(data)
    assert problem_from_data(data, optimizer=OWN) == made
    assert differences(data, problem_data(made)) == []


def test_a_prior_of_ones_own_is_named_and_must_be_given_again() -> None:
    own = OwnPrior()
    made = problem(prior=own)
    data = text(problem_data(made))
    assert data["prior"]["name"] == "durable.test_problem.OwnPrior"
    assert 190 < len(data["prior"]["shown"]) <= 200
    assert data["prior"]["shown"].endswith("xxx)")
    with pytest.raises(MethodError, match=r"prior has custom parts .*, prior=\.\.\."):
        problem_from_data(data)
    assert problem_from_data(data, prior=own) == made
    assert differences(data, problem_data(made)) == []


def test_choices_of_ones_own_are_refused() -> None:
    with pytest.raises(SpaceError, match="cannot be stored"):
        problem_data(problem(Space({"x": Float(0, 1), "f": Categorical([len, max])})))


def changed(**parameters: Any) -> Problem:
    """The small problem with other parameters; None takes one away."""
    together = {**SMALL.parameters, **parameters}
    return problem(Space({name: p for name, p in together.items() if p is not None}))


DIFFERENT: list[tuple[Problem, str]] = [
    (problem(seed=1), "seed: 0 in the study, 1 here"),
    (
        problem(fidelity=Fidelity("epochs", 1, 27)),
        "fidelity `epochs`: high is 81 in the study, 27 here",
    ),
    (
        problem(fidelity=Fidelity("epochs", 1.0, 81.0)),
        "fidelity `epochs`: low is 1 in the study, 1.0 here\n"
        "fidelity `epochs`: high is 81 in the study, 81.0 here",
    ),
    (
        problem(fidelity=Fidelity("steps", 1, 81)),
        "fidelity: name is 'epochs' in the study, 'steps' here",
    ),
    (
        changed(lr=Float(1e-3, 1.0, log=True, prior=1e-2)),
        "`lr`: high is 0.1 in the study, 1.0 here",
    ),
    (
        changed(lr=Float(1e-3, 0.1, prior=1e-2)),
        "`lr`: log is True in the study, False here",
    ),
    (
        changed(lr=Float(1e-3, 0.1, log=True, prior=Normal(1e-2, 0.3))),
        "`lr`: prior is 0.01 in the study, Normal(centre=0.01, sigma=0.3) here",
    ),
    (
        changed(lr=Integer(1, 9)),
        "`lr`: Float(low=0.001, high=0.1, log=True, prior=0.01, confidence='medium') in the study, "
        "Integer(low=1, high=9, log=False, prior=None, confidence='medium') here",
    ),
    (
        changed(act=Categorical((True, "relu", (2, math.inf)))),
        "`act`: choices are (1, 'relu', (2, inf)) in the study, (True, 'relu', (2, inf)) here",
    ),
    (
        changed(act=Categorical((1, "relu", (2.0, math.inf)))),
        "`act`: choices are (1, 'relu', (2, inf)) in the study, (1, 'relu', (2.0, inf)) here",
    ),
    (changed(classes=Constant(10.0)), "`classes`: value is 10 in the study, 10.0 here"),
    (
        changed(lr=Float(1e-3, 0.1, log=True, prior=1e-2, when={"act": ["relu", 1]})),
        "`lr`: used always in the study, with act = 'relu' or 1 here",
    ),
    (
        changed(act=Categorical((1, "relu", (2, math.inf)), when={"lr": at_least(0.01)})),
        "`act`: used always in the study, with lr >= 0.01 here",
    ),
    (changed(act=None), "`act` is in the study, but not here"),
    (changed(beta=Float(0, 1)), "`beta` is here, but not in the study"),
    (
        problem(Space({name: SMALL.parameters[name] for name in ("act", "lr", "classes")})),
        "the order of the parameters: lr, act, classes in the study, act, lr, classes here",
    ),
    (
        problem(optimizer=optimizer("priorband", eta=4, sizes="ceil")),
        "method 'priorband': eta is 3 in the study, 4 here\n"
        "method 'priorband': sizes is 'floor' in the study, 'ceil' here",
    ),
    (
        problem(optimizer=optimizer("asha+esp")),
        "method: 'priorband' in the study, 'asha+esp' here",
    ),
    (
        problem(optimizer=optimizer("priorband(sigma=0.5)")),
        "method: 'priorband' in the study, 'priorband(sigma=0.5)' here",
    ),
    (
        problem(optimizer=optimizer("priorband(50%)")),
        "method: 'priorband' in the study, 'priorband(50%)' here",
    ),
    (
        problem(optimizer=optimizer("priorband(no-mode)")),
        "method: 'priorband' in the study, 'priorband(no-mode)' here",
    ),
    (
        problem(optimizer=optimizer("asha", eta=4)),
        "method: 'priorband' in the study, 'asha' with eta=4 here",
    ),
    (
        problem(optimizer=replaced(optimizer("priorband"), opening=FromUniform())),
        "method: opening is PriorMode() in the study, FromUniform() here",
    ),
    (
        problem(prior=prior(SMALL, {"lr": Normal(1e-2, "high")})),
        "prior of `lr`: sigma is 0.25 in the study, 0.125 here",
    ),
    (
        problem(prior=prior(SMALL, {"lr": 1e-3})),
        "prior of `lr`: mode is 0.01 in the study, 0.001 here\n"
        "prior of `lr`: centre is 0.5 in the study, 0.0 here",
    ),
    (
        problem(prior=prior(SMALL, {"lr": 1e-2, "act": "relu"})),
        "prior of `act`: mode is 1 in the study, 'relu' here\n"
        "prior of `act`: probabilities are (0.3333333333333333, 0.3333333333333333, "
        "0.3333333333333333) in the study, (0.16666666666666666, 0.6666666666666666, "
        "0.16666666666666666) here",
    ),
]


@pytest.mark.parametrize(("other", "lines"), DIFFERENT, ids=lambda part: short_repr(part, 50))
def test_differences_are_said_in_a_persons_words(other: Problem, lines: str) -> None:
    assert differences(text(problem_data(problem())), problem_data(other)) == lines.split("\n")
    back = differences(text(problem_data(other)), problem_data(problem()))
    assert len(back) == len(lines.split("\n"))


def test_differences_of_what_is_ones_own_name_it() -> None:
    ours, own = problem_data(problem()), problem_data(problem(optimizer=OWN, prior=OwnPrior()))
    of_prior, of_method = differences(ours, own)
    assert of_prior.startswith("prior: one made of beliefs in the study, one with custom parts")
    assert "(durable.test_problem.OwnPrior: OwnPrior(xxx" in of_prior
    assert of_method.startswith("method: 'priorband' in the study, one with custom parts")
    assert "one with custom parts (durable.test_problem.OwnSampler: Optimizer(" in of_method
    assert len(of_prior) + len(of_method) < 1000
    for other in (
        Optimizer(ASHA(), OwnSampler()),
        replaced(OWN, eta=4),
        replaced(OWN, sizes="ceil"),
    ):
        given = problem_data(problem(optimizer=other))
        assert len(differences({**ours, "method": own["method"]}, given)) == 1


def test_long_differences_are_cut_to_where_they_begin() -> None:
    names = [f"choice number {i}" for i in range(100)]
    one, other = (changed(act=Categorical([*names, last])) for last in ("first", "second"))
    [line] = differences(problem_data(one), problem_data(other))
    assert "'first') in the study" in line
    assert "'second') here" in line
    assert len(line) < 400


def test_data_with_defaults_left_out_is_no_difference() -> None:
    data = text(problem_data(problem()))
    del data["method"]["eta"], data["fidelity"]["prior"]
    del data["space"]["parameters"][0][1]["confidence"]
    assert problem_from_data(data) == problem()
    assert differences(data, problem_data(problem())) == []


def test_differences_of_malformed_data_are_refused() -> None:
    good = problem_data(problem())
    for key, wrong in [
        ("space", 3),
        ("fidelity", {}),
        ("method", None),
        ("prior", []),
        ("seed", {}),
    ]:
        with pytest.raises(FormatError):
            differences({**good, key: wrong}, good)
    with pytest.raises(FormatError, match="Expected a problem with space, prior"):
        differences({}, good)


def test_a_condition_that_is_another_is_shown_as_a_person_would_write_it() -> None:
    def made(**when: Any) -> Any:
        space: Any = {"layers": Integer(1, 8), "act": Categorical(["relu", "gelu"])}
        return problem_data(problem(Space({**space, "skip": Float(0, 1, when=when)})))

    old = made(layers=at_least(3), act="relu")
    assert differences(text(old), made(layers=between(3, 5))) == [
        "`skip`: used with layers >= 3 and act = 'relu' in the study, with layers from 3 to 5 here"
    ]
    assert differences(text(old), made(layers=at_least(3), act="relu")) == []
    fine = problem(Space({"n": Integer(1, 9, step=2)}))
    assert differences(
        text(problem_data(fine)), problem_data(problem(Space({"n": Integer(1, 9)})))
    ) == ["`n`: step is 2 in the study, None here"]


def test_a_prior_of_parameters_that_its_mode_has_not_is_compared() -> None:
    one, other = (
        problem_data(problem(CONDITIONAL, prior=prior(CONDITIONAL, {"kind": kind, "alpha": 0.25})))
        for kind in ("a", "b")
    )
    lines = differences(text(one), other)
    assert lines[0] == "prior of `kind`: mode is 'a' in the study, 'b' here"
    assert all(line.startswith("prior of `kind`") for line in lines)


KEPT = {"x": 0.75, "n": 2, "kind": "a", "alpha": 0.5}


@pytest.mark.parametrize(
    "change",
    [
        *({"alpha": None}, {"alpha": 0.3}, {"alpha": 1}, {"kind": "b"}, {"kind": "c"}, {"n": 9}),
        *({"beta": "p"}, {"width": 16}, {"version": 3}, {"more": 1}, {"x": 0.25}, {"gamma": 2}),
        *({"kind": "b", "beta": "p"}, {"kind": "b", "alpha": ..., "beta": "p", "gamma": 3}),
        *({"alpha": ...}, {"x": ...}, {"kind": ...}, {"kind": None}, {"skip": 0.5}),
    ],
    ids=short_repr,
)
def test_data_that_is_no_conditional_configuration_is_refused(change: dict[str, Any]) -> None:
    read = config_reader(CONDITIONAL)
    assert read(KEPT) == KEPT
    assert list(read({"kind": "b", "n": 2, "x": 0.75, "gamma": 4, "beta": "p"}).items()) == [
        *(("x", 0.75), ("n", 2), ("kind", "b"), ("beta", "p"), ("gamma", 4), ("version", 3))
    ]
    data = {name: item for name, item in {**KEPT, **change}.items() if item is not ...}
    with pytest.raises(FormatError, match="This version does not write such data"):
        read(data)


def test_a_conditional_configuration_is_checked_when_it_is_written() -> None:
    write = config_writer(CONDITIONAL)
    assert write(Config(KEPT)) == KEPT
    assert repr(write(Config({**KEPT, "alpha": 0.5 + 1e-13}))) == repr(KEPT)
    for wrong in ({**KEPT, "beta": "p"}, {**KEPT, "version": 3}, {**KEPT, "alpha": 0.3}):
        with pytest.raises(ConfigError):
            write(Config(wrong))
    with pytest.raises(ConfigError, match="lacks 'alpha' .used with kind = 'a'"):
        write(Config(x=0.75, n=2, kind="a"))


CONFIG = {"lr": 0.05, "act": "relu"}


def test_a_configuration_is_read_in_order_with_its_constants() -> None:
    read = config_reader(Space({"c": Constant("x"), **SMALL.parameters}))
    made = read({"act": "relu", "lr": 0.05})
    assert list(made.items()) == [("c", "x"), ("lr", 0.05), ("act", "relu"), ("classes", 10)]
    assert type(made) is Config


def test_choices_are_read_as_the_very_objects_listed() -> None:
    choices: tuple[Any, ...] = (1, 2.5, True, None, "é", (1, (2,)), -math.inf, len, "\ud800", 0.0)
    space = Space(
        {"x": Categorical([c for c in choices if c is not True]), "o": Ordinal([True, 0])}
    )
    read, write = config_reader(space), config_writer(space)
    for choice in space.searched["x"].choices:
        data = text(write(Config(x=choice, o=True)))
        assert read(data)["x"] is choice
        assert read(data)["o"] is True
    assert write(Config(x=(1, (2,)), o=0)) == {"x": {"@": "choice", "index": 4}, "o": 0}


@pytest.mark.parametrize(
    "change",
    [
        *({"lr": 1}, {"lr": "0.05"}, {"lr": None}, {"lr": 0.2}, {"lr": math.nan}, {"lr": []}),
        *({"lr": True}, {"act": True}, {"act": 1.0}, {"act": "gelu"}, {"act": None}, {"act": []}),
        *({"act": {"@": "choice", "index": index}} for index in (0, 1, 3, -1, 2.0, True)),
        *({"act": {"@": "choice", "index": index}} for index in ("2", None)),
        *({"act": {}}, {"act": {"index": 2}}, {"act": {"@": "choice", "index": 2, "more": 1}}),
        *({"act": [2, math.inf]}, {"classes": 10}, {"more": 1}, {"n": 1.0}, {"n": True}, {"n": 9}),
    ],
    ids=short_repr,
)
def test_data_that_is_no_configuration_is_refused(change: dict[str, Any]) -> None:
    read = config_reader(Space({**SMALL.parameters, "n": Integer(1, 8)}))
    assert read({**CONFIG, "n": 3})["n"] == 3
    with pytest.raises(FormatError, match="This version does not write such data"):
        read({**CONFIG, "n": 3, **change})


@pytest.mark.parametrize("data", [None, [], {}, {"lr": 0.05}, {"act": 1}, "lr", Config(CONFIG)])
def test_what_is_not_a_dict_of_all_names_is_no_configuration(data: Any) -> None:
    with pytest.raises(FormatError, match="A configuration needs lr, act, got"):
        config_reader(SMALL)(data)


def test_values_that_merely_equal_the_spaces_own_are_written_as_those() -> None:
    write = config_writer(Space({**SMALL.parameters, "n": Integer(1, 8)}))
    config = Config(lr=np.float64(0.05), act=True, classes=10, n=np.int64(3))
    assert repr(write(config)) == "{'lr': 0.05, 'act': 1, 'n': 3}"
    assert repr(write(Config(lr=np.float32(0.05), act=1, classes=10, n=3.0))).endswith("'n': 3}")


@pytest.mark.parametrize(
    "change",
    [{"lr": 0.2}, {"lr": "a"}, {"act": "gelu"}, {"act": []}, {"classes": 11}, {"more": 1}],
    ids=repr,
)
def test_what_lies_outside_the_space_is_not_written(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"`?'?{next(iter(change))}"):
        config_writer(SMALL)(Config({**CONFIG, "classes": 10, **change}))
    with pytest.raises(ConfigError, match="lacks 'act'"):
        config_writer(SMALL)(Config(lr=0.05, classes=10))


def test_a_problem_is_a_value() -> None:
    assert problem() == problem() != problem(seed=1)
    assert hash(problem()) == hash(again(problem()))
    assert problem().optimizer == Optimizer(
        Hyperband(), ensemble(Ensemble(), Perturb()), problem().optimizer.opening
    )
    assert problem(optimizer=Optimizer(ASHA(), FromPrior())) != problem()
