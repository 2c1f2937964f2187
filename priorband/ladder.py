"""The ladder: the fidelity of each rung, and the sizes and costs of brackets."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final

from priorband.errors import MethodError
from priorband.fidelity import Fidelity
from priorband.numeric import one_of, whole
from priorband.values import settle

Rule = Literal["floor", "ceil"]


@final
@dataclass(frozen=True)
class Ladder:
    """Rungs from low to high: each fidelity is `eta` times the one below, up to a full training.

    `rule` says how bracket sizes are rounded: "floor" as in HpBandSter and the paper's experiments,
    "ceil" as printed in the paper.

    >>> print(Ladder(Fidelity("epochs", 3, 81)))
    epochs           3     9    27    81  cost
    bracket 0       27     9     3     1  3.00
    bracket 1              9     3     1  2.33
    bracket 2                    6     2  3.33
    bracket 3                          4  4.00
    """

    fidelity: Fidelity
    eta: int = 3
    rule: Rule = "floor"

    def __post_init__(self) -> None:
        if not whole(self.eta) or self.eta < 2:
            raise MethodError(f"`eta` must be a whole number of at least 2, got {self.eta!r}.")
        settle(self, eta=int(self.eta))
        if not one_of(self.rule, ("floor", "ceil")):
            raise MethodError(f"`sizes` must be 'floor' or 'ceil', got {self.rule!r}.")

    @cached_property
    def top(self) -> int:
        """The index of the highest rung, s_max in the paper; computed without a logarithm."""
        integer, high = self.fidelity.integer, self.fidelity.high
        reach, top = self.fidelity.low * self.eta, 0
        while (reach if integer else reach / (1 + 1e-12)) <= high:
            reach, top = reach * self.eta, top + 1
        return top

    @cached_property
    def fidelities(self) -> tuple[float, ...]:
        """The fidelity of each rung, lowest first. The highest is exact; others derive from it."""
        high = self.fidelity.high
        powers = [self.eta**below for below in range(self.top, -1, -1)]
        if self.fidelity.integer:
            return tuple(high // power for power in powers)
        return tuple(high / power for power in powers)

    @cached_property
    def brackets(self) -> tuple[tuple[int, ...], ...]:
        """For each base rung, the number of trials in its bracket on this and each higher rung."""
        return tuple(self._sizes(base) for base in range(self.top + 1))

    def _sizes(self, base: int) -> tuple[int, ...]:
        steps = self.top - base  # the paper's s
        widest = self.eta**steps
        if self.rule == "floor":
            first = (self.top + 1) // (steps + 1) * widest
        else:
            first = -(-(self.top + 1) * widest // (steps + 1))
        return tuple(first // self.eta**i for i in range(steps + 1))

    def cost(self, base: int, continued: bool = True) -> float:
        """The cost of a bracket in fidelity units; promotions continue, or start from scratch."""
        rungs = self.fidelities[base:]
        below = (0.0, *rungs[:-1]) if continued else (0.0,) * len(rungs)
        return float(
            sum(n * (z - b) for n, z, b in zip(self.brackets[base], rungs, below, strict=True))
        )

    @cached_property
    def first_cost(self) -> float:
        """The cost of the first bracket; samplers use the incumbent once that much was spent."""
        return self.cost(0)

    def snap(self, fidelity: float) -> float:
        """The fidelity of a rung if this one differs from it by rounding only, else itself."""
        for rung in self.fidelities:
            if abs(rung - fidelity) <= 1e-9 * rung:
                return rung
        return fidelity

    def __str__(self) -> str:
        head = "".join(f"{z:6.4g}" for z in self.fidelities)
        lines = [f"{self.fidelity.name:<12}{head}  cost"]
        for base, sizes in enumerate(self.brackets):
            row = " " * 6 * base + "".join(f"{n:6d}" for n in sizes)
            lines.append(
                f"{f'bracket {base}':<12}{row}  {self.cost(base) / self.fidelity.high:.2f}"
            )
        return "\n".join(lines)
