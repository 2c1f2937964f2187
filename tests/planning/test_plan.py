"""A plan says job for job what `simulate` and a stored study then do."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from amounts import examples, slow_unless_in
from hypothesis import given, settings
from hypothesis import strategies as st

import priorband as pb
from priorband.errors import ArgumentError, ExhaustedError, MethodError
from priorband.planning.jobs import PlanInputs, PlannedJob, jobs_of, planned_jobs
from priorband.planning.plan import make_plan
from priorband.samplers import FromUniform, Grid
from priorband.schedulers import Hyperband, Promote, Sample, Slot
from priorband.timeline.in_memory import LossOf, falling, rising, shuffled
from priorband.timeline.timeline import Workload, timeline
from priorband.trial import Observation, Trial

SPACE = pb.Space(
    {"x": pb.Float(0, 1, prior=0.4), "n": pb.Integer(1, 9), "c": pb.Categorical(["a", "b"])}
)
EPOCHS = pb.Fidelity("epochs", 1, 27)
SYNCHRONOUS = ["priorband", "hyperband", "sh", "random", "random+prior", "bohb", "priorband+bo"]
ASYNCHRONOUS = ["asha", "async-hyperband", "asha+esp", "async-hyperband+prior", "mobster"]
EVERYDAY = ["priorband", "sh", "random", "asha", "async-hyperband", "asha+esp"]


@dataclass
class Told:
    """The trials of a study of any kind, each told the loss that a sequence has for it."""

    study: pb.BaseStudy
    loss: LossOf

    def ask(self) -> Trial:
        return self.study.ask()

    def cost(self, trial: Trial) -> float:
        return self.study.state.history.cost(trial)

    def end(self, trial: Trial) -> Observation:
        loss = self.loss(trial)
        assert self.study.tell(trial, loss)
        return Observation(trial, loss)


def real_jobs(study: pb.BaseStudy, loss: LossOf, work: Workload) -> tuple[PlannedJob, ...]:
    runs = timeline(Told(study, loss), work, study.fidelity.high)
    return jobs_of(runs, study.state.ladder.fidelities)


def stepwise(study: pb.DurableStudy, loss: LossOf, workers: int) -> list[Trial]:
    """What workers ask for that take an hour for each epoch: simulated with a plain list."""
    busy: list[tuple[float, int, Trial]] = []
    now, asked, spent = 0.0, [], False
    while True:
        while not spent and len(busy) < workers:
            try:
                trial = study.ask()
            except ExhaustedError:
                spent = True
                break
            asked.append(trial)
            busy.append((now + study.state.history.cost(trial), trial.id, trial))
        if not busy:
            return asked
        busy.sort(key=lambda job: job[:2])
        now, _, ended = busy.pop(0)
        study.tell(ended, loss(ended))


@pytest.mark.parametrize("workers", [1, 4, 64])
@pytest.mark.parametrize("method", slow_unless_in(EVERYDAY, SYNCHRONOUS))
def test_a_synchronous_plan_is_what_simulate_does_whatever_the_losses(
    method: str, workers: int
) -> None:
    planned = pb.plan(EPOCHS, method, budget=5, workers=workers)
    assert planned.exact and not planned.capped
    study = pb.Study(SPACE, EPOCHS, method, seed=11)
    runs = pb.simulate(study, lambda config, z: float(config["x"]) + 1 / z, workers, budget=5)
    assert jobs_of(runs, study.state.ladder.fidelities) == planned.jobs


@pytest.mark.parametrize("workers", [1, 4, 64])
@pytest.mark.parametrize("method", slow_unless_in(EVERYDAY, ["priorband", "sh", "random", "asha"]))
def test_a_plan_is_what_a_stored_study_does(tmp_path: Path, method: str, workers: int) -> None:
    loss = shuffled(7)
    inputs = PlanInputs(pb.optimizer(method), EPOCHS, Workload(workers, 3.0), seed=5)
    planned = planned_jobs(inputs, loss, most=10_000)
    with pb.open_study(tmp_path, SPACE, EPOCHS, method=method, seed=5) as study:
        study.limit(3)
        asked = stepwise(study, loss, workers)
        assert [(job.trial, job.bracket, job.promoted) for job in planned] == [
            (trial.id, trial.slot.bracket if trial.slot else None, trial.parent is not None)
            for trial in asked
        ]
        rungs = study.state.ladder.fidelities
        assert [rungs[job.rung or 0] for job in planned] == [trial.fidelity for trial in asked]
        assert sum(job.cost for job in planned) == study.spending().trainings * EPOCHS.high


@pytest.mark.parametrize("workers", [1, 4, 64])
@pytest.mark.parametrize("loss", [falling, rising, shuffled(3)])
@pytest.mark.parametrize("method", slow_unless_in(EVERYDAY, ASYNCHRONOUS))
def test_a_plan_that_depends_on_losses_is_exact_with_the_same_losses(
    method: str, loss: LossOf, workers: int
) -> None:
    work = Workload(workers, 4.0)
    inputs = PlanInputs(pb.optimizer(method), EPOCHS, work, seed=2)
    planned = planned_jobs(inputs, loss, most=10_000)
    assert planned == real_jobs(pb.Study(SPACE, EPOCHS, method, seed=2), loss, work)


@pytest.mark.parametrize("method", slow_unless_in(EVERYDAY, ASYNCHRONOUS))
def test_a_plan_that_depends_on_losses_is_shown_as_a_range(method: str) -> None:
    planned = pb.plan(EPOCHS, method, budget=8, workers=4)
    assert not planned.exact and planned.sequences == 8
    assert planned.trials.low < planned.trials.high
    assert planned.trials.low <= planned.trials.typical <= planned.trials.high
    assert f"{planned.trials.low:.0f} to {planned.trials.high:.0f} trials" in str(planned)
    assert "depends on the losses" in str(planned)


@settings(max_examples=examples(60), deadline=None)
@given(
    low=st.integers(1, 9),
    factor=st.floats(1.0, 90.0),
    real=st.booleans(),
    eta=st.integers(2, 5),
    sizes=st.sampled_from(["floor", "ceil"]),
    method=st.sampled_from(["hyperband", "priorband", "sh", "asha", "async-hyperband", "random"]),
    budget=st.floats(0.1, 9.0),
    workers=st.integers(1, 70),
    seed=st.integers(0, 5),
)
@pytest.mark.filterwarnings("ignore:.*single rung")
def test_plans_of_all_ladders_budgets_and_workers_are_what_studies_do(  # noqa: PLR0913  # drawn
    low: int,
    factor: float,
    real: bool,
    eta: int,
    sizes: Any,
    method: str,
    budget: float,
    workers: int,
    seed: int,
) -> None:
    high = low * factor if real else math.ceil(low * factor)
    fidelity = pb.Fidelity("epochs", float(low) if real else low, high)
    optimizer = pb.optimizer(method, eta=eta, sizes=sizes)
    work, loss = Workload(workers, budget), shuffled(seed)
    inputs = PlanInputs(optimizer, fidelity, work, seed)
    planned = planned_jobs(inputs, loss, most=100_000)
    assert planned == real_jobs(pb.Study(SPACE, fidelity, optimizer, seed), loss, work)
    shown = pb.plan(fidelity, optimizer, budget, workers, seed=seed)
    assert sum(shown.starts) + shown.promotions.typical == len(shown.jobs)
    assert not shown.exact or shown.jobs == planned
    assert 0 <= shown.idle.low <= shown.idle.high < 1
    assert shown.trainings.low > 0.999_999 * budget
    for width in (60, 80, 120):
        assert all(len(line) <= width for line in shown.text(width).splitlines())


def test_the_workers_of_a_plan_do_one_thing_at_a_time() -> None:
    jobs = pb.plan(EPOCHS, workers=7).jobs
    for worker in range(7):
        own = sorted((job for job in jobs if job.worker == worker), key=lambda job: job.start)
        assert all(one.end <= other.start for one, other in zip(own, own[1:], strict=False))


@dataclass(frozen=True)
class ReadsTheIncumbent:
    """A scheduler whose next rung depends on a configuration."""

    def next(self, state: Any, rng: object) -> Sample | Promote:
        del rng
        best = state.incumbent
        high = best is not None and best.config["x"] < 0.5
        return Sample(Slot(0, state.ladder.top if high else 0))


@dataclass(frozen=True)
class ReadsValues:
    """A scheduler that looks at the values of a configuration in the history."""

    def next(self, state: Any, rng: object) -> Sample | Promote:
        del rng
        last = state.history.trials[-1:]
        return Sample(Slot(0, len([*last[0].config.values()]) % 2 if last else 0))


@pytest.mark.parametrize("scheduler", [ReadsTheIncumbent(), ReadsValues()])
def test_a_scheduler_that_reads_configurations_is_planned_with_the_real_ones(
    scheduler: Any,
) -> None:
    method = pb.Optimizer(scheduler, FromUniform())
    inputs = PlanInputs(method, EPOCHS, Workload(3, 4.0), seed=1, space=SPACE)
    planned = planned_jobs(inputs, shuffled(0), most=10_000)
    work = inputs.work
    assert planned == real_jobs(pb.Study(SPACE, EPOCHS, method, 1), shuffled(0), work)
    with pytest.raises(MethodError, match="looks at configurations, so a plan needs their `space`"):
        pb.plan(EPOCHS, method)


@dataclass(frozen=True)
class Refuses:
    """A sampler that must not be asked."""

    def sample(self, state: object, rung: int, rng: object) -> Any:
        raise AssertionError


def test_no_configuration_is_drawn_for_a_plan() -> None:
    method = pb.Optimizer(Hyperband(), Refuses(), opening=Refuses())
    assert pb.plan(EPOCHS, method).jobs == pb.plan(EPOCHS, "priorband").jobs


def test_a_grid_that_runs_out_ends_the_plan() -> None:
    small = pb.Space({"c": pb.Categorical(["a", "b"]), "n": pb.Integer(1, 2)})
    method = pb.Optimizer(Hyperband(), Grid())
    assert pb.plan(EPOCHS, "grid", budget=12, space=small).trials.typical == 4
    assert pb.plan(EPOCHS, "grid", budget=12).trials.typical == 12
    assert pb.plan(EPOCHS, method, budget=12, space=small).promotions.typical == 0


def test_promotions_from_scratch_cost_all_of_their_fidelity() -> None:
    fresh = pb.plan(EPOCHS, "hyperband", budget=6, continued=False)
    study = pb.Study(SPACE, EPOCHS, "hyperband")
    runs = pb.simulate(study, lambda config, z: float(config["x"]), 4, 6, continued=False)
    assert fresh.jobs == jobs_of(runs, fresh.rungs)


def test_a_budget_may_be_a_number_of_trials() -> None:
    planned = pb.plan(EPOCHS, budget=pb.Budget(trials=20))
    assert planned.trials.typical == 20 and planned.budget is None and not planned.capped
    assert pb.plan(EPOCHS, budget=pb.Budget(trainings=1, trials=2000)).budget == 1


def test_times_are_in_seconds_where_these_are_known() -> None:
    planned = pb.plan(EPOCHS, "hyperband", budget=6, seconds_per_unit=60)
    assert planned.seconds and planned.seconds.typical == 60 * planned.length.typical
    assert " min" in str(planned)


WRONG: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: pb.plan(81), ArgumentError, "`fidelity` must be a Fidelity, got 81"),  # type: ignore[arg-type]  # the point
    (lambda: pb.plan(EPOCHS, budget=0), ArgumentError, "`budget`"),
    (lambda: pb.plan(EPOCHS, budget=pb.Budget(hours=1)), ArgumentError, "`trainings` or `trials`"),
    (lambda: pb.plan(EPOCHS, workers=0), ArgumentError, "`workers`"),
    (lambda: pb.plan(EPOCHS, seconds_per_unit=-1), ArgumentError, "`seconds_per_unit`"),
    (lambda: pb.plan(EPOCHS, "hyperbnd"), MethodError, "hyperband"),
]


@pytest.mark.parametrize(("call", "kind", "message"), WRONG)
def test_a_wrong_argument_is_named(
    call: Callable[[], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_a_plan_of_too_many_trials_is_capped_and_says_so() -> None:
    inputs = PlanInputs(pb.optimizer("hyperband"), EPOCHS, Workload(4, 1000.0))
    planned = make_plan(inputs, most=500)
    assert planned.capped and len(planned.jobs) == 500 and planned.seconds is None
    assert "Only the first 500 trials are planned" in str(planned)
    assert planned.jobs[:100] == pb.plan(EPOCHS, "hyperband", budget=30).jobs[:100]


def test_the_page_shows_a_plan_as_it_is() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "plan.md").read_text()
    assert str(pb.plan(pb.Fidelity("epochs", 1, 81), "priorband", 12, 4)) in page
