"""A study of one trial, run by a worker in this process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from objectives import EPOCHS, SPACE

import priorband as pb
from priorband.storage.json_text import from_json
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker

Objective = Callable[[pb.Attempt], Any]


def trial_end(where: Path, objective: Objective, **options: Any) -> dict[str, Any]:
    """The record of how a single trial ended, after the attempts that it is given."""
    with pb.open_study(where, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=1))
        ending = Worker(study, objective, WorkerOptions(**options)).run()
        assert ending.status == "done"
        rows = study.journal.trial_rows(0)
        assert rows[-1].kind in ("told", "failed")
        return from_json(rows[-1].body) | {"kinds": [row.kind for row in rows]}
