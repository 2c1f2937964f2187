"""How wrong the estimate of time left is, on studies with real durations.

    PRIORBAND_DATA=FOLDER python benchmarks/time_left.py [--seeds 3] [--tasks 8] [--startup 0 20]

Each study tunes a task of LCBench in simulated time: losses and seconds of a trial are those of the
benchmark, so configurations differ in speed by more than a factor of ten. `--startup` adds seconds
to each trial, as importing a framework does. When a share of the budget is handed out, the time
left is estimated from what is known by then, and compared with the time that the study then takes.

Printed are, over tasks, methods and seeds, the median of the relative errors, the 90th percentile,
and two other medians: `single` is the estimate from one pace for all rungs, and `oracle` is the
same estimate with durations that nobody knows at that time: those of all trials of the other seeds,
and those of all that the known configurations will still train. What it is wrong by is chance:
which configurations are drawn and promoted.

The estimate was chosen on the tasks for development: those of the paper, and those at even places
in `TASKS`. The others are for confirmation, and nothing was chosen by them.
"""

import argparse
import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from statistics import median, quantiles
from typing import NamedTuple

import numpy as np

import priorband as pb
from priorband.benchmarks.folder import DATA_VARIABLE
from priorband.benchmarks.lcbench import PAPER_TASKS, TASKS, LCBench
from priorband.history import History
from priorband.state import State
from priorband.timeline.durations import DurationModel, Durations, Took
from priorband.timeline.rest import Rest, rest_seconds
from priorband.timeline.timeline import Ongoing, Run, Workload, timeline
from priorband.trial import Observation, Trial

DEVELOPMENT = tuple(t for n, t in enumerate(TASKS) if t in PAPER_TASKS or n % 2 == 0)
CONFIRMATION = tuple(task for task in TASKS if task not in DEVELOPMENT)
SHARES = (0.1, 0.25, 0.5, 0.75)
METHODS = ("priorband", "hyperband", "asha", "async-hyperband", "random")
BUDGETS = (5.0, 12.0, 40.0)
WORKERS = (1, 4)
GOAL = 0.25
_TIME = 0


class Moment(NamedTuple):
    """What had happened when a trial was asked."""

    asked: Trial
    events: int


class Recorded:
    """A study on a benchmark that notes what happened in which order."""

    def __init__(self, bench: LCBench, method: str, seed: int) -> None:
        self.bench = bench
        self.study = pb.Study(bench.space, bench.fidelity, method, seed)
        self.moments: list[Moment] = []

    def ask(self) -> Trial:
        """Return the next trial."""
        trial = self.study.ask()
        self.moments.append(Moment(trial, len(self.study.state.history.events)))
        return trial

    def cost(self, trial: Trial) -> float:
        """Return the epochs that a trial adds."""
        return self.study.state.history.cost(trial)

    def end(self, trial: Trial) -> Observation:
        """Evaluate a trial."""
        loss = self.bench.evaluate(trial.config, trial.fidelity)
        self.study.tell(trial, loss)
        return Observation(trial, loss)


class Study(NamedTuple):
    """A study that has ended, and its runs by trial."""

    recorded: Recorded
    runs: dict[int, Run]
    workers: int
    budget: float


def seconds_of(bench: LCBench, trial: Trial, epochs: float) -> float:
    """The seconds of the last `epochs` of a trial, of which the benchmark predicts the sums."""
    before = trial.fidelity - epochs
    sums = [total_seconds(bench, trial, epoch) for epoch in (before, trial.fidelity) if epoch]
    return max(sums[-1] - (sums[0] if before else 0.0), 0.1)


def total_seconds(bench: LCBench, trial: Trial, epoch: float) -> float:
    """The seconds that a configuration takes from the start to the end of an epoch."""
    row = [[epoch, *(trial.config[name] for name in bench.space.names)]]
    task = np.full((1, 1), bench._code, dtype=np.int32)
    predicted = bench._network.run(x_cat=task, x_cont=np.array(row, dtype=np.float32))
    return float(predicted[0, _TIME])


def ended(bench: LCBench, method: str, seed: int, work: Workload, startup: float) -> Study:
    """Run a study to its end, in simulated time."""
    recorded = Recorded(bench, method, seed)
    runs = timeline(
        recorded,
        work,
        bench.fidelity.high,
        lambda trial, cost: startup + seconds_of(bench, trial, cost),
    )
    return Study(recorded, {run.outcome.trial.id: run for run in runs}, work.workers, work.budget)


class Guess(NamedTuple):
    """Estimates of the time left when a share of the budget was handed out, and the truth."""

    share: float
    estimate: float
    single: float
    oracle: float
    truth: float


def guesses(study: Study, others: Sequence[Study], steps: bool) -> Iterator[Guess]:
    """The estimates by share of the budget; `others` differ from the study by their seed only."""
    high, spent, shares = study.recorded.bench.fidelity.high, 0.0, list(SHARES)
    end = max(run.end for run in study.runs.values())
    for moment in study.recorded.moments:
        run = study.runs[moment.asked.id]
        spent += run.cost
        if shares and spent >= shares[0] * study.budget * high:
            left, now = study.budget - spent / high, run.start
            history = History.of(study.recorded.study.state.history.events[: moment.events])
            models = measured(study, history, now, steps), known_all(study, history, others)
            estimate, oracle = (estimated(study, history, now, left, m, steps) for m in models)
            single = single_pace(study, history, now, left)
            yield Guess(shares.pop(0), estimate, single, oracle, end - now)


def measured(study: Study, history: History, now: float, steps: bool) -> DurationModel | None:
    """What is known at a time about durations."""
    durations = Durations()
    for outcome in history.observations:
        durations.add(took(study.runs[outcome.trial.id]))
    running = [
        (study.runs[trial.id], reported(study.runs[trial.id], now)) for trial in history.running
    ]
    begun = [
        took(run)._replace(units=done, seconds=at - run.start)
        for run, (done, at) in running
        if steps and done
    ]
    silent = [
        took(run)._replace(seconds=now - run.start)
        for run, (done, _) in running
        if not (steps and done)
    ]
    return durations.model(study.recorded.bench.fidelity.high, begun, silent)


def known_all(study: Study, history: History, others: Sequence[Study]) -> DurationModel | None:
    """The model from all trials of other studies, and all of the configurations known by now."""
    durations = Durations(last=10**6)
    for number, other in enumerate(others, 1):
        for _, run in sorted(other.runs.items()):
            one = took(run)
            durations.add(one._replace(root=one.root + number * 10**6))
    known = {trial.root for trial in history.trials}
    for _, run in sorted(study.runs.items()):
        if run.outcome.trial.root in known:
            durations.add(took(run))
    return durations.model(study.recorded.bench.fidelity.high)


def took(run: Run) -> Took:
    """How long a trial took."""
    trial = run.outcome.trial
    return Took(trial.root, trial.fidelity, run.cost, run.end - run.start)


def estimated(  # noqa: PLR0913  # all that an estimate rests on
    study: Study,
    history: History,
    now: float,
    left: float,
    model: DurationModel | None,
    steps: bool,
) -> float:
    """The estimate at a time when so many trainings are left."""
    if model is None:
        return math.nan
    problem = study.recorded.study.problem
    ongoing = []
    for trial in history.running:
        run = study.runs[trial.id]
        done = reported(run, now)[0] if steps else None
        ongoing.append(Ongoing(trial, model.left(trial, run.cost, now - run.start, done)))
    state = State(problem.space, problem.prior, problem.start().ladder, history)
    rest = Rest(problem.optimizer, state, problem.seed, study.workers, left)
    estimate = rest_seconds(rest, model, ongoing)
    return math.nan if estimate is None else estimate


def reported(run: Run, now: float) -> tuple[float, float]:
    """The last whole epoch of a running trial, and when it ended."""
    each = (run.end - run.start) / run.cost
    done = int((now - run.start) / each)
    return done, run.start + done * each


def single_pace(study: Study, history: History, now: float, left: float) -> float:
    """The estimate from the seconds per epoch of all trials that have ended."""
    ended_runs = [study.runs[outcome.trial.id] for outcome in history.observations]
    units = sum(run.cost for run in ended_runs)
    if not units:
        return 0.0
    pace = sum(run.end - run.start for run in ended_runs) / units
    running = [study.runs[trial.id] for trial in history.running]
    rests = [max(run.cost * pace - (now - run.start), 0.0) for run in running]
    work = max(left, 0.0) * study.recorded.bench.fidelity.high * pace + sum(rests)
    return max(work / study.workers, max(rests, default=0.0))


class Setting(NamedTuple):
    """What figures are given for."""

    budget: float
    workers: int


def of_task(
    task: str, data: str, seeds: int, startups: Sequence[float], steps: bool
) -> list[tuple[Setting, Guess]]:
    """All estimates in studies of a task."""
    bench, found = LCBench(task, data), []
    for budget, workers, method, startup in product(BUDGETS, WORKERS, METHODS, startups):
        work = Workload(workers, budget)
        first = 100 * TASKS.index(task)  # with the same seed, tasks would have the same draws
        studies = [ended(bench, method, first + n, work, startup) for n in range(seeds)]
        for study in studies:
            others = [other for other in studies if other is not study]
            for guess in guesses(study, others, steps):
                if not math.isnan(guess.estimate):
                    found.append((Setting(budget, workers), guess))
    return found


def main() -> None:
    """Print the errors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="of each study, at least 2")
    parser.add_argument("--tasks", type=int, default=8, help="of each part")
    parser.add_argument("--startup", type=float, nargs="+", default=[0.0, 20.0])
    parser.add_argument("--data", default=os.environ.get(DATA_VARIABLE))
    parser.add_argument("--steps", action="store_true", help="trials report each epoch")
    options = parser.parse_args()
    parts = {"development": DEVELOPMENT, "confirmation": CONFIRMATION}
    for part, tasks in parts.items():
        chosen = tasks[:: max(len(tasks) // options.tasks, 1)][: options.tasks]
        run = partial(
            of_task,
            data=options.data,
            seeds=options.seeds,
            startups=options.startup,
            steps=options.steps,
        )
        with ProcessPoolExecutor() as pool:
            found = [each for one in pool.map(run, chosen) for each in one]
        print(f"{part}: {len(chosen)} tasks, {len(found)} estimates")
        print_errors(found)


def print_errors(found: list[tuple[Setting, Guess]]) -> None:
    """Print the errors by budget and number of workers, and whether the goal is met."""
    head = "".join(f"{f'at {share:.0%}':>30}" for share in SHARES)
    print(f"{'':24}{head}\n{'':24}" + "   median  p90 single oracle   " * len(SHARES))
    settings = sorted({setting for setting, _ in found})
    for setting in settings:
        own = [guess for other, guess in found if other == setting]
        print(f"{f'budget {setting.budget:g}, {setting.workers} workers':<24}{cells(own)}")
    for budget in sorted({setting.budget for setting in settings}):
        own = [guess for setting, guess in found if setting.budget == budget]
        worst = max(error(own, share) for share in {guess.share for guess in own})
        verdict = "met" if worst <= GOAL else "MISSED"
        print(
            f"Budget {budget:g}: a median of at most {worst:.0%} from a tenth of it on, "
            f"goal {GOAL:.0%}: {verdict}"
        )
    print(f"{'all':<24}{cells([guess for _, guess in found])}")


def error(found: list[Guess], share: float) -> float:
    """The median of the relative errors when a share of the budget was handed out."""
    return median(abs(g.estimate / g.truth - 1) for g in found if g.share == share)


def cells(found: list[Guess]) -> str:
    """The median and the 90th percentile of the error, and the medians of other estimates."""
    text = ""
    for share in SHARES:
        own = [guess for guess in found if guess.share == share]
        if len(own) < 2:
            text += f"{'-':>30}"
            continue
        errors, single, oracle = (
            [abs(getattr(guess, name) / guess.truth - 1) for guess in own]
            for name in ("estimate", "single", "oracle")
        )
        high = quantiles(errors, n=10)[-1]
        text += f"{median(errors):9.0%} {high:5.0%} {median(single):5.0%} {median(oracle):5.0%}  "
    return text


if __name__ == "__main__":
    main()
