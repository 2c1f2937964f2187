"""What is said when a study is resumed."""

from priorband.display.text import amount_text
from priorband.durable.study import DurableStudy


def resuming_text(study: DurableStudy) -> str:
    """How far a study has come: `Resuming: 10 trials, 2 of 4 trainings spent`; empty if it is new.

    Amounts that are handed out to trials count as spent.
    """
    trials = len(study.state.history)
    if not trials:
        return ""
    spending = study.spending()
    spent = [
        f"{amount_text(getattr(spending, name))} of {amount_text(limit)} "
        + (name[:-1] if limit == 1 and name != "cost" else name)
        for name, limit in study.budget.limits.items()
    ]
    used = f", {', '.join(spent)} spent" if spent else ""
    return f"Resuming: {trials} trial{'' if trials == 1 else 's'}{used}"
