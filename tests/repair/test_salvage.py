"""Salvage: a new study of all that is intact, that can be replayed, and nothing lost unsaid."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from servers import Server, fresh_url
from stored_studies import (
    EPOCHS,
    PROBLEM,
    SPACE,
    Shapes,
    end,
    events,
    fill,
    numbers,
    rows,
    write_rows,
)

import priorband as pb
from priorband.durable.messages import Assignment
from priorband.events import Asked, Event, Told
from priorband.repair.check import check
from priorband.repair.salvage import Salvage, salvage
from priorband.storage.journal import Row
from priorband.storage.json_text import from_json
from priorband.trial import IMPORTED


class Saved:
    """A study without some of its records, and what was made of it."""

    def __init__(self, place: Path, genuine: list[Row], lost: Iterable[int]) -> None:
        lost = set(lost)
        left = [row for row in genuine if row.seq not in lost]
        new = place / "new"
        shutil.rmtree(place, ignore_errors=True)
        write_rows(place / "old", left, end(genuine))
        self.made: Salvage = salvage(place / "old", new, PROBLEM if 1 in lost else None)
        self.study = pb.open_study(new)
        self.left, self.total = left, len(genuine)

    def __enter__(self) -> "Saved":
        return self

    def __exit__(self, *_: object) -> None:
        self.study.close()

    @property
    def history(self) -> pb.History:
        return self.study.state.history

    def audit(self) -> None:
        """What holds whatever was lost."""
        dropped = numbers(self.made)
        assert self.made.kept + len(dropped) == self.total
        assert self.study.replay().exact
        known = {row.trial: row for row in self.left if row.kind == "asked"}
        ends = {row.trial: from_json(row.body) for row in self.left if row.kind == "told"}
        told = {trial: data["loss"] for trial, data in ends.items() if trial is not None}
        kept = {ended.trial.id: ended.loss for ended in self.history.successes}
        for trial, loss in told.items():
            lineage = _lineage(known, trial)
            assert (kept.get(trial) == loss) == (None not in lineage)
        assert set(kept) <= set(told)  # and nothing is made up


def _lineage(known: dict[int | None, Row], trial: int | None) -> list[Row | None]:
    """A trial's record, and those of the trials that it goes on from."""
    row = known.get(trial)
    parent = None if row is None else from_json(row.body).get("parent")
    return [row] if parent is None else [row, *_lineage(known, parent)]


def test_a_sound_study_is_the_same_again(shapes: Shapes, place: Path) -> None:
    for shape in ("closed", "live", "copied", "halfway"):
        made = salvage(getattr(shapes, shape), place / shape)
        assert (made.kept, made.dropped, made.changed) == (shapes.records, (), ())
        assert made.where == str(place / shape)
        assert rows(place / shape) == rows(shapes.closed)
        with pb.open_study(place / shape) as study:
            assert study.state.history.events == shapes.events
            assert study.replay().exact


def test_a_study_moves_from_storage_to_storage(postgres: Server, place: Path) -> None:
    first, second = fresh_url(postgres), fresh_url(postgres)
    with pb.open_study(place / "one", SPACE, EPOCHS) as study:
        happened = fill(study, 8)
    for source, target in ((place / "one", first), (first, second), (second, place / "two")):
        made = salvage(source, target)
        assert not made.dropped and not made.changed
        assert postgres.password not in repr(made)
    for where in (first, second, place / "two"):
        assert events(where) == happened
    assert rows(place / "two") == rows(place / "one")


def test_any_one_record_may_be_lost(genuine: list[Row], place: Path) -> None:
    for row in genuine:
        with Saved(place / "saved", genuine, [row.seq]) as saved:
            saved.audit()
            assert len(saved.history) == sum(one.kind == "asked" for one in genuine) - (
                row.kind == "asked" and row.seq == genuine[-1].seq
            )


def test_any_stretch_of_records_may_be_lost(genuine: list[Row], place: Path) -> None:
    random = Random(0)
    for _ in range(40):
        first = random.randrange(2, len(genuine))
        lost = set(range(first, first + random.randrange(2, 20)))
        if random.random() < 0.5:
            lost |= {random.randrange(1, len(genuine)) for _ in range(3)}
        with Saved(place / "saved", genuine, lost & {*range(1, len(genuine) + 1)}) as saved:
            saved.audit()


def test_what_comes_before_a_loss_is_left_as_it_is(
    shapes: Shapes, genuine: list[Row], place: Path
) -> None:
    half = len(genuine) // 2
    with Saved(place / "saved", genuine, range(half + 1, len(genuine) + 1)) as saved:
        assert not saved.made.changed
        assert saved.study.journal.read(0) == genuine[:half]
        kept = saved.history.events
        assert kept == shapes.events[: len(kept)]


def told(genuine: list[Row], nth: int) -> Row:
    """The nth record of a result that was not the trial's second attempt."""
    return [row for row in genuine if row.kind == "told" and '"attempt":1' in row.body][nth]


def asked(genuine: list[Row], trial: int | None) -> Row:
    return next(row for row in genuine if row.kind == "asked" and row.trial == trial)


def test_a_trial_without_its_result_runs_again(genuine: list[Row], place: Path) -> None:
    lost = told(genuine, 3)
    assert lost.trial is not None
    with Saved(place / "saved", genuine, [lost.seq]) as saved:
        before = _trial(events_of(saved), lost.trial)
        assert saved.history.outcome(lost.trial) is None
        assert saved.study.journal.leases() == []
        claim = saved.study.turn(None, "next")
        assert isinstance(claim, Assignment)
        assert (claim.trial, claim.attempt) == (before, 2)


def events_of(saved: Saved) -> tuple[Event, ...]:
    return saved.history.events


def _trial(happened: tuple[Event, ...], number: int) -> pb.Trial:
    return next(e.trial for e in happened if isinstance(e, Asked) and e.trial.id == number)


def test_a_trial_whose_record_is_lost_is_decided_on_again(genuine: list[Row], place: Path) -> None:
    lost = asked(genuine, 7)
    with Saved(place / "saved", genuine, [lost.seq]) as saved:
        assert saved.history.outcome(7) is None
        assert saved.study.replay()[7].exact
        [result] = [f for f in saved.made.dropped if "is about trial 7" in f.what]
        assert "whose own record is lost; it had a loss of " in result.what
        assert "trial 7 is lost: trial 7 is decided on again" in map(str, saved.made.changed)


def test_a_result_that_lost_its_place_is_imported(shapes: Shapes, place: Path) -> None:
    genuine = rows(shapes.closed)
    opening = told(genuine, 0)
    with Saved(place / "saved", genuine, [opening.seq]) as saved:
        imported = [t for t in saved.history.trials if t.origin == IMPORTED]
        assert len(imported) > 1
        for trial in imported:
            then = _trial(shapes.events, trial.id)
            assert (trial.config, trial.fidelity) == (then.config, then.fidelity)
        losses = {e.trial: e.loss for e in shapes.events if isinstance(e, Told)}
        for ended in saved.history.successes:
            assert ended.loss == losses[ended.trial.id]


def test_lost_attempts_are_made_up_for(genuine: list[Row], place: Path) -> None:
    for kind in ("returned", "adopted"):
        [row] = [row for row in genuine if row.kind == kind]
        assert row.trial is not None
        with Saved(place / "saved", genuine, [row.seq]) as saved:
            assert saved.history.outcome(row.trial) is not None
            assert saved.study.ledger.winners == {row.trial: 2}
            assert saved.made.kept == len(genuine) - 1


def test_a_wish_whose_trial_is_lost_is_made_again(genuine: list[Row], place: Path) -> None:
    wished = [row for row in genuine if row.kind == "asked" and '"queued"' in row.body]
    wishes = [row for row in genuine if row.kind == "queued"]
    for row in wished:
        if "parent" in row.body:
            continue
        with Saved(place / "saved", genuine, [row.seq]) as saved:
            queued = saved.history.queued
            assert queued is not None
            config = from_json(row.body)["config"]
            assert any(from_json(wish.body)["config"] == config for wish in wishes)
            assert saved.study._view.write_config(queued.config) == config


def test_a_wish_that_is_lost_follows_from_its_trial(genuine: list[Row], place: Path) -> None:
    for row in [row for row in genuine if row.kind == "queued"]:
        with Saved(place / "saved", genuine, [row.seq]) as saved:
            assert not saved.made.changed
            assert saved.made.kept == len(genuine) - 1


def test_without_its_creation_a_study_needs_its_problem_again(
    genuine: list[Row], place: Path
) -> None:
    folder = write_rows(place / "old", genuine[1:], end(genuine))
    with pytest.raises(pb.errors.DamagedError, match="Give it again: salvage.*problem="):
        salvage(folder, place / "new")
    assert not (place / "new").exists()
    made = salvage(folder, place / "new", PROBLEM, maximize=True)
    assert [str(finding) for finding in made.dropped] == ["record 1 is missing"]
    with pb.open_study(place / "new") as study:
        assert study.maximize and study.replay().exact
        assert len(study.journal.read(0)) == len(genuine)


def test_another_problem_than_the_stored_one_is_refused(shapes: Shapes, place: Path) -> None:
    other = pb.optimizer("asha")
    wrong = type(PROBLEM)(SPACE, SPACE.prior, EPOCHS, other, 0)
    with pytest.raises(pb.errors.MismatchError, match="method"):
        salvage(shapes.closed, place / "new", wrong)
    assert salvage(shapes.closed, place / "new", PROBLEM).kept == shapes.records


def test_nothing_is_ever_written_over(shapes: Shapes, place: Path, postgres: Server) -> None:
    (place / "taken").mkdir()
    (place / "taken" / "notes.txt").write_text("mine")
    (place / "file").write_text("mine")
    shutil.copytree(shapes.closed, place / "study")
    url = fresh_url(postgres)
    salvage(shapes.closed, url)
    for new in (place / "taken", place / "file", place / "study", place / "study" / "in", url):
        with pytest.raises(
            (pb.errors.FormatError, pb.errors.ArgumentError), match="Name a|Choose another"
        ):
            salvage(place / "study", new)
    assert (place / "taken" / "notes.txt").read_text() == "mine"
    assert [*(place / "taken").iterdir()] == [place / "taken" / "notes.txt"]
    (place / "empty").mkdir()
    assert salvage(place / "study", place / "empty").kept == shapes.records
    assert check(place / "empty").sound
