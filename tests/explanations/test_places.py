"""Ranks worked by hand: 9 trials on rung 0 of a bracket, of which 3 go on, then 1."""

import pytest

import priorband as pb
from priorband.explanations.places import Place, place
from priorband.samplers import FromUniform
from priorband.schedulers import ASHA, Hyperband, Sample, Slot, SuccessiveHalving

SPACE = pb.Space({"x": pb.Float(0, 1)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


def told(study: pb.Study, *losses: float) -> None:
    """Ask and tell one trial after another; an infinite loss is a failure."""
    for loss in losses:
        study.tell(study.ask(), loss)


def place_of(study: pb.Study, number: int, plan: object = None) -> Place | None:
    ended = study.state.history.outcome(number)
    assert ended is not None
    scheduler = study.optimizer.scheduler if plan is None else plan
    return place(scheduler, study.state, ended)  # type: ignore[arg-type]  # any scheduler


def test_a_rung_of_a_bracket_that_still_fills() -> None:
    study = pb.Study(SPACE, EPOCHS, pb.Optimizer(Hyperband(), FromUniform()))
    told(study, 0.5, 0.3, float("inf"), 0.4)
    study.ask(2)
    assert place_of(study, 0) == Place("bracket", 3, 4, 3, 0, running=2, missing=3)
    assert place_of(study, 2) == Place("bracket", None, 4, 3, 0, running=2, missing=3)


def test_equal_losses_rank_by_the_first_trial() -> None:
    study = pb.Study(SPACE, EPOCHS, pb.Optimizer(SuccessiveHalving(), FromUniform()))
    told(study, *[1.0] * 9)
    places = [place_of(study, number) for number in range(9)]
    assert [each and each.rank for each in places] == [*range(1, 10)]


def test_fewer_go_on_where_fewer_succeeded() -> None:
    study = pb.Study(SPACE, EPOCHS, pb.Optimizer(SuccessiveHalving(), FromUniform()))
    told(study, 0.2, 0.1, *[float("inf")] * 7)
    assert place_of(study, 0) == Place("bracket", 2, 9, 2)
    told(study, 0.7, 0.6)  # trial 9 continues 1, trial 10 continues 0
    assert place_of(study, 0) == Place("bracket", 2, 9, 2, advanced=2)
    assert place_of(study, 9) == Place("bracket", 2, 2, 1)


def test_an_asynchronous_rung_counts_all_brackets_and_a_retry_once() -> None:
    study = pb.Study(SPACE, EPOCHS, pb.Optimizer(ASHA(), FromUniform()))
    told(study, 0.5, 0.3, float("inf"))
    assert place_of(study, 1) == Place("rung", 1, 3, 1)
    child = study.ask()
    assert child.parent == 1
    study.retry([2])
    told(study, 0.1)
    assert place_of(study, 1) == Place("rung", 2, 3, 1, advanced=1)


def test_with_neps_those_that_went_on_do_not_count() -> None:
    study = pb.Study(SPACE, EPOCHS, pb.Optimizer(ASHA("neps"), FromUniform()))
    told(study, 0.5, 0.3, 0.4)
    assert place_of(study, 2) == Place("not promoted", 2, 3, 1)
    assert study.ask().parent == 1
    assert place_of(study, 2) == Place("not promoted", 1, 2, 0, advanced=1)


def test_full_trainings_rank_among_all_successes_there() -> None:
    study = pb.Study(SPACE, EPOCHS, "random")
    told(study, 0.5, 0.3, float("inf"))
    study.add({"x": 0.5}, 0.4)
    assert place_of(study, 0) == Place("fidelity", 3, 3)
    assert place_of(study, 2) == Place("fidelity", None, 3)


class ByTurns:
    """A scheduler of one's own, which promotes nothing."""

    def next(self, state: pb.State, rng: object) -> Sample:
        return Sample(Slot(0, len(state.history) % 2))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByTurns)

    def __hash__(self) -> int:
        return 1


def test_a_scheduler_of_ones_own_shows_what_the_history_shows() -> None:
    study = pb.Study(SPACE, EPOCHS, pb.Optimizer(ByTurns(), FromUniform()))
    told(study, 0.5, 0.1, 0.3)
    assert place_of(study, 0) == Place("bracket", 2, 2, None, advanced=1)
    why = study.why(0)
    assert (why.outcome, why.still_open, why.source.exact) == ("open", "unknown", True)
    assert why.sentence == (
        "Trial 0 may still go on: it is 2nd of 2 on rung 0 of bracket 0 so far, and the method may "
        "continue it."
    )


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "Trial 0 was promoted as trial 9: it was 1st of 9 on rung 0 of bracket 0, and the "),
        (5, "Trial 5 was stopped: it is 6th of 9 on rung 0 of bracket 0, and the first 3 went on."),
        (9, "Trial 9 was promoted as trial 12: it was 1st of 3 on rung 1 of bracket 0, and the "),
        (12, "Trial 12 was trained in full: it is a uniform draw."),
    ],
)
def test_the_first_line_is_the_answer(number: int, words: str) -> None:
    study = pb.Study(SPACE, EPOCHS, "sh")
    told(study, *range(9), *range(3), 0)
    assert str(study.why(number)).startswith(words)
