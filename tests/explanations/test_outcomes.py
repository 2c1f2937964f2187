"""What became of trials is the same in memory, in storage, in an export, and for one alone."""

import json
from pathlib import Path

import pytest
from amounts import slow_unless_in
from oracles.played_studies import EPOCHS, SPACE, played

import priorband as pb
from priorband.cli.export_command import exported
from priorband.explanations.outcomes import outcome_of, outcomes_of
from priorband.samplers import FromPrior, PriorMode
from priorband.schedulers import ASHA
from priorband.study_analysis import study_data
from priorband.study_analysis.statuses import statuses
from priorband.study_analysis.why import explanation

METHODS = (
    *("priorband", "sh", "asha+prior", "async-hyperband+guard", "guardband", "guardband+bo"),
    *("random", "guardband(no-continue)", "guardband(all-brackets)", "asha+guard"),
)


def cells(folder: Path) -> list[str]:
    with exported(str(folder), as_json=True) as text:
        return [row["outcome"] for row in json.loads("".join(text))]


@pytest.mark.parametrize("method", slow_unless_in(METHODS, pb.methods()))
@pytest.mark.parametrize("seed", [0, 1])
def test_all_tables_have_the_same_words(tmp_path: Path, method: str, seed: int) -> None:
    """Also with retries, of which the export makes no columns, and without."""
    memory = played(method, 8, 25 if "bo" in method else 60, seed, retries=seed == 0)
    scheduler, state = memory.optimizer.scheduler, memory.state
    words = outcomes_of(scheduler, state)
    assert words == [outcome_of(scheduler, state, n) for n in range(len(words))]
    with pb.open_study(tmp_path, SPACE, EPOCHS, method, seed) as study:
        study.follow(state.history.events)
        assert [record.outcome for record in study.trials()] == words
        data = study_data(study)
        assert list(statuses(data)) == words
        assert explanation(data, 3).data == memory.why(3).data == study.why(3).data
    assert cells(tmp_path) == words


@pytest.mark.parametrize("method", ["priorband", "guardband", "asha+guard", "guardband+bo"])
@pytest.mark.parametrize("retries", [True, False])
def test_explanations_hold_after_the_prior_was_changed(
    tmp_path: Path, method: str, retries: bool
) -> None:
    memory = pb.Study(SPACE, EPOCHS, method, seed=2)
    for number in range(24):
        if number in (3, 12):
            memory.set_prior({"x": number / 20})
        trial = memory.ask()
        if number == 5:
            memory.fail(trial, "no")
        else:
            memory.tell(trial, abs(trial.config["x"] - 0.6) + 1 / trial.fidelity)
    if retries:
        memory.retry([5])
    assert memory.replay().exact
    whys = [memory.why(number) for number in range(24)]
    assert all(why.source.exact for why in whys)
    assert all(step.exact for why in whys for step in (why.continues, why.continued) if step)
    with pb.open_study(tmp_path, SPACE, EPOCHS, method, seed=2) as study:
        study.follow(memory.state.history.events)
    assert cells(tmp_path) == [why.outcome for why in whys]


def test_with_a_method_that_is_not_known_what_may_go_on_is_open(tmp_path: Path) -> None:
    class Mine:
        """A sampler that no record can name."""

        sample = FromPrior().sample

    method = pb.Optimizer(ASHA(), Mine(), PriorMode(), eta=2)
    with pb.open_study(tmp_path, SPACE, EPOCHS, method) as study:
        for trial in study.ask(4):
            study.tell(trial, trial.id)
        assert study.ask().parent == 1
        words = [record.outcome for record in study.trials()]
    assert words == ["finished", "promoted", "open", "open", "running"]
    assert cells(tmp_path) == words
