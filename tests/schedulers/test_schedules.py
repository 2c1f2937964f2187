"""Schedules job for job: synchronous Hyperband, ASHA, and what a failure does to a bracket."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from priorband import Fidelity, Float, History, Optimizer, Run, Space, Study, Trial, simulate
from priorband.errors import MethodError
from priorband.named_methods import optimizer

Objective = Callable[[Mapping[str, Any], float], float]

SPACE = Space({"x": Float(0.0, 1.0, prior=0.3)})
THREE_RUNGS = Fidelity("epochs", 3, 27)

ONE_WORKER = (
    "0_0 1_0 2_0 3_0 4_0 5_0 6_0 7_0 8_0 8_1 0_1 3_1 8_2 9_1 10_1 11_1 11_2 12_2 13_2 14_2 15_0"
)
FOUR_WORKERS = (
    "0_0@0 1_0@0 2_0@0 3_0@0 4_0@3 5_0@3 6_0@3 7_0@3 8_0@6 9_1@6 10_1@6 11_1@6 8_1@9 0_1@15 "
    "3_1@15 11_2@15 12_2@15 13_2@21 8_2@21 14_2@33 15_0@39 16_0@42 17_0@42 18_0@45 19_0@45 "
    "20_0@48 21_0@48 22_0@48 23_0@51 24_1@51"
)
TWO_BRACKETS = "0_0 1_0 2_0 3_0 4_0 5_0 6_0 7_0 8_0 8_1 0_1 3_1 8_2 9_1 10_1 11_1 11_2 12_0 13_0"
TEXTBOOK = (
    "0_0 1_0 2_0 0_1 3_0 4_0 5_0 3_1 6_0 7_0 8_0 8_1 8_2 9_0 10_0 11_0 11_1 12_0 13_0 14_0 14_1 "
    "15_0 16_0 17_0"
)
NEPS = (
    "0_0 1_0 2_0 0_1 3_0 3_1 4_0 1_1 0_2 5_0 4_1 3_2 6_0 6_1 6_2 7_0 7_1 1_2 8_0 8_1 8_2 9_0 9_1 "
    "9_2"
)


def loss_of(config_id: int) -> float:
    return ((37 * config_id + 11) % 101) / 101


def config_id(history: History, root: int) -> int:
    """Configurations numbered in the order they were sampled."""
    return sum(trial.parent is None for trial in history.trials[:root])


def job(study: Study, trial: Trial) -> str:
    number = config_id(study.state.history, trial.root)
    return f"{number}_{study.state.ladder.fidelities.index(trial.fidelity)}"


def by_id(study: Study, loss: Callable[[int], float]) -> Objective:
    """An objective that only looks at a configuration's number."""

    def evaluate(config: Mapping[str, Any], fidelity: float) -> float:
        history = study.state.history
        [root] = {trial.root for trial in history.running if trial.config == config}
        return loss(config_id(history, root))

    return evaluate


def in_order_of_start(runs: list[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: run.outcome.trial.id)


def schedule(
    method: str | Optimizer, workers: int = 1, loss: Callable[[int], float] = loss_of
) -> tuple[Study, list[Run]]:
    study = Study(SPACE, THREE_RUNGS, method, seed=3)
    return study, in_order_of_start(simulate(study, by_id(study, loss), workers, budget=12))


def opening(names: list[str], expected: str) -> str:
    """As many jobs as are expected, in the notation of what is expected."""
    return " ".join(names[: len(expected.split())])


def shifted(names: str) -> str:
    """The same jobs with every configuration numbered one higher."""
    pairs = [name.split("_") for name in names.split()]
    return " ".join(f"{int(number) + 1}_{rung}" for number, rung in pairs)


def jobs(study: Study, runs: list[Run]) -> list[str]:
    return [job(study, run.outcome.trial) for run in runs]


def timed_jobs(study: Study, runs: list[Run]) -> list[str]:
    return [f"{job(study, run.outcome.trial)}@{run.start:g}" for run in runs]


def test_tv9_one_worker_runs_hyperband_job_for_job() -> None:
    assert opening(jobs(*schedule("hyperband")), ONE_WORKER) == ONE_WORKER


def test_tv9_four_workers_run_hyperband_job_for_job_and_on_time() -> None:
    study, runs = schedule("hyperband", workers=4)
    assert opening(timed_jobs(study, runs), FOUR_WORKERS) == FOUR_WORKERS


def test_tv9_a_job_takes_as_long_as_its_fidelity_increment() -> None:
    study, runs = schedule("hyperband", workers=4)
    lengths = {job(study, run.outcome.trial): run.end - run.start for run in runs}
    assert [lengths[name] for name in ("8_0", "8_1", "8_2", "9_1", "11_2", "12_2")] == [
        *(3.0, 6.0, 18.0),
        *(9.0, 18.0, 27.0),
    ]


def test_tv9_priorband_runs_the_mode_first_and_then_the_same_schedule() -> None:
    study, runs = schedule("priorband", loss=lambda number: loss_of(number - 1))
    expected = f"0_2 {shifted(ONE_WORKER)}"
    assert opening(jobs(study, runs), expected) == expected
    assert runs[0].outcome.config == study.prior.mode
    assert runs[0].outcome.trial.slot is None


def test_tv9_priorbands_mode_holds_one_of_four_workers_for_a_full_training() -> None:
    study, runs = schedule("priorband", workers=4, loss=lambda number: loss_of(number - 1))
    assert (job(study, runs[0].outcome.trial), runs[0].start, runs[0].end) == ("0_2", 0.0, 27.0)
    plain, three = schedule("hyperband", workers=3)
    others = [run for run in runs[1:] if run.start < 27]
    alone = [run for run in three if run.start < 27]
    assert [(run.start, run.end) for run in others] == [(run.start, run.end) for run in alone]
    assert " ".join(jobs(study, others)) == shifted(" ".join(jobs(plain, alone)))
    assert all(run.worker != runs[0].worker for run in others)


@pytest.mark.parametrize(("promotion", "expected"), [("textbook", TEXTBOOK), ("neps", NEPS)])
def test_tv10_asha_promotes_job_for_job(promotion: str, expected: str) -> None:
    study, runs = schedule(optimizer("asha", promotion=promotion))
    assert opening(jobs(study, runs), expected) == expected


@pytest.mark.parametrize(
    ("promotion", "jobs_by_rung"), [("textbook", [269, 90, 30, 11]), ("neps", [103, 101, 99, 97])]
)
def test_tv10_four_hundred_jobs_spread_over_four_rungs_as_the_rule_says(
    promotion: str, jobs_by_rung: list[int]
) -> None:
    method = optimizer("asha", promotion=promotion)
    study = Study(SPACE, Fidelity("epochs", 3, 81), method, seed=3)
    for _ in range(400):
        trial = study.ask()
        study.tell(trial, loss_of(config_id(study.state.history, trial.root)))
    fidelities = [trial.fidelity for trial in study.state.history.trials]
    assert [fidelities.count(z) for z in study.state.ladder.fidelities] == jobs_by_rung


def test_asha_promotes_from_the_highest_rung_first_and_counts_no_running_trial() -> None:
    study = Study(SPACE, THREE_RUNGS, "asha", seed=3)
    base = [study.ask() for _ in range(12)]
    for trial in base[:9]:
        study.tell(trial, float(trial.id))
    climbing = [study.ask() for _ in range(3)]
    assert [job(study, trial) for trial in climbing] == ["0_1", "1_1", "2_1"]
    for trial in climbing:
        study.tell(trial, float(trial.root))
    for trial in base[9:]:
        study.tell(trial, -1.0)
    then = [job(study, study.ask()) for _ in range(5)]
    assert then == ["0_2", "9_1", "10_1", "11_1", "12_0"]


def test_asynchronous_hyperband_draws_a_base_rung_and_works_at_or_above_it() -> None:
    """False alarm below 1e-5: five standard errors of 3000 draws, four base rungs."""
    study = Study(SPACE, Fidelity("epochs", 3, 81), "async-hyperband", seed=3)
    drawn = []
    for _ in range(3000):
        trial = study.ask()
        study.tell(trial, trial.config["x"])
        assert trial.slot is not None
        drawn.append(trial.slot.bracket)
        below = trial.slot.bracket - 1
        if trial.parent is not None:
            parent = study.state.history.trial(trial.parent).slot
            assert parent is not None
            below = parent.rung
            assert below >= trial.slot.bracket
        assert trial.slot.rung == below + 1
    for base, share in enumerate([27 / 49, 12 / 49, 6 / 49, 4 / 49]):
        error = math.sqrt(share * (1 - share) / len(drawn))
        assert drawn.count(base) / len(drawn) == pytest.approx(share, abs=5 * error)


def crash(number: int) -> float:
    raise RuntimeError(f"configuration {number} ran out of memory")


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf"), crash])
def test_tv18_a_failed_configuration_leaves_the_schedule_unchanged(
    wrong: float | Callable[[int], float],
) -> None:
    def loss(number: int) -> float:
        if number != 2:
            return loss_of(number)
        return wrong(number) if callable(wrong) else wrong

    study, runs = schedule("hyperband", loss=loss)
    assert opening(jobs(study, runs), ONE_WORKER) == ONE_WORKER
    failed = [job(study, run.outcome.trial) for run in runs if run.outcome.failed]
    assert failed == ["2_0"]


def test_a_failed_favourite_gives_its_place_to_the_next_best() -> None:
    def loss(number: int) -> float:
        return crash(number) if number == 8 else loss_of(number)

    study, runs = schedule("hyperband", loss=loss)
    ranked = sorted(set(range(9)) - {8}, key=loss_of)
    assert jobs(study, runs)[9:13] == [f"{number}_1" for number in ranked[:3]] + [f"{ranked[0]}_2"]


def test_a_rung_shrinks_to_the_members_that_are_left() -> None:
    def loss(number: int) -> float:
        return crash(number) if number < 7 else loss_of(number)

    study, runs = schedule("hyperband", loss=loss)
    assert jobs(study, runs)[9:14] == ["8_1", "7_1", "8_2", "9_1", "10_1"]


def test_a_bracket_without_any_success_is_over_at_once() -> None:
    def loss(number: int) -> float:
        return crash(number) if number < 9 else loss_of(number)

    study, runs = schedule("hyperband", loss=loss)
    assert jobs(study, runs)[9:13] == ["9_1", "10_1", "11_1", "11_2"]


def test_mode_at_min_is_a_member_of_the_first_bracket_and_may_be_promoted() -> None:
    study, runs = schedule("priorband(mode@min)", loss=float)
    assert jobs(study, runs)[8:13] == ["8_0", "0_1", "1_1", "2_1", "0_2"]
    modes = [run.outcome.trial.id for run in runs if run.outcome.config == study.prior.mode]
    assert modes == [0, 9, 12]


def test_successive_halving_repeats_the_first_bracket() -> None:
    study, runs = schedule("sh")
    bases = [run.outcome.fidelity for run in runs if run.outcome.trial.parent is None]
    assert set(bases) == {3} and len(bases) > 2 * 9
    assert jobs(study, runs)[:14] == [*ONE_WORKER.split()[:13], "9_0"]


def test_brackets_with_chosen_bases_take_turns_in_the_order_given() -> None:
    """Rungs 3, 9, 27: nine trials, three and one; then three and one; then nine again."""
    study, runs = schedule(optimizer("hyperband", bases=[0, 1]))
    assert opening(jobs(study, runs), TWO_BRACKETS) == TWO_BRACKETS
    study, runs = schedule(optimizer("hyperband", bases=(2, 0)))
    assert opening(jobs(study, runs), "0_2 1_2 2_2 3_0 4_0") == "0_2 1_2 2_2 3_0 4_0"


def test_bases_above_the_highest_rung_are_left_out() -> None:
    study, runs = schedule(optimizer("hyperband", bases=(0, 1, 5)))
    assert opening(jobs(study, runs), TWO_BRACKETS) == TWO_BRACKETS
    study, runs = schedule(optimizer("hyperband", bases=(4,)))
    assert {run.outcome.fidelity for run in runs} == {27}


def test_all_bases_in_order_are_the_default() -> None:
    assert schedule(optimizer("hyperband", bases=(0, 1, 2)))[1] == schedule("hyperband")[1]
    assert repr(optimizer("hyperband").scheduler) == "Hyperband()"
    assert repr(optimizer("hyperband", bases=[0]).scheduler) == "Hyperband(bases=(0,))"


@pytest.mark.parametrize("bases", [(), (-1,), (0.5,), (True,), "01", 1, {0: 1}])
def test_bases_that_are_no_rungs_are_refused(bases: Any) -> None:
    with pytest.raises(MethodError, match="`bases` must be a list of base rungs"):
        optimizer("hyperband", bases=bases)


def test_equal_losses_are_promoted_by_age() -> None:
    study, runs = schedule("hyperband", loss=lambda number: 0.5)
    assert jobs(study, runs)[9:13] == ["0_1", "1_1", "2_1", "0_2"]


def test_a_running_member_stops_its_brackets_promotions_but_no_worker() -> None:
    study = Study(SPACE, THREE_RUNGS, "hyperband", seed=3)
    first = [study.ask() for _ in range(9)]
    for trial in first[1:]:
        study.tell(trial, 0.5)
    waiting = study.ask()
    assert job(study, waiting) == "9_1"
    study.tell(first[0], 0.1)
    assert job(study, study.ask()) == "0_1"


def test_survivors_come_from_their_own_bracket_only() -> None:
    """Every configuration beats all that are older, so bracket 1 beats bracket 0 on rung 1."""
    study, runs = schedule("hyperband", workers=4, loss=lambda number: 1.0 / (1 + number))
    trials = [run.outcome.trial for run in runs]
    assert [job(study, trial) for trial in trials if trial.slot == (0, 1)] == ["8_1", "7_1", "6_1"]
    assert [job(study, trial) for trial in trials if trial.slot == (0, 2)] == ["8_2"]
    assert [job(study, trial) for trial in trials if trial.slot == (1, 2)] == ["11_2"]
