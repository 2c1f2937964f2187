"""A Gaussian process over all results of a study, with the fidelity as one more input.

It says what configurations that were not trained in full would have come to. At most `MOST` results
are used: the same number of each fidelity, half of them its best ones, the other half spread over
the ranks of the rest (`priorband.samplers.evidence`).
"""

from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from priorband.samplers.evidence import bounded, evidence
from priorband.space.densities import Array
from priorband.space.space import Space
from priorband.state import State
from priorband.values import frozen

if TYPE_CHECKING:
    from priorband.models.gp import GP

MOST = 300
MOST_FITTED = 150
"""How many results the parameters of the process are fitted to."""


class Difference(NamedTuple):
    """A difference of losses in full trainings, and its standard error."""

    mean: float
    error: float


@final
@frozen
class ResultsModel:
    """What full trainings would have come to, in standard deviations of all losses."""

    space: Space
    process: "GP"

    def losses(self, rows: Array) -> Array:
        """The expected losses of encoded configurations."""
        return self.process.predict(in_full(rows)).mean

    def difference(self, rows: Array, weights: Array) -> Difference:
        """The weighted sum of the losses of encoded configurations; the weights sum to 0."""
        mean, variance = self.process.contrast(in_full(rows), weights)
        return Difference(mean, float(np.sqrt(variance)))


def in_full(rows: Array) -> Array:
    """Rows with the highest fidelity as a further column."""
    return np.concatenate((rows, np.ones((len(rows), 1))), axis=1)


def results_model(state: State) -> ResultsModel | None:
    """Fit the process to the results of a study; None if no trial has succeeded."""
    from priorband.models.fitting import fit
    from priorband.models.gp import GP, Data
    from priorband.models.kernels import Kernel

    results = evidence(state, None, MOST, "log")
    if results is None:
        return None
    space = state.space
    optional = tuple(i for i, p in enumerate(space.searched.values()) if p.when is not None)
    kernel = Kernel((*space.sizes, None), product=True, graded=True, optional=optional)
    few = bounded(results.rows[:, -1].tolist(), results.targets, MOST_FITTED)
    data = Data.of(kernel, results.rows[few], results.targets[few])
    logs = fit(data, restarts=2, tolerance=1e-5)
    return ResultsModel(space, GP.conditioned(kernel, logs, results.rows, results.targets))
