"""Warnings about plans: each says what does not fit, and proposes numbers that do."""

import re

import pytest

import priorband as pb

EPOCHS = pb.Fidelity("epochs", 1, 81)


def warned(*args: object, **options: object) -> str:
    [warning] = pb.plan(*args, **options).warnings  # type: ignore[arg-type]  # passed on
    return warning


@pytest.mark.parametrize("method", ["priorband", "hyperband", "asha", "random", "sh"])
def test_an_ordinary_plan_has_no_warning(method: str) -> None:
    assert pb.plan(EPOCHS, method, budget=16, workers=4).warnings == ()


def test_thousands_of_trials_before_the_first_promotion_are_worth_a_warning() -> None:
    steps = pb.Fidelity("steps", 100, 1_000_000)
    text = warned(steps, "hyperband", budget=12, workers=1)
    assert text == (
        "6,561 trials start before the first promotion. With low=4_115 for `steps` there are "
        "6 rungs, and a bracket starts with 243 trials."
    )
    assert pb.plan(pb.Fidelity("steps", 4_115, 1_000_000), "hyperband").warnings == ()


def test_a_ladder_whose_top_the_budget_does_not_reach_is_worth_a_warning() -> None:
    text = warned(EPOCHS, "hyperband", budget=3, workers=1)
    assert text.startswith("No promoted trial reaches epochs=81 within the budget: the highest is")
    found = re.search(r"Use low=(\d+) for `epochs` \((\d) rungs\) or budget=(\d+)\.", text)
    assert found
    shorter = pb.Fidelity("epochs", int(found[1]), 81)
    assert len(pb.plan(shorter).rungs) == int(found[2])
    assert pb.plan(shorter, "hyperband", budget=3, workers=1).warnings == ()
    assert pb.plan(EPOCHS, "hyperband", budget=int(found[3]), workers=1).warnings == ()


def test_a_budget_below_one_bracket_is_worth_a_warning() -> None:
    text = warned(EPOCHS, "hyperband", budget=0.5, workers=1)
    assert text.startswith(
        "The budget ends before the first promotion: it allows 41 trials, and with 5 rungs a "
        "bracket starts with 81. Use "
    )


def test_a_single_rung_is_worth_a_warning_unless_the_method_wants_it() -> None:
    with pytest.warns(pb.errors.SingleRungWarning):
        short = pb.Fidelity("epochs", 30, 81)
    assert warned(short, "hyperband") == (
        "There is one rung only: every trial is a full training. With eta=3, low=9 gives three "
        "rungs."
    )
    assert pb.plan(short, "random").warnings == ()
    with pytest.warns(pb.errors.SingleRungWarning):
        shorter = pb.Fidelity("epochs", 2, 3)
    assert warned(shorter, "hyperband").endswith("With eta=3, high=18 gives three rungs.")


def test_more_workers_than_the_budget_can_feed_are_worth_a_warning() -> None:
    text = warned(EPOCHS, "random", budget=8, workers=32)
    assert text == (
        "The budget cannot feed 32 workers: they are idle 75 % of the time, and 24 of them never "
        "get a trial. Use workers=8, or a larger budget."
    )
    assert pb.plan(EPOCHS, "random", budget=8, workers=8).warnings == ()
