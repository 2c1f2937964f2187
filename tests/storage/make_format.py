"""Write a study for the versions to come: `cd tests && python -m storage.make_format`.

Once per format, when it is new. What is there is never written again.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from stored_studies import CHILDREN, CONDITIONAL, fill, tell_some

import priorband as pb
from priorband.durable.serialize import to_data
from priorband.events import Asked, Event, Failed, PriorChanged, Queued, Told
from priorband.space.prior import Independent
from priorband.storage.journal import FORMAT, PRIOR_FORMAT, RETRY_FORMAT

DATA = Path(__file__).parent / "data"
SPACE = pb.Space(
    {
        "x": pb.Float(0, 1, prior=0.4),
        "learning rate": pb.Float(1e-5, 1e-1, log=True, prior=1e-3, confidence="high"),
        "n": pb.Integer(1, 64, log=True),
        "kind": pb.Categorical(["a", "b", (1, 2)], prior="b"),
        "size": pb.Ordinal([16, 32, "large"]),
        "optimiser": pb.Constant("adam"),
    }
)
OTHERS = {"learning rate": 1e-3, "size": 32, "optimiser": "adam"}
SPACES = {1: (SPACE, dict.fromkeys(CHILDREN, OTHERS), "priorband")} | {
    2: (CONDITIONAL, CHILDREN, "hyperband+prior"),
    3: (CONDITIONAL, CHILDREN, "hyperband+prior"),
    4: (SPACE, dict.fromkeys(CHILDREN, OTHERS), "guardband"),
}
"""What the study of each format is about.

One of format 3 has trials that were retried; in one of format 4, the prior was changed, too.
"""
PRIOR = {"x": pb.Beta(2, 5), "kind": pb.Weights({"a": 3, "b": 1, (1, 2): 0})}


def plain(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Events as data that a person can read and JSON can carry."""
    return [_plain(event) for event in events]


def _plain(event: Event) -> dict[str, Any]:
    match event:
        case Asked(trial):
            slot = None if trial.slot is None else [*trial.slot]
            about = [trial.id, _config(trial.config), trial.fidelity, slot]
            return {"asked": [*about, trial.parent, trial.origin, trial.root]}
        case Told(number, loss):
            return {"told": [number, loss]}
        case Failed(number, reason):
            return {"failed": [number, reason]}
        case Queued(config, fidelity, None):
            return {"queued": [_config(config), fidelity]}
        case Queued(config, fidelity, retry):
            return {"queued": [_config(config), fidelity, retry]}
        case PriorChanged(Independent(densities=densities, mode=mode)):
            return {"prior": [to_data([*densities]), _config(mode)]}
    raise TypeError(f"No study of these has {event!r}.")


def _config(config: pb.Config) -> dict[str, Any]:
    return {name: list(v) if isinstance(v, tuple) else v for name, v in config.items()}


def write(folder: Path, version: int) -> None:
    """A study with every kind of record, and what has happened in it."""
    space, others, method = SPACES[version]
    fidelity = pb.Fidelity("epochs", 1, 9)
    with pb.open_study(folder, space, fidelity, method, seed=7, maximize=True) as study:
        fill(study, 30, others)
        if version >= PRIOR_FORMAT:
            study.set_prior(PRIOR)
            tell_some(study, 6)
            study.set_prior(None)
            study.set_prior(PRIOR)
        if version >= RETRY_FORMAT:
            failed = study.state.history.latest_failures(2)
            study.retry([ended.trial.id for ended in failed])
            study.tell(study.ask(), 0.25)
        happened = plain(study.state.history.events)
    (folder / "study.lock").unlink()
    text = ",\n".join(json.dumps(event) for event in happened)
    (folder / "events.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    write(DATA / f"format-{FORMAT}", FORMAT)
