"""Which method suits a study, by what is known when it begins: `method="auto"`."""

from collections.abc import Callable
from typing import NamedTuple, final

from priorband.fidelity import Fidelity
from priorband.ladder import Ladder
from priorband.named_methods import AUTO, optimizer
from priorband.optimizers import Optimizer
from priorband.space.space import Space
from priorband.values import frozen

DEFAULT_METHOD = "priorband"
"""The method of a study for which none is given: a name, or "auto"."""

MANY_WORKERS = 8
"""From here on, a model was not better than brackets: its proposals wait for few results."""
ENOUGH_TRAININGS = 12
"""From here on, full trainings that a model chooses are better than more brackets."""
MOST_TRAININGS = 200
"""A model uses at most 400 results, and two thirds of a long study's trainings are its own."""
MOST_PARAMETERS = 20
"""With more parameters, no evidence speaks for the model."""


@final
@frozen
class KnownAtStart:
    """What is known when a study begins. None stands for what is not known."""

    parameters: int | None = None
    """How many are searched."""
    trainings: float | None = None
    """The budget in full trainings."""
    workers: int | None = None

    @property
    def parallel(self) -> bool:
        """Whether there are many workers."""
        return (self.workers or 1) >= MANY_WORKERS

    @property
    def short(self) -> bool:
        """Whether the budget is not known, or too small for a model."""
        return self.trainings is None or self.trainings < ENOUGH_TRAININGS

    @property
    def large(self) -> bool:
        """Whether there are too many trainings or parameters for a model."""
        return (self.trainings or 0) > MOST_TRAININGS or (self.parameters or 0) > MOST_PARAMETERS


class Choice(NamedTuple):
    """A method, and why it was chosen."""

    method: str
    reason: str


class TableRow(NamedTuple):
    """A row of the table: for every combination of facts, exactly one row applies."""

    applies: Callable[[KnownAtStart], bool]
    method: str
    reason: str
    evidence: str
    """The section of docs/methods.md that has it."""


TABLE = (
    TableRow(
        lambda facts: facts.parallel,
        "guardband",
        f"with {MANY_WORKERS} workers or more, a model was not better",
        "Many workers",
    ),
    TableRow(
        lambda facts: not facts.parallel and facts.short,
        "guardband",
        f"the budget is below {ENOUGH_TRAININGS} trainings or not known; a model needs more",
        "guardband",
    ),
    TableRow(
        lambda facts: not facts.parallel and not facts.short and facts.large,
        "guardband",
        f"a model is for at most {MOST_TRAININGS} full trainings and {MOST_PARAMETERS} parameters",
        "guardband",
    ),
    TableRow(
        lambda facts: not facts.parallel and not facts.short and not facts.large,
        "guardband+bo",
        f"with {ENOUGH_TRAININGS} full trainings or more, a model uses the later ones better",
        "guardband+bo",
    ),
)


def choose_method(facts: KnownAtStart) -> Choice:
    """The method for a study, and why in half a sentence.

    >>> choose_method(KnownAtStart(trainings=20, workers=1)).method
    'guardband+bo'
    """
    [row] = [row for row in TABLE if row.applies(facts)]
    return Choice(row.method, row.reason)


@final
@frozen
class Auto:
    """The method "auto", with what is known about a study apart from its problem."""

    trainings: float | None = None
    trials: float | None = None
    workers: int | None = None

    def choice(self, space: Space | None, fidelity: Fidelity) -> Choice:
        """The method for a problem; a space that is not known is None."""
        parameters = None if space is None else len(space)
        trainings = self._trainings(Ladder(fidelity))
        return choose_method(KnownAtStart(parameters, trainings, self.workers))

    def _trainings(self, ladder: Ladder) -> float | None:
        known = [] if self.trainings is None else [self.trainings]
        if self.trials is not None:
            known.append(self.trials * _cost_of_a_trial(ladder))
        return min(known, default=None)


def _cost_of_a_trial(ladder: Ladder) -> float:
    """The mean cost of a trial in the brackets of guardband, in full trainings."""
    cost, trials = 0.0, 0
    for base, sizes in enumerate(ladder.brackets[:2]):
        before = 0.0
        for size, fidelity in zip(sizes, ladder.fidelities[base:], strict=True):
            cost += size * (fidelity - before) / ladder.fidelities[-1]
            trials, before = trials + size, fidelity
    return cost / trials


def chosen_optimizer(
    method: str | Optimizer | Auto | None, space: Space | None, at: Fidelity
) -> Optimizer:
    """An optimizer as it is, the one of a name, or the one that is chosen for a problem."""
    given = as_auto(method)
    if isinstance(given, Auto):
        return optimizer(given.choice(space, at).method)
    return given if isinstance(given, Optimizer) else optimizer(given)


def as_auto(
    method: str | Optimizer | Auto | None, known: Auto | None = None
) -> str | Optimizer | Auto:
    """The method that is meant: the default one for None, and `known` for "auto"."""
    meant = DEFAULT_METHOD if method is None else method
    return (known or Auto()) if isinstance(meant, str) and meant == AUTO else meant
