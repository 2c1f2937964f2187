"""Decisions that must not change: a study that was begun with one release goes on with the next.

Values are rounded to nine digits before hashing, so that another platform's logarithms may differ.
Change a hash only together with a line in the changelog that says what old studies will meet.
"""

import json
from hashlib import sha256
from typing import Any

import pytest

from priorband import Fidelity, Study, simulate
from priorband.testing import Flaky, example_space

GOLDEN = {
    "random+prior": "9b70d172617df6f6",
    "hyperband": "92640011569edbbc",
    "asha+esp": "1a320c0664c32af8",
    "async-hyperband+esp": "d1959057cd55a79a",
    "priorband": "d204c2741e0c143c",
    "priorband(crossover)": "feac9fdb0434178d",
}


def rounded(value: Any) -> Any:
    return float(f"{value:.9g}") if isinstance(value, float) else value


@pytest.mark.parametrize("method", GOLDEN)
def test_a_seed_leads_to_the_same_trials_as_ever(method: str) -> None:
    study = Study(example_space(), Fidelity("epochs", 1, 27), method, seed=2023)
    simulate(study, Flaky(rate=0.1), workers=3, budget=12)
    rows = [
        [t.slot, t.parent, t.origin, {name: rounded(v) for name, v in t.config.items()}]
        for t in study.state.history.trials
    ]
    assert sha256(json.dumps(rows).encode()).hexdigest()[:16] == GOLDEN[method]
