"""Optuna on our benchmarks. Skipped without the extra `peers`."""

import math
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import pytest

from priorband.benchmarks import Hartmann, benchmark_prior
from priorband.errors import ExtraError
from priorband.experiments.peers import neps_peers, optuna_peers, packages, smac_peers
from priorband.experiments.peers.training_log import TrainingLog

from .failing_benchmark import HalfFailing

needs_torch = pytest.mark.skipif(
    find_spec("optuna") is None or find_spec("torch") is None,
    reason="needs optuna and torch: pip install 'priorband[peers]'",
)
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


@needs_optuna
def test_a_run_ends_with_the_training_that_spends_the_budget() -> None:
    log = finished(budget=2, seed=0)
    assert 2 <= log.spent < 3
    assert len(log) > 3


@needs_optuna
def test_the_same_seed_gives_the_same_run() -> None:
    assert finished(3, seed=1).losses == finished(3, seed=1).losses
    assert finished(3, seed=1).losses != finished(3, seed=2).losses


@needs_optuna
def test_the_mode_of_the_prior_is_trained_in_full_first() -> None:
    bench = Hartmann(3)
    mode = benchmark_prior(bench, "good").mode
    log = finished(1, seed=0, mode=mode)
    assert list(log.fidelities) == [3, 11, 33, 100]
    assert log.losses == tuple(bench.evaluate(mode, fidelity) for fidelity in log.fidelities)
    assert log.spent == 1.0


@needs_optuna
def test_a_failed_training_ends_its_trial() -> None:
    log = TrainingLog(HalfFailing(), budget=6)
    optuna_peers.run_tpe_hyperband(log, None, seed=0)
    failed = [at for at, loss in enumerate(log.losses) if math.isnan(loss)]
    assert failed
    assert all(log.fidelities[at] > 50 for at in failed)
    assert {log.fidelities[at + 1] for at in failed if at + 1 < len(log)} == {3}


@pytest.mark.slow
@needs_torch
@pytest.mark.filterwarnings("ignore:Clip non-finite values:UserWarning")  # as they should be
def test_the_process_trains_in_full_and_goes_on_after_failures() -> None:
    bench = HalfFailing()
    mode = benchmark_prior(Hartmann(3), "good").mode
    log = TrainingLog(bench, budget=13)
    optuna_peers.run_gp(log, mode, seed=0)
    assert set(log.fidelities) == {100}
    assert len(log) == 13
    assert log.losses[0] == bench.evaluate(mode, 100)
    assert any(map(math.isnan, log.losses[:10]))  # so that the process is fitted to one
    again = TrainingLog(bench, budget=13)
    optuna_peers.run_gp(again, mode, seed=0)
    assert str(again.losses) == str(log.losses)  # as text, nan equals nan
