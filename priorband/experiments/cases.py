"""Cases: which method ran on which benchmark, under which prior, with which seed."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Literal, final

from priorband.benchmarks.priors import QUALITIES
from priorband.errors import FormatError, MethodError, SpaceError, suggestion
from priorband.values import field_names, frozen

Rules = Literal["paper", "authors", "published"]
RULES: tuple[Rules, ...] = ("paper", "authors", "published")
"""As the paper's text says; the same around the authors' own prior configurations; or as the code
behind the published figures did."""
NO_PRIOR = "none"
"""In the place of a prior's quality, for methods that ignore the prior: they run once for all."""
BLIND = {
    *("random", "grid", "sh", "hyperband", "asha", "async-hyperband"),
    *("bo", "bohb", "mobster", "mobster(joint)"),
}
"""Methods that ignore the prior."""


def ignores_prior(method: str, rules: str = "paper") -> bool:
    """Whether a method ignores the prior. The published BO drew its first ten trials from it."""
    return method in BLIND and (rules, method) != ("published", "bo")


@final
@frozen
class Case:
    """One run: all that decides what happens in it, and its budget."""

    rules: str
    benchmark: str
    prior: str
    method: str
    workers: int
    seed: int
    budget: float
    """In full trainings for each worker; a longer run begins with the shorter one."""

    @property
    def key(self) -> tuple[str, str, str, str, int, int]:
        """What tells runs apart, whatever their length; the order of runs in files."""
        return self.rules, self.benchmark, self.prior, self.method, self.workers, self.seed

    @property
    def name(self) -> str:
        """The key as one word, such as `paper/hartmann3-good/bad/priorband/1/0`."""
        return "/".join(map(str, self.key))

    def plain(self) -> dict[str, Any]:
        """The case as JSON carries it."""
        return {name: getattr(self, name) for name in field_names(self)}


def case_from(plain: Any) -> Case:
    """A case from what JSON carried."""
    if not isinstance(plain, dict) or set(plain) != set(_KINDS):
        raise FormatError(f"A run's case has {', '.join(_KINDS)}; got {plain!r}.")
    for name, kind in _KINDS.items():
        if not isinstance(plain[name], kind):
            raise FormatError(f"A run's case cannot have {name}={plain[name]!r}.")
    return Case(**plain)


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("rules", "benchmark", "prior", "method"), str),
    **{"workers": int, "seed": int, "budget": (int, float)},
}


@final
@frozen
class CaseGrid:
    """Methods times benchmarks times priors times seeds."""

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
            if prior not in QUALITIES:
                raise SpaceError(f"Unknown prior {prior!r}. {suggestion(prior, QUALITIES)}")

    def cases(self) -> Iterator[Case]:
        """All runs of the grid, seed by seed; a method that ignores the prior has one for all."""
        cells = product(self.seeds, self.benchmarks, self.methods, self.priors)
        for seed, benchmark, method, prior in cells:
            blind = ignores_prior(method, self.rules)
            if blind and prior != self.priors[0]:
                continue
            quality = NO_PRIOR if blind else prior
            yield Case(self.rules, benchmark, quality, method, self.workers, seed, self.budget)
