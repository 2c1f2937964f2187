"""A study with a conditional space: all that can happen to one, in a folder and in a database."""

import json
from pathlib import Path
from typing import Any

import pytest
from servers import fresh_url
from storage.make_format import plain
from stored_studies import CHILDREN, CONDITIONAL, EPOCHS, fill, tell_some

import priorband as pb
from priorband.cli.entry_point import main
from priorband.durable.open import journal_at
from priorband.errors import ConfigError, FormatError, MismatchError, SpaceError
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.space.space import Space
from priorband.storage.journal import Row
from priorband.storage.sqlite import SqliteJournal

METHOD = "priorband"


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)  # the checkpoints of a study in a database are here
    if request.param == "sqlite":
        return str(tmp_path / "study")
    return fresh_url(request.getfixturevalue("postgres"))


def opened(where: str, space: Space | None = CONDITIONAL, **more: Any) -> pb.DurableStudy:
    return pb.open_study(where, space, EPOCHS if space else None, METHOD, **more)


def test_a_study_lives_as_any_other(where: str, tmp_path: Path) -> None:
    with opened(where) as study:
        fill(study, 20)
        failed = [o.trial.id for o in study.state.history.latest_failures(2)]
        study.retry(failed)
        tell_some(study, 6)
        happened = study.state.history.events
        assert study.replay().exact
    with opened(where, read_only=True) as study:
        assert study.state.history.events == happened
        assert study.replay().exact
    history = study.state.history
    trials = history.trials
    queued = [t for t in trials if t.origin == "queued" and t.parent is None]
    assert [dict(trial.config) for trial in queued[:2]] == [
        {"x": 0.2, "n": 4, "kind": (1, 2), **CHILDREN[1, 2]},
        {"x": 0.3, "n": 5, "kind": "a", **CHILDREN["a"]},
    ]
    assert len(queued) == 2
    again = [trial for trial in trials if history.retry_of(trial.id) is not None]
    assert [history.retry_of(trial.id) for trial in again] == failed
    assert [trial.config for trial in again] == [trials[number].config for number in failed]
    assert check(where).sound
    made = salvage(where, tmp_path / "new")
    assert not made.dropped and not made.changed
    with opened(str(tmp_path / "new")) as study:
        assert plain(study.state.history.events) == plain(happened)


def test_what_conditions_do_not_allow_is_not_stored(where: str) -> None:
    with opened(where) as study:
        before = len(study.journal.read(0))
        for wrong, message in (
            ({"x": 0.75, "n": 2, "kind": "a"}, "lacks 'alpha'"),
            ({"x": 0.75, "n": 2, "kind": "a", "alpha": 0.3}, "`alpha` must be one of 0.0, 0.25"),
            ({"x": 0.75, "n": 2, "kind": "a", "alpha": 0.5, "beta": "p"}, "`beta` is only used"),
        ):
            for write in (study.queue, lambda config: study.add(config, 0.5)):
                with pytest.raises(ConfigError, match=message):
                    write(wrong)
        assert len(study.journal.read(0)) == before


def test_another_condition_is_another_problem(where: str) -> None:
    with opened(where):
        pass
    parameters = {**CONDITIONAL.parameters}
    parameters["width"] = pb.Ordinal([16, 32, "large"], when={"x": pb.at_most(0.25)})
    parameters["alpha"] = pb.Float(0, 1, prior=0.5, when={"kind": "a"})
    with pytest.raises(MismatchError) as caught:
        opened(where, Space(parameters))
    lines = str(caught.value).splitlines()
    assert lines[1:3] == [
        "  - `alpha`: step is 0.25 in the study, None here",
        "  - `width`: used with x <= 0.5 in the study, with x <= 0.25 here",
    ]


def test_only_a_space_that_needs_it_gets_the_newer_format(where: str) -> None:
    stepped = Space({"x": pb.Float(0, 1, step=0.5)})
    for number, (space, version) in enumerate(
        [(CONDITIONAL, 2), (stepped, 2), (Space({"x": pb.Float(0, 1)}), 1)]
    ):
        place = f"{where}{number}"
        with opened(place, space) as study:
            assert _version(study.journal) == version
            [first] = study.journal.read(0)
            assert json.loads(first.body)["format"] == version
        assert check(place).sound


def test_a_prior_over_another_space_can_need_the_newer_format(where: str) -> None:
    space = Space({"x": pb.Float(0, 1)})
    prior = Space({"x": pb.Float(0, 1, step=0.5)}).prior
    with opened(where, space, prior=prior) as study:
        assert _version(study.journal) == 2
    with opened(where, space, prior=prior) as study:
        assert study.prior == prior


def test_the_format_is_that_of_the_process_that_creates_the_study(where: str) -> None:
    """Another may have begun to: the format is stored together with the first record."""
    journal = journal_at(where)
    journal.prepare()
    assert _version(journal) == 1 and not journal.exists()
    journal.close()
    with opened(where) as study:
        assert _version(study.journal) == 2
    assert check(where).sound


def test_a_creation_that_fails_leaves_the_older_format(where: str) -> None:
    journal = journal_at(where)
    journal.prepare()
    with pytest.raises(KeyboardInterrupt), journal.transaction(0) as transaction:
        transaction.append(Row(1, "created", None, "me", 0.0, "{}", 0))
        transaction.set_version(2)
        raise KeyboardInterrupt
    assert _version(journal) == 1 and journal.first() is None
    journal.close()


def _version(journal: Any) -> int:
    if isinstance(journal, SqliteJournal):
        (version,) = journal._connection("read").execute("PRAGMA user_version").fetchone()
        return int(version)
    return int(journal._version() or 0)


def test_an_older_library_would_refuse_it(
    where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with opened(where) as study:
        study.ask()
    for module in ("journal", "sqlite_file", "postgres"):
        monkeypatch.setattr(f"priorband.storage.{module}.FORMAT", 1)
    for read_only in (True, False):
        with pytest.raises(FormatError, match="has format 2, this library reads up to 1"):
            opened(where, None, read_only=read_only)


def test_best_is_indented_as_the_conditions_are(
    where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(where) as study:
        study.add({"x": 0.5, "n": 3, "kind": "b", **CHILDREN["b"]}, 0.25)
    assert main(["best", where]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "x          0.5",
        "  width    32",
        "n          3",
        "kind       'b'",
        "  beta     'p'",
        "    gamma  4",
        "  version  3",
    ]
    assert main(["best", where, "--json"]) == 0
    config = json.loads(capsys.readouterr().out)["config"]
    assert config == {"x": 0.5, "n": 3, "kind": "b", **CHILDREN["b"]}
    assert main(["status", where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["best"]["config"] == config


@pytest.mark.parametrize("make", [pb.Study, None])
def test_the_fidelity_is_no_condition(make: Any, tmp_path: Path) -> None:
    make = make or (lambda space, fidelity: pb.open_study(tmp_path / "study", space, fidelity))
    with pytest.raises(SpaceError, match="unknown parameter `epochs`.*the fidelity is"):
        Space({"x": pb.Float(0, 1), "y": pb.Float(0, 1, when={"epochs": pb.at_least(3)})})
    space = Space(
        {"epochs": pb.Integer(1, 9), "y": pb.Float(0, 1, when={"epochs": pb.at_least(3)})}
    )
    with pytest.raises(SpaceError, match="Take it out of the space.*change `when` of `y`"):
        make(space, EPOCHS)
    assert not (tmp_path / "study").exists()
