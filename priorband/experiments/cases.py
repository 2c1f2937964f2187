"""Cases: one run each of a method on a benchmark, with a prior and a seed."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Literal, final

from priorband.benchmarks.priors import QUALITIES
from priorband.errors import FormatError, MethodError, SpaceError, suggestion
from priorband.values import field_names, frozen

Rules = Literal["paper", "authors", "published"]
RULES: tuple[Rules, ...] = ("paper", "authors", "published")
"""The paper's text; the text with the authors' prior centres; the code of the published runs."""
NO_PRIOR = "none"
"""Stands for the prior's quality in cases of methods that ignore the prior: they run only once."""
RANDOM_PRIOR, FLAT_PRIOR = "random", "flat"
"""A prior around a uniform draw, another one for each seed and benchmark; and no belief at all."""
PRIORS: tuple[str, ...] = (*QUALITIES, RANDOM_PRIOR, FLAT_PRIOR)
"""The priors that a case can have: the paper's three, and the two that it does not use."""
FIRST_CONFIRMATION_SEED = 1000
"""Seeds below are development seeds, which may be used to choose rules. The others are not."""
PRIOR_FREE_METHODS = {
    *("random", "grid", "sh", "hyperband", "asha", "async-hyperband"),
    *("bo", "bohb", "mobster", "mobster(joint)"),
}
"""Methods that ignore the prior."""


def ignores_prior(method: str, rules: str = "paper") -> bool:
    """Whether a method ignores the prior. The published BO draws its first ten trials from it."""
    return method in PRIOR_FREE_METHODS and (rules, method) != ("published", "bo")


@final
@frozen
class Case:
    """One run: everything that determines its decisions, and its budget."""

    rules: str
    benchmark: str
    prior: str
    method: str
    workers: int
    seed: int
    budget: float
    """Full trainings per worker. A longer run starts with the same trials as a shorter one."""

    @property
    def key(self) -> tuple[str, str, str, str, int, int]:
        """What identifies a run whatever its budget; also the sort key of runs in files."""
        return self.rules, self.benchmark, self.prior, self.method, self.workers, self.seed

    @property
    def name(self) -> str:
        """The key as text, such as `paper/hartmann3-good/bad/priorband/1/0`."""
        return "/".join(map(str, self.key))

    def to_json(self) -> dict[str, Any]:
        """The case as a JSON object."""
        return {name: getattr(self, name) for name in field_names(self)}


def case_from_json(data: Any) -> Case:
    """The case in a JSON object; raises `FormatError` if there is none."""
    if not isinstance(data, dict) or set(data) != set(_TYPES):
        raise FormatError(f"A run's case needs {', '.join(_TYPES)}; got {data!r}.")
    for name, kind in _TYPES.items():
        if not isinstance(data[name], kind):
            raise FormatError(f"A run's case cannot have {name}={data[name]!r}.")
    return Case(**data)


_TYPES: dict[str, Any] = {
    **dict.fromkeys(("rules", "benchmark", "prior", "method"), str),
    **{"workers": int, "seed": int, "budget": (int, float)},
}


@final
@frozen
class CaseGrid:
    """All combinations of benchmarks, priors, methods and seeds."""

    rules: str
    benchmarks: Sequence[str]
    priors: Sequence[str]
    methods: Sequence[str]
    seeds: Sequence[int]
    workers: int = 1
    budget: float = 12.0

    def __post_init__(self) -> None:
        if self.rules not in RULES:
            raise MethodError(f"Unknown rules {self.rules!r}. {suggestion(self.rules, RULES)}")
        for prior in self.priors:
            if prior not in PRIORS:
                raise SpaceError(f"Unknown prior {prior!r}. {suggestion(prior, PRIORS)}")

    def cases(self) -> Iterator[Case]:
        """All runs of the grid, seed by seed; one for all priors if a method ignores the prior."""
        cells = product(self.seeds, self.benchmarks, self.methods, self.priors)
        for seed, benchmark, method, prior in cells:
            without_prior = ignores_prior(method, self.rules)
            if without_prior and prior != self.priors[0]:
                continue
            quality = NO_PRIOR if without_prior else prior
            yield Case(self.rules, benchmark, quality, method, self.workers, seed, self.budget)
