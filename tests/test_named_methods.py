"""Methods by name: each is one composition, and the face that a user sees works as shown."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import priorband as pb
from priorband import Optimizer
from priorband.errors import MethodError
from priorband.samplers import Mix, Perturb, PriorMode, Staged
from priorband.samplers.base import Sampler
from priorband.samplers.ensemble_policy import Ensemble

lib: Any = pb  # a person in a hurry has no type checker
NAMES = [
    *("random", "random+prior", "random+prior(50%)", "grid", "sh"),
    *("hyperband", "hyperband+prior", "hyperband+prior(50%)", "hyperband+prior(12.5%)"),
    *("asha", "asha+prior", "asha+esp"),
    *("async-hyperband", "async-hyperband+prior", "async-hyperband+esp"),
    *("priorband", "priorband(50%)", "priorband(linear)", "priorband(constant)"),
    *("priorband(decay)", "priorband(crossover)", "priorband(hypersphere)"),
    *("priorband(no-incumbent)", "priorband(mode@min)", "priorband(no-mode)"),
    *("priorband(rate=0.25)", "priorband(rate=0.75)"),
    *("priorband(sigma=0.125)", "priorband(sigma=0.5)"),
]
every = pytest.mark.parametrize("name", NAMES)


def face() -> pb.Space:
    return pb.Space(
        {
            "lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
            "dropout": pb.Float(0.0, 0.9, prior=pb.Normal(0.2, sigma=0.1)),
            "batch_size": pb.Integer(16, 512, log=True),
            "optimizer": pb.Categorical(["sgd", "adam"], prior="adam"),
            "depth": pb.Ordinal([2, 4, 8, 16], prior=4),
            "classes": pb.Constant(10),
        }
    )


def loss_of(trial: pb.Trial) -> float:
    config = trial.config
    return float(abs(math.log10(config["lr"]) + 2.5) + config["dropout"] + 1 / trial.fidelity)


def run(method: Any, trials: int, seed: int = 0) -> pb.Study:
    study = pb.Study(face(), fidelity=pb.Fidelity("epochs", 1, 9), method=method, seed=seed)
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, loss_of(trial))
    return study


def origins(study: pb.Study) -> Counter[str]:
    return Counter(t.origin for t in study.state.history.trials if t.parent is None)


def test_the_face_works_as_shown() -> None:
    space = face()
    study = pb.Study(space, fidelity=pb.Fidelity("epochs", 1, 81), method="priorband", seed=0)
    trial = study.ask()
    assert (trial.id, trial.fidelity, trial.slot) == (0, 81, None)
    assert (trial.parent, trial.origin) == (None, "mode")
    assert trial.config == {
        **{"lr": 1e-3, "dropout": 0.2, "batch_size": 89, "optimizer": "adam"},
        **{"depth": 4, "classes": 10},
    }
    study.tell(trial, 0.31)
    other = study.ask()
    assert other.slot == pb.trial.Slot(0, 0) == (0, 0)
    study.fail(other.id, "out of memory")
    by_id = study.ask()
    study.tell(by_id.id, 0.5)
    best = study.best
    assert best is not None
    assert (best.config, best.loss, best.fidelity) == (trial.config, 0.31, 81)
    assert study.state.history.trials == (trial, other, by_id)
    assert study.replay().exact
    rng = np.random.default_rng(0)
    rows = space.uniform(5, rng)
    assert rows.shape == (5, 5)
    configs = [space.decode(row) for row in rows]
    assert space.encode(configs)[:, 3].tolist() == rows[:, 3].tolist()
    assert "priorband" in pb.methods()
    assert pb.optimizer("hyperband", eta=4).eta == 4
    custom = pb.Optimizer(pb.schedulers.Hyperband(), pb.ensemble())
    assert pb.Study(space, study.fidelity, custom).ask().origin in ("uniform", "prior")


def test_there_is_nothing_best_before_the_first_loss() -> None:
    assert run("priorband", 0).best is None


@every
def test_a_named_method_runs_in_the_space_and_replays(name: str) -> None:
    study = run(name, 45)
    for trial in study.state.history.trials:
        assert study.space.check(trial.config) == trial.config
        assert trial.fidelity in (1, 3, 9)
    assert study.replay().exact
    assert study.best is not None
    assert study.best.loss == min(map(loss_of, study.state.history.trials))


@every
def test_a_named_method_is_a_value(name: str) -> None:
    assert pb.optimizer(name) == pb.optimizer(name)
    assert repr(pb.optimizer(name)).startswith("Optimizer(scheduler=")


def test_every_listed_method_can_be_made_and_has_a_line_of_its_own() -> None:
    listed = pb.methods()
    assert set(NAMES) - set(listed) == {"hyperband+prior(12.5%)"}
    for name, line in listed.items():
        assert isinstance(pb.optimizer(name), Optimizer)
        assert 10 < len(line) < 100


@pytest.mark.parametrize(
    ("name", "first"),
    [
        *(("random", "uniform"), ("random+prior", "mode"), ("random+prior(50%)", "mode")),
        *(("grid", "grid"), ("sh", "uniform"), ("hyperband", "uniform")),
        *(("hyperband+prior", "mode"), ("asha+prior", "mode"), ("asha+esp", "mode")),
        *(("async-hyperband+prior", "mode"), ("priorband", "mode")),
    ],
)
def test_methods_with_a_prior_open_with_its_mode_in_full(name: str, first: str) -> None:
    trial = run(name, 1).state.history.trial(0)
    assert trial.origin == first
    assert trial.fidelity == (1 if name in ("sh", "hyperband") else 9)
    assert (trial.slot is None) == (first == "mode")


@pytest.mark.parametrize(
    ("name", "share"), [("random+prior(50%)", 0.5), ("hyperband+prior(20%)", 0.2)]
)
def test_a_percentage_is_the_chance_of_a_draw_from_the_prior(name: str, share: float) -> None:
    counts = origins(run(name, 1200))
    drawn = counts["prior"] + counts["uniform"]
    assert abs(counts["prior"] / drawn - share) < 5 * math.sqrt(share * (1 - share) / drawn)


@pytest.mark.parametrize("name", ["hyperband+prior(0%)", "hyperband+prior(100%)"])
def test_a_percentage_may_be_none_or_all(name: str) -> None:
    only = "uniform" if "(0%)" in name else "prior"
    assert set(origins(run(name, 60))) == {"mode", only}


def test_the_mode_is_a_member_of_the_first_bracket_or_not_evaluated_at_all() -> None:
    first, *rest = run("priorband(mode@min)", 30).state.history.trials
    assert (first.origin, first.fidelity, first.slot) == ("mode", 1, pb.trial.Slot(0, 0))
    assert all(trial.origin != "mode" for trial in rest if trial.root != 0)
    assert "mode" not in origins(run("priorband(no-mode)", 60))


def test_without_an_incumbent_nothing_is_drawn_around_it() -> None:
    assert origins(run("priorband", 150))["incumbent"] > 5
    assert origins(run("priorband(no-incumbent)", 150))["incumbent"] == 0


def test_ablations_differ_from_the_method_in_one_part() -> None:
    usual = pb.optimizer("priorband")
    assert isinstance(usual.sampler, Mix) and isinstance(usual.opening, PriorMode)
    local: dict[str, Sampler] = {
        "priorband(rate=0.25)": Perturb(rate=0.25),
        "priorband(sigma=0.125)": Perturb(sigma=0.125),
        "priorband(hypersphere)": pb.samplers.Hypersphere(),
        "priorband(crossover)": pb.samplers.Crossover(Ensemble()),
    }
    for name, around in local.items():
        assert pb.optimizer(name) == Optimizer(
            pb.schedulers.Hyperband(), pb.ensemble(around=around), PriorMode()
        )
    assert usual == Optimizer(pb.schedulers.Hyperband(), pb.ensemble(), PriorMode())
    assert isinstance(pb.optimizer("priorband(mode@min)").sampler, Staged)


@pytest.mark.parametrize("name", ["priorband(rate=0.4)", "priorband(rate=.4)"])
def test_the_number_in_a_name_may_be_any_other(name: str) -> None:
    assert pb.optimizer(name).sampler == pb.ensemble(around=Perturb(rate=0.4))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("priorbnd", "priorband"),
        ("PriorBand", "priorband"),
        (" hyperband", "hyperband"),
        ("asynchyperband", "async-hyperband"),
        ("priorband(no-incumbant)", "priorband(no-incumbent)"),
        ("hyperband+prior(-5%)", "hyperband+prior(50%)"),
        ("priorband (50%)", "priorband(50%)"),
    ],
)
def test_an_unknown_name_gets_a_suggestion(name: str, hint: str) -> None:
    for make in (pb.optimizer, lambda method: pb.Study(face(), method=method)):
        with pytest.raises(MethodError) as caught:
            make(name)
        message = str(caught.value)
        assert message == (
            f"`method` {name!r} is not known. Did you mean {hint!r}? `priorband methods` and "
            "pb.methods() list all."
        )


@pytest.mark.parametrize(
    ("name", "hint"), [("tpe", "bohb"), ("GP", "bo"), ("random_search", "random")]
)
def test_what_other_libraries_call_a_method_gets_the_closest_one(name: str, hint: str) -> None:
    with pytest.raises(MethodError, match=f"Did you mean '{hint}'"):
        pb.optimizer(name)


def test_a_name_that_is_like_none_gets_the_usual_ones() -> None:
    with pytest.raises(MethodError) as caught:
        pb.optimizer("zzz")
    assert str(caught.value) == (
        "`method` 'zzz' is not known. The usual ones are priorband, hyperband, asha, bohb, bo, "
        "random. `priorband methods` and pb.methods() list all."
    )


def test_none_is_no_name_and_for_a_study_the_default() -> None:
    nothing: Any = None
    with pytest.raises(MethodError, match="priorband"):
        lib.optimizer(nothing)
    epochs = lib.Fidelity("epochs", 1, 9)
    assert lib.Study(face(), epochs, None).optimizer == lib.Study(face(), epochs).optimizer


@pytest.mark.parametrize("method", [3, ["priorband"], {"name": "sh"}, b"sh", pb.optimizer])
def test_something_that_is_no_name_is_refused(method: Any) -> None:
    for make in (lib.optimizer, lambda method: lib.Study(face(), method=method)):
        with pytest.raises(MethodError, match="priorband"):
            make(method)


@pytest.mark.parametrize(
    "method", [pb.schedulers.Hyperband(), pb.schedulers.Hyperband, pb.samplers.FromUniform()]
)
def test_a_part_in_the_place_of_a_method_is_told_of_the_optimizer(method: Any) -> None:
    with pytest.raises(MethodError, match=r"Optimizer"):
        lib.Study(face(), method=method)


def test_options_shape_the_ladder_and_the_scheduler() -> None:
    made = pb.optimizer("asha+esp", eta=4, sizes="ceil", incumbent="max_fidelity_first")
    assert (made.eta, made.sizes, made.incumbent) == (4, "ceil", "max_fidelity_first")
    assert pb.optimizer("asha", promotion="neps").scheduler == pb.schedulers.ASHA("neps")
    study = pb.Study(face(), pb.Fidelity("epochs", 1, 16), pb.optimizer("hyperband", eta=4))
    assert list(study.state.ladder.fidelities) == [1, 4, 16]
    assert study.state.ladder.brackets == ((16, 4, 1), (4, 1), (3,))


BAD_OPTIONS: list[tuple[str, dict[str, Any], str]] = [
    (
        "hyperband",
        {"etaa": 4},
        "takes no option 'etaa'. Did you mean 'eta'? Known: bases, eta, incum",
    ),
    (
        "hyperband",
        {"promotion": "neps"},
        "'hyperband' takes no option 'promotion'. Known: bases, eta",
    ),
    ("hyperband", {"scheduler": 1}, "takes no option 'scheduler'"),
    ("hyperband", {"eta": 1}, "`eta` must be a whole number of at least 2, got 1."),
    ("hyperband", {"eta": -3}, "`eta` must be a whole number of at least 2, got -3."),
    ("hyperband", {"eta": 2.5}, "`eta` must be a whole number of at least 2, got 2.5."),
    ("hyperband", {"eta": "3"}, "`eta` must be a whole number of at least 2, got '3'."),
    ("hyperband", {"eta": True}, "`eta` must be a whole number of at least 2, got True."),
    ("hyperband", {"sizes": "flor"}, "`sizes` must be 'floor' or 'ceil', got 'flor'."),
    ("priorband", {"incumbent": "best"}, "must be 'lowest' or 'max_fidelity_first', got 'best'."),
    ("asha", {"promotion": "nep"}, "`promotion` must be 'textbook' or 'neps', got 'nep'."),
    ("hyperband+prior(150%)", {}, "must be from 0 to 100, as in 'random+prior(50%)', got 150"),
    ("priorband(rate=0)", {}, "`rate` must be in (0, 1], got 0.0."),
    ("priorband(rate=2)", {}, "`rate` must be in (0, 1], got 2.0."),
    ("priorband(sigma=0)", {}, "`sigma` must be a positive number, got 0.0."),
]


@pytest.mark.parametrize(("name", "options", "message"), BAD_OPTIONS)
def test_an_option_that_cannot_be_is_refused(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(MethodError) as caught:
        pb.optimizer(name, **options)
    assert message in str(caught.value)


def test_an_eta_of_numpy_is_a_whole_number() -> None:
    assert lib.optimizer("hyperband", eta=np.int64(4)).eta == 4


BAD_PARTS: list[tuple[Callable[[], object], str]] = [
    (
        lambda: lib.Optimizer("hyperband", "prior"),
        "`scheduler` must have a method `next`, got 'hyp",
    ),
    (
        lambda: lib.Optimizer(pb.schedulers.Hyperband(), None),
        "`sampler` must have a method `sample`, got None.",
    ),
    (
        lambda: lib.Optimizer(pb.samplers.FromPrior(), pb.schedulers.Hyperband()),
        "must have a method `next`, got FromPr",
    ),
    (lambda: lib.Optimizer(pb.schedulers.Hyperband, pb.samplers.FromPrior()), "`scheduler`"),
    (lambda: lib.Optimizer(pb.schedulers.Hyperband(), pb.samplers.FromPrior), "`sampler`"),
    (
        lambda: lib.samplers.Fixed((0.5, 0.6)),
        "must be numbers of at least 0 that sum to 1, got (0.5, 0.6).",
    ),
    (
        lambda: lib.samplers.Fixed((math.nan, 1.0)),
        "must be numbers of at least 0 that sum to 1, got (nan, 1.0).",
    ),
    (
        lambda: lib.samplers.Fixed(("a", "b")),
        "must be numbers of at least 0 that sum to 1, got ('a', 'b').",
    ),
    (lambda: lib.samplers.Fixed(0.5), "got 0.5"),
    (
        lambda: lib.samplers.Mix((pb.samplers.FromPrior(),), pb.samplers.Fixed((0.5, 0.5))),
        "sampler",
    ),
    (
        lambda: lib.samplers.Mix((pb.samplers.FromPrior(), pb.samplers.FromUniform()), (0.5, 0.5)),
        "`weights`",
    ),
    (lambda: lib.ensemble(0.5), "`weights`"),
    (lambda: lib.ensemble(around="crossover"), "'crossover'"),
    (
        lambda: lib.samplers.Staged(pb.samplers.FromPrior(), pb.samplers.FromUniform(), until=3),
        "`until`",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD_PARTS, ids=[text for _, text in BAD_PARTS])
def test_parts_that_do_not_fit_together_are_refused(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(MethodError) as caught:
        make()
    assert message in str(caught.value)
