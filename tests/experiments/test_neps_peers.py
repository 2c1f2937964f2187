"""NePS on our benchmarks. Skipped without the extra `neps`."""

import math
from importlib.util import find_spec

import pytest

from priorband import Categorical, Float, Integer, Space
from priorband.benchmarks import Hartmann, benchmark_prior
from priorband.benchmarks.base import Benchmark
from priorband.experiments.peers import neps_peers
from priorband.experiments.peers.training_log import TrainingLog

from .failing_benchmark import HalfFailing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("neps") is None, reason="needs NePS: priorband[neps]"),
    pytest.mark.filterwarnings("ignore"),  # of torch and BoTorch
]
MODE = benchmark_prior(Hartmann(3), "good").mode


def finished(budget: float, seed: int, bench: Benchmark | None = None) -> TrainingLog:
    log = TrainingLog(bench or Hartmann(3), budget)
    neps_peers.run_priorband(log, MODE, seed)
    return log


def test_the_mode_is_trained_in_full_first() -> None:
    log = finished(1, seed=0)
    assert list(log.fidelities) == [100]
    assert log.losses[0] == pytest.approx(Hartmann(3).evaluate(MODE, 100))


def test_promotions_pay_the_difference() -> None:
    log = finished(4, seed=0)
    assert 4 <= log.spent < 5
    assert sum(log.fidelities) / 100 > log.spent


def test_the_same_seed_gives_the_same_run() -> None:
    assert finished(3, seed=1).losses == finished(3, seed=1).losses
    assert finished(3, seed=1).losses != finished(3, seed=2).losses


def test_a_run_goes_on_after_failures() -> None:
    log = finished(4, seed=0, bench=HalfFailing(beyond=0))
    assert any(map(math.isnan, log.losses))
    assert log.spent >= 4


def test_pibo_trains_in_full_the_mode_first() -> None:
    bench = HalfFailing()
    log = TrainingLog(bench, budget=6)
    neps_peers.run_pibo(log, MODE, seed=0)
    assert list(log.fidelities) == [100] * 6
    assert log.losses[0] == pytest.approx(bench.evaluate(MODE, 100))


def test_all_values_of_a_log_integer_can_be_drawn() -> None:
    space = Space(
        {
            "batch": Integer(16, 512, log=True),
            "layers": Integer(1, 5),
            "rate": Float(1e-4, 1e-1, log=True),
            "kind": Categorical(["a", "b"]),
        }
    )
    drawn: list[dict[str, object]] = []

    class Recording:
        fidelity, optimum = Hartmann(3).fidelity, None

        def __init__(self) -> None:
            self.space = space

        def evaluate(self, config: dict[str, object], fidelity: float) -> float:
            drawn.append(dict(space.check(config)))
            return 1.0

        evaluate_many = None

    neps_peers.run_priorband(TrainingLog(Recording(), 3), None, seed=0)  # type: ignore[arg-type]  # what it needs
    assert len({each["batch"] for each in drawn}) > 10
    assert {each["layers"] for each in drawn} == {1, 2, 3, 4, 5}
    assert {each["kind"] for each in drawn} == {"a", "b"}
