"""One face: a study in memory and studies in storage have the same properties and methods."""

import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import fresh_url

import priorband as pb
from priorband.benchmarks.hartmann import Hartmann
from priorband.durable.study import DurableStudy
from priorband.errors import ArgumentError, ConfigError, LossError, SpaceError, TrialError
from priorband.results.trial_records import TrialRecord
from priorband.study import BaseStudy, Study
from priorband.testing import play

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4), "c": pb.Categorical(["a", "b"])})
EPOCHS = pb.Fidelity("epochs", 1, 9)
CONFIG = {"x": 0.125, "c": "b"}
Open = Callable[..., BaseStudy]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """A function that creates a study from a space and the other arguments."""
    studies: list[DurableStudy] = []

    def create(*arguments: Any, **options: Any) -> BaseStudy:
        if request.param == "memory":
            return Study(*arguments, **options)
        where = str(tmp_path / f"study-{len(studies)}")
        if request.param == "postgres":
            where = fresh_url(request.getfixturevalue("postgres"))
            options["folder"] = tmp_path
        studies.append(pb.open_study(where, *arguments, **options))
        return studies[-1]

    yield create
    for study in studies:
        study.close()


def test_the_properties_are_the_arguments(opened: Open) -> None:
    beliefs = {"x": 0.3}
    study = opened(SPACE, EPOCHS, "asha+esp", 5, beliefs)
    assert study.space == SPACE and study.fidelity == EPOCHS and study.seed == 5
    assert study.optimizer == pb.optimizer("asha+esp")
    assert study.prior == pb.prior(SPACE, beliefs)
    assert study.state.space == study.space and study.state.prior == study.prior
    assert study.best is None and study.best_in_full is None


def test_asking_and_telling_gives_the_same_history_everywhere(opened: Open) -> None:
    study, memory = opened(SPACE, EPOCHS, seed=3), Study(SPACE, EPOCHS, seed=3)
    for one in (study, memory):
        assert one.add(CONFIG, 0.75).trial.origin == "imported"
        assert one.add(CONFIG, math.inf, 2.5).failed
        one.queue(CONFIG)
        one.queue(CONFIG | {"x": 0.5}, fidelity=3)
        for trial in play(one, 40, seed=1):
            assert one.state.history.trial(trial.id) == trial
    assert study.state.history.events == memory.state.history.events
    assert study.best == memory.best and study.best_in_full == memory.best_in_full
    assert study.replay().exact


def test_verbs_answer_alike(opened: Open) -> None:
    study = opened(SPACE, EPOCHS)
    first, second, third = study.ask(), study.ask(), study.ask()
    assert study.tell(first, 0.5, cost=2, accuracy=[0.5, None]) is True
    assert study.tell(second.id, math.nan) is True
    assert study.fail(third, "no luck", kind="memory") is True
    reasons = [study.state.history.outcome(trial.id) for trial in (second, third)]
    assert [outcome.reason if outcome else None for outcome in reasons] == [
        "diverged: the loss was nan",
        "memory: no luck",
    ]
    assert study.metrics(first) == {"accuracy": [0.5, None], "cost": 2.0}
    assert study.metrics(second.id) == {} and study.metrics(third) == {}
    assert study.best is not None and study.best.trial == first


def test_several_trials_can_be_asked_at_once(opened: Open) -> None:
    study, single = opened(SPACE, EPOCHS, "hyperband", 2), Study(SPACE, EPOCHS, "hyperband", 2)
    trials = study.ask(12)
    assert trials == [single.ask() for _ in range(12)]
    assert study.ask(1) == [single.ask()]
    assert all(study.tell(trial, 0.5) for trial in trials)
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(ArgumentError, match="`n` must be a whole number"):
            study.ask(wrong)  # type: ignore[arg-type]  # wrong on purpose


def test_asking_for_more_than_is_left_gives_what_is_left(opened: Open) -> None:
    space = pb.Space(c=pb.Categorical(["a", "b", "c"]))
    study = opened(space, method="grid")
    assert len(study.ask(10)) == 3
    with pytest.raises(pb.ExhaustedError):
        study.ask(10)


def test_a_study_that_maximises_is_told_values(opened: Open) -> None:
    study, twin = (
        opened(SPACE, EPOCHS, "hyperband", maximize=True),
        Study(SPACE, EPOCHS, "hyperband"),
    )
    assert study.maximize and not twin.maximize
    for number in range(30):
        assert study.tell(study.ask(), number / 7) and twin.tell(twin.ask(), -number / 7)
    assert study.add(CONFIG, 9.0) == twin.add(CONFIG, -9.0)
    assert study.add(CONFIG, math.inf, 2.5) == twin.add(CONFIG, math.inf, 2.5)
    assert study.state.history.events == twin.state.history.events
    assert study.best is not None and study.best.loss == -9.0
    best = study.trials()[study.best.trial.id]
    assert (best.value, best.loss, best.origin) == (9.0, -9.0, "imported")
    assert study.curves()[3].values == (3 / 7,) and study.replay().exact
    with pytest.raises(ArgumentError, match="`maximize` must be True or False"):
        opened(SPACE, EPOCHS, maximize="yes")


def test_trials_are_listed_alike(opened: Open) -> None:
    study, memory = opened(SPACE, EPOCHS, "hyperband"), Study(SPACE, EPOCHS, "hyperband")
    for one in (study, memory):
        one.tell(one.ask(), 0.5, cost=2, accuracy=[0.5, None])
        one.fail(one.ask(), "no luck", kind="memory")
        one.ask()
        one.add(CONFIG, 0.25, 2.5)
    known = [name for name in TrialRecord.__match_args__ if name not in STORED_ONLY]
    for record, other in zip(study.trials(), memory.trials(), strict=True):
        assert {n: getattr(record, n) for n in known} == {n: getattr(other, n) for n in known}
    assert repr(study.trials()) == "TrialRecords(4 trials: 2 succeeded, 1 failed, 1 running)"
    assert study.curves() == memory.curves()


STORED_ONLY = {"worker", "asked", "ended", "seconds", "checkpoint"}


def test_mistakes_are_refused_alike(opened: Open) -> None:
    study = opened(SPACE, EPOCHS)
    trial = study.ask()
    wrong: list[tuple[type[Exception], Callable[[], Any]]] = [
        (LossError, lambda: study.tell(trial, "low")),
        (LossError, lambda: study.tell(trial, 0.5, cost=math.inf)),
        (TrialError, lambda: study.tell(99, 0.5)),
        (TrialError, lambda: study.metrics(99)),
        (ArgumentError, lambda: study.fail(trial, kind="bored")),  # type: ignore[arg-type]  # wrong on purpose
        (ConfigError, lambda: study.queue({"x": 0.5})),
        (SpaceError, lambda: study.queue(CONFIG, fidelity=99)),
        (SpaceError, lambda: study.add(CONFIG, 0.5, fidelity=-1)),
        (SpaceError, lambda: study.set_prior({"unknown": 1})),
    ]
    for error, mistake in wrong:
        with pytest.raises(error):
            mistake()
    assert study.tell(trial, 0.5)
    with pytest.raises(TrialError, match="told already"):
        study.tell(trial, 0.5)
    with pytest.raises(TrialError, match="told already"):
        study.fail(trial)


def test_wrong_arguments_of_a_new_study_are_refused_alike(opened: Open) -> None:
    for error, arguments in (
        (SpaceError, ({"x": pb.Float(0, 1)},)),
        (SpaceError, (SPACE, 81)),
        (ArgumentError, (SPACE, EPOCHS, "random", 1.5)),
        (SpaceError, (SPACE, EPOCHS, "random", 0, {"y": 1})),
        (pb.errors.MethodError, (SPACE, EPOCHS, "rondom")),
    ):
        with pytest.raises(error):
            opened(*arguments)


def test_a_warning_about_a_missing_fidelity_names_the_caller(opened: Open) -> None:
    with pytest.warns(pb.errors.SingleRungWarning) as caught:
        opened(SPACE)
    assert Path(caught[0].filename) == Path(__file__)


def test_a_study_follows_another_of_any_kind(opened: Open) -> None:
    memory = Study(SPACE, EPOCHS, seed=3)
    memory.add(CONFIG, 0.75)
    memory.queue(CONFIG)
    for trial in play(memory, 60, seed=2):
        if trial.id == 30:
            memory.set_prior({})
    study = opened(SPACE, EPOCHS, seed=3)
    study.follow(memory.state.history.events)
    assert study.state.history.events == memory.state.history.events
    assert study.replay().exact
    again = Study(SPACE, EPOCHS, seed=3)
    again.follow(study.state.history.events)
    assert again.best == study.best


def test_what_takes_a_study_takes_both(opened: Open) -> None:
    bench = Hartmann(3)
    study = opened(bench.space, bench.fidelity, "hyperband", 1)
    runs = pb.simulate(study, bench, workers=4, budget=3)
    memory = Study(bench.space, bench.fidelity, "hyperband", 1)
    assert runs == pb.simulate(memory, bench, workers=4, budget=3)


def test_methods_have_the_same_arguments() -> None:
    """A stored study may take more, such as `hold`, but nothing of another type."""
    names = [name for name in BaseStudy.__abstractmethods__ if callable(getattr(Study, name))]
    verbs = {"ask", "tell", "fail", "queue", "retry", "set_prior", "add", "follow"}
    assert verbs | {"metrics", "trials", "curves"} == {*names}
    for name in names:
        base = inspect.signature(getattr(BaseStudy, name))
        for cls in (Study, DurableStudy):
            signature = inspect.signature(getattr(cls, name))
            shared = [signature.parameters[parameter] for parameter in base.parameters]
            assert shared == list(base.parameters.values()), (cls, name)
            assert signature.return_annotation == base.return_annotation, (cls, name)
