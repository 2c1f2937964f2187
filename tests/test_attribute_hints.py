"""Names that people know from other libraries are answered with what to use here."""

import copy
import pickle

import pytest

import priorband as pb
from priorband.attribute_hints import OF_PACKAGE, OF_STUDIES, OF_TRIALS

STUDY = pb.Study(pb.Space(x=pb.Float(0, 1)), method="random")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("prune", "`study.fail(trial)`"),
        ("optimize", "`priorband.tune("),
        ("best_params", "`study.best.config`"),
        ("best_value", "`study.best.loss`"),
        ("best_trial", "`study.best`"),
        ("enqueue_trial", "`study.queue(config)`"),
    ],
)
def test_a_study_says_what_to_use_instead(name: str, said: str) -> None:
    assert not hasattr(STUDY, name)
    with pytest.raises(AttributeError) as caught:
        getattr(STUDY, name)
    message = str(caught.value)
    assert said in message and f"has no attribute '{name}'. " in message and message.endswith(".")


def test_python_adds_no_proposal_of_its_own_to_ours() -> None:
    with pytest.raises(AttributeError) as caught:
        STUDY.optimize  # type: ignore[attr-defined]  # noqa: B018  # wrong on purpose
    assert caught.value.obj is None  # so Python looks for no similar name
    with pytest.raises(AttributeError) as caught:
        STUDY.bests  # type: ignore[attr-defined]  # noqa: B018  # wrong on purpose
    assert caught.value.obj is STUDY


def test_the_package_says_what_to_use_instead() -> None:
    with pytest.raises(AttributeError, match=r"^module 'priorband' has no attribute 'fmin'. Call"):
        pb.fmin  # noqa: B018  # wrong on purpose
    with pytest.raises(AttributeError, match=r"^module 'priorband' has no attribute 'Studdy'$"):
        pb.Studdy  # noqa: B018  # wrong on purpose
    assert not [name for name in OF_PACKAGE if hasattr(pb, name)]


def test_a_trial_says_what_to_use_instead() -> None:
    trial = STUDY.ask()
    with pytest.raises(AttributeError, match=r"`trial.config\[\"lr\"\]`"):
        trial.suggest_float("lr", 0, 1)  # type: ignore[attr-defined]  # wrong on purpose
    assert not hasattr(trial, "params")
    assert copy.copy(trial) == pickle.loads(pickle.dumps(trial)) == trial


def test_other_names_are_missing_as_usual() -> None:
    for name in ("bset", "_state_", "__wrapped__"):
        with pytest.raises(AttributeError, match=rf"^'Study' object has no attribute '{name}'$"):
            getattr(STUDY, name)


def test_no_hint_is_about_a_name_that_exists() -> None:
    assert not [name for name in OF_STUDIES if hasattr(pb.Study, name)]
    assert not [name for name in OF_STUDIES if hasattr(pb.DurableStudy, name)]
    assert not [name for name in OF_TRIALS if hasattr(pb.Trial, name) or hasattr(pb.Attempt, name)]
