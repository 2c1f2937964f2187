"""Optuna on our benchmarks. Skipped without the extra `peers`."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import pytest

from priorband.benchmarks import Hartmann, benchmark_prior
from priorband.errors import ExtraError
from priorband.experiments.peers import neps_peers, optuna_peers, packages, smac_peers
from priorband.experiments.peers.training_log import TrainingLog

needs_optuna = pytest.mark.skipif(
    find_spec("optuna") is None, reason="needs optuna: pip install 'priorband[peers]'"
)


def finished(budget: float, seed: int, mode: Mapping[str, Any] | None = None) -> TrainingLog:
    log = TrainingLog(Hartmann(3), budget)
    optuna_peers.run_tpe_hyperband(log, mode, seed)
    return log


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "find_spec", lambda package: None)
    with pytest.raises(ExtraError, match=r"optuna is missing.*priorband\[peers\]"):
        optuna_peers.run_gp(TrainingLog(Hartmann(3), 1), None, seed=0)
    with pytest.raises(ExtraError, match=r"neps is missing.*priorband\[neps\]"):
        neps_peers.run_pibo(TrainingLog(Hartmann(3), 1), None, seed=0)
    with pytest.raises(ExtraError, match=r"smac is missing.*priorband\[smac\]"):
        smac_peers.run_multi_fidelity(TrainingLog(Hartmann(3), 1), None, seed=0)


@pytest.mark.skipif(find_spec("neps") is None, reason="needs NePS: pip install 'priorband[neps]'")
def test_neps_pays_the_difference_for_promotions() -> None:
    log = TrainingLog(Hartmann(3), 4)
    neps_peers.run_priorband(log, benchmark_prior(Hartmann(3), "good").mode, seed=0)
    assert 4 <= log.spent < 5
    assert len(log) > 20  # Hyperband would pay more than 4 for as many trainings from scratch


@pytest.mark.skipif(find_spec("smac") is None, reason="needs SMAC: pip install 'priorband[smac]'")
def test_smac_begins_with_the_mode() -> None:
    bench, log = Hartmann(3), TrainingLog(Hartmann(3), 0.2)
    mode = benchmark_prior(bench, "good").mode
    smac_peers.run_multi_fidelity(log, mode, seed=0)
    first = log.losses[0]
    assert first == pytest.approx(bench.evaluate(mode, log.fidelities[0]))


@needs_optuna
def test_a_run_ends_with_the_training_that_spends_the_budget() -> None:
    log = finished(budget=2, seed=0)
    assert 2 <= log.spent < 3
    assert len(log) > 3


@needs_optuna
def test_the_same_seed_gives_the_same_run() -> None:
    assert finished(3, seed=1).values((1, 2, 3)) == finished(3, seed=1).values((1, 2, 3))


@needs_optuna
def test_the_mode_of_the_prior_is_trained_first() -> None:
    bench = Hartmann(3)
    mode = benchmark_prior(bench, "good").mode
    [loss] = finished(0.02, seed=0, mode=mode).losses[:1]
    assert loss == bench.evaluate(mode, bench.fidelity.low)
