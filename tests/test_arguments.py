"""What a person in a hurry passes: each mistake is told what was wrong and what is allowed."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import priorband as pb
from priorband import Fidelity, Float, PriorbandError, Space, Study
from priorband.errors import LossError, SpaceError, TrialError

lib: Any = pb  # a person in a hurry has no type checker
Make = Callable[[], object]
HUGE = 10**400


def space() -> pb.Space:
    return pb.Space({"x": pb.Float(0, 1), "c": pb.Categorical(["a", "b"]), "k": pb.Constant(3)})


def study(method: str = "random", **options: Any) -> Any:
    return lib.Study(space(), pb.Fidelity("epochs", 1, 9), method, **options)


def asked() -> tuple[Any, Any]:
    fresh = study()
    return fresh, fresh.ask()


CONFIG = {"x": 0.5, "c": "a", "k": 3}

BOUNDS: list[tuple[Make, str]] = [
    (lambda: lib.Float(1, 0), "`low` must be below `high`, got low=1.0 and high=0.0."),
    (lambda: lib.Float(1, 1), "got low=1.0 and high=1.0. For a single value use Constant."),
    (lambda: lib.Integer(3, 1), "`low` must be below `high`, got low=3 and high=1."),
    (lambda: lib.Integer(3, 3), "got low=3 and high=3. For a single value use Constant."),
    (lambda: lib.Float(0, 1, log=True), "A log scale needs `low` above 0, got 0.0. Raise `low`,"),
    (lambda: lib.Float(-1, 1, log=True), "A log scale needs `low` above 0, got -1.0. Raise `low`,"),
    (lambda: lib.Integer(0, 9, log=True), "`low` of at least 1, got 0. Raise `low`, or drop `log"),
    (lambda: lib.Float("0", "1"), "`low` must be a finite number, got '0'."),
    (lambda: lib.Float(None, 1), "`low` must be a finite number, got None."),
    (lambda: lib.Float([0, 1], 2), "`low` must be a finite number, got [0, 1]."),
    (lambda: lib.Float(0, math.nan), "`high` must be a finite number, got nan."),
    (lambda: lib.Float(0, math.inf), "`high` must be a finite number, got inf."),
    (lambda: lib.Float(False, True), "`low` must be a finite number, got False."),
    (lambda: lib.Float(0, 1j), "`high` must be a finite number, got 1j."),
    (lambda: lib.Float(0, np.ones(2)), "`high` must be a finite number, got array([1., 1.])."),
    (lambda: lib.Float(-1.7e308, 1.7e308), "-1.7e+308 to 1.7e+308 is too wide for a float."),
    (lambda: lib.Float(0, HUGE), "`high` must be a finite number"),
    (lambda: lib.Integer(1, HUGE), "`high`"),
    (lambda: lib.Integer(-17 * 10**307, 17 * 10**307), "wide"),
    (lambda: lib.Integer(1.5, 3), "`low` must be a whole number, got 1.5."),
    (lambda: lib.Integer("1", "3"), "`low` must be a whole number, got '1'."),
    (lambda: lib.Integer(1, math.inf), "`high` must be a whole number, got inf."),
    (lambda: lib.Float(1e-3, 1, log="no"), "`log` must be True or False, got 'no'."),
    (
        lambda: lib.Fidelity("epochs", 9, 1),
        "must not be above `high`, got low=9 and high=1. The shortest",
    ),
    (
        lambda: lib.Fidelity("epochs", 0, 9),
        "`low` of the fidelity `epochs` must be above 0, got 0. Give",
    ),
    (
        lambda: lib.Fidelity("epochs", "1", "9"),
        "`low` of the fidelity `epochs` must be a finite number, got '1'.",
    ),
    (
        lambda: lib.Fidelity("epochs", 1, math.inf),
        "`high` of the fidelity `epochs` must be a finite number, got inf.",
    ),
    (lambda: lib.Fidelity("epochs", 1, math.nan), "`epochs` must be a finite number, got nan."),
    (lambda: lib.Fidelity("epochs", True, 9), "`epochs` must be a finite number, got True."),
    (lambda: lib.Fidelity("epochs", 1, HUGE), "`epochs` must be a finite number"),
    (
        lambda: lib.Fidelity(1, 9, 81),
        "`name` of a fidelity must be text such as 'epochs', got 1. Write",
    ),
    (lambda: lib.Fidelity("", 1, 9), "must be text such as 'epochs', got ''."),
    (lambda: lib.Fidelity("a\nb", 1, 9), r"got 'a\nb'"),
]

MISFITS: list[tuple[Make, str]] = [
    (lambda: lib.Study({"x": pb.Float(0, 1)}), "`space` must be a Space, got {'x': Float("),
    (lambda: lib.Study(None), "`space` must be a Space, got None. Write Space({...})."),
    (lambda: lib.Study(space(), ("epochs", 1, 9)), "must be a Fidelity, got ('epochs', 1, 9)."),
    (lambda: lib.Study(space(), 81), "`fidelity` must be a Fidelity, got 81."),
    (lambda: lib.Study(space(), pb.Fidelity("x", 1, 9)), "`x` is the fidelity, so it cannot be"),
    (lambda: lib.Study(space(), pb.Fidelity("k", 1, 9)), "searched too. Take it out of the space:"),
    (lambda: lib.Study(space(), pb.Fidelity("\uff58", 1, 9)), "is the fidelity"),
    (lambda: study(seed=1.0), "`seed` must be a whole number, such as 0, got 1.0."),
    (lambda: study(seed="1"), "`seed` must be a whole number, such as 0, got '1'."),
    (lambda: study(seed=None), "`seed` must be a whole number, such as 0, got None."),
    (lambda: study(seed=True), "`seed` must be a whole number, such as 0, got True."),
    (
        lambda: study(seed=np.arange(2)),
        "`seed` must be a whole number, such as 0, got array([0, 1]).",
    ),
    (lambda: study().queue(CONFIG, fidelity=0), "must lie in (0, 9], got 0."),
    (lambda: study().queue(CONFIG, fidelity=10), "must lie in (0, 9], got 10."),
    (lambda: study().queue(CONFIG, fidelity="3"), "`epochs` must"),
    (lambda: study().queue(CONFIG, fidelity=2.5), "`epochs` must"),
    (lambda: study().add(CONFIG, 0.1, fidelity=[3]), "`epochs` must"),
    (lambda: study().add(CONFIG, None), "`loss` must be one real number, such as 0.31, got None."),
    (
        lambda: study().add({"x": 0.5}, 0.1),
        "The configuration lacks 'c', 'k'. It needs exactly: x,",
    ),
    (lambda: study().queue({**CONFIG, "y": 1}), "has unknown 'y'. It needs exactly: x, c, k."),
    (lambda: lib.simulate(study(), 3), "got 3"),
    (lambda: lib.simulate(study(), len, workers=0), "of at least 1, got 0."),
    (lambda: lib.simulate(study(), len, budget="9"), "of full trainings, got '9'."),
]


@pytest.mark.parametrize(("make", "message"), BOUNDS, ids=[text for _, text in BOUNDS])
def test_bounds_that_cannot_be_are_refused(make: Make, message: str) -> None:
    with pytest.raises(SpaceError) as caught:
        make()
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(("make", "message"), MISFITS, ids=[text for _, text in MISFITS])
def test_what_does_not_fit_a_study_is_refused(make: Make, message: str) -> None:
    with pytest.raises(PriorbandError) as caught:
        make()
    assert message in str(caught.value)


class Scalar:
    """A tensor of one number, as torch has them."""

    shape = ()

    def __init__(self, value: Any = 0.25) -> None:
        self.value = value

    def item(self) -> Any:
        return self.value

    def __repr__(self) -> str:
        return f"Scalar({self.value!r})"


class Tensor:
    """A tensor of several numbers."""

    shape = (1, 3)

    def item(self) -> float:
        raise RuntimeError("a Tensor with 3 elements cannot be converted to Scalar")

    def __float__(self) -> float:
        return 0.25


@pytest.mark.parametrize(
    "loss",
    [0.25, Fraction(1, 4), np.float64(0.25), np.float32(0.25), np.array(0.25), Scalar(), 1]
    + [np.int8(1), np.uint64(1), True + 0, Scalar(1), Decimal("0.25")],
    ids=repr,
)
def test_a_number_of_python_numpy_or_torch_is_a_loss(loss: Any) -> None:
    fresh, trial = asked()
    fresh.tell(trial, loss)
    assert fresh.best.loss in (0.25, 1.0)
    assert type(fresh.best.loss) is float


def test_a_scalar_of_torch_is_a_loss() -> None:
    torch = pytest.importorskip("torch")
    for loss in (torch.tensor(0.25), torch.tensor(0.25, requires_grad=True)):
        fresh, trial = asked()
        fresh.tell(trial, loss)
        assert fresh.best.loss == 0.25


@pytest.mark.parametrize(
    "loss", [math.nan, math.inf, -math.inf, np.float32("nan"), Scalar(math.nan)]
)
def test_a_loss_that_is_not_finite_is_a_failure(loss: Any) -> None:
    fresh, trial = asked()
    fresh.tell(trial, loss)
    [outcome] = fresh.state.history.observations
    assert outcome.failed and outcome.reason.startswith("diverged: the loss was")
    assert fresh.best is None


@pytest.mark.parametrize(
    ("loss", "shown"),
    [
        *(
            ("0.31", "'0.31'"),
            (None, "None"),
            (1j, "1j"),
            (np.complex128(1), repr(np.complex128(1))),
        ),
        *((b"1", "b'1'"), (True, "True"), (np.bool_(True), repr(np.bool_(True))), ([0.3], "[0.3]")),
        *(({"loss": 0.3}, "{'loss': 0.3}"), (np.str_("1"), repr(np.str_("1"))), ((0.3,), "(0.3,)")),
        *((np.array([0.3, 0.4]), "an array of shape (2,)"), (np.ones(1), "an array of shape (1,)")),
        *((np.ones((0, 2)), "an array of shape (0, 2)"), (Tensor(), "an array of shape (1, 3)")),
        (np.ma.masked, "masked"),
    ],
)
def test_a_loss_that_is_not_one_number_is_refused_and_the_trial_stays_open(
    loss: Any, shown: str
) -> None:
    fresh, trial = asked()
    with pytest.raises(LossError) as caught:
        fresh.tell(trial, loss)
    expected = f"`loss` must be one real number, such as 0.31, got {shown}. If the trial has no "
    assert str(caught.value).startswith(expected) or isinstance(loss, dict)
    assert isinstance(caught.value, TypeError)
    fresh.tell(trial, 0.5)
    assert fresh.best.loss == 0.5


def test_a_loss_too_large_for_a_float_is_refused_or_a_failure() -> None:
    fresh, trial = asked()
    try:
        fresh.tell(trial, HUGE)
    except LossError as error:
        assert "got" in str(error)
    else:
        assert fresh.state.history.observations[0].failed


def ended(loss: float | None = None, reason: str = "") -> Any:
    """A study whose only trial has ended."""
    fresh, trial = asked()
    fresh.fail(trial, reason) if loss is None else fresh.tell(trial, loss)
    return fresh


ONCE = "Trial 0 was told already, {}. A trial is told once."
TRIALS: list[tuple[Make, str]] = [
    (lambda: ended(0.31).tell(0, 0.31), ONCE.format("with loss 0.31")),
    (
        lambda: ended(reason="out of memory").tell(0, 1),
        ONCE.format("as failed (raised: out of memory)"),
    ),
    (lambda: ended().fail(0), ONCE.format("as failed (raised)")),
    (lambda: study().tell(0, 0.1), "`trial` 0 is not in this study: it has no trials yet."),
    (lambda: asked()[0].tell(17, 0.1), "`trial` 17 is not in this study: it has trial 0 only."),
    (lambda: asked()[0].tell(-1, 0.1), "`trial` -1 is not in this study: it has trial 0 only."),
    (lambda: asked()[0].fail(1), "`trial` 1 is not in this study: it has trial 0 only."),
    (lambda: asked()[0].tell(True, 0.1), "`trial` must be a Trial or its id, got True."),
    (lambda: asked()[0].tell("0", 0.1), "`trial` must be a Trial or its id, got '0'."),
    (lambda: asked()[0].tell(0.0, 0.1), "`trial` must be a Trial or its id, got 0.0."),
    (lambda: asked()[0].tell(None, 0.1), "`trial` must be a Trial or its id, got None."),
    (lambda: asked()[0].tell(CONFIG, 0.1), "`trial` must be a Trial or its id, got {'x': 0.5,"),
    (
        lambda: asked()[0].tell(study(seed=1).ask(), 0.1),
        "is a different one: was it asked from another study?",
    ),
]


@pytest.mark.parametrize(("make", "message"), TRIALS, ids=[text for _, text in TRIALS])
def test_a_trial_that_cannot_be_told_is_refused(make: Make, message: str) -> None:
    with pytest.raises(TrialError) as caught:
        make()
    assert message in str(caught.value)


def test_an_id_of_numpy_is_an_id() -> None:
    fresh, _ = asked()
    fresh.tell(np.int64(0), 0.5)
    assert fresh.best.loss == 0.5


def test_a_refusal_leaves_the_study_as_it_was() -> None:
    fresh, _ = asked()
    before = fresh.state.history.events
    mistakes: list[Make] = [
        *(lambda: fresh.tell(0, "a"), lambda: fresh.tell(9, 1), lambda: fresh.queue({})),
        *(lambda: fresh.fail(None), lambda: fresh.add(CONFIG, 0.1, fidelity=99)),
    ]
    for mistake in mistakes:
        with pytest.raises(PriorbandError):
            mistake()
    assert fresh.state.history.events == before


junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers() | st.just(HUGE),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=3) | st.binary(max_size=3),
    st.lists(st.integers(), max_size=2) | st.dictionaries(st.text(max_size=1), st.none()),
    st.sampled_from([np.ones(2), np.array(0.5), object, len, np.float32(2), pb.Normal, math.nan]),
)


@settings(max_examples=examples(120))
@given(junk, junk, junk)
def test_nothing_that_a_person_passes_brings_another_error_than_ours(
    a: Any, b: Any, c: Any
) -> None:
    makes: list[Make] = [
        lambda: lib.Float(a, b, prior=c),
        lambda: lib.Integer(a, b, prior=c),
        lambda: lib.Float(0, 1, prior=a, confidence=b),
        lambda: lib.Categorical(a, prior=b, confidence=c),
        lambda: lib.Ordinal([a, b], prior=c),
        lambda: lib.Fidelity("epochs", a, b, prior=c),
        lambda: lib.Space({"x": a, "y": b}),
        lambda: study(seed=a, prior=b),
        lambda: asked()[0].tell(a, b),
        lambda: study().queue(a, b),
        lambda: lib.optimizer("hyperband", eta=a, sizes=b),
    ]
    for make in makes:
        try:
            make()
        except (PriorbandError, pb.errors.SingleRungWarning):
            continue


@pytest.mark.parametrize(
    "make",
    [
        lambda: lib.optimizer("hyperband", sizes=np.ones(2)),
        lambda: lib.optimizer("hyperband", incumbent=np.ones(2)),
        lambda: lib.optimizer("asha", promotion=np.ones(2)),
        lambda: asked()[0].fail(0, kind=np.ones(2)),
        lambda: lib.samplers.GPSearch(np.ones(2)),
        lambda: lib.samplers.Decay(np.ones(2)),
    ],
)
def test_an_array_in_the_place_of_a_word_is_refused(make: Make) -> None:
    with pytest.raises(PriorbandError):
        make()


UNIT = Space({"x": Float(0, 1, prior=0.3)})


def test_a_decimal_that_signals_is_no_loss() -> None:
    study = Study(UNIT, Fidelity("epochs", 1, 9))
    with pytest.raises(LossError, match="must be one real number"):
        study.tell(study.ask(), Decimal("sNaN"))
