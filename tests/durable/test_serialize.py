"""Values come back from their plain form as they were, and nothing else does."""

import json
import math
import pkgutil
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from enum import Enum
from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import priorband
from priorband import (
    Beta,
    Categorical,
    Constant,
    Fidelity,
    Float,
    Histogram,
    Integer,
    Mixture,
    Normal,
    Optimizer,
    Ordinal,
    Prior,
    Space,
    State,
    Uniform,
    Weights,
    from_samples,
    methods,
    optimizer,
    prior,
)
from priorband.conditions import Done, Drawn, Enough, Never, Spent, Trained
from priorband.durable.registry import registry
from priorband.durable.serialize import custom_part, from_data, short_repr, to_data
from priorband.errors import FormatError, MethodError, SingleRungWarning, SpaceError
from priorband.samplers import (
    TPE,
    Crossover,
    Draw,
    Ensemble,
    Fixed,
    FromPrior,
    FromUniform,
    GPSearch,
    Grid,
    Hypersphere,
    Mix,
    Perturb,
    PriorMode,
    Staged,
)
from priorband.samplers.ensemble_policy import (
    ConstantShare,
    Decay,
    Dynamic,
    Geometric,
    Half,
    Linear,
    Zero,
    ensemble,
)
from priorband.schedulers import Hyperband
from priorband.space.base import Parameter
from priorband.space.densities import Density, TruncatedNormal
from priorband.space.prior import Independent
from priorband.streams import Generator, generator
from priorband.testing import example_space

NEVER_STORED = {
    *("Decision", "Draw", "Promote", "Extra", "Continue", "Sample", "Scores", "Shares"),
    *("Evidence", "_FittedProcess", "_Inputs"),
    *("Bounds", "MovedChoices", "ValueGrid", "_Declared", "_Entry", "_ValueGroup"),
}
"""What a decision looks at and gives, and parts that are stored as something else, or not at all.

The method that decides is stored; a bound is part of what is stored of a condition.
"""

float32: Any = np.float32
int64: Any = np.int64

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"]))
)
NESTED = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(SCALARS.filter(lambda key: key == key), inner, max_size=3)
    ),
)
NUMBERS: list[Any] = [
    *(None, 2, 2.5, np.float64(2.5), Uniform(), Normal(3, sigma=0.1), Normal(3.0, "high")),
    *(Beta(2, 5), Beta(1, 1), Histogram([0.1, 0.2, 0.7]), Histogram((3, 1, 1, 0))),
    Mixture([2, Normal(4, 0.1), None, Histogram([0.3, 0.1, 0.1])], weights=[0.1, 0.2, 0.3, 0.1]),
    Mixture([Mixture([Beta(3, 2), 2.0], weights=[1, 6]), Normal(2)]),
]
CHOICES: tuple[Any, ...] = ("a", 1, 2.5, None, False, (1, (2.0, "b")), math.inf)
PICKS: list[Any] = [
    *(None, "a", (1, (2.0, "b")), math.inf, Uniform(), Weights(1, confidence=5), np.int64(1)),
    *({"a": 3, 1: 0.1, (1, (2.0, "b")): 2}, Weights({None: 1, False: 2.5}), Weights("a", "low")),
    Mixture(["a", {1: 0.1, "a": 0.2}, Weights(2.5, "high")], weights=[0.1, 0.2, 0.7]),
]
PARAMETERS: list[Parameter] = [
    *(Float(0.1, 9, log=log, prior=stated) for log in (False, True) for stated in NUMBERS),
    *(Integer(1, 9, prior=stated) for stated in NUMBERS if stated is None or stated == 2),
    *(Integer(1, 9, log=True, prior=Normal(3, 0.3)), Integer(1, 9, prior=Histogram([0.3, 0.1]))),
    *(Categorical(CHOICES, prior=stated) for stated in PICKS),
    *(Ordinal(CHOICES, prior=stated) for stated in PICKS if not isinstance(stated, Mixture)),
    *(
        Ordinal((1, 2), prior=Mixture([1, Beta(2, 2)])),
        Ordinal(tuple("abc"), prior=Histogram([1, 2, 6])),
    ),
    *(Float(0, 1, prior=0.3, confidence=0.07), Categorical(("a", "b"), prior="b", confidence=3)),
    Float(float32(0.1), np.float64(0.7), prior=float32(0.3), confidence=np.float64(0.3)),
]
UNTIL = (Done(3), Drawn(1), Spent(1.5), Trained(10), Enough(2, 2))
SAMPLERS: list[Any] = [
    *(FromUniform(), FromPrior(), PriorMode(), Grid(), Grid(int64(4)), Hypersphere(0.02, 1.1)),
    *(Perturb(0.1, np.float64(0.3), always_change=True), Crossover(Fixed((0.2, 0.3, 0.5)))),
    *(TPE(), TPE(32, 0.2), GPSearch("full", np.float64(3), combine="product"), GPSearch("joint")),
    *(Mix((FromUniform(), Grid(3)), Fixed((0.1, 0.9))), ensemble(around=Hypersphere())),
    *(Staged(PriorMode(), FromPrior(), until=until) for until in UNTIL),
    Staged(Grid(2), Mix([Staged(FromPrior(), PriorMode(), Never())], Fixed((1,))), Spent(2)),
    *(ensemble(Ensemble(share)) for share in (Geometric(), Half(), Linear())),
    *(
        ensemble(Ensemble(incumbent_share=share), around=Crossover(Ensemble(Half(), share)))
        for share in (Dynamic(), Dynamic(0.1), ConstantShare(), Decay(), Decay("resources"), Zero())
    ),
]
OPTIONS: list[dict[str, Any]] = [
    *({}, {"eta": 4}, {"sizes": "ceil"}, {"incumbent": "max_fidelity_first"}),
    {"eta": np.int64(2), "sizes": "ceil"},
]


def again(value: Any) -> Any:
    """A value after a way through text."""
    return from_data(json.loads(json.dumps(to_data(value), allow_nan=False)))


@given(NESTED)
def test_plain_values_come_back_with_their_types(value: Any) -> None:
    assert repr(again(value)) == repr(value)


@pytest.mark.parametrize("value", [-0.0, 5e-324, 1.7e308, 0.1 + 0.2, 2**9000, -(2**63), "\x00é😀"])
def test_scalars_come_back_to_the_last_bit(value: Any) -> None:
    assert repr(again(value)) == repr(value)
    assert type(again(value)) is type(value)


@pytest.mark.parametrize(
    ("scalar", "plain"), [(np.float32(0.5), 0.5), (np.int8(3), 3), (np.str_("a"), "a")]
)
def test_numpy_scalars_are_stored_as_pythons_own(scalar: Any, plain: Any) -> None:
    assert type(again(scalar)) is type(plain)
    assert again(scalar) == plain


@pytest.mark.parametrize("parameter", PARAMETERS, ids=repr)
def test_parameters_come_back_with_what_is_believed_of_them(parameter: Parameter) -> None:
    made = again(parameter)
    assert made == parameter
    assert repr(made) == repr(again(made))
    space, other = Space({"p": parameter}), Space({"p": made})
    assert repr(other.prior) == repr(space.prior)
    assert_alike(other.prior, space.prior)
    for position in (0.0, 0.3, 0.9999):
        code = position if parameter.size is None else int(position * parameter.size)
        assert repr(made.decode(code)) == repr(parameter.decode(code))
        assert made.encode(made.decode(code)) == parameter.encode(parameter.decode(code))


def assert_alike(one: Prior, other: Prior) -> None:
    """To the last bit, in all that a prior can do."""
    for _ in range(2):
        draws = [
            [p.sample(rng) for _ in range(20)] for p, rng in zip((one, other), rngs(), strict=True)
        ]
        rows = np.array(draws[0])
        assert np.array_equal(rows, np.array(draws[1]))
        assert np.array_equal(one.logpdf(rows), other.logpdf(rows))
        assert repr(one.mode) == repr(other.mode)
        centre = space_of(one).decode(rows[7])
        one, other = one.around(centre), other.around(centre)


def rngs() -> list[Generator]:
    return [generator(3, 1, "test") for _ in range(2)]


def space_of(prior: Prior) -> Space:
    assert isinstance(prior, Independent)
    return prior.space


STATED: list[Mapping[str, Any]] = [
    *({}, {"lr": 1e-2, "batch": 64}, {"lr": Mixture([1e-4, 1e-2], [0.1, 0.3]), "layers": 2}),
    {"momentum": Beta(5, 2), "width": Histogram([0.1, 0.2, 0.3]), "optimizer": {"sgd": 0.3}},
    {"nesterov": Weights(False, 9.5), "batch": {16: 0.1, 128: 0.7}, "lr": Normal(3e-3, 0.03)},
]


@pytest.mark.parametrize("stated", STATED, ids=repr)
def test_priors_come_back_to_the_last_bit(stated: Mapping[str, Any]) -> None:
    made = prior(example_space(), stated)
    assert again(made) == made
    assert again(made).space == example_space()
    assert_alike(again(made), made)


@pytest.mark.parametrize("count", [1, 2, 30])
def test_priors_from_samples_come_back_to_the_last_bit(count: int) -> None:
    space = example_space()
    rows = space.uniform(count, generator(0, 0, "test"))
    made = from_samples(space, [space.decode(row) for row in rows])
    assert again(made) == made
    assert_alike(again(made), made)


def test_a_space_comes_back_in_its_order_with_its_constants() -> None:
    space = Space({"z": Float(0, 1), "c": Constant(("x", 1.0)), "a": Ordinal([3, 1, 2])})
    assert again(space) == space
    assert list(again(space).parameters) == ["z", "c", "a"]


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
@pytest.mark.parametrize("method", methods())
def test_every_method_comes_back(method: str, options: dict[str, Any]) -> None:
    made = optimizer(method, **options)
    assert again(made) == made
    assert custom_part(made) is None


@pytest.mark.parametrize("name", ["asha", "asha+esp", "async-hyperband"])
def test_options_of_the_scheduler_come_back(name: str) -> None:
    made = optimizer(name, promotion="neps", eta=2)
    assert again(made) == made != optimizer(name, eta=2)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_every_sampler_comes_back(sampler: Any) -> None:
    assert again(sampler) == sampler
    assert again(sampler) == again(again(sampler))
    made = Optimizer(Hyperband(), sampler, opening=sampler)
    assert again(made) == made


@pytest.mark.parametrize("low", [1, 0.5, 26, 26.5])
@pytest.mark.filterwarnings("ignore::priorband.errors.SingleRungWarning:priorband")
def test_a_fidelity_comes_back_without_a_second_warning(low: float) -> None:
    if low < 10:
        made = Fidelity("epochs", low, 27)
    else:
        with pytest.warns(SingleRungWarning):
            made = Fidelity("epochs", low, 27)
    assert again(made) == made
    assert again(made).integer == made.integer
    assert type(again(made).high) is type(made.high)


def test_every_value_of_the_library_can_be_stored_or_need_not_be() -> None:
    known = set(registry().values())
    unknown = {kind.__name__ for kind in values() if kind not in known}
    assert unknown == NEVER_STORED
    assert known <= set(values())
    made = [*PARAMETERS, *SAMPLERS, *map(optimizer, methods()), *(p.prior for p in PARAMETERS)]
    assert {
        tag for tag in registry() if f'"{tag}"' not in json.dumps(list(map(to_data, made)))
    } <= {
        *("Constant", "Fidelity", "Stated", "BetaDensity", "Blend", "Choices", "Flat"),
        *("Steps", "TruncatedNormal"),
    }


def values() -> Iterator[type]:
    """The values that the library is made of, up to the optimizer."""
    for name in ("space", "samplers", "schedulers"):
        package = import_module(f"priorband.{name}")
        for module in pkgutil.iter_modules(package.__path__):
            yield from values_in(f"priorband.{name}.{module.name}")
    for name in ("conditions", "fidelity", "optimizers"):
        yield from values_in(f"priorband.{name}")


def values_in(module: str) -> Iterator[type]:
    for item in vars(import_module(module)).values():
        if isinstance(item, type) and item.__module__ == module and "__match_args__" in vars(item):
            yield item


def relu(x: float) -> float:
    return max(x, 0.0)


class Pair(NamedTuple):
    """A tuple that would come back as a plain one."""

    x: int
    y: int


class Word(str):
    """A text that would come back as a plain one."""


class Colour(Enum):
    """What has a name, but no plain value."""

    RED = 1


class Unprintable:
    """What cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def holding_itself() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


@pytest.mark.parametrize(
    "value",
    [
        *(relu, Pair(1, 2), Word("a"), Colour.RED, b"a", frozenset({1}), {1}, Float, np.zeros(2)),
        *(1j, Fraction(1, 3), OrderedDict(a=1), Unprintable(), "\ud800", "\ud83d\ude00", 10**5000),
        *(np.datetime64("2020"), np.longdouble(0.1), holding_itself(), range(3)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_would_not_come_back_is_refused(value: Any) -> None:
    for held in (value, (1, value), {"a": value}):
        with pytest.raises(SpaceError, match=r"cannot be stored.*Use a name such as 'relu'"):
            to_data(held)


def test_a_choice_that_is_no_plain_value_is_refused_by_what_it_is() -> None:
    with pytest.raises(SpaceError, match=r"^The value <function relu> cannot be stored"):
        to_data(Space({"act": Categorical([relu, "gelu"])}))


class OwnSampler:
    """A sampler of one's own."""

    def sample(self, state: State, rung: int, rng: Generator) -> Draw:
        return FromUniform().sample(state, rung, rng)


class OwnBelief:
    """A belief of one's own."""

    def on(self, parameter: Parameter) -> Density:
        return TruncatedNormal(0.5, 0.1)


OWN: list[tuple[Any, str]] = [
    (Optimizer(Hyperband(), OwnSampler()), "OwnSampler"),
    (Optimizer(Hyperband(), Mix([FromPrior(), OwnSampler()], Fixed((0.5, 0.5)))), "OwnSampler"),
    (Optimizer(Hyperband(), FromPrior(), opening=OwnSampler()), "OwnSampler"),
    (Staged(PriorMode(), FromPrior(), lambda state: True), "<lambda>"),
    (Ensemble(uniform_share=lambda state, rung: relu(0.1)), "<lambda>"),
    (Float(0, 1, prior=OwnBelief()), "OwnBelief"),
    (Float(0, 1, prior=Mixture([OwnBelief(), 0.3])), "OwnBelief"),
]


@pytest.mark.parametrize(("value", "name"), OWN, ids=lambda part: short_repr(part, 40))
def test_parts_of_ones_own_are_named_when_they_are_refused(value: Any, name: str) -> None:
    with pytest.raises(MethodError, match=rf"{name} is not part of this library.*cannot be stored"):
        to_data(value)
    assert (custom_part(value) or "").startswith("durable.test_serialize.")
    assert (custom_part(value) or "").endswith(name)


def test_an_option_that_the_library_let_pass_is_refused_when_it_is_stored() -> None:
    with pytest.raises(MethodError, match="Done takes no trials='3'"):
        to_data(Done("3"))  # type: ignore[arg-type]  # what is tested


FLOAT = to_data(Float(0, 1))
SPACE = to_data(Space({"x": Float(0, 1), "c": Categorical(("a", "b"))}))
PRIOR = to_data(Space({"x": Float(0, 1, prior=0.3), "c": Categorical(("a", "b"))}).prior)


def tagged(tag: object, **fields: Any) -> dict[str, Any]:
    return {"@": tag, **fields}


def pair(*items: Any) -> dict[str, Any]:
    return tagged("tuple", items=list(items))


def any_of(*items: Any) -> tuple[Any, ...]:
    return items


MALFORMED: list[Any] = [
    *({}, {"a": 1}, tagged(None), tagged([]), tagged("Nothing"), tagged("own", name="x")),
    *(tagged("Study"), tagged("__import__"), tagged("Sampler"), tagged("Config"), tagged("choice")),
    *(math.nan, math.inf, b"x", (1, 2), {1}, np.float64(1.0), relu, "\ud800", 10**5000),
    *(tagged("float", value=value) for value in any_of("0.5", "Infinity", 1.5, None, [])),
    *(tagged("float"), tagged("float", value="nan", more=1), tagged("tuple"), tagged("dict")),
    *(tagged("tuple", items=items) for items in any_of(None, "ab", {}, 3)),
    *(
        tagged("dict", items=items)
        for items in any_of(["ab"], [[1]], [[1, 2, 3]], {}, [[[], 1]], None)
    ),
    *(tagged("dict", items=[[1, "a"], [True, "b"]]), tagged("Space"), tagged("Space", items=[])),
    *(tagged("Space", parameters=items) for items in any_of([], [["x", 1]], [[1, FLOAT]], "ab")),
    tagged("Space", parameters=[["x", FLOAT], ["x", FLOAT]]),
    *({**FLOAT, "low": low} for low in any_of(2, "0", None, True, [0], math.nan, FLOAT)),
    *({**FLOAT, "log": log} for log in any_of(1, None, "yes")),
    *(
        {**FLOAT, **more}
        for more in any_of({"width": 1}, {"_start": 0.0}, {"self": 1}, {"prior": "a"})
    ),
    *(tagged("Float", low=0.0), tagged("Float", low=0.0, high=1.0, prior=tagged("Normal"))),
    *(
        tagged("Categorical", choices=items)
        for items in any_of([], "ab", pair(1, True), pair([]), None)
    ),
    *(tagged("Constant", value=value) for value in any_of([], tagged("dict", items=[]))),
    *(
        tagged("Histogram", weights=pair(*items))
        for items in any_of((), (0, 0), (1, 3), (-1, 2), "ab")
    ),
    tagged("Mixture", beliefs=pair(0.1, 0.2), weights=pair()),
    tagged("Mixture", beliefs=pair(0.1, 0.2), weights=pair(1.0)),
    *(tagged("Normal", centre=0.1, sigma=sigma) for sigma in any_of(0, "big", None, [])),
    *(tagged("Done", trials=trials) for trials in any_of("3", None, True, pair())),
    *(tagged("Perturb", rate=0), tagged("Perturb", always_change=1), tagged("Grid", points=1.5)),
    *(tagged("Dynamic", floor="a"), tagged("Decay", by=[]), tagged("ASHA", promotion={})),
    tagged(
        "Mix", samplers=pair(tagged("Hyperband")), weights=tagged("Fixed", probabilities=pair(1))
    ),
    tagged("Mix", samplers=pair(tagged("FromPrior")), weights=tagged("Never")),
    tagged("Mix", samplers=pair(), weights=tagged("Ensemble")),
    tagged("Ensemble", uniform_share=tagged("Zero")),
    tagged("Staged", first=tagged("Grid"), then=tagged("Grid"), until=tagged("Half")),
    tagged("Optimizer", scheduler=tagged("Grid"), sampler=tagged("Grid")),
    tagged("Optimizer", scheduler=tagged("ASHA"), sampler=tagged("Grid"), opening=3),
    *(
        tagged("Optimizer", scheduler=tagged("ASHA"), sampler=tagged("Grid"), eta=eta)
        for eta in any_of(1, 3.0)
    ),
    *(tagged("Fidelity", name=name, low=1, high=9) for name in any_of("", 3, None)),
    *(tagged("Fidelity", name="n", low=low, high=9) for low in any_of(0, 10, "1", None)),
    *(
        {**PRIOR, **more}
        for more in any_of({"space": None}, {"densities": []}, {"mode": {}}, {"more": 1})
    ),
    {**PRIOR, "densities": PRIOR["densities"][::-1]},
    {**PRIOR, "densities": [tagged("Flat"), tagged("Choices", probabilities=pair(0.2, 0.3, 0.5))]},
    *(
        tagged("TruncatedNormal", centre=c, sigma=s)
        for c, s in ((2, 1), (0, 0), (0.5, -1), ("", 1))
    ),
    *(tagged("BetaDensity", a=a, b=2.0) for a in any_of(0.5, tagged("float", value="nan"), None)),
    *(tagged("Choices", probabilities=pair(*p)) for p in ((), (0.5,), (2, -1), ("a",))),
    tagged("Choices", probabilities=[0.5, 0.5]),
    tagged("Blend", parts=pair(tagged("Flat")), weights=pair(0.5, 0.5)),
    tagged("Blend", parts=pair(tagged("Flat"), tagged("Flat")), weights=pair(0.0, 1.0)),
    tagged("Blend", parts=pair(tagged("Choices", probabilities=pair(1.0))), weights=pair(1.0)),
    *(tagged("Steps", edges=pair(*e), heights=pair(1.0, 1.0)) for e in ((), (0, 1), (0, 2, 1))),
    tagged("Steps", edges=pair(0.0, 0.5, 1.0), heights=pair(-1.0, 3.0)),
    tagged("Steps", edges=pair(0.0, 0.5, 1.0), heights=pair(0.0, tagged("float", value="inf"))),
]


@pytest.mark.parametrize("data", MALFORMED, ids=lambda data: short_repr(data, 60))
def test_malformed_data_makes_nothing(data: Any) -> None:
    for held in (data, [data], pair(1, data)):
        with pytest.raises(FormatError, match="This version does not write such data"):
            from_data(held)


def test_data_that_is_nested_without_end_makes_nothing() -> None:
    for inner in (lambda data: [data], pair, lambda data: tagged("Mixture", beliefs=pair(data))):
        data: Any = 1
        for _ in range(20_000):
            data = inner(data)
        with pytest.raises(FormatError, match="nested too deeply"):
            from_data(data)


def test_no_name_in_the_data_is_looked_up_anywhere_but_in_the_registry() -> None:
    for name in (
        "os.system",
        "priorband.Float",
        "builtins.print",
        "Study",
        "State",
        "Independent ",
    ):
        with pytest.raises(FormatError, match="known tag"):
            from_data(tagged(name))
    assert "Study" in priorband.__all__


@pytest.mark.parametrize("confidence", ["high", 0.1])
def test_a_stored_confidence_without_a_prior_is_left_out(confidence: Any) -> None:
    data = to_data(Float(0, 1)) | {"confidence": confidence}
    assert from_data(data) == Float(0, 1)
    with pytest.raises(FormatError):
        from_data(data | {"confidence": "hgh"})
