"""Which brackets are ready to be continued."""

from priorband import (
    Fidelity,
    Float,
    Space,
    Study,
)
from priorband.brackets import ready_brackets

UNIT = Space({"x": Float(0, 1, prior=0.3)})


def test_a_bracket_that_waits_for_a_lost_trial_is_not_looked_at_again() -> None:
    study = Study(UNIT, Fidelity("epochs", 1, 9), "hyperband")
    lost = set()
    for _ in range(600):
        trial = study.ask()
        assert trial.slot is not None
        if trial.slot.bracket in lost or trial.parent is not None:
            study.tell(trial, 0.5)
        else:
            lost.add(trial.slot.bracket)
    assert len(lost) > 90
    assert len(ready_brackets(study.state)) <= 1
    first = study.state.history.running[0]
    study.tell(first, 0.1)
    [(bracket, *_), *_] = ready_brackets(study.state)
    assert bracket == 0  # the loser came back
