"""A run taken out of the results: replayed, or written as a study that all tools can open."""

import math
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from priorband.benchmarks.base import Benchmark
from priorband.benchmarks.catalogue import benchmark
from priorband.durable.open import open_study
from priorband.errors import DataError
from priorband.events import Asked, Failed, Told
from priorband.experiments.record import Record, opened
from priorband.experiments.rules import setting
from priorband.experiments.running import Places, all_centres, made_of
from priorband.experiments.store import Store
from priorband.study import Study
from priorband.trial import Trial


def named(store: Store, pattern: str) -> list[Record]:
    """The runs whose names fit a pattern, such as `paper/*/bad/priorband/1/0`."""
    found = [r for r in store.records.values() if fnmatchcase(r.case.name, pattern)]
    if not found:
        some = next((record.case.name for record in store.records.values()), None)
        hint = f"A name looks like {some}." if some else "There are no runs at all."
        raise DataError(f"No run in {store.folder} is called {pattern!r}. {hint}")
    return found


def losses_hold(record: Record, study: Study, benchmark: Benchmark) -> bool:
    """Whether the benchmark still gives the losses that were recorded, but for rounding.

    They are evaluated one by one, as they were: a network rounds otherwise in a batch.
    """
    trials = study.state.history.trials
    again = np.array([_loss(benchmark, trial) for trial in trials])
    again[~np.isfinite(again)] = np.nan
    return bool(np.allclose(again, record.columns["loss"], rtol=1e-5, atol=1e-5, equal_nan=True))


def _loss(benchmark: Benchmark, trial: Trial) -> float:
    try:
        return benchmark.evaluate(trial.config, trial.fidelity)
    except Exception:  # it was recorded as a failure
        return math.nan


def studies(places: Places, records: Sequence[Record]) -> Iterator[tuple[Record, Study, Benchmark]]:
    """The studies of some runs, as they were at their end, and what they were run on."""
    cases = [record.case for record in records]
    Store(places.results).agree(made_of(cases, places))
    centres = all_centres(cases, places)
    benchmarks: dict[str, Benchmark] = {}
    for record in records:
        name = record.case.benchmark
        if name not in benchmarks:
            benchmarks[name] = benchmark(name, places.data)
        posed = setting(record.case, benchmarks[name], centres).benchmark
        yield record, opened(record, benchmarks[name], centres), posed


def unpack(study: Study, where: str | Path) -> None:
    """Write a study into a folder or a database, decision by decision."""
    with open_study(
        where,
        space=study.space,
        fidelity=study.fidelity,
        method=study.optimizer,
        seed=study.seed,
        prior=study.prior,
    ) as durable:
        if len(durable.state.history):
            raise DataError(f"There is a study in {where} already. Name another place.")
        for event in study.state.history.events:
            if isinstance(event, Asked):
                again = durable.ask()
                assert again == event.trial, "a run is decided by its seed and what it was told"
            elif isinstance(event, Told):
                durable.tell(event.trial, event.loss)
            elif isinstance(event, Failed):
                durable.fail(event.trial, event.reason)
