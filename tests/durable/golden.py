"""Studies with every kind of record, written with a fixed clock, worker name and study id.

Their records are in `data/golden-records.json`, as the first version stored them. That file never
changes: what is added to the format later gets a file of its own.
"""

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import priorband as pb
from priorband.durable import clients
from priorband.durable import open as opening
from priorband.durable import study as durable
from priorband.durable.messages import Assignment, Report
from priorband.durable.problem_data import problem_data
from priorband.durable.serialize import to_data
from priorband.problem import Problem
from priorband.samplers.ensemble_policy import (
    ConstantShare,
    Decay,
    Dynamic,
    Geometric,
    Half,
    Linear,
    Zero,
)
from priorband.storage import journal
from priorband.storage.identity import Owner

OWNER = Owner("host", "machine", "boot/space", 7, "8")
DATA = Path(__file__).parent / "data" / "golden-records.json"
EPOCHS = pb.Fidelity("epochs", 1, 9)
MIXED = pb.Space(
    {
        "x": pb.Float(0, 1, prior=0.4),
        "learning rate": pb.Float(1e-5, 1e-1, log=True, prior=1e-3, confidence="high"),
        "n": pb.Integer(1, 64, log=True),
        "kind": pb.Categorical(["a", "b", (1, 2), None, math.inf], prior="b"),
        "größe": pb.Ordinal([16, 32, "large"]),
        "optimiser": pb.Constant("adam"),
    }
)
CONFIG = {"x": 0.5, "learning rate": 1e-3, "n": 3, "kind": (1, 2), "größe": 32, "optimiser": "adam"}

BELIEFS: dict[str, Any] = {
    "a value": 0.3,
    "normal": pb.Normal(0.2, sigma=0.1),
    "uniform": pb.Uniform(),
    "beta": pb.Beta(2.0, 5.0),
    "histogram": pb.Histogram([1, 3, 2]),
    "mixture": pb.Mixture([pb.Normal(0.2, sigma=0.1), pb.Uniform()], weights=[0.75, 0.25]),
}


class OwnSampler:
    """A sampler of a user's own: it has no stored form but its name."""

    def sample(self, state: pb.State, rung: int, rng: Any) -> pb.samplers.Draw:
        """The prior's mode, always."""
        del rung, rng
        return pb.samplers.Draw(state.prior.mode, "own")

    def __repr__(self) -> str:
        return "OwnSampler()"


@contextmanager
def fixed() -> Iterator[None]:
    """Patch the clock of transactions, names of workers and ids of studies to fixed sequences."""
    clock, worker, byte = count(1_700_000_000), count(1), count(1)
    begin = journal.Transaction.__init__

    def init(self: journal.Transaction, now: float, rows: Any, leases: Any) -> None:
        del now
        begin(self, next(clock) + 0.25, rows, leases)

    def name() -> str:
        return f"worker-{next(worker)}"

    with (
        mock.patch.object(journal.Transaction, "__init__", init),
        mock.patch.object(durable, "worker_name", name),
        mock.patch.object(opening, "worker_name", name),
        mock.patch.object(clients, "this_process", lambda: OWNER),
        mock.patch.object(os, "urandom", lambda n: bytes(next(byte) % 256 for _ in range(n))),
    ):
        yield


def _tell(study: pb.DurableStudy, trials: int) -> None:
    for _ in range(trials):
        trial = study.ask()
        if trial.id % 6 == 3:
            study.fail(trial, "it raised", kind="raised")
        elif trial.id % 7 == 5:
            study.tell(trial, math.nan, accuracy=0.1)
        else:
            loss = trial.config["x"] / trial.fidelity
            result = -loss if study.maximize else loss
            study.tell(trial, result, cost=0.5, accuracy=[0.5, None])


def _claim(study: pb.DurableStudy, word: str) -> Assignment:
    claim = study.turn(None, word)
    assert isinstance(claim, Assignment)
    return claim


def write_mixed(where: str | Path, folder: Path) -> None:
    """A study with all kinds of records: attempts of every kind, wishes, results from elsewhere."""
    made = pb.open_study(where, MIXED, EPOCHS, seed=7, maximize=True, folder=folder)
    with made as study:
        study.limit(500)
        study.limit(pb.Budget(trainings=400.5, trials=300, cost=1e3, hours=24))
        study.add(CONFIG, -0.7)  # the loss is 0.7
        study.add(CONFIG | {"x": 0.25}, math.inf, 2.5)
        _tell(study, 16)
        study.queue(CONFIG | {"x": 0.125}, 3)
        study.queue(CONFIG | {"kind": None})
        first = _claim(study, "first")
        assert _claim(study, "first") == first
        study.turn(Report(first.trial.id, 1, None, "preempted", "SIGTERM"), "")
        again = _claim(study, "second")
        study.turn(Report(again.trial.id, 2, 0.44, details={"seconds": 1.5}), "")
        study.turn(Report(again.trial.id, 1, 0.43), "")
        study.turn(Report(again.trial.id, 1, None, "crashed", "the process ended with 1"), "")
        for kind in ("raised", "diverged", "memory", "timeout", "crashed", "invalid"):
            trial = _claim(study, f"{kind} 1").trial.id
            details = {"traceback": "Traceback ...\n", "where": "in train, line 3"}
            study.turn(Report(trial, 1, None, kind, "größer\n\x1b", details), "")
            if trial in study.ledger.running:
                study.turn(Report(_claim(study, f"{kind} 2").trial.id, 2, None, kind, ""), "")
        _tell(study, 30)
        study.queue(study.state.history.trial(3).config)
        _claim(study, "third")
        study.ask(hold=1e6)


def write_lost(where: str | Path, folder: Path) -> None:
    """A study whose trials were lost with their workers: given back, adopted, and failed."""
    space = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
    with pb.open_study(where, space, EPOCHS, "asha", folder=folder) as study:
        study.limit(20)
        for _ in range(9):
            study.ask(hold=1.0)
            study.ask(hold=2.5)


def write_own(where: str | Path, folder: Path) -> None:
    """A study with a method of its user's own, and a prior over the space that was given apart."""
    space = pb.Space({"x": pb.Float(0, 1), "c": pb.Categorical(["a", "b"])})
    own = pb.Optimizer(pb.schedulers.Hyperband(), OwnSampler())
    prior = {"x": pb.Normal(0.2, sigma=0.1), "c": {"a": 3, "b": 1}}
    with pb.open_study(where, space, EPOCHS, own, 3, prior, folder=folder) as study:
        study.tell(study.ask(), 0.5)


WRITERS: dict[str, Callable[[str | Path, Path], None]] = {
    "mixed": write_mixed,
    "lost": write_lost,
    "own": write_own,
}


def records(name: str, where: str | Path, folder: Path) -> list[list[Any]]:
    """Write a study, and give back its records as they are stored."""
    with fixed():
        WRITERS[name](where, folder)
    place = opening.journal_at(where, read_only=True)
    try:
        return [list(row) for row in place.read(0)]
    finally:
        place.close()


def problems() -> dict[str, Any]:
    """The stored form of every method, belief, parameter and option."""
    space = pb.Space({"x": pb.Float(0, 1)})
    shares = [pb.samplers.Ensemble(uniform_share=one) for one in (Geometric(), Half(), Linear())]
    shares += [
        pb.samplers.Ensemble(incumbent_share=one)
        for one in (Dynamic(), ConstantShare(), Decay(), Zero())
    ]
    first = [name for name in pb.methods() if "guard" not in name]  # the others came later
    parts: list[Any] = [pb.optimizer(name) for name in first]
    parts += [pb.Optimizer(pb.schedulers.Hyperband(), pb.ensemble(share)) for share in shares]
    conditions = (
        pb.conditions.Done(3),
        pb.conditions.Drawn(2),
        pb.conditions.Spent(1.5),
        pb.conditions.Trained(4),
        pb.conditions.Enough(2, 1),
        pb.conditions.Never(),
    )
    switches = (
        pb.samplers.Staged(pb.samplers.FromUniform(), pb.samplers.FromPrior(), one)
        for one in conditions
    )
    parts += [
        pb.Optimizer(pb.schedulers.ASHA(), switch, eta=4, sizes="ceil") for switch in switches
    ]
    stored = {f"method {i}": to_data(part) for i, part in enumerate(parts)}
    for name, belief in BELIEFS.items():
        prior = pb.prior(space, {"x": belief})
        problem = Problem(space, prior, EPOCHS, pb.optimizer("priorband"), 0)
        stored[f"prior {name}"] = problem_data(problem)
        spoken = pb.Space({"x": pb.Float(0, 1, prior=belief)})
        stored[f"belief {name}"] = to_data(spoken)
    stored["mixed"] = to_data(MIXED)
    stored["fidelity"] = to_data(pb.Fidelity("share", 0.1, 1.0))
    return stored


def write() -> None:
    """Write the file: it was done once."""
    golden: dict[str, Any] = {"problems": problems()}
    for name in WRITERS:
        with tempfile.TemporaryDirectory() as folder:
            golden[name] = records(name, Path(folder, "study"), Path(folder, "study"))
    parts = [f'"{name}":{json.dumps(part, separators=(",", ":"))}' for name, part in golden.items()]
    DATA.write_text("{\n" + ",\n".join(parts) + "\n}\n")
