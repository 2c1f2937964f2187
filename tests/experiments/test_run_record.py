"""A run as columns, and the study restored from them."""

import json
from hashlib import blake2b
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from priorband.analysis.curves import incumbent_curve, value_at
from priorband.benchmarks import Hartmann
from priorband.benchmarks.catalogue import catalogue_entry
from priorband.benchmarks.priors import QUALITIES, prior_centre, unperturbed_centres
from priorband.benchmarks.published import Unequal
from priorband.benchmarks.tabular import Tabular
from priorband.errors import FormatError
from priorband.experiments.cases import NO_PRIOR, RULES, Case, CaseGrid, case_from_json
from priorband.experiments.rules import Centres, case_prior_centre, published_method, set_up_case
from priorband.experiments.run_record import (
    RunRecord,
    record_from_columns,
    record_to_json,
    recorded_study,
    run_case,
)
from priorband.experiments.runner import CODE
from priorband.named_methods import optimizer
from priorband.optimizers import Optimizer
from priorband.samplers.combine import Staged
from priorband.space.densities import TruncatedNormal
from priorband.space.prior import Independent

NAME = "hartmann3-good"
CENTRES: Centres = {
    f"{rules}/{NAME}": {q: dict(c) for q, c in unperturbed_centres(Hartmann(3)).items()}
    for rules in ("paper", "published")
}


def run_on_hartmann(case: Case) -> RunRecord:
    return run_case(case, catalogue_entry(case.benchmark).make(None), CENTRES)


CASES = [
    Case("paper", NAME, "good", "priorband", 1, 0, 6.0),
    Case("paper", NAME, "near-optimum", "asha+esp", 4, 1, 2.0),
    Case("published", NAME, "bad", "async-hyperband+esp", 4, 2, 2.0),
    Case("paper", NAME, NO_PRIOR, "grid", 1, 3, 2.0),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_run_is_a_study_that_opens_and_replays_exactly(case: Case) -> None:
    record = run_on_hartmann(case)
    study = recorded_study(record, catalogue_entry(case.benchmark).make(None), CENTRES)
    assert study.replay().exact
    assert len(study.state.history) == len(record)
    assert study.best is not None
    assert study.best.loss == np.nanmin(record.columns["loss"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_run_survives_json(case: Case) -> None:
    record = run_on_hartmann(case)
    read = json.loads(json.dumps(record_to_json(record), allow_nan=False))
    again = record_from_columns(case_from_json(read["case"]), read["columns"], read["values"])
    assert record_to_json(again) == record_to_json(record)
    for name, column in record.columns.items():
        assert again.columns[name].dtype == column.dtype


def test_a_record_has_the_cost_and_the_full_loss_of_each_trial() -> None:
    record = run_on_hartmann(CASES[0])
    columns, bench = record.columns, Hartmann(3, "good", 0)
    configs = [{f"x{i}": value for i, value in enumerate(row)} for row in record.values.tolist()]
    assert columns["full"] == pytest.approx(bench.evaluate_many(configs, 100))
    for k, config in enumerate(configs):
        assert columns["loss"][k] == bench.evaluate(config, columns["fidelity"][k])
    parents = columns["parent"]
    before = np.where(parents < 0, 0.0, columns["fidelity"][parents])
    assert (columns["cost"] == (columns["fidelity"] - before) / 100).all()
    assert (columns["before"] == np.arange(len(record))).all()  # one worker asks, then tells
    assert (columns["ended"] == np.arange(len(record))).all()


def test_a_longer_run_begins_with_the_shorter_one() -> None:
    short, long = (
        run_on_hartmann(Case("paper", NAME, "good", "priorband", 1, 0, b)) for b in (3.0, 8.0)
    )
    for name, column in short.columns.items():
        if name != "before":
            assert (long.columns[name][: len(short)] == column).all()


@pytest.mark.parametrize("rules", ["paper", "published"])
@pytest.mark.parametrize("workers", [4, 16])
def test_every_worker_reaches_the_budget(rules: str, workers: int) -> None:
    short, long = (
        run_on_hartmann(Case(rules, NAME, "bad", "asha+esp", workers, 0, budget))
        for budget in (3.0, 6.0)
    )
    for record, budget in ((short, 3.0), (long, 6.0)):
        paid = [
            record.columns["cost"][record.columns["worker"] == worker].sum()
            for worker in range(workers)
        ]
        assert min(paid) >= budget - 1e-9
    curves = [
        incumbent_curve(ended["cost"], ended["loss"], ended["full"], ended["worker"])
        for ended in (short.completed, long.completed)
    ]
    for horizon in (1.0, 2.0, 3.0):
        assert len({value_at(curve, horizon) for curve in curves}) == 1


def test_a_failed_training_is_recorded_as_one() -> None:
    class Fails:
        space, fidelity, optimum = Hartmann(3).space, Hartmann(3).fidelity, None

        def evaluate(self, config: object, fidelity: float) -> float:
            return float("nan")

        def evaluate_many(self, configs: list[object], fidelity: float) -> object:
            return np.full(len(configs), np.nan)

    case = Case("paper", NAME, NO_PRIOR, "hyperband", 1, 0, 2.0)
    record = run_case(case, Fails(), {})  # type: ignore[arg-type]  # takes any configuration
    assert np.isnan(record.columns["loss"]).all()
    read = json.loads(json.dumps(record_to_json(record), allow_nan=False))
    again = record_from_columns(case, read["columns"], read["values"])
    assert recorded_study(again, Fails(), {}).replay().exact  # type: ignore[arg-type]  # as above


@pytest.mark.parametrize(
    "spoiled",
    [
        lambda columns: columns.pop("loss"),
        lambda columns: columns["loss"].pop(),
        lambda columns: columns.update(loss="text"),
        lambda columns: columns["origin"].__setitem__(3, 9),
        lambda columns: columns["parent"].__setitem__(3, 3),
        lambda columns: columns["before"].__setitem__(0, 1),
        lambda columns: columns["ended"].__setitem__(0, 5),
    ],
)
def test_an_invalid_record_is_refused(spoiled: object) -> None:
    assert callable(spoiled)
    read = record_to_json(run_on_hartmann(CASES[0]))
    spoiled(read["columns"])
    with pytest.raises(FormatError, match="is invalid: "):
        record_from_columns(CASES[0], read["columns"], read["values"])


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        {"rules": "paper"},
        CASES[0].to_json() | {"seed": "0"},
        CASES[0].to_json() | {"x": 0},
    ],
)
def test_an_invalid_case_is_refused(wrong: object) -> None:
    with pytest.raises(FormatError, match="A run's case"):
        case_from_json(wrong)


def test_a_grid_runs_methods_that_ignore_the_prior_once() -> None:
    grid = CaseGrid("paper", ("a", "b"), QUALITIES, ("random", "bo", "priorband"), range(5))
    cases = list(grid.cases())
    assert len(cases) == 2 * 5 * (1 + 1 + 3)
    assert {case.prior for case in cases if case.method == "random"} == {NO_PRIOR}
    published = list(CaseGrid("published", ("a",), QUALITIES, ("bo", "bohb"), range(2)).cases())
    assert [case.prior for case in published if case.method == "bo"] == 2 * list(QUALITIES)


def test_the_papers_rules_perturb_the_near_optimum_centre_by_seed() -> None:
    bench = Hartmann(3)
    for seed in range(3):
        case = Case("paper", NAME, "near-optimum", "priorband", 1, seed, 1.0)
        ours = case_prior_centre(case, bench.space, CENTRES)
        assert ours == dict(prior_centre(bench, "near-optimum", seed))


def test_the_published_bo_begins_with_a_weak_prior() -> None:
    case = Case("published", NAME, "good", "bo", 1, 0, 1.0)
    study = set_up_case(case, Hartmann(3), CENTRES).study
    assert isinstance(study.prior, Independent)
    assert {d.sigma for d in study.prior.densities if isinstance(d, TruncatedNormal)} == {0.5}
    assert study.ask().origin == "prior"


def test_the_published_methods_differ_from_the_text() -> None:
    assert "promotion='neps'" in repr(published_method("mobster+esp"))
    assert "always_change=True" in repr(published_method("priorband"))
    assert "always_change=True" in repr(published_method("asha+esp"))
    joint: Optimizer = published_method("priorband+bo")
    assert isinstance(joint.sampler, Staged)
    assert "rung" in repr(joint.sampler.then)
    assert published_method("random") == optimizer("random")
    assert "by='resources'" in repr(published_method("priorband(decay)"))
    linear = repr(published_method("priorband(linear)"))
    assert "Linear()" in linear and "by='resources'" in linear
    half = published_method("hyperband+prior(50%)")
    assert half.opening is None and "PriorMode()" in repr(half.sampler)


@pytest.mark.parametrize(("rules", "method"), [*product(("paper", "published"), ("asha", "sh"))])
def test_the_noise_of_a_hartmann_function_depends_on_the_seed(rules: str, method: str) -> None:
    cases = [Case(rules, NAME, NO_PRIOR, method, 1, seed, 1.0) for seed in (0, 1)]
    assert [set_up_case(case, Hartmann(3), {}).benchmark for case in cases] == [
        *(Hartmann(3, "good", 0), Hartmann(3, "good", 1))
    ]


@pytest.mark.parametrize(
    ("rules", "workers", "pause"),
    [("published", 4, 10.0), ("published", 1, 0.0), ("paper", 4, 0.0)],
)
def test_only_trials_of_published_parallel_runs_wait(
    rules: str, workers: int, pause: float
) -> None:
    case = Case(rules, NAME, NO_PRIOR, "asha", workers, 0, 1.0)
    assert set_up_case(case, Hartmann(3), {}).pause == pause


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_promotion_of_a_promotion_has_the_root_of_both(case: Case) -> None:
    record = run_on_hartmann(case)
    trials = recorded_study(
        record, catalogue_entry(case.benchmark).make(None), CENTRES
    ).state.history.trials
    assert record.roots.tolist() == [trial.root for trial in trials]


def test_the_authors_rules_are_the_papers_text_around_other_centres(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("units,epoch,loss\n1,1,0.9\n1,9,0.8\n90,1,0.7\n90,9,0.6\n")
    centres = {f"{rules}/own": {"near-optimum": {"units": 40}} for rules in RULES}
    beliefs = {}
    for rules in RULES:
        case = Case(rules, "own", "near-optimum", "priorband", 1, 3, 1.0)
        belief = set_up_case(case, Tabular(path), centres).study.prior
        assert isinstance(belief, Independent)
        beliefs[rules] = belief.mode, belief.densities
    assert beliefs["authors"] == beliefs["paper"]
    modes, densities = zip(*beliefs.values(), strict=True)
    assert modes[2] != modes[0]
    assert [isinstance(own, Unequal) for [own] in densities] == [False, False, True]


def test_an_integer_is_restored_as_an_integer(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("units,epoch,loss\n1,1,0.9\n1,9,0.8\n90,1,0.7\n90,9,0.6\n")
    record = run_case(Case("paper", "own", NO_PRIOR, "hyperband", 1, 0, 2.0), Tabular(path), {})
    trials = recorded_study(record, Tabular(path), {}).state.history.trials
    assert {type(trial.config["units"]) for trial in trials} == {int}


def test_decisions_change_only_with_the_code_version() -> None:
    """If this fails, increase `CODE` in runner.py and put the new digest here."""
    cases = [
        Case(rules, NAME, quality, method, workers, 0, 2.0)
        for rules, workers in (("paper", 1), ("published", 4))
        for quality, method in (("near-optimum", "priorband"), ("bad", "asha+esp"))
    ]
    kept = blake2b(digest_size=8)
    for case in cases:
        record = run_on_hartmann(case)
        for column in (record.values, *record.columns.values()):
            kept.update(np.round(column, 6).tobytes())
    assert {CODE: kept.hexdigest()} == {"1": "afb6ca9a2bad6169"}
