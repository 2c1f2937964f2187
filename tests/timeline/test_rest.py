"""The time that is left: exact where all is known, and right on average where it is not."""

import pytest

import priorband as pb
from priorband.history import History
from priorband.samplers import FromUniform
from priorband.schedulers import Hyperband, Sample, Slot
from priorband.space.config import Config
from priorband.state import State
from priorband.timeline import rest as rest_module
from priorband.timeline.durations import Durations, Took
from priorband.timeline.rest import Rest, rest_seconds
from priorband.timeline.timeline import Ongoing, Workload, timeline
from priorband.trial import Observation, Trial

SPACE = pb.Space({"x": pb.Float(0, 1)})
EPOCHS = pb.Fidelity("epochs", 1, 27)
STARTUP, PACE = 5.0, 2.0


class Halfway:
    """A study that stops to ask how long it will take, once some trials were asked."""

    def __init__(self, method: str, stop: int) -> None:
        self.study, self.stop = pb.Study(SPACE, EPOCHS, method), stop
        self.at_stop: State | None = None

    def ask(self) -> Trial:
        if len(self.study.state.history) == self.stop and self.at_stop is None:
            copied = History.of(self.study.state.history.events)
            problem = self.study.problem
            ladder = self.study.state.ladder
            self.at_stop = State(problem.space, problem.prior, ladder, copied)
        return self.study.ask()

    def cost(self, trial: Trial) -> float:
        return self.study.state.history.cost(trial)

    def end(self, trial: Trial) -> Observation:
        self.study.tell(trial, trial.config["x"])
        return Observation(trial, trial.config["x"])


def both(method: str, workers: int, budget: float, stop: int) -> tuple[float, float]:
    """The estimate when a trial is about to be asked, and how long it then takes."""
    halfway = Halfway(method, stop)
    runs = timeline(
        halfway, Workload(workers, budget), 27, lambda trial, cost: STARTUP + PACE * cost
    )
    by_trial = {run.outcome.trial.id: run for run in runs}
    now, state = by_trial[stop].start, halfway.at_stop
    assert state is not None
    durations = Durations()
    for ended in state.history.observations:
        run = by_trial[ended.trial.id]
        durations.add(Took(ended.trial.root, ended.fidelity, run.cost, run.end - run.start))
    ongoing = [Ongoing(trial, by_trial[trial.id].end - now) for trial in state.history.running]
    left = budget - sum(by_trial[number].cost for number in range(stop)) / 27
    rest = Rest(halfway.study.optimizer, state, 0, workers, left)
    estimate = rest_seconds(rest, durations.model(27), ongoing)
    assert estimate is not None
    return estimate, max(run.end for run in runs) - now


@pytest.mark.parametrize("workers", [1, 4, 16])
@pytest.mark.parametrize("method", ["hyperband", "sh", "random"])
def test_the_rest_is_exact_if_trials_take_what_was_measured(method: str, workers: int) -> None:
    stop = {"random": 8 if workers < 8 else 17}.get(method, 40 if workers < 8 else 70)
    estimate, truth = both(method, workers, budget=20, stop=stop)
    assert estimate == pytest.approx(truth, rel=0.02)


@pytest.mark.parametrize("workers", [1, 4])
def test_the_rest_of_an_asynchronous_method_is_about_right(workers: int) -> None:
    estimate, truth = both("asha", workers, budget=20, stop=60)
    assert estimate == pytest.approx(truth, rel=0.25)


def test_a_long_rest_is_extrapolated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_module, "AHEAD", 60)
    estimate, truth = both("hyperband", 4, budget=30, stop=40)
    assert estimate == pytest.approx(truth, rel=0.25)


def test_a_long_study_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest_module, "LONG", 30)
    estimate, truth = both("hyperband", 4, budget=30, stop=40)
    assert estimate == pytest.approx(truth, rel=0.25)


def fresh(budget: float, trials: int | None = None) -> Rest:
    method = pb.optimizer("hyperband")
    study = pb.Study(SPACE, EPOCHS, method)
    return Rest(method, study.state, 0, 2, budget, trials)


def test_nothing_is_known_before_the_first_result_and_nothing_left_after_the_budget() -> None:
    trial = pb.Study(SPACE, EPOCHS).ask()
    assert rest_seconds(fresh(4), Durations().model(27), []) is None
    assert rest_seconds(fresh(0), None, []) == 0
    assert rest_seconds(fresh(0), None, [Ongoing(trial, 7.0)]) == 7
    assert rest_seconds(fresh(4, trials=0), None, []) == 0


def test_a_number_of_trials_limits_the_rest() -> None:
    durations = Durations()
    durations.add(Took(0, 1, 1, 3.0))
    assert rest_seconds(fresh(1e12, trials=10), durations.model(27), []) == pytest.approx(15)


class ReadsConfigs:
    """A scheduler whose rest cannot be foreseen without its configurations."""

    def next(self, state: State, rng: object) -> Sample:
        del rng
        return Sample(Slot(0, len(state.space.names) % 2))


def test_a_scheduler_that_reads_the_space_has_no_estimate() -> None:
    method = pb.Optimizer(ReadsConfigs(), FromUniform())
    study = pb.Study(SPACE, EPOCHS, method)
    durations = Durations()
    durations.add(Took(0, 1, 1, 3.0))
    assert rest_seconds(Rest(method, study.state, 0, 2, 4.0), durations.model(27), []) is None


def test_a_study_is_left_as_it_is_by_an_estimate() -> None:
    study = pb.Study(SPACE, EPOCHS, pb.Optimizer(Hyperband(), FromUniform()))
    for _ in range(5):
        study.tell(study.ask(), 0.5)
    before = study.state.history.events
    durations = Durations()
    durations.add(Took(0, 1, 1, 3.0))
    rest_seconds(Rest(study.optimizer, study.state, 0, 2, 4.0), durations.model(27), [])
    assert study.state.history.events == before
    assert study.ask().id == 5


def test_the_startup_is_found_by_comparing_a_configuration_with_itself() -> None:
    durations = Durations()
    for root, pace in enumerate((1.0, 5.0, 20.0)):
        durations.add(Took(root, 1, 1, 10 + pace))
        durations.add(Took(root, 9, 8, 10 + 8 * pace))
    model = durations.model(27)
    assert model is not None and model.startup == pytest.approx(10)
    assert model.by_root[0] < model.by_root[1] < model.by_root[2]


def test_a_running_trial_counts_with_the_steps_that_it_has_reported() -> None:
    trial = pb.Study(SPACE, EPOCHS).ask()
    assert Durations().model(27, (Took(0, 27, 0.0, 50.0),)) is None
    model = Durations().model(27, (Took(0, 27, 9.0, 18.0),))
    assert model is not None and model.left(trial, 27, 18.0, 9.0) == pytest.approx(36)


def test_a_trial_that_takes_longer_than_all_others_takes_a_little_longer() -> None:
    durations = Durations()
    for root in range(1, 5):
        durations.add(Took(root, 27, 27, 27.0))
    model = durations.model(27)
    trial = pb.Study(SPACE, EPOCHS).ask()
    assert model is not None
    assert model.left(trial, 27, 10.0, None) == pytest.approx(17)
    assert model.left(trial, 27, 100.0, None) == pytest.approx(30)


def test_longer_trials_than_any_so_far_are_expected_to_take_less_for_each_unit() -> None:
    durations = Durations()
    for root in range(3):
        durations.add(Took(root, 1, 1, 2.0))
    model = durations.model(20)
    assert model is not None
    assert model.startup == pytest.approx(1.0)  # a twentieth of 20 units: as long as one unit
    seconds = model.seconds(0)(Trial(9, Config(), 16, None, None, "prior", 9), 16.0)
    assert seconds == pytest.approx(1.0 + 1.0 * 16 * 16**-0.15)


def test_the_usual_startup_is_a_share_of_a_full_training_not_of_the_longest_so_far() -> None:
    durations = Durations()
    for root, units in enumerate((1.0, 1.0, 3.0)):
        durations.add(Took(root, units, units, 2.0 * units))
    model = durations.model(20)
    assert model is not None  # between 0 by these, and 1.0: as long as a twentieth of 20 units
    assert model.startup == pytest.approx(0.5)


def test_the_decline_follows_the_trials_once_there_are_some() -> None:
    durations = Durations()
    for root in range(20):
        durations.add(Took(root, 1, 1, 2.0))
        durations.add(Took(root, 9, 8, 16.0))
    model = durations.model(27)
    assert model is not None and model.startup == 0.0
    assert model.decline == pytest.approx(0.0, abs=0.01)


def test_trials_that_run_without_a_report_make_new_ones_slower() -> None:
    """By Kaplan and Meier: of 1, 2, 4 and more than 2, the last has the weight of 4 twice."""
    durations = Durations()
    for root, pace in enumerate((1.0, 2.0, 4.0)):
        durations.add(Took(root, 27, 27, 27 * pace))
    before = durations.model(27)
    after = durations.model(27, silent=[Took(5, 27, 27, 27 * 3.0)])
    slowest = durations.model(27, silent=[Took(5, 27, 27, 27 * 10.0)])
    assert before is not None and after is not None and slowest is not None
    assert before.shares == [27, 54, 81] and after.shares == pytest.approx([27, 54, 108])
    assert slowest.shares == [27, 54, 81, 108]
    assert slowest.paces[:3] == before.paces and slowest.paces[3] > 10.0
