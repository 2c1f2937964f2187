"""Open stored runs: replay their decisions, or write them as studies."""

import math
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.catalogue import catalogue_entry, require_benchmark
from priorband.durable.open import open_study
from priorband.errors import DataError
from priorband.events import Asked, Failed, Told
from priorband.experiments.result_store import ResultStore
from priorband.experiments.rules import set_up_case
from priorband.experiments.run_record import RunRecord, recorded_study
from priorband.experiments.runner import Folders, case_centres, input_digests
from priorband.study import Study
from priorband.trial import Trial


def matching_records(store: ResultStore, pattern: str) -> list[RunRecord]:
    """The runs whose names match a pattern, such as `paper/*/bad/priorband/1/0`."""
    records = [r for r in store.records.values() if fnmatchcase(r.case.name, pattern)]
    if not records:
        example = next((record.case.name for record in store.records.values()), None)
        hint = f"A name looks like {example}." if example else "There are no runs in it."
        raise DataError(f"No run in {store.folder} matches {pattern!r}. {hint}")
    return records


def losses_match(record: RunRecord, study: Study, benchmark: Benchmark) -> bool:
    """Whether the benchmark still returns the recorded losses, up to rounding errors.

    Configurations are evaluated one by one, as in the run: networks round differently in a batch.
    """
    trials = study.state.history.trials
    losses = np.array([_loss(benchmark, trial) for trial in trials])
    losses[~np.isfinite(losses)] = np.nan
    return bool(np.allclose(losses, record.columns["loss"], rtol=1e-5, atol=1e-5, equal_nan=True))


def _loss(benchmark: Benchmark, trial: Trial) -> float:
    try:
        return benchmark.evaluate(trial.config, trial.fidelity)
    except Exception:  # a run records an exception as a failure
        return math.nan


def recorded_studies(
    folders: Folders, records: Sequence[RunRecord]
) -> Iterator[tuple[RunRecord, Study, Benchmark]]:
    """The studies of some runs as they were at the end, and the benchmarks they ran on."""
    cases = [record.case for record in records]
    ResultStore(folders.results).check_inputs(input_digests(cases, folders))
    centres = case_centres(cases, folders)
    benchmarks: dict[str, Benchmark] = {}
    for record in records:
        name = record.case.benchmark
        if name not in benchmarks:
            require_benchmark(name, folders.data)
            benchmarks[name] = catalogue_entry(name).make(folders.data)
        seeded = set_up_case(record.case, benchmarks[name], centres).benchmark
        yield record, recorded_study(record, benchmarks[name], centres), seeded


def write_study(study: Study, where: str | Path) -> None:
    """Write a study to a folder or a database, decision by decision."""
    with open_study(
        where,
        space=study.space,
        fidelity=study.fidelity,
        method=study.optimizer,
        seed=study.seed,
        prior=study.problem.prior,
    ) as durable:
        if len(durable.state.history):
            raise DataError(f"There is already a study in {durable.where}. Choose another place.")
        for event in study.state.history.events:
            if isinstance(event, Asked):
                trial = durable.ask()
                assert trial == event.trial, "the seed and the results determine the decisions"
            elif isinstance(event, Told):
                durable.tell(event.trial, event.loss)
            elif isinstance(event, Failed):
                durable.fail(event.trial, event.reason)
