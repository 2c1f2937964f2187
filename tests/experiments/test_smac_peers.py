"""SMAC on our benchmarks. Skipped without the extra `smac`."""

import math
from importlib.util import find_spec

import pytest

from priorband.benchmarks import Hartmann, benchmark_prior
from priorband.benchmarks.base import Benchmark
from priorband.experiments.peers import smac_peers
from priorband.experiments.peers.training_log import TrainingLog

from .failing_benchmark import HalfFailing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("smac") is None, reason="needs SMAC: priorband[smac]"),
]
MODE = benchmark_prior(Hartmann(3), "good").mode


def finished(seed: int, bench: Benchmark | None = None) -> TrainingLog:
    log = TrainingLog(bench or Hartmann(3), budget=4)
    smac_peers.run_multi_fidelity(log, MODE, seed)
    return log


def test_the_mode_is_trained_in_full_first() -> None:
    log = finished(seed=0)
    assert log.losses[0] == pytest.approx(Hartmann(3).evaluate(MODE, 100))
    assert log.fidelities[0] == 100
    assert log.fidelities[1] == pytest.approx(100 / 27)
    assert 4 <= log.spent < 5
    assert sum(log.fidelities) / 100 > log.spent  # what is promoted pays the difference


def test_the_same_seed_gives_the_same_run() -> None:
    assert finished(seed=1).losses == finished(seed=1).losses
    assert finished(seed=1).losses != finished(seed=2).losses


def test_a_run_goes_on_after_failures() -> None:
    log = finished(seed=0, bench=HalfFailing(beyond=0))
    assert log.spent >= 4
    assert any(map(math.isnan, log.losses))
