"""Changes of the prior in storage: the format, opening, snapshots, repair and other workers."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from servers import fresh_url
from space.conditional_spaces import random_spaces
from stored_studies import (
    CONDITIONAL,
    EPOCHS,
    SPACE,
    end,
    loss,
    resealed,
    rows,
    tell_some,
    write_rows,
)

import priorband as pb
from priorband.cli.entry_point import main
from priorband.durable import snapshot
from priorband.durable.ledger import Ledger
from priorband.durable.problem_data import changed_prior, changed_prior_data, problem_data
from priorband.durable.records import PriorRecord, decode, sealed_row
from priorband.errors import DamagedError, FormatError, MethodError, MismatchError
from priorband.planning.left import plan_of_study
from priorband.problem import make_problem
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.storage.sqlite_file import DATABASE_NAME

NEW = {"x": 0.9, "kind": {"a": 1, "b": 3}}
NEWER = {"x": pb.Beta(5, 2), "n": 32}


def version(folder: Path) -> int:
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as connection:
        [number] = connection.execute("PRAGMA user_version").fetchone()
        return int(number)


def changed_study(where: Path | str, method: str = "guardband", **options: Any) -> None:
    """A study whose prior was changed twice, with trials before, between and after."""
    with pb.open_study(where, SPACE, EPOCHS, method, seed=2, **options) as study:
        study.limit(100)
        tell_some(study, 8)
        study.set_prior(NEW)
        tell_some(study, 6)
        study.set_prior(NEWER)
        tell_some(study, 6)


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "study")
    return fresh_url(request.getfixturevalue("postgres"))


def test_a_change_is_stored_and_decisions_after_it_use_it(where: str, tmp_path: Path) -> None:
    about: dict[str, Any] = {"folder": tmp_path / "files"} if "://" in where else {}
    changed_study(where, **about)
    memory = pb.Study(SPACE, EPOCHS, "guardband", seed=2)
    for number in range(20):
        if number in (8, 14):
            memory.set_prior(NEW if number == 8 else NEWER)
        trial = memory.ask()
        if number % 6 == 3:
            memory.fail(trial, "it was not to be")
        else:
            memory.tell(trial, loss(trial))
    with pb.open_study(where, **about) as study:
        assert study.state.history.events == memory.state.history.events
        assert study.prior == memory.prior and study.problem.prior == SPACE.prior
        assert study.ask() == memory.ask() and study.replay().exact
        assert [change.asked for change in study.state.history.prior_changes] == [8, 14]
        written = study.ledger.prior_changes
        stored = [study.journal.read(each.seq - 1)[0] for each in written]
        assert [(row.kind, row.at, row.worker) for row in stored] == [
            ("prior", each.at, each.worker) for each in written
        ]
    assert check(where).sound


def test_only_a_study_with_a_change_gets_the_new_format(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.set_prior(None)
        study.set_prior(SPACE.prior)
        assert version(tmp_path) == 1 and len(rows(tmp_path)) == 1, "it is the same prior"
        study.set_prior({"x": 0.5})
        assert version(tmp_path) == 4
        study.set_prior({"x": 0.5})
    assert [row.kind for row in rows(tmp_path)] == ["created", "prior"]
    assert json.loads(rows(tmp_path)[1].body)["prior"]["space"] is None


def test_a_retry_after_a_change_does_not_lower_the_format(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.fail(study.ask())
        study.fail(study.ask())
        study.retry([0])
        assert version(tmp_path) == 3
        study.set_prior(NEW)
        assert version(tmp_path) == 4
        study.retry([1])
        happened = study.state.history.events
    assert version(tmp_path) == 4 and check(tmp_path).sound
    with pb.open_study(tmp_path / "copy", SPACE, EPOCHS) as copy:
        copy.follow(happened)
        assert copy.state.history.events == happened and copy.prior.mode["x"] == 0.9
    assert version(tmp_path / "copy") == 4


def test_an_older_library_refuses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed_study(tmp_path)
    for module in ("sqlite_file", "journal"):
        monkeypatch.setattr(f"priorband.storage.{module}.FORMAT", 3)
    for read_only in (False, True):
        with pytest.raises(FormatError, match="has format 4, this library reads up to 3. Install"):
            pb.open_study(tmp_path, read_only=read_only)


def test_a_wrong_version_is_found(tmp_path: Path) -> None:
    changed_study(tmp_path)
    with closing(sqlite3.connect(tmp_path / DATABASE_NAME)) as connection:
        connection.execute("PRAGMA user_version = 3")
    [found] = check(tmp_path).findings
    assert "is 3, but a changed prior needs 4" in str(found)


def test_another_process_sees_a_change_before_its_next_decision(where: str, tmp_path: Path) -> None:
    about: dict[str, Any] = {"folder": tmp_path / "files"} if "://" in where else {}
    with pb.open_study(where, SPACE, EPOCHS, "random+prior", **about) as one:
        tell_some(one, 5)
        with pb.open_study(where, **about) as other:
            other.set_prior({"x": pb.Normal(0.95, sigma=0.01)})
        assert one.prior.mode["x"] == 0.4, "as of its last refresh"
        assert [one.ask().config["x"] > 0.9 for _ in range(5)] == [True] * 5
        assert one.prior.mode["x"] == 0.95 and one.replay().exact


class Own:
    """A prior of a user's own."""

    mode = SPACE.prior.mode
    sample, logpdf, around = SPACE.prior.sample, SPACE.prior.logpdf, SPACE.prior.around


def test_a_prior_with_custom_parts_cannot_be_set(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        with pytest.raises(MethodError, match=r"other workers could not make one .*\.Own\)"):
            study.set_prior(Own())
        memory = pb.Study(SPACE, EPOCHS)
        memory.set_prior(Own())
        with pytest.raises(MethodError, match="custom parts"):
            study.follow(memory.state.history.events)
        assert len(rows(tmp_path)) == 1 and study.state.history.events == ()


def test_one_can_be_replaced_by_beliefs(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS, "random+prior", prior=Own()) as study:
        tell_some(study, 3)
        study.set_prior(NEW)
        tell_some(study, 3)
    for known in (None, NEW):  # the first is needed to repeat the first decisions
        with pytest.raises(MethodError, match="custom parts"):
            pb.open_study(tmp_path, prior=known)
    with pytest.raises(MismatchError, match="one made of beliefs here"):
        pb.open_study(tmp_path, prior=pb.prior(SPACE, NEW))
    with pb.open_study(tmp_path, prior=Own()) as study:
        assert study.prior.mode["x"] == 0.9 and study.replay().exact
    assert check(tmp_path).sound


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    changed_study(tmp_path / "study")
    return tmp_path / "study"


ALSO = pb.Space({**SPACE.parameters, "x": pb.Float(0, 1, prior=pb.Beta(5, 2)),
                 "n": pb.Integer(1, 64, log=True, prior=32)})  # fmt: skip


@pytest.mark.parametrize(
    "given",
    [
        {"prior": NEW},
        {"prior": NEWER},
        {"prior": pb.prior(SPACE, NEWER)},
        {"space": SPACE},
        {"space": SPACE, "prior": {"x": 0.4}},
        {"space": SPACE, "prior": SPACE.prior, "fidelity": EPOCHS, "method": "guardband"},
        {"space": ALSO},
        {"space": ALSO, "prior": NEW},
    ],
)
def test_it_opens_with_any_prior_that_it_has_had(changed: Path, given: dict[str, Any]) -> None:
    """A worker that was started before a change is restarted with what it was started with."""
    with pb.open_study(changed, **given) as study:
        assert study.prior.mode["n"] == 32, "that does not set the prior"
        assert study.space == SPACE and study.problem.prior == SPACE.prior
        assert study.replay().exact


def test_another_prior_is_refused_with_what_to_do(changed: Path, tmp_path: Path) -> None:
    other = pb.Space({**SPACE.parameters, "x": pb.Float(0, 1, prior=0.6)})
    wrong: list[dict[str, Any]] = [{"prior": {"x": 0.6}}, {"space": other}]
    for options in wrong:
        with pytest.raises(MismatchError) as refused:
            pb.open_study(changed, **options)
        said = str(refused.value)
        assert said.startswith(f"The study in {changed} has another prior:\n  - prior of `x`: mode")
        assert "in the study, 0.6 here" in said and "Space(" not in said
        assert "call `set_prior` of the study, or run `priorband prior set`" in said
    with pytest.raises(MismatchError, match="`set_prior`") as refused:
        pb.open_study(changed, prior=Own())
    assert "Own" in str(refused.value)
    with pb.open_study(tmp_path / "unchanged", SPACE, EPOCHS):
        pass
    with pytest.raises(MismatchError, match="created with other settings") as refused:
        pb.open_study(tmp_path / "unchanged", prior={"x": 0.6})
    assert "`priorband prior set`" in str(refused.value)


def test_what_else_differs_is_told_as_before(changed: Path) -> None:
    wider = pb.Space({**SPACE.parameters, "x": pb.Float(0, 2, prior=0.6)})
    with pytest.raises(MismatchError, match="created with other settings") as refused:
        pb.open_study(changed, wider)
    assert "`x`: high is" in str(refused.value) and "set_prior" not in str(refused.value)


@pytest.mark.parametrize("space", [SPACE, CONDITIONAL], ids=["plain", "conditional"])
def test_a_snapshot_leads_to_the_same_study(
    space: pb.Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "EVERY", 8)
    monkeypatch.setattr(snapshot, "ON_CLOSE", 1)
    with pb.open_study(tmp_path, space, EPOCHS, "guardband", seed=2) as study:
        for prior in (NEW, {}, None, NEWER):
            tell_some(study, 5)
            study.set_prior(prior)
        happened, following = study.state.history.events, study.optimizer.decide(study.state, 2)
        written = study.ledger.prior_changes
    with pb.open_study(tmp_path) as study:
        assert study._snapshots._used, "it begins with the snapshot"
        assert study.ledger.prior_changes == written and study.prior.mode["n"] == 32
        assert study.optimizer.decide(study.state, 2) == following
        assert study.state.history.events == happened
        tell_some(study, 5)
        assert study.replay().exact
    assert check(tmp_path).sound, "which compares the snapshot with the records"
    assert version(tmp_path) == 4


@pytest.mark.parametrize(
    "data", [7, {"@": "own", "name": "x", "shown": "x"}, "x", {"@": "Independent"}]
)
def test_a_snapshot_with_something_else_for_a_prior_is_not_used(
    data: Any, changed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pb.open_study(changed) as study:
        following = study.optimizer.propose(study.state, study.seed)
        for wrong in (False, True):
            if wrong:
                monkeypatch.setattr(snapshot, "changed_prior_data", lambda *_: data)
            packed = snapshot.packed_snapshot(study.space, study.state.history, study.ledger)
            assert packed is not None
            study.journal.write_snapshot(packed, replace=True)
            with pb.open_study(changed, read_only=True) as again:
                assert again._snapshots._used is not wrong
                assert again.optimizer.propose(again.state, again.seed) == following
    monkeypatch.undo()
    assert [finding.where for finding in check(changed).findings] == ["study.snapshot"]


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(random_spaces(), st.data())
def test_the_prior_of_any_space_comes_back(space: pb.Space, data: st.DataObject) -> None:
    problem = json.loads(json.dumps(problem_data(make_problem(space, EPOCHS, "random"))))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    configs = [space.config(row) for row in space.uniform(3, rng).tolist()]
    for prior in (space.prior, pb.prior(space, {}), pb.from_samples(space, configs)):
        stored = json.loads(json.dumps(changed_prior_data(prior, problem)))
        again = changed_prior(stored, problem)
        assert again == prior
        assert changed_prior_data(again, problem) == stored
        row = sealed_row(PriorRecord(stored), 2, "worker", 0.5, 0)
        assert decode(row) == PriorRecord(stored)


def alter(folder: Path, seq: int, body: str) -> None:
    with closing(sqlite3.connect(folder / DATABASE_NAME)) as connection, connection:
        connection.execute("UPDATE record SET body = ? WHERE seq = ?", (body, seq))


def prior_rows(folder: Path) -> list[int]:
    return [row.seq for row in rows(folder) if row.kind == "prior"]


def test_it_is_salvaged_as_it_is(changed: Path, tmp_path: Path) -> None:
    made = salvage(changed, tmp_path / "same")
    assert not made.dropped and not made.changed
    assert [row.body for row in rows(tmp_path / "same")] == [row.body for row in rows(changed)]
    assert version(tmp_path / "same") == 4 and check(tmp_path / "same").sound


def test_a_change_after_a_lost_record_is_kept(changed: Path, tmp_path: Path) -> None:
    alter(changed, 5, "{")
    salvage(changed, tmp_path / "new")
    assert check(tmp_path / "new").sound and version(tmp_path / "new") == 4
    with pb.open_study(tmp_path / "new") as study:
        assert [c.prior.mode["n"] for c in study.state.history.prior_changes] == [6, 32]
        assert study.replay().exact
        tell_some(study, 5)
        assert study.replay().exact


def test_a_lost_change_is_lost_and_what_followed_is_kept(changed: Path, tmp_path: Path) -> None:
    """Trials that the earlier prior would not have led to are imported."""
    for seq in prior_rows(changed):
        alter(changed, seq, "{")
    made = salvage(changed, tmp_path / "new")
    assert check(tmp_path / "new").sound and version(tmp_path / "new") == 1
    assert any("lost its place" in finding.what for finding in made.changed)
    with pb.open_study(tmp_path / "new") as study:
        losses = [ended.loss for ended in study.state.history.successes]
        assert len(losses) == 17 and not study.state.history.prior_changes
        assert study.prior == SPACE.prior and study.replay().exact


@pytest.mark.parametrize(
    "prior",
    [
        7,
        {},
        {"@": "Float", "low": 0, "high": 1},
        {"@": "own", "name": "a.Own", "shown": "Own()"},
        {"@": "Independent", "space": None, "densities": [{"@": "Flat"}], "mode": {}},
    ],
)
def test_a_change_to_what_is_no_prior_is_damage(changed: Path, prior: Any) -> None:
    """Every reader says so, although the seals fit."""
    found, at = rows(changed), prior_rows(changed)[0]
    found[at - 1] = found[at - 1]._replace(body=json.dumps({"prior": prior}))
    made = resealed(found)
    folder = write_rows(changed.parent / "tampered", made, end(made))
    for read_only in (True, False):
        with pytest.raises(DamagedError, match=rf"record {at} \(prior\) is invalid"):
            pb.open_study(folder, read_only=read_only)
    assert not check(folder).sound
    assert main(["export", str(folder), "-o", str(changed.parent / "table.csv")]) == 1


def test_export_does_not_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A change that no decision depends on: the table is that of the study without it."""
    tables = []
    for name in ("without", "with"):
        with pb.open_study(tmp_path / name, SPACE, EPOCHS, "hyperband", seed=2) as study:
            tell_some(study, 6)
            if name == "with":
                study.set_prior(NEW)
            tell_some(study, 6)
            assert [record.id for record in study.trials()] == [*range(12)]
        assert main(["export", str(tmp_path / name), "--json"]) == 0
        tables.append(json.loads(capsys.readouterr().out))
    varying = {"asked", "ended", "seconds", "worker"}
    first, second = (
        [{name: cell for name, cell in row.items() if name not in varying} for row in table]
        for table in tables
    )
    assert first == second and len(first) == 12


@pytest.mark.parametrize("method", ["guardband", "grid"])
def test_what_is_left_is_planned_from_the_present_prior(method: str, tmp_path: Path) -> None:
    """A method that reads configurations, such as `grid`, is planned with its space and prior."""
    changed_study(tmp_path, method)
    with pb.open_study(tmp_path) as study:
        plan = plan_of_study(study, workers=2)
        before = study.state.history.events
        assert len(plan.jobs) > 0 and study.state.history.events == before


@pytest.mark.parametrize(
    "priors", [[], [[2, 0.5, "w"]], [[2, 0.5, "w"]] * 3, [[2, "0.5", "w"]] * 2, [[2, 0.5]] * 2, 7]
)
def test_a_snapshot_whose_ledger_has_other_changes_is_not_used(
    priors: Any, changed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pb.open_study(changed) as study:
        written, data = study.ledger.prior_changes, study.ledger.to_data()
        monkeypatch.setattr(Ledger, "to_data", lambda _: data | {"priors": priors})
        packed = snapshot.packed_snapshot(study.space, study.state.history, study.ledger)
        assert packed is not None
        study.journal.write_snapshot(packed, replace=True)
    monkeypatch.undo()
    with pb.open_study(changed, read_only=True) as study:
        assert not study._snapshots._used and study.ledger.prior_changes == written
