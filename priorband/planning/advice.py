"""What does not fit together in a plan: a warning for each, with a proposal in numbers."""

from collections.abc import Iterator

from priorband.display.text import amount_text, fidelity_text, printable
from priorband.fidelity import Fidelity, lower_bound
from priorband.ladder import Ladder
from priorband.planning.cases import PlanCases, idle_share
from priorband.planning.jobs import PlanInputs, planned_jobs
from priorband.timeline.in_memory import shuffled
from priorband.values import replaced

MANY_TRIALS = 1000
"""More trials than this before the first promotion are worth a warning."""
MOST_IDLE = 0.5
"""A larger share of idle time is worth a warning."""
FINE_IDLE = 0.25
FEW_TRIALS = 250
_TRIED = 3000
"""How many trials to simulate for a proposal."""


def advice(inputs: PlanInputs, cases: PlanCases) -> Iterator[str]:
    """Yield the warnings about a plan."""
    ladder = Ladder(inputs.fidelity, inputs.optimizer.eta, inputs.optimizer.sizes)
    jobs = cases.typical
    if any(job.rung != ladder.top for job in jobs):
        yield from _about_the_ladder(inputs, cases, ladder)
    elif ladder.top == 0 and _uses_rungs(inputs):
        yield _single_rung(inputs.fidelity, inputs.optimizer.eta)
    yield from _about_workers(inputs, cases)


def _uses_rungs(inputs: PlanInputs) -> bool:
    """Whether the scheduler would use lower rungs if there were some."""
    fidelity, eta = Fidelity("any", 1, inputs.optimizer.eta**2), inputs.optimizer.eta
    jobs = planned_jobs(replaced(inputs, fidelity=fidelity, space=None), shuffled(0), eta + 1)
    return any(job.rung == 0 for job in jobs)


def _single_rung(fidelity: Fidelity, eta: int) -> str:
    problem = "There is one rung only: every trial is a full training."
    low = lower_bound(fidelity, eta**2)
    if low <= 0 and fidelity.low == fidelity.high:
        return f"{problem} With a fidelity, such as epochs from 1 to 27, most trials are short."
    bound = f"low={_number(low)}" if low > 0 else f"high={_number(fidelity.low * eta**2)}"
    return f"{problem} With eta={eta}, {bound} gives three rungs."


def _about_the_ladder(inputs: PlanInputs, cases: PlanCases, ladder: Ladder) -> Iterator[str]:
    jobs, top = cases.typical, ladder.top
    name, full = printable(inputs.fidelity.name), fidelity_text(inputs.fidelity.high)
    promoted = next((job for job in jobs if job.promoted), None)
    reached = any(job.promoted and job.rung == top for job in jobs)
    if promoted is None:
        yield (f"{_nothing_promoted(inputs, cases, ladder)} {_proposals(inputs, ladder)}").rstrip()
    elif not reached and not cases.capped:
        rungs = [job.rung for job in jobs if job.promoted and job.rung is not None]
        highest = fidelity_text(ladder.fidelities[max(rungs)])
        yield (
            f"No promoted trial reaches {name}={full} within the budget: the highest is trained to "
            f"{name}={highest}. {_proposals(inputs, ladder)}"
        ).rstrip()
    elif promoted.trial >= MANY_TRIALS:
        yield (
            f"{promoted.trial:,} trials start before the first promotion. "
            f"{_fewer_rungs(inputs.fidelity, ladder)}"
        ).rstrip()


def _nothing_promoted(inputs: PlanInputs, cases: PlanCases, ladder: Ladder) -> str:
    base = next((job.rung for job in cases.typical if job.bracket is not None), None) or 0
    size = ladder.brackets[base][0]
    if cases.capped:
        return (
            f"No trial is promoted among the first {len(cases.typical):,}: with {ladder.top + 1} "
            f"rungs, a bracket starts with {size:,} trials."
        )
    return (
        f"The budget ends before the first promotion: it allows {len(cases.typical):,} trials, and "
        f"with {ladder.top + 1} rungs a bracket starts with {size:,}."
    )


def _proposals(inputs: PlanInputs, ladder: Ladder) -> str:
    """A lower bound with which the budget is enough, and a budget that is enough."""
    found = [_enough_low(inputs, ladder), _enough_budget(inputs, ladder)]
    texts = [text for text in found if text]
    return f"Use {' or '.join(texts)}." if texts else ""


def _enough_low(inputs: PlanInputs, ladder: Ladder) -> str:
    fidelity = inputs.fidelity
    for steps in range(ladder.top - 1, 0, -1):
        low = lower_bound(fidelity, ladder.eta**steps)
        if low <= fidelity.low or ladder.eta**steps > _TRIED:
            continue
        shorter = Fidelity(fidelity.name, low, fidelity.high)
        if _reaches_top(replaced(inputs, fidelity=shorter), steps):
            name = printable(fidelity.name)
            return f"low={_number(low)} for `{name}` ({steps + 1} rungs)"
    return ""


def _enough_budget(inputs: PlanInputs, ladder: Ladder) -> str:
    if inputs.trials is not None or ladder.brackets[0][0] > _TRIED:
        return ""
    budget = inputs.work.budget
    for _ in range(6):
        budget *= 1.5
        work = replaced(inputs.work, budget=budget)
        if _reaches_top(replaced(inputs, work=work), ladder.top):
            return f"budget={amount_text(_rounded(budget))}"
    return ""


def _rounded(budget: float) -> float:
    return float(-(-budget // 1)) if budget >= 1 else budget


def _reaches_top(inputs: PlanInputs, top: int) -> bool:
    jobs = planned_jobs(inputs, shuffled(0), _TRIED)
    return any(job.promoted and job.rung == top for job in jobs)


def _fewer_rungs(fidelity: Fidelity, ladder: Ladder) -> str:
    for steps in range(ladder.top - 1, 0, -1):
        shorter = Fidelity(fidelity.name, lower_bound(fidelity, ladder.eta**steps), fidelity.high)
        first = Ladder(shorter, ladder.eta, ladder.rule).brackets[0][0]
        if first <= FEW_TRIALS:
            return (
                f"With low={_number(shorter.low)} for `{printable(fidelity.name)}` there are "
                f"{steps + 1} rungs, and a bracket starts with {first} trials."
            )
    return ""


def _about_workers(inputs: PlanInputs, cases: PlanCases) -> Iterator[str]:
    workers = inputs.work.workers
    if cases.capped or workers == 1:
        return
    idle = cases.span(lambda jobs: idle_share(jobs, workers)).typical
    if idle <= MOST_IDLE:
        return
    count = workers
    while count > 1:
        count = count // 2
        jobs = planned_jobs(_with_workers(inputs, count), shuffled(0), _TRIED)
        if idle_share(jobs, count) <= FINE_IDLE:
            break
    unused = workers - len({job.worker for job in cases.typical})
    never = f", and {unused} of them never get a trial" if unused else ""
    yield (
        f"The budget cannot feed {workers} workers: they are idle {idle:.0%} of the time{never}. "
        f"Use workers={count}, or a larger budget."
    ).replace("%", " %")


def _with_workers(inputs: PlanInputs, count: int) -> PlanInputs:
    return replaced(inputs, work=replaced(inputs.work, workers=count))


def _number(value: float) -> str:
    return f"{value:_}" if isinstance(value, int) else repr(value)
