"""Report cards of studies whose answer is obvious."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from amounts import slow

import priorband as pb
from priorband.benchmarks import Hartmann, benchmark_prior
from priorband.prior_report.report import ParameterReport, PriorReport
from priorband.study_analysis import as_json, prior_report, study_data

EPOCHS = pb.Fidelity("epochs", 1, 27)
Loss = Callable[[Mapping[str, Any], float], float]


def near(x: float) -> Loss:
    """A loss with its optimum where both numbers are `x`; fidelities only add a constant."""
    return lambda config, z: float(sum((config[n] - x) ** 2 for n in ("x", "y"))) + 0.1 / z


def run(space: pb.Space, loss: Loss, budget: float = 20, **options: Any) -> pb.Study:
    study = pb.Study(space, EPOCHS, options.pop("method", "priorband"), 1, **options)
    pb.simulate(study, loss, budget=budget)
    return study


def card(space: pb.Space, loss: Loss, budget: float = 20, **options: Any) -> PriorReport:
    return run(space, loss, budget, **options).prior_report()


def believing(x: float, y: float) -> pb.Space:
    return pb.Space(x=pb.Float(0, 1, prior=x), y=pb.Float(0, 1, prior=y))


def parameter(report: PriorReport, name: str) -> ParameterReport:
    return next(one for one in report.parameters if one.name == name)


@pytest.mark.parametrize(
    "method",
    ["priorband", "guardband", "hyperband", "asha", pytest.param("priorband+bo", marks=slow)],
)
def test_a_prior_at_the_optimum_helps(method: str) -> None:
    budget = 12 if "bo" in method else 20
    report = card(believing(0.8, 0.8), near(0.8), budget, method=method)
    assert report.verdict == "helps" and report.chance > 0.9
    assert [one.verdict for one in report.parameters] == ["helps", "helps"]
    assert report.sentence.startswith("Your prior helps: it drew ")


@pytest.mark.parametrize("method", ["priorband", "guardband", "hyperband", "asha"])
@pytest.mark.parametrize("optimum", [0.1, 0.9])
def test_a_prior_at_the_other_end_harms_and_the_direction_is_right(
    method: str, optimum: float
) -> None:
    report = card(believing(1 - optimum, 1 - optimum), near(optimum), method=method)
    assert report.verdict == "harms" and report.chance < 0.1
    wish = "higher" if optimum > 0.5 else "lower"
    for one in report.parameters:
        assert (one.verdict, one.wants) == ("harms", wish)
        assert abs(one.best - optimum) < 0.2 and one.odds < 0.1
        assert one.effect > 3 * one.error > 0
        assert (one.quantile > 0.99) if optimum > 0.5 else (one.quantile < 0.01)
    assert f"wants to be {wish} than {1 - optimum:.3g}." in report.sentence


def test_only_the_spoiled_parameter_harms() -> None:
    report = card(believing(0.9, 0.1), near(0.9))
    assert [one.verdict for one in report.parameters] == ["helps", "harms"]
    assert "`y` wants to be higher than 0.1" in report.sentence


def test_a_study_that_maximises_gets_the_same_report() -> None:
    small = run(believing(0.1, 0.1), near(0.9))
    large = pb.Study(small.space, EPOCHS, "priorband", 1, maximize=True)
    pb.simulate(large, near(0.9), budget=20)  # tells the negative of each loss as the value
    one, other = as_json(small.prior_report()), as_json(large.prior_report())
    assert one.pop("best_value") == -other.pop("best_value")
    assert one == other


def test_results_that_are_mirrored_give_a_mirrored_report() -> None:
    """Imported results only, in a space whose ends change places."""
    reports = []
    for mirrored in (False, True):
        study = pb.Study(believing(0.8, 0.8) if mirrored else believing(0.2, 0.2), EPOCHS)
        for x in np.linspace(0.05, 0.95, 6).tolist():
            for y in np.linspace(0.05, 0.95, 6).tolist():
                loss = (x - 0.7) ** 2 + 2 * (y - 0.9) ** 2
                place = {"x": 1 - x, "y": 1 - y} if mirrored else {"x": x, "y": y}
                study.add(place, loss)
        reports.append(study.prior_report())
    first, second = reports
    assert first.verdict == second.verdict == "harms"
    assert first.draws.starts == 0 and "it drew no start and no finalist" in first.sentence
    for one, other in zip(first.parameters, second.parameters, strict=True):
        assert one.effect == pytest.approx(other.effect)
        assert one.quantile == pytest.approx(1 - other.quantile)
        assert (one.verdict, one.wants, other.wants) == ("harms", "higher", "lower")


def test_without_a_prior_there_is_no_verdict_but_a_suggestion() -> None:
    report = card(pb.Space(x=pb.Float(0, 1), y=pb.Float(0, 1)), near(0.3))
    assert report.verdict == "no belief" and math.isnan(report.chance)
    assert [one.verdict for one in report.parameters] == ["no belief", "no belief"]
    assert report.suggestion is not None and report.suggestion.names == ("x", "y")
    assert str(report) == "This study has no prior: all its beliefs are flat."


def test_a_parameter_without_a_belief_is_said_to_have_none() -> None:
    space = pb.Space(x=pb.Float(0, 1, prior=0.8), y=pb.Float(0, 1))
    report = card(space, near(0.8))
    assert [one.verdict for one in report.parameters] == ["helps", "no belief"]


def test_if_all_trials_fail_there_is_not_enough_evidence() -> None:
    report = card(believing(0.5, 0.5), lambda config, z: math.nan)
    assert report.verdict == "not enough evidence" and report.suggestion is None
    assert report.best_value is None and report.results == 0


def test_a_new_study_has_not_enough_evidence() -> None:
    report = pb.Study(believing(0.5, 0.5), EPOCHS).prior_report()
    assert report.verdict == "not enough evidence"
    assert "the first bracket is not done: 0 of at least 3 full trainings" in report.sentence
    assert [one.verdict for one in report.parameters] == ["not enough evidence"] * 2


@pytest.mark.parametrize("method", ["priorband", "guardband", "hyperband", "sh"])
def test_there_is_not_enough_evidence_before_the_first_bracket_is_done(method: str) -> None:
    study = pb.Study(believing(0.5, 0.5), pb.Fidelity("epochs", 1, 9), method)
    loss = near(0.5)
    while not study.state.history.members(0, 2).ended:
        assert study.prior_report().verdict == "not enough evidence"
        trial = study.ask()
        study.tell(trial, loss(trial.config, trial.fidelity))
    for _ in range(100):
        trial = study.ask()
        study.tell(trial, loss(trial.config, trial.fidelity))
    assert study.prior_report().verdict == "helps"


def test_a_few_full_trainings_are_too_few_for_parameters() -> None:
    study = pb.Study(believing(0.1, 0.1), method="random")
    for x, loss in ((0.9, 0.0), (0.8, 0.1), (0.1, 5.0), (0.2, 4.0)):
        study.add({"x": x, "y": x}, loss)
    report = study.prior_report()
    assert report.verdict == "harms"
    assert {one.verdict for one in report.parameters} == {"not enough evidence"}
    assert [one.full_trainings for one in report.parameters] == [4, 4]


def test_a_few_full_trainings_that_are_balanced_are_not_enough() -> None:
    study = pb.Study(believing(0.5, 0.5), method="random")
    for x, loss in ((0.1, 1.0), (0.4, 1.2), (0.6, 1.3), (0.9, 1.1), (0.3, 1.15)):
        study.add({"x": x, "y": x}, loss)
    report = study.prior_report()
    assert report.verdict == "not enough evidence" and report.clues
    assert "5 full trainings do not point clearly either way" in report.sentence
    assert 0.25 < report.chance < 0.75


def test_choices_and_ordinals() -> None:
    space = pb.Space(
        act=pb.Categorical(["relu", "gelu", "tanh"], prior="relu"),
        norm=pb.Categorical(["batch", "layer"], prior="layer"),
        size=pb.Ordinal([8, 16, 32, 64, 128], prior=8),
        depth=pb.Integer(1, 12, prior=11),
    )

    def loss(config: Mapping[str, Any], z: float) -> float:
        wrong = (config["act"] != "tanh") + (config["norm"] != "layer")
        size = abs(math.log2(config["size"] / 64)) / 2
        return float(wrong + size + config["depth"] / 6 + 0.1 / z)

    report = card(space, loss)
    assert {one.name: one.verdict for one in report.parameters} == {
        "act": "harms",
        "norm": "helps",
        "size": "harms",
        "depth": "harms",
    }
    act = parameter(report, "act")
    assert (act.wants, act.better, act.believed) == ("another choice", "tanh", "relu")
    assert math.isnan(act.quantile)
    assert parameter(report, "size").wants == "higher"
    assert parameter(report, "depth").wants == "lower"


def test_conditional_parameters() -> None:
    space = pb.Space(
        optimizer=pb.Categorical(["sgd", "adam"], prior="sgd"),
        lr=pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
        momentum=pb.Float(0, 0.99, prior=0.9, when={"optimizer": "sgd"}),
        beta=pb.Float(0, 1, prior=0.1, when={"optimizer": "adam"}),
    )

    def loss(config: Mapping[str, Any], z: float) -> float:
        base = (math.log10(config["lr"]) + 3) ** 2 / 4 + 0.1 / z
        if config["optimizer"] == "sgd":
            return base + 2.0
        return base + 3 * float(config["beta"] - 0.8) ** 2

    report = card(space, loss)
    verdicts = {one.name: (one.verdict, one.wants) for one in report.parameters}
    assert verdicts["optimizer"] == ("harms", "another choice")
    assert verdicts["beta"] == ("harms", "higher")
    assert verdicts["lr"][0] == "helps"
    momentum = parameter(report, "momentum")
    assert momentum.full_trainings < parameter(report, "lr").full_trainings


def test_a_prior_of_ones_own_is_judged_as_a_whole() -> None:
    class Diagonal:
        mode = pb.Config(x=0.2, y=0.2)

        def sample(self, rng: Any) -> Any:
            return np.full(2, 0.4 * rng.random())

        def logpdf(self, rows: Any) -> Any:
            return 7.0 - 50.0 * ((rows - 0.2) ** 2).sum(axis=1)  # not normalised

        def around(self, config: Mapping[str, Any]) -> "Diagonal":
            return self

    space = pb.Space(x=pb.Float(0, 1), y=pb.Float(0, 1))
    assert card(space, near(0.2), prior=Diagonal()).verdict == "helps"
    report = card(space, near(0.9), prior=Diagonal())
    assert report.verdict == "harms" and report.parameters == ()


def test_a_loss_that_says_nothing_harms_nobody() -> None:
    report = card(believing(0.9, 0.1), lambda config, z: 1.0)
    assert report.verdict in ("helps", "neutral")
    assert all(one.effect == 0 for one in report.parameters)
    assert not [one for one in report.parameters if one.verdict == "harms"]


def test_trust_is_what_a_replay_finds() -> None:
    study = run(believing(0.8, 0.8), near(0.8))
    trust, replay = study.prior_report().trust, study.replay()
    assert 30 <= len(trust.trials) <= 40
    for i, number in enumerate(trust.trials):
        chances: Any = replay[number].chances
        assert chances.probabilities == (trust.uniform[i], trust.prior[i], trust.incumbent[i])
    assert list(trust.spent) == sorted(trust.spent)


def test_a_method_that_ignores_the_prior_has_no_trust() -> None:
    study = run(believing(0.8, 0.8), near(0.8), method="hyperband")
    report = study.prior_report()
    assert report.trust.trials == () and "does not weigh the prior" in str(report)
    assert report.draws.starts_from_prior == 0


def test_the_analysis_of_a_study_says_the_same() -> None:
    study = run(believing(0.8, 0.8), near(0.8), budget=6)
    assert prior_report(study_data(study)) == study.prior_report()


def test_draws_are_counted() -> None:
    study = run(believing(0.8, 0.8), near(0.8))
    draws = study.prior_report().draws
    drawn = [t for t in study.state.history.trials if t.parent is None]
    full = {o.trial.root for o in study.state.history.succeeded_at(27)}
    ours = {t.root for t in drawn if t.origin in ("mode", "prior")}
    assert (draws.starts, draws.starts_from_prior) == (len(drawn), len(ours))
    assert (draws.finalists, draws.finalists_from_prior) == (len(full), len(full & ours))


def test_a_long_study_that_stays_near_its_best_still_knows_the_rest() -> None:
    """Nearly all of its results are close to each other."""
    for dimensions in (3, 6):
        bench = Hartmann(dimensions)
        belief = benchmark_prior(bench, "bad")
        study = pb.Study(bench.space, bench.fidelity, "priorband", prior=belief)
        pb.simulate(study, bench, budget=100)
        assert study.prior_report().verdict == "harms"


def test_after_a_change_the_new_prior_is_judged_and_trust_covers_both() -> None:
    study = run(believing(0.1, 0.1), near(0.9), budget=10)
    assert study.prior_report().verdict == "harms"
    study.set_prior({"x": 0.9, "y": 0.9})
    assert study.prior_report().verdict == "helps"
    pb.simulate(study, near(0.9), budget=10)
    report, replay = study.prior_report(), study.replay()
    assert report.verdict == "helps" and report.parameters[0].believed == pytest.approx(0.9)
    for number, share in zip(report.trust.trials, report.trust.prior, strict=True):
        chances: Any = replay[number].chances
        assert chances.p_prior == share
