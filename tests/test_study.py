"""What people do with a study: wishes, results from elsewhere, questions, threads, copies."""

import copy
import json
import math
import pickle
import sys
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest
from amounts import MODELLED, slow

from priorband import (
    Config,
    Fidelity,
    Float,
    Integer,
    Optimizer,
    Space,
    Study,
    methods,
    optimizer,
    simulate,
)
from priorband.errors import ConfigError, SingleRungWarning, SpaceError
from priorband.samplers import FromUniform, PriorMode, Shares
from priorband.schedulers import ASHA, Hyperband
from priorband.testing import Flaky, example_space, noise, play
from priorband.trial import Slot

SPACE = Space({"x": Float(0.0, 1.0, prior=0.4), "n": Integer(1, 100)})
WISH = {"x": 0.123, "n": 7}
ORIGINS = ("uniform", "prior", "incumbent")
MODEL_COMES_FIRST = ("mobster+esp", "priorband+bo(rung)")  # before an incumbent is trusted
ESP = [name for name in methods() if "priorband" in name or "esp" in name]


def study(method: str | Optimizer = "priorband", high: int = 27) -> Study:
    return Study(SPACE, Fidelity("epochs", 1, high), method)


def work(tuned: Study, trials: int) -> None:
    for _ in range(trials):
        trial = tuned.ask()
        tuned.tell(trial, noise(trial.config, trial.fidelity))


# Queueing


@pytest.mark.parametrize("method", methods())
def test_a_queued_configuration_takes_the_place_of_the_next_draw(method: str) -> None:
    tuned, plain = study(method), study(method)
    work(tuned, 2)
    work(plain, 2)
    tuned.queue(WISH)
    trial, instead = tuned.ask(), plain.ask()
    assert trial.config == WISH and trial.origin == "queued"
    assert (trial.slot, trial.fidelity, trial.parent) == (instead.slot, instead.fidelity, None)
    assert tuned.replay().exact


@pytest.mark.parametrize(
    ("method", "later"),
    [
        *((method, 9 if method in MODELLED else 60) for method in methods()),
        *(pytest.param(method, 60, marks=slow) for method in MODELLED),
    ],
)
@pytest.mark.parametrize("fidelity", [3, 5, 27])
def test_a_configuration_queued_at_a_fidelity_is_evaluated_there(
    method: str, later: int, fidelity: int
) -> None:
    tuned = study(method)
    work(tuned, 3)
    tuned.queue(WISH, fidelity)
    trial = tuned.ask()
    assert (trial.config, trial.fidelity, trial.slot) == (WISH, fidelity, None)
    tuned.tell(trial, -1.0)
    work(tuned, later)
    assert not tuned.state.history.promoted(trial.id)
    assert tuned.best is not None and tuned.best.trial == trial
    assert tuned.replay().exact


def test_wishes_are_served_in_order_and_before_the_opening() -> None:
    tuned = study()
    tuned.queue({"x": 0.1, "n": 1})
    tuned.queue({"x": 0.2, "n": 2}, fidelity=2)
    tuned.queue({"x": 0.3, "n": 3})
    trials = [tuned.ask() for _ in range(5)]
    assert [trial.config["n"] for trial in trials[:3]] == [1, 2, 3]
    assert [trial.origin for trial in trials[:4]] == ["queued"] * 3 + ["mode"]
    assert (trials[3].slot, trials[3].fidelity) == (None, 27)
    assert trials[4].slot == Slot(0, 0)


@pytest.mark.parametrize("wishes", [1, 9, 10, 14])
def test_the_opening_comes_after_however_many_wishes(wishes: int) -> None:
    tuned = study(Optimizer(Hyperband(), FromUniform(), opening=PriorMode()), high=9)
    for n in range(wishes):
        tuned.queue({"x": 0.5, "n": n + 1})
    work(tuned, wishes + 20)
    assert [t.origin for t in tuned.state.history.trials].count("mode") == 1


@pytest.mark.parametrize("method", ["hyperband", "asha", "priorband", "sh"])
def test_a_queued_configuration_is_promoted_like_any_other(method: str) -> None:
    tuned = study(method)
    tuned.queue(WISH)
    first = tuned.ask()
    tuned.tell(first, -5.0)
    for _ in range(60):
        tuned.tell(trial := tuned.ask(), -5.0 if trial.root == first.id else 1.0)
    risen = [t for t in tuned.state.history.trials if t.root == first.id]
    assert [t.fidelity for t in risen] == [1, 3, 9, 27]
    assert {t.origin for t in risen} == {"queued"} and all(t.config == WISH for t in risen)
    assert tuned.replay().exact


def test_promotions_come_before_wishes() -> None:
    tuned = study("asha", high=3)
    work(tuned, 3)
    tuned.queue(WISH)
    promoted, wished = tuned.ask(), tuned.ask()
    assert promoted.parent is not None and wished.config == WISH


@pytest.mark.parametrize(
    ("config", "fidelity", "error"),
    [
        ({"x": 2.0, "n": 7}, None, ConfigError),
        ({"x": 0.5}, None, ConfigError),
        (WISH, 0, SpaceError),
        (WISH, 28, SpaceError),
        (WISH, "many", SpaceError),
    ],
)
def test_a_wish_that_cannot_be_is_refused(config: Any, fidelity: Any, error: type) -> None:
    tuned = study()
    with pytest.raises(error):
        tuned.queue(config, fidelity)
    assert tuned.state.history.events == ()


def test_wishes_become_plain_values_of_their_parameters() -> None:
    tuned = study()
    tuned.queue({"x": np.float32(0.5), "n": np.int64(3)})
    tuned.queue({"x": 1, "n": 3.0})
    kinds = [[type(value) for value in tuned.ask().config.values()] for _ in range(2)]
    assert kinds == [[float, int], [float, int]]


# Questions


@pytest.mark.parametrize("method", [name for name in ESP if name not in MODEL_COMES_FIRST])
def test_replay_gives_the_chances_behind_every_draw(method: str) -> None:
    tuned = Study(example_space(), Fidelity("epochs", 1, 27), method, seed=1)
    simulate(tuned, Flaky(rate=0.1), workers=4, budget=14)
    replay, scored, incumbents = tuned.replay(), 0, 0
    for trial in tuned.state.history.trials:
        chances = replay[trial.id].chances
        assert (chances is None) == (trial.origin in ("mode", "model"))
        assert chances == replay[trial.root].chances
        if not isinstance(chances, Shares) or trial.parent is not None:
            continue
        shares = (chances.p_uniform, chances.p_prior, chances.p_incumbent)
        assert chances.probabilities == shares and min(shares) >= 0
        assert sum(shares) == pytest.approx(1)
        assert shares[ORIGINS.index(trial.origin)] > 0
        incumbents += chances.p_incumbent > 0
        if chances.scores is not None:
            scored += 1
            lead = chances.scores.incumbent - chances.scores.prior
            odds = chances.p_incumbent / (chances.p_incumbent + chances.p_prior)
            both_impossible = math.isnan(lead)  # the space's prior has hard edges
            assert odds == pytest.approx(0.5 if both_impossible else 1 / (1 + math.exp(-lead)))
            assert chances.scores.top >= 3 and 0 <= chances.scores.rung <= 3
    evidence = not any(word in method for word in ("constant", "decay", "no-incumbent"))
    assert bool(scored) == evidence and bool(incumbents) == ("no-incumbent" not in method)


# Threads


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def _together(*jobs: Any) -> None:
    troubles: list[BaseException] = []

    def guarded(job: Any) -> None:
        try:
            job()
        except BaseException as trouble:  # an assertion, too, must reach the test
            troubles.append(trouble)

    threads = [Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not troubles, troubles[0]


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("method", ["priorband", "asha+esp", "hyperband"])
def test_eight_threads_ask_and_tell_at_once(method: str) -> None:
    tuned = study(method)
    asked: list[int] = []

    def worker() -> None:
        for _ in range(25):
            trial = tuned.ask()
            asked.append(trial.id)
            if trial.id % 7 == 3:
                tuned.fail(trial, "gone")
            else:
                tuned.tell(trial, noise(trial.config, trial.fidelity))

    _together(*[worker] * 8)
    assert sorted(asked) == list(range(200))
    assert [trial.id for trial in tuned.state.history.trials] == list(range(200))
    assert len(tuned.state.history.observations) == 200
    assert tuned.replay().exact


@pytest.mark.usefixtures("hurried")
def test_a_history_read_by_one_thread_stands_still_while_another_tells() -> None:
    studies = [study(Optimizer(ASHA(), FromUniform()))]
    done: list[bool] = []

    def worker() -> None:
        try:
            for seed in range(300):
                studies.append(study(Optimizer(ASHA(), FromUniform())))
                for _ in play(studies[-1], 30, seed, workers=3):
                    pass
        finally:
            done.append(True)

    def reader() -> None:
        while not done:
            history = studies[-1].state.history
            asked = sum(type(event).__name__ == "Asked" for event in history.events)
            assert len(history) == asked
            assert len(history.running) + len(history.observations) == asked

    _together(worker, reader)


# Configurations


def test_a_config_cannot_be_changed() -> None:
    config: Any = study().ask().config
    before = dict(config)
    changes: tuple[Callable[[], object], ...] = (
        lambda: config.__setitem__("x", 0.5),
        lambda: config.__delitem__("x"),
        lambda: config.update(x=0.5),
        lambda: config.pop("x"),
        lambda: config.popitem(),
        lambda: config.setdefault("y", 1),
        lambda: config.clear(),
        lambda: config.__ior__({"x": 0.5}),
    )
    for change in changes:
        with pytest.raises(TypeError, match="cannot be changed"):
            change()
    assert config == before


def test_a_config_can_be_copied_pickled_and_dumped() -> None:
    trial = Study(example_space(), Fidelity("epochs", 1, 27)).ask()
    config = trial.config
    for twin in (copy.copy(config), copy.deepcopy(config), pickle.loads(pickle.dumps(config))):
        assert twin == config and isinstance(twin, Config) and list(twin) == list(config)
    assert json.loads(json.dumps(config)) == config == dict(config)
    assert dict(config, lr=0.1)["lr"] == 0.1 and (config | {"lr": 0.1})["lr"] == 0.1
    assert pickle.loads(pickle.dumps(trial)) == trial == copy.deepcopy(trial)


UNIT = Space({"x": Float(0, 1, prior=0.3)})


def test_a_study_warns_of_a_single_rung_at_its_own_eta_and_not_otherwise() -> None:
    space = Space({"x": Float(0, 1)})
    narrow = Fidelity("epochs", 1, 3)
    Study(space, narrow, "hyperband")
    Study(space, narrow, optimizer("hyperband", eta=2))
    Study(space, narrow, optimizer("random", eta=4))
    with pytest.warns(SingleRungWarning, match="from 1 to 3 has a single rung with eta=4"):
        Study(space, narrow, optimizer("hyperband", eta=4))
    with pytest.warns(SingleRungWarning, match="No fidelity was given"):
        Study(space, method="hyperband")
    Study(space, method="random")


def test_equal_trials_have_equal_hashes() -> None:
    trials = [Study(UNIT, Fidelity("epochs", 1, 9), seed=3).ask() for _ in range(2)]
    assert trials[0] == trials[1] and len(set(trials)) == 1
    assert hash(Config(a=1, b=2)) == hash(Config(b=2, a=1))
