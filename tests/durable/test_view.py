"""What a process knows of a study stays right, also when a signal comes in between."""

from pathlib import Path

import pytest

import priorband as pb
from priorband.durable.ledger import Ledger

SPACE = pb.Space({"x": pb.Float(0, 1)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


@pytest.mark.parametrize("after", [1, 2, 3])
def test_records_half_taken_in_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as other, pb.open_study(tmp_path) as study:
        for _ in range(3):
            other.tell(other.ask(), 0.5)
        real, calls = Ledger.apply, list[int]()

        def interrupted(*given: object) -> object:
            event = real(*given)  # type: ignore[arg-type]  # handed on
            calls.append(1)
            if len(calls) == after:
                raise KeyboardInterrupt
            return event

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Ledger, "apply", interrupted)
            study.refresh()
        study.tell(study.ask(), 0.25)
        assert study.state.history.events == other.refresh().history.events
