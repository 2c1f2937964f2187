"""Models of past runs: how well they predict held-out runs, and the quality they report."""

import math
import pickle
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import priorband
from priorband import Study, simulate
from priorband.benchmarks import fitted
from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.fitted import Fitted, Quality
from priorband.errors import ConfigError, DataError, SpaceError

HEADER = "lr,momentum,act,layers,epoch,loss"
Loss = Callable[[float, float, str, int, int], float]


def curve(lr: float, momentum: float, act: str, layers: int, epoch: int) -> float:
    """A loss that depends on all parameters, some of them together."""
    centre = -2.0 if act == "relu" else -3.0
    end = 0.3 * (math.log10(lr) - centre) ** 2 + (momentum - 0.8) ** 2 + 0.05 * abs(layers - 4)
    return end + 1.0 / epoch


def lines(n: int, loss: Loss = curve, epochs: Iterable[int] = (1, 3, 9), seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    rows = [HEADER]
    for _ in range(n):
        numbers = 10 ** rng.uniform(-4, -1), rng.uniform(0, 1)
        choices = ("relu", "gelu", "tanh")[rng.integers(3)], int(rng.integers(1, 9))
        rows += [
            ",".join(map(str, (*numbers, *choices, epoch, loss(*numbers, *choices, epoch))))
            for epoch in epochs
        ]
    return "\n".join(rows)


def fit(folder: Path, text: str, **options: Any) -> Fitted:
    path = folder / "runs.csv"
    path.write_text(text)
    return Fitted(path, **options)


def random_configs(bench: Fitted, n: int = 40, seed: int = 0) -> list[dict[str, Any]]:
    return [bench.space.decode(r) for r in bench.space.uniform(n, np.random.default_rng(seed))]


def test_a_thousand_runs_of_a_mixed_function_are_ranked_well(tmp_path: Path) -> None:
    quality = fit(tmp_path, lines(500, epochs=(3, 9)), trees=50).quality
    assert quality.rows == 500
    assert quality.rank > 0.9
    assert quality.r2 > 0.9


def test_the_quality_holds_for_new_configurations(tmp_path: Path) -> None:
    bench = fit(tmp_path, lines(300), trees=50)
    configs = random_configs(bench, 1000)
    truth = np.array([curve(**config, epoch=9) for config in configs])
    predicted = bench.evaluate_many(configs, 9)
    r2 = 1 - np.mean((predicted - truth) ** 2) / truth.var()
    assert bench.quality.r2 == pytest.approx(r2, abs=0.06)
    assert bench.quality.rank == pytest.approx(
        stats.spearmanr(predicted, truth).statistic, abs=0.05
    )
    assert bench.quality.rows == 300


def test_losses_without_a_pattern_have_no_quality(tmp_path: Path) -> None:
    """False alarm below 1e-4: the rank correlation of 300 unrelated pairs has deviation 0.06."""
    rng = np.random.default_rng(3)
    quality = fit(tmp_path, lines(300, lambda *_: rng.random()), trees=20).quality
    assert abs(quality.rank) < 0.25
    assert quality.r2 < 0.05


def test_curves_of_one_configuration_are_held_out_together(tmp_path: Path) -> None:
    """The loss is a random number per configuration, so its other epochs would give it away."""
    of: dict[float, float] = {}
    rng = np.random.default_rng(4)
    text = lines(200, lambda lr, *_: of.setdefault(lr, rng.random()), epochs=range(1, 6))
    assert fit(tmp_path, text, trees=20).quality.r2 < 0.1


def test_the_quality_is_spearmans_correlation_and_the_explained_variance() -> None:
    values = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 1.0, 1.0])
    other = np.array([2.0, 2.0, 0.0, 1.0, 4.0, 1.0, 0.0])
    quality = fitted._quality(values, other)
    assert quality.rank == pytest.approx(stats.spearmanr(values, other).statistic)
    spread = ((values - values.mean()) ** 2).sum()
    assert quality.r2 == pytest.approx(1 - ((values - other) ** 2).sum() / spread)


def test_with_too_few_runs_the_quality_is_nan(tmp_path: Path) -> None:
    quality = fit(tmp_path, "x,epoch,loss\n1,1,0.3\n2,1,0.5\n2,9,0.1\n", trees=3).quality
    assert math.isnan(quality.r2) and math.isnan(quality.rank) and quality.rows == 1
    constant = fit(tmp_path, "x,epoch,loss\n1,1,1\n2,1,1\n1,9,1\n2,9,1\n", trees=3).quality
    assert math.isnan(constant.r2) and constant.rows == 2


def test_predictions_follow_fidelity_and_stay_within_the_data(tmp_path: Path) -> None:
    bench = fit(tmp_path, lines(200), trees=30)
    losses = [float(line.split(",")[-1]) for line in lines(200).splitlines()[1:]]
    means = []
    for epoch in range(1, 10):
        predicted = bench.evaluate_many(random_configs(bench, 200), epoch)
        assert min(losses) <= predicted.min() and predicted.max() <= max(losses)
        means.append(predicted.mean())
    assert all(later <= earlier for earlier, later in zip(means, means[1:], strict=False))
    assert means[0] - means[-1] == pytest.approx(1 - 1 / 9, abs=0.2)


def test_evaluate_many_returns_what_evaluate_returns(tmp_path: Path) -> None:
    bench = fit(tmp_path, lines(50), trees=5)
    configs = random_configs(bench)
    each = [bench.evaluate(config, 4) for config in configs]
    assert bench.evaluate_many(configs, 4).tolist() == each
    assert bench.evaluate_many([], 4).shape == (0,)


# Failures


def failing(lr: float, momentum: float, act: str, layers: int, epoch: int) -> float:
    """High learning rates blow up after the first epoch."""
    failed = lr > 0.01 and epoch > 1
    return math.nan if failed else curve(lr, momentum, act, layers, epoch)


def test_failures_are_predicted_where_runs_failed_and_not_elsewhere(tmp_path: Path) -> None:
    bench = fit(tmp_path, lines(400, failing), trees=50)
    config: dict[str, Any] = {"momentum": 0.5, "act": "relu", "layers": 4}
    assert math.isnan(bench.evaluate({**config, "lr": 0.05}, 9))
    assert math.isfinite(bench.evaluate({**config, "lr": 0.05}, 1))
    assert math.isfinite(bench.evaluate({**config, "lr": 0.001}, 9))
    assert bench.quality.rows < 400


def test_a_run_that_ends_with_a_failure_fails_at_later_fidelities_too(tmp_path: Path) -> None:
    """Only the epoch at which they crashed is recorded, none of the later ones."""
    kept = [
        line
        for line in lines(400, failing).splitlines()
        if not (line.endswith(",nan") and line.split(",")[-2] == "9")
    ]
    bench = fit(tmp_path, "\n".join(kept), trees=50)
    config = {"lr": 0.05, "momentum": 0.5, "act": "relu", "layers": 4}
    assert [math.isnan(bench.evaluate(config, z)) for z in (3, 9)] == [True, True]


def test_a_study_runs_on_it_and_sees_failures(tmp_path: Path) -> None:
    bench = fit(tmp_path, lines(100, failing), trees=10)
    runs = simulate(Study(bench.space, bench.fidelity, "hyperband", seed=0), bench, budget=6)
    assert {math.isinf(run.outcome.loss) for run in runs} == {True, False}


# What it is


def test_equal_seeds_give_equal_models_and_other_seeds_different_ones(tmp_path: Path) -> None:
    text = lines(60)
    predicted = []
    for seed in (1, 1, 2):
        bench = fit(tmp_path, text, trees=5, seed=seed)
        predicted.append((bench.evaluate_many(random_configs(bench), 9).tolist(), bench.quality))
    assert predicted[0] == predicted[1]
    assert predicted[0][0] != predicted[2][0] and predicted[0][1] != predicted[2][1]


def test_it_is_a_benchmark_that_can_be_pickled_without_its_file(tmp_path: Path) -> None:
    own = fit(tmp_path, lines(40, failing), trees=5)
    bench: Benchmark = own
    (tmp_path / "runs.csv").unlink()
    copy = pickle.loads(pickle.dumps(own))
    assert bench.optimum is None
    np.testing.assert_array_equal(
        copy.evaluate_many(random_configs(own), 3), bench.evaluate_many(random_configs(own), 3)
    )
    assert copy.quality == own.quality
    assert repr(copy) == (
        "Fitted('runs.csv', 5 trees, 120 runs of 4 parameters, epoch from 1 to 9)"
    )
    assert re.fullmatch(r"Quality\(r2=\S+, rank=\S+, rows=\d+\)", repr(copy.quality))
    assert isinstance(copy.quality, Quality)


def test_invalid_arguments_and_files_are_refused_with_a_reason(tmp_path: Path) -> None:
    text = lines(10)
    for options, message in (({"seed": 0.5}, "`seed` must be"), ({"trees": 0}, "`trees` must be")):
        with pytest.raises(SpaceError, match=message):
            fit(tmp_path, text, **options)
    with pytest.raises(DataError, match=r"All runs in runs.csv failed, so there is nothing to fit"):
        fit(tmp_path, "x,epoch,loss\n1,1,\n2,9,nan\n")
    bench = fit(tmp_path, text, trees=2)
    with pytest.raises(SpaceError, match="`epoch` must be between 1 and 9, got 10"):
        bench.evaluate(random_configs(bench)[0], 10)
    with pytest.raises(ConfigError, match="lacks"):
        bench.evaluate({"lr": 0.01}, 9)


def test_runs_at_a_single_fidelity_each_can_be_fitted(tmp_path: Path) -> None:
    bench = fit(tmp_path, "x,epoch,loss\n1,1,5\n2,1,4\n3,9,3\n4,9,2\n", trees=5)
    assert 2 <= bench.evaluate({"x": 4}, 5) <= 5


def test_the_page_about_own_data_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(priorband.__file__).parents[1] / "docs" / "own-data.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    exec("\n".join(blocks), scope)
    assert "Tabular('runs.csv', 300 configurations of 3 parameters" in capsys.readouterr().out
    assert scope["fitted"].quality.rank > 0.8


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_failure_is_predicted_where_it_is_more_likely_than_not(
    tmp_path: Path, share: float
) -> None:
    rng = np.random.default_rng(0)

    def by_chance(*run: Any) -> float:
        return math.nan if rng.random() < share else 1.0

    bench = fit(tmp_path, lines(400, by_chance, epochs=(1, 9)), trees=50)
    failed = np.isnan(bench.evaluate_many(random_configs(bench, 200), 9)).mean()
    assert failed < 0.4 if share < 0.5 else failed > 0.6


def test_a_training_that_recovered_is_not_predicted_to_fail(tmp_path: Path) -> None:
    runs = [f"{x / 20},{z},{x if z == 9 else ''}" for x in range(20) for z in (1, 3, 9)]
    bench = fit(tmp_path, "\n".join(["x,epoch,loss", *runs]), trees=20)
    assert np.isfinite(bench.evaluate_many(random_configs(bench), 9)).all()
