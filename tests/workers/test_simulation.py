"""Simulated workers: time, cost and order, to the last unit."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from priorband import Categorical, Fidelity, Float, Optimizer, Run, Space, State, Study, simulate
from priorband.benchmarks import Hartmann
from priorband.errors import ArgumentError, LossError
from priorband.samplers import FromUniform
from priorband.schedulers import ASHA, FullFidelity, Hyperband, Sample
from priorband.testing import Flaky, noise
from priorband.timeline.timeline import Workload
from priorband.trial import Slot
from priorband.workers.simulation import carried_out

SPACE = Space({"x": Float(0.0, 1.0)})


def study(method: str | Optimizer = "hyperband", high: float = 9, seed: int = 0) -> Study:
    return Study(SPACE, Fidelity("epochs", 1, high), method, seed)


def loss(config: Mapping[str, Any], fidelity: float) -> float:
    return float(config["x"]) + 1 / fidelity


class _Alternating:
    """One cheap trial, one full one, in turn, so that the order of ends can be counted by hand."""

    def next(self, state: State, rng: object) -> Sample:
        del rng
        return Sample(Slot(0, state.ladder.top * (len(state.history) % 2)))


def timetable(runs: list[Run]) -> list[tuple[int, int, float, float]]:
    return [(run.outcome.trial.id, run.worker, run.start, run.end) for run in runs]


def test_one_worker_does_one_trial_after_another() -> None:
    runs = simulate(study(), loss, workers=1, budget=3)
    assert [run.outcome.trial.id for run in runs] == list(range(len(runs)))
    assert [run.start for run in runs] == [0.0, *(run.end for run in runs[:-1])]
    assert {run.worker for run in runs} == {0}


def test_the_timetable_of_two_workers_is_as_counted_by_hand() -> None:
    method = Optimizer(_Alternating(), FromUniform())
    runs = simulate(study(method, high=3), loss, workers=2, budget=4)
    assert timetable(runs) == [
        (0, 0, 0, 1),
        (2, 0, 1, 2),
        (1, 1, 0, 3),
        (4, 1, 3, 4),
        (3, 0, 2, 5),
        (5, 1, 4, 7),
    ]


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8, 40])
@pytest.mark.parametrize("method", ["hyperband", "asha", "async-hyperband", "priorband", "random"])
def test_no_worker_does_two_things_at_once_or_rests(method: str, workers: int) -> None:
    runs = simulate(study(method, high=27), Flaky(), workers, budget=8)
    assert {run.worker for run in runs} <= set(range(workers))
    last = max(run.start for run in runs)
    for worker in range(workers):
        own = sorted((run for run in runs if run.worker == worker), key=lambda run: run.start)
        starts, ends = [run.start for run in own], [run.end for run in own]
        assert starts == [0.0, *ends[:-1]][: len(starts)]
        assert not ends or ends[-1] >= last


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_runs_come_in_the_order_of_their_ends_and_equal_ends_in_that_of_their_starts(
    workers: int,
) -> None:
    tuned = study("asha", high=27)
    runs = simulate(tuned, loss, workers, budget=8)
    keys = [(run.end, run.outcome.trial.id) for run in runs]
    assert keys == sorted(keys)
    assert len({run.end for run in runs}) < len(runs) or workers == 1
    assert tuple(run.outcome for run in runs) == tuned.state.history.observations


@pytest.mark.filterwarnings("ignore::priorband.errors.SingleRungWarning")
def test_a_free_worker_asks_before_the_next_end_is_told() -> None:
    """Four cheap trials end together; each end is followed by one request, not by four."""
    tuned = study(Optimizer(FullFidelity(), FromUniform()), high=1)
    running = []

    def watched(config: Mapping[str, Any], fidelity: float) -> float:
        running.append(len(tuned.state.history.running))
        return loss(config, fidelity)

    simulate(tuned, watched, workers=4, budget=12)
    assert running == [4] * 9 + [3, 2, 1]


@pytest.mark.parametrize("method", ["hyperband", "asha", "priorband"])
@pytest.mark.parametrize("continued", [True, False])
def test_a_promotion_pays_the_difference_or_the_whole(method: str, continued: bool) -> None:
    tuned = study(method, high=27)
    runs = simulate(tuned, loss, 4, budget=8, continued=continued)
    trials = tuned.state.history.trials
    promoted = [run for run in runs if run.outcome.trial.parent is not None]
    assert promoted
    for run in runs:
        trial = run.outcome.trial
        paid = trials[trial.parent].fidelity if continued and trial.parent is not None else 0
        assert run.cost == pytest.approx(trial.fidelity - paid)
        assert run.cost == pytest.approx(run.end - run.start)


@pytest.mark.parametrize("workers", [1, 4, 8])
@pytest.mark.parametrize("continued", [True, False])
@pytest.mark.parametrize("budget", [0.5, 1.0, 3.0, 7.3])
def test_trials_are_started_while_the_budget_lasts(
    budget: float, continued: bool, workers: int
) -> None:
    tuned = study("asha", high=27)
    runs = simulate(tuned, loss, workers, budget, continued)
    costs = {run.outcome.trial.id: run.cost for run in runs}
    in_order = [costs[number] for number in sorted(costs)]
    assert sum(in_order) >= budget * 27 - 1e-6
    assert sum(in_order[:-1]) < budget * 27
    assert not tuned.state.history.running
    if continued:
        assert sum(in_order) == pytest.approx(tuned.state.history.spent)


def test_a_budget_that_is_used_up_exactly_starts_nothing_more() -> None:
    runs = simulate(study("random", high=9), loss, workers=3, budget=5)
    assert len(runs) == 5
    thirds = Study(SPACE, Fidelity("share", 0.1, 0.3), Optimizer(_Alternating(), FromUniform()))
    assert len(simulate(thirds, loss, workers=1, budget=4)) == 6


def test_more_workers_end_earlier_for_the_same_work() -> None:
    ends = [max(run.end for run in simulate(study("random"), loss, n, 8)) for n in (1, 2, 4, 8)]
    assert ends == [72, 36, 18, 9]


@pytest.mark.parametrize("workers", [1, 4, 8])
@pytest.mark.parametrize("method", ["hyperband", "asha+esp", "priorband"])
def test_a_simulation_can_be_repeated_exactly(method: str, workers: int) -> None:
    first, second = (simulate(study(method, 27, 3), Flaky(), workers, 6) for _ in range(2))
    assert first == second
    other = simulate(study(method, 27, 4), Flaky(), workers, 6)
    assert first != other


def test_a_second_simulation_goes_on_where_the_first_ended() -> None:
    tuned = study("asha", high=9)
    first = simulate(tuned, loss, workers=1, budget=4)
    second = simulate(tuned, loss, workers=1, budget=4)
    assert second[0].outcome.trial.id == len(first) and second[0].start == 0
    whole = simulate(study("asha", high=9), loss, workers=1, budget=10)
    outcomes = [run.outcome for run in first + second]
    assert outcomes == [run.outcome for run in whole][: len(outcomes)]


def test_an_objective_that_raises_is_a_failure_with_its_reason() -> None:
    def broken(config: Mapping[str, Any], fidelity: float) -> float:
        if config["x"] < 0.5:
            raise ZeroDivisionError("no luck")
        return loss(config, fidelity)

    runs = simulate(study("hyperband", high=27), broken, workers=4, budget=6)
    failed = [run.outcome for run in runs if run.outcome.failed]
    assert failed and len(failed) < len(runs)
    assert {ended.reason for ended in failed} == {"raised: ZeroDivisionError: no luck"}
    assert all((ended.config["x"] < 0.5) == ended.failed for ended in (r.outcome for r in runs))
    assert all(math.isinf(ended.loss) for ended in failed)


def test_an_objective_that_always_raises_uses_up_the_budget_all_the_same() -> None:
    def broken(config: Mapping[str, Any], fidelity: float) -> float:
        raise RuntimeError(f"{len(config)} parameters are too many")

    tuned = study(Optimizer(Hyperband(), FromUniform()), high=27)
    runs = simulate(tuned, broken, workers=4, budget=6)
    assert sum(run.cost for run in runs) >= 6 * 27
    assert tuned.best is None and tuned.state.incumbent is None


def test_an_interrupt_is_not_taken_for_a_failure() -> None:
    def interrupted(config: Mapping[str, Any], fidelity: float) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(study(), interrupted)


def test_a_loss_that_is_no_number_is_the_users_mistake() -> None:
    with pytest.raises(LossError):
        simulate(study(), lambda config, fidelity: "good")  # type: ignore[arg-type, return-value]  # the mistake


@pytest.mark.parametrize("workers", [1, 4])
def test_a_method_with_nothing_left_to_try_ends_the_run(workers: int) -> None:
    small = Study(Space({"c": Categorical(("a", "b", "c"))}), None, "grid")
    runs = simulate(small, noise, workers, budget=9)
    assert sorted(run.outcome.config["c"] for run in runs) == ["a", "b", "c"]
    assert not small.state.history.running


def test_a_benchmark_and_its_function_are_simulated_alike() -> None:
    bench = Hartmann(3)
    tuned = [Study(bench.space, bench.fidelity, Optimizer(ASHA(), FromUniform())) for _ in "ab"]
    assert simulate(tuned[0], bench, 4, 3) == simulate(tuned[1], bench.evaluate, 4, 3)


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "four"])
def test_workers_are_counted_in_whole_numbers(workers: Any) -> None:
    with pytest.raises(ArgumentError, match="`workers`"):
        simulate(study(), loss, workers=workers)


@pytest.mark.parametrize("budget", [0, -1.0, math.nan, math.inf])
def test_a_budget_is_a_positive_number(budget: float) -> None:
    with pytest.raises(ArgumentError, match="`budget`"):
        simulate(study(), loss, budget=budget)


def test_a_pause_delays_whatever_comes_next() -> None:
    bench = Hartmann(3)
    study = Study(bench.space, bench.fidelity, "hyperband", seed=1)
    runs = carried_out(study, bench, Workload(1, 2.0, pause=7.0))
    ends = np.cumsum([run.cost + 7.0 for run in runs])
    assert [run.end for run in runs] == pytest.approx(ends)
    assert [run.start for run in runs[1:]] == pytest.approx(ends[:-1])


UNIT = Space({"x": Float(0, 1, prior=0.3)})


@pytest.mark.parametrize("method", ["hyperband", "asha", "priorband"])
@pytest.mark.parametrize("workers", [2, 4, 7])
def test_simulated_workers_do_the_same_on_a_scaled_ladder(method: str, workers: int) -> None:
    def loss(config: Mapping[str, Any], fidelity: float) -> float:
        del fidelity
        return abs(float(config["x"]) - 0.6)

    plans = []
    for fidelity in (Fidelity("epochs", 1.0, 81.0), Fidelity("share", 0.1, 8.1)):
        runs = simulate(Study(UNIT, fidelity, method, seed=2), loss, workers, budget=12)
        plans.append([(run.outcome.trial.slot, run.outcome.trial.parent) for run in runs])
        units = {round(run.cost / fidelity.low, 6) for run in runs}
        assert len(units) == len({run.cost for run in runs})  # equal costs are equal to the bit
    assert plans[0] == plans[1]


def test_a_tiny_fidelity_is_simulated_as_any_other() -> None:
    study = Study(UNIT, Fidelity("share", 1e-13, 1e-11), "hyperband")
    assert len(simulate(study, lambda config, fidelity: 0.5, budget=3)) > 30
