"""How wrong the estimate of time left is, on studies with real durations.

    PRIORBAND_DATA=FOLDER python benchmarks/time_left.py [--seeds 3] [--budget 12] [--startup 0 20]

Each study tunes a task of LCBench in simulated time: losses and seconds of a trial are those of the
benchmark, so configurations differ in speed by more than a factor of ten. `--startup` adds seconds
to each trial, as importing a framework does. When a share of the budget is handed out, the time
left is estimated from what is known by then, and compared with the time that the study then takes.
Printed is the median of the relative errors over tasks and seeds, and the 90th percentile; `before`
is the median of the estimate from one pace for all rungs.
"""

import argparse
import math
import os
from collections.abc import Iterator
from statistics import median, quantiles
from typing import NamedTuple

import numpy as np

import priorband as pb
from priorband.benchmarks.folder import DATA_VARIABLE
from priorband.benchmarks.lcbench import PAPER_TASKS, LCBench
from priorband.history import History
from priorband.state import State
from priorband.timeline.durations import Durations, Took
from priorband.timeline.rest import Rest, rest_seconds
from priorband.timeline.timeline import Ongoing, Run, Workload, timeline
from priorband.trial import Observation, Trial

SHARES = (0.1, 0.25, 0.5, 0.75)
METHODS = ("priorband", "hyperband", "asha", "async-hyperband", "random")
WORKERS = (1, 4, 16)
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


def estimates(study: Study, steps: bool) -> Iterator[tuple[float, float, float, float]]:
    """By share of the budget: the estimate, the one by a single pace, and the truth."""
    high, spent, shares = study.recorded.bench.fidelity.high, 0.0, list(SHARES)
    end = max(run.end for run in study.runs.values())
    for moment in study.recorded.moments:
        run = study.runs[moment.asked.id]
        spent += run.cost
        if shares and spent >= shares[0] * study.budget * high:
            left = study.budget - spent / high
            estimate, single = estimated(study, moment, run.start, left, steps)
            yield shares.pop(0), estimate, single, end - run.start


def estimated(
    study: Study, moment: Moment, now: float, left: float, steps: bool
) -> tuple[float, float]:
    """The estimates from what is known at a time, when so many trainings are left."""
    problem = study.recorded.study.problem
    history = History.of(study.recorded.study.state.history.events[: moment.events])
    durations, runs = Durations(), study.runs
    for outcome in history.observations:
        run = runs[outcome.trial.id]
        durations.add(Took(outcome.trial.root, outcome.fidelity, run.cost, run.end - run.start))
    running = [(runs[trial.id], reported(runs[trial.id], now)) for trial in history.running]
    model = durations.model(
        tuple(
            Took(run.outcome.trial.root, run.outcome.fidelity, done, at - run.start)
            for run, (done, at) in running
            if steps and done
        )
    )
    ongoing = [
        Ongoing(trial, model.left(trial, run.cost, now - run.start, done if steps else None))
        for run, (done, _) in running
        for trial in [run.outcome.trial]
        if model is not None
    ]
    state = State(problem.space, problem.prior, problem.start().ladder, history)
    rest = Rest(problem.optimizer, state, problem.seed, study.workers, left)
    estimate = rest_seconds(rest, model, ongoing)
    return (math.nan if estimate is None else estimate), single_pace(study, history, now, left)


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


def main() -> None:
    """Print the errors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=12.0)
    parser.add_argument("--startup", type=float, nargs="+", default=[0.0, 20.0])
    parser.add_argument("--data", default=os.environ.get(DATA_VARIABLE))
    parser.add_argument("--steps", action="store_true", help="trials report each epoch")
    options = parser.parse_args()
    benches = [LCBench(task, options.data) for task in PAPER_TASKS]
    head = "".join(f"{f'at {share:.0%}':>22}" for share in SHARES)
    print(f"{'':30}{head}\n{'':30}{'median   p90  before' * 0}", end="")
    print(("  median   p90 before" + " ") * len(SHARES))
    everything: dict[float, list[float]] = {share: [] for share in SHARES}
    for startup in options.startup:
        for method in METHODS:
            for workers in WORKERS:
                errors: dict[float, list[tuple[float, float]]] = {share: [] for share in SHARES}
                work = Workload(workers, options.budget)
                for bench in benches:
                    for seed in range(options.seeds):
                        study = ended(bench, method, seed, work, startup)
                        for share, estimate, single, truth in estimates(study, options.steps):
                            if math.isnan(estimate):
                                continue
                            pair = abs(estimate / truth - 1), abs(single / truth - 1)
                            errors[share].append(pair)
                            everything[share].append(pair[0])
                title = f"{method}, {workers} workers, +{startup:g} s"
                print(f"{title:<30}{''.join(map(cells, errors.values()))}", flush=True)
    print(f"{'all':<30}" + "".join(f"{median(all_):22.0%}" for all_ in everything.values()))
    met = all(median(all_) <= GOAL for all_ in everything.values())
    print(f"Goal: a median of at most {GOAL:.0%} from a tenth of the budget on: {met}")


def cells(pairs: list[tuple[float, float]]) -> str:
    """The median, the 90th percentile, and the median of the other estimate."""
    if not pairs:
        return f"{'-':>22}"
    news, olds = zip(*pairs, strict=True)
    high = quantiles(news, n=10)[-1] if len(news) > 1 else news[0]
    return f"{median(news):8.0%} {high:5.0%} {median(olds):6.0%} "


if __name__ == "__main__":
    main()
