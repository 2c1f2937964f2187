"""The overview says what is spent, what runs, what was found and how long it will take."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import priorband as pb
from priorband.display.overview import Overview, as_json, study_overview
from priorband.display.pace import UNKNOWN, Pace, RemainingWork, pace, seconds_left
from priorband.display.polling import StudyWatcher
from priorband.display.text import jsonable, paragraphs, printable
from priorband.durable.messages import Assignment, Report
from priorband.failures import FailureKind
from priorband.storage.identity import Owner
from priorband.storage.journal import Beat, Lease

SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4), "kind": pb.Categorical(["a", (1, 2)])})
EPOCHS = pb.Fidelity("epochs", 1, 9)


@pytest.fixture(params=["sqlite", "postgres"])
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[pb.DurableStudy]:
    where = str(tmp_path / "study")
    folder = None
    if request.param == "postgres":
        from servers import fresh_url

        where, folder = fresh_url(request.getfixturevalue("postgres")), tmp_path
    with pb.open_study(where, SPACE, EPOCHS, folder=folder) as opened:
        opened.limit(pb.Budget(trainings=4, trials=100))
        yield opened


def claimed(study: pb.DurableStudy, word: str, report: Report | None = None) -> Assignment:
    answer = study.turn(report, word)
    assert isinstance(answer, Assignment)
    return answer


def seen(study: pb.DurableStudy) -> Overview:
    return StudyWatcher(study).read()


def test_a_new_study_has_nothing_yet(study: pb.DurableStudy) -> None:
    now = seen(study)
    assert (now.asked, now.ended, now.failed, now.workers) == (0, 0, 0, 0)
    assert (now.best, now.best_in_full, now.seconds_left) == (None, None, None)
    assert (now.share, now.reached, now.over) == (0.0, (), False)


def test_trials_are_counted_by_what_became_of_them(study: pb.DurableStudy) -> None:
    first, second, third = (claimed(study, word) for word in "abc")
    study.turn(Report(first.trial.id, 1, 0.5), "")
    study.turn(Report(second.trial.id, 1, None, "timeout", "too slow"), "")
    study.turn(Report(third.trial.id, 1, None, "preempted", "SIGTERM"), "")
    claimed(study, "d")  # takes over the third
    claimed(study, "e")
    now = seen(study)
    assert (now.asked, now.ended, now.succeeded) == (4, 2, 1)
    assert now.failures == {"timeout": 1}
    assert [(one.trial, one.attempt) for one in now.running] == [(2, 2), (3, 1)]
    assert now.waiting == () and now.workers == 1
    assert now.spending.trials == 4 and now.share == study.spending().share(study.budget)


def test_a_trial_given_back_waits(study: pb.DurableStudy) -> None:
    first = claimed(study, "a")
    study.turn(Report(first.trial.id, 1, None, "preempted", "SIGTERM"), "")
    now = seen(study)
    assert (now.running, now.waiting, now.workers) == ((), (first.trial.id,), 0)


@pytest.mark.parametrize("kind", ["raised", "diverged", "invalid", "timeout"])
def test_every_kind_of_failure_is_named(study: pb.DurableStudy, kind: FailureKind) -> None:
    first = claimed(study, "a")
    study.turn(Report(first.trial.id, 1, None, kind, "why"), "")
    assert seen(study).failures == {kind: 1}


def test_a_running_trial_says_where_it_is(study: pb.DurableStudy) -> None:
    first = claimed(study, "a")
    study.journal.beat(study.worker, [Beat(first.trial.id, 1, 3.0, 0.25)], 60)
    [one] = seen(study).running
    assert (one.step, one.value, one.lost) == (3.0, 0.25, False)
    assert (one.worker, one.origin, one.fidelity) == (study.worker, "mode", 9)
    assert one.rung == study.state.ladder.top and one.host and one.seconds >= 0


def test_a_loss_is_not_forgotten_when_a_step_follows_it(study: pb.DurableStudy) -> None:
    first = claimed(study, "a").trial.id
    study.heartbeat.progress(first, 3.0, 0.25)
    study.heartbeat.progress(first, 3.0, None)
    study.heartbeat._beat()
    [one] = seen(study).running
    assert (one.step, one.value) == (3.0, 0.25)


def lease_of(study: pb.DurableStudy, until: float, owner: Owner | None = None) -> Lease:
    [lease] = study.journal.leases()
    return lease._replace(until=until, owner=owner or lease.owner)


def test_a_trial_whose_lease_has_run_out_may_be_lost(study: pb.DurableStudy) -> None:
    claimed(study, "a")
    now = study.journal.now()
    elsewhere = Owner("far", "machine", "place", 1, "1")
    for until, owner, lost in [(now + 9, elsewhere, False), (now - 9, elsewhere, True)]:
        found = study_overview(study, [lease_of(study, until, owner)], now)
        assert [one.lost for one in found.running] == [lost]
        assert found.workers == (0 if lost else 1)


def test_a_lease_may_be_read_a_moment_before_its_trial(study: pb.DurableStudy) -> None:
    claimed(study, "a")
    now = study.journal.now()
    assert not study_overview(study, [], now).running[0].lost
    assert study_overview(study, [], now + 60).running[0].lost


def test_the_best_is_shown_at_any_fidelity_and_in_full(study: pb.DurableStudy) -> None:
    full = claimed(study, "a")
    cheap = claimed(study, "b", Report(full.trial.id, 1, 0.5))
    study.turn(Report(cheap.trial.id, 1, 0.25), "")
    now = seen(study)
    assert now.best and (now.best.trial, now.best.value) == (cheap.trial.id, 0.25)
    assert now.best_in_full and (now.best_in_full.trial, now.best_in_full.value) == (0, 0.5)
    assert now.best_in_full.fidelity == now.full == 9


def test_values_are_shown_in_the_direction_of_the_user(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS, maximize=True) as study:
        first = claimed(study, "a")
        second = claimed(study, "b", Report(first.trial.id, 1, -0.875))
        study.journal.beat(study.worker, [Beat(second.trial.id, 1, 1.0, -0.75)], 60)
        now = seen(study)
        assert now.best and now.best.value == 0.875
        assert now.running[0].value == 0.75
        assert as_json(now)["direction"] == "maximize"


def test_imported_results_count_as_trials_but_not_as_spent(study: pb.DurableStudy) -> None:
    study.add({"x": 0.5, "kind": "a"}, 0.125)
    now = seen(study)
    assert (now.asked, now.ended, now.succeeded, now.spending.trials) == (1, 1, 1, 0)
    assert now.best and now.best.origin == "imported" and now.seconds_left is None


def test_an_overview_can_be_written_as_json(study: pb.DurableStudy) -> None:
    first = claimed(study, "a")
    claimed(study, "b", Report(first.trial.id, 1, 0.5))
    data = json.loads(json.dumps(as_json(seen(study)), allow_nan=False))
    assert data["trials"]["running"] == len(data["running"]) == 1
    assert data["budget"]["trainings"] == {"used": study.spending().trainings, "limit": 4}
    assert data["best"]["config"]["x"] == 0.4
    assert data["at"].endswith("+00:00")


def test_a_study_is_over_when_its_budget_is_done(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=1))
        first = claimed(study, "a")
        assert not seen(study).over
        study.turn(Report(first.trial.id, 1, 0.5), "")
        assert seen(study).over and seen(study).reached == ("trials",)


def spent(**used: Any) -> Any:
    return type("Spent", (), {"trainings": 0, "trials": 0, "cost": 0, "hours": 0, **used})


@pytest.mark.parametrize(
    ("limits", "used", "workers", "expected"),
    [
        (pb.Budget(trainings=4), {"trainings": 1}, 1, 270.0),  # 27 units, ten seconds each
        (pb.Budget(trainings=4), {"trainings": 1}, 3, 90.0),
        (pb.Budget(trials=30), {"trials": 10}, 1, 400.0),  # twenty seconds a trial
        (pb.Budget(cost=5), {"cost": 1}, 2, 100.0),  # fifty seconds a dollar
        (pb.Budget(hours=2), {"hours": 0.5}, 9, 5400.0),
        (pb.Budget(trainings=4, hours=0.01), {"trainings": 1}, 1, 36.0),  # the first that ends it
        (pb.Budget(trainings=4), {"trainings": 1}, 0, None),
        (pb.Budget(), {}, 1, None),
    ],
)
def test_the_time_left_follows_from_the_pace(
    limits: pb.Budget, used: dict[str, float], workers: int, expected: float | None
) -> None:
    recent = Pace(seconds=100, units=10, trials=5, cost=2)
    left = seconds_left(limits, spent(**used), 9, recent, [], workers)
    assert left == (None if expected is None else pytest.approx(expected))


def test_what_runs_is_part_of_the_time_left() -> None:
    recent, limits = Pace(100, 10, 5), pb.Budget(trainings=1)
    handed_out = spent(trainings=1)
    one = [RemainingWork(9, None, 0.0)]
    assert seconds_left(limits, handed_out, 9, recent, one, 1) == pytest.approx(90)
    two = [RemainingWork(9, 8.0, 80.0, True), RemainingWork(1, None, 0.0)]
    assert seconds_left(limits, handed_out, 9, recent, two, 2) == pytest.approx(10)


def test_the_pace_is_known_from_the_first_step_on() -> None:
    limits, handed_out = pb.Budget(trainings=2), spent(trainings=1)
    silent, telling = [RemainingWork(9, None, 30.0)], [RemainingWork(9, 3.0, 30.0, True)]
    assert seconds_left(limits, handed_out, 9, UNKNOWN, silent, 1) is None
    assert seconds_left(limits, handed_out, 9, UNKNOWN, telling, 1) == pytest.approx(150)


def test_the_pace_is_that_of_ended_attempts(study: pb.DurableStudy) -> None:
    first = claimed(study, "a")
    second = claimed(study, "b", Report(first.trial.id, 1, 0.5, details={"cost": 3}))
    study.turn(Report(second.trial.id, 1, None, "preempted", "SIGTERM"), "")
    study.add({"x": 0.5, "kind": "a"}, 0.125)
    found = pace(study.journal.read(0))
    assert (found.units, found.trials, found.cost) == (9, 1, 3)
    assert 0 <= found.seconds < 86_400  # a duration, and no date


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain", "plain"),
        ("größe 大", "größe 大"),
        ("a\x1b[31mb", r"a\x1b[31mb"),
        ("two\nlines\r\t", r"two\nlines\r\t"),
        ("\u202eevil\u200b", r"\u202eevil\u200b"),
        ("\x9b2J", r"\x9b2J"),
        ("\udc80", r"\udc80"),
    ],
)
def test_nothing_in_a_text_reaches_the_terminal_as_a_command(given: str, shown: str) -> None:
    assert printable(given) == shown


def test_paragraphs_keep_their_lines() -> None:
    assert paragraphs("one\n  two\x1b[2J\r\nthree") == "one\n  two\\x1b[2J\nthree"


def test_any_setting_has_a_form_in_json() -> None:
    values = [1, 2.5, True, None, "a", (1, "b"), {"c": 1j}, float("nan"), b"x", -float("inf")]
    data = json.loads(json.dumps(jsonable(values), allow_nan=False))
    assert data == [1, 2.5, True, None, "a", [1, "b"], {"c": "1j"}, "nan", "b'x'", "-inf"]
