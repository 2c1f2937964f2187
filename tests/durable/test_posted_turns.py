"""Turns that one worker takes for another, in PostgreSQL."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import numpy as np
import pytest
from amounts import examples, slow
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import Server, fresh_url
from waiting import LONGEST, wait_until

import priorband as pb
from priorband.durable import turns
from priorband.durable.clients import Client, OpenedWith
from priorband.durable.messages import ATTEMPTS, Assignment, Idle, Report
from priorband.durable.serialize import config_reader, config_writer
from priorband.durable.turns import PostedTurn, RefusedError, answer_from_text, answer_text
from priorband.repair.check import check
from priorband.storage import postgres as postgres_module
from priorband.storage.identity import Owner, this_process
from priorband.storage.posted_turns import TABLE
from priorband.storage.postgres import PostgresJournal
from priorband.trial import Slot, Trial

psycopg = pytest.importorskip("psycopg")
SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4), "kind": pb.Categorical(["a", "b"])})
BRANCHED = pb.Space(
    {
        "optimizer": pb.Categorical(["sgd", "adam"]),
        "momentum": pb.Float(0, 1, when={"optimizer": "sgd"}),
        "lr": pb.Float(1e-5, 1e-1, log=True),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 9)
FOREVER = 10**9
DEAD = Owner("here", this_process().machine, this_process().place, 2**22 + 1, "1")

Open = Callable[..., pb.DurableStudy]


@pytest.fixture
def open_again(postgres: Server) -> Iterator[Open]:
    """A function that opens one study again and again, each time as another worker."""
    where = fresh_url(postgres)
    with ExitStack() as opened:

        def open_one(**options: Any) -> pb.DurableStudy:
            study = pb.open_study(where, SPACE, EPOCHS, **options)
            return opened.enter_context(study)

        yield open_one


def journal_of(study: pb.DurableStudy) -> PostgresJournal:
    assert isinstance(study.journal, PostgresJournal)
    return study.journal


def address(study: pb.DurableStudy) -> str:
    return f"{journal_of(study)._url}#{journal_of(study).name}"


def posts(study: pb.DurableStudy) -> list[tuple[Any, ...]]:
    """The posted turns, read through a connection of its own."""
    journal = journal_of(study)
    with closing(psycopg.connect(journal._url, autocommit=True)) as connection:
        found = connection.execute("SELECT to_regclass(%s)", (journal._posts.table,)).fetchone()
        if found == (None,):
            return []
        rows: list[tuple[Any, ...]] = connection.execute(
            f"SELECT body, answer FROM {journal._posts.table}"
        ).fetchall()
        return rows


def waiting_posts(study: pb.DurableStudy) -> int:
    return sum(answer is None for _, answer in posts(study))


@contextmanager
def posted(
    study: pb.DurableStudy,
    other: pb.DurableStudy,
    report: Report | None,
    request: str,
    leads: bool = False,
) -> Iterator[list[Any]]:
    """Let a worker post a turn, since another one holds the lock; the list gets the answer.

    With `leads` false, the worker only waits for an answer.
    """
    if not leads:
        journal_of(study)._looks = FOREVER
    answers: list[Any] = []

    def turn() -> None:
        try:
            answers.append(study.turn(report, request))
        except BaseException as error:
            answers.append(error)

    thread = threading.Thread(target=turn, daemon=True)
    before = waiting_posts(study)
    with other.journal.transaction(other.ledger.seq):
        thread.start()
        wait_until(lambda: waiting_posts(study) == before + 1, "the turn to be posted")
    yield answers
    thread.join(LONGEST)
    assert not thread.is_alive()


def test_the_holder_of_the_lock_takes_a_posted_turn(open_again: Open) -> None:
    leader, follower = open_again(), open_again(lease=45.0, retries={"raised": 2})
    seen = follower.ledger.seq
    with posted(follower, leader, None, "mine") as answers:
        own = leader.turn(None, "own")
    [answer] = answers
    assert isinstance(answer, Assignment) and isinstance(own, Assignment)
    assert (own.trial.id, answer.trial.id) == (0, 1)
    assert follower.ledger.seq == seen  # it has read no records
    assert follower.heartbeat.attempt(1) == 1
    lease = leader.journal.leases()[1]
    assert (lease.worker, lease.seconds, lease.owner) == (follower.worker, 45.0, this_process())
    asked = [row.worker for row in leader.journal.read(0) if row.kind == "asked"]
    assert asked == [leader.worker, follower.worker]
    follower.refresh()
    assert follower.state.history.trial(1) == answer.trial
    # The failure counts by the terms of the one that reports it: it has two attempts.
    failure = Report(1, 1, None, "raised", "no luck")
    with posted(follower, leader, failure, "next") as answers:
        leader.turn(Report(0, 1, 0.5), "")
    [again] = answers
    assert isinstance(again, Assignment) and (again.trial.id, again.attempt) == (1, 2)
    assert leader.replay().exact and check(address(leader)).sound


def test_a_posted_report_is_written_once(open_again: Open) -> None:
    leader, follower = open_again(), open_again()
    first = follower.turn(None, "a")
    assert isinstance(first, Assignment)
    for _ in range(2):  # the second time as if the answer had got lost
        with posted(follower, leader, Report(first.trial.id, 1, 0.25), "b") as answers:
            leader.turn(None, "")
        [answer] = answers
        assert isinstance(answer, Assignment) and answer.trial.id == 1
    told = [row for row in leader.journal.read(0) if row.kind == "told"]
    assert [(row.trial, row.worker) for row in told] == [(0, follower.worker)]


def test_that_nothing_is_left_is_an_answer(open_again: Open) -> None:
    leader, follower = open_again(), open_again()
    leader.limit(pb.Budget(trials=1))
    with posted(follower, leader, None, "a") as answers:
        leader.turn(None, "own")
    [answer] = answers
    assert isinstance(answer, Idle) and answer.running == 1 and "1 trial" in answer.reason


def test_a_worker_that_nobody_answers_takes_the_lock(open_again: Open) -> None:
    other, follower = open_again(), open_again()
    with posted(follower, other, None, "a", leads=True) as answers:
        pass
    [answer] = answers
    assert isinstance(answer, Assignment)
    assert follower.ledger.running[0].worker == follower.worker
    assert waiting_posts(follower) == 0


def test_one_that_is_far_behind_catches_up_before_it_takes_the_lock(
    open_again: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_module, "FAR_BEHIND", 3)
    ahead, behind = open_again(), open_again()
    for number in range(4):
        trial = ahead.ask()
        ahead.tell(trial, number / 10)
    held: list[int] = []
    real = PostgresJournal._try_lock

    def try_lock(self: PostgresJournal, after: int, leases: bool) -> Any:
        transaction = real(self, after, leases)
        if transaction is not None:
            held.append(len(transaction.rows))
        return transaction

    monkeypatch.setattr(PostgresJournal, "_try_lock", try_lock)
    answer = behind.turn(None, "a")
    assert isinstance(answer, Assignment) and answer.trial.id == 4
    assert held == [0]  # nothing was left to read while it held the lock


def test_a_turn_that_cannot_be_taken_is_left_to_its_worker(
    open_again: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, follower = open_again(), open_again()
    real = turns.take_turn

    def fail_for_others(dispatcher: Any, *arguments: Any) -> Any:
        answer = real(dispatcher, *arguments)
        if dispatcher.client.elsewhere is not None:
            raise ZeroDivisionError("not today")
        return answer

    monkeypatch.setattr(turns, "take_turn", fail_for_others)
    with posted(follower, leader, None, "a") as answers:
        own = leader.turn(None, "own")
        assert isinstance(own, Assignment) and own.trial.id == 0
    [answer] = answers
    assert isinstance(answer, Assignment) and answer.trial.id == 1
    assert [row.kind for row in leader.journal.read(0)] == ["created", "asked", "asked"]
    assert leader.turn(Report(0, 1, 0.5), "") is None
    assert leader.replay().exact


@pytest.mark.parametrize(
    "body", ["", "[]", "{}", '{"version":1,"client":{},"report":null,"request":""}']
)
def test_a_post_that_is_none_does_no_harm(open_again: Open, body: str) -> None:
    leader = open_again()
    leader.turn(None, "")  # makes the table
    journal = journal_of(leader)
    journal._run(f"INSERT INTO {journal._posts.table} VALUES (1, 1, 1e10, %s, NULL)", (body,))
    assert isinstance(leader.turn(None, "a"), Assignment)
    [(_, answer)] = posts(leader)
    with pytest.raises(RefusedError):
        answer_from_text(answer, config_reader(SPACE))
    assert [row.kind for row in journal.read(0)] == ["created", "asked"]
    assert leader.replay().exact


def test_a_post_of_another_version_is_refused(
    open_again: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, follower = open_again(), open_again()
    text = PostedTurn(follower._dispatcher.client, None, "a").to_text()
    monkeypatch.setattr(turns, "VERSION", turns.VERSION + 1)
    with pytest.raises(pb.errors.FormatError, match="another version"):
        PostedTurn.from_text(text)
    assert PostedTurn.from_text(PostedTurn(follower._dispatcher.client, None, "a").to_text())
    assert isinstance(leader.turn(None, "a"), Assignment)


def test_a_dead_worker_gets_no_trial_and_its_report_counts(open_again: Open) -> None:
    leader = open_again()
    trial = leader.ask(hold=LONGEST).id
    client = Client("gone", 60.0, dict(ATTEMPTS), OpenedWith(0, 0), DEAD)
    leader.turn(None, "")
    journal = journal_of(leader)
    text = PostedTurn(client, Report(trial, 1, 0.125), "gone.1").to_text()
    journal._run(f"INSERT INTO {journal._posts.table} VALUES (1, 1, 1e10, %s, NULL)", (text,))
    leader.turn(None, "")
    assert leader.best is not None and leader.best.loss == 0.125
    assert not leader.ledger.running
    [(_, answer)] = posts(leader)
    assert answer_from_text(answer, config_reader(SPACE)) is None


def test_a_report_of_a_worker_that_died_since_is_not_a_lost_attempt(open_again: Open) -> None:
    leader = open_again()
    leader.turn(None, "")
    client = Client("gone", 60.0, dict(ATTEMPTS), OpenedWith(0, 0), DEAD)
    with leader._writing() as transaction:  # as if it had asked while it was alive
        taken = leader._dispatcher.on_behalf_of(client).assign(transaction, "gone.0")
    assert isinstance(taken, Assignment)
    text = PostedTurn(client, Report(taken.trial.id, 1, 0.125), "gone.1").to_text()
    journal = journal_of(leader)
    journal._run(f"INSERT INTO {journal._posts.table} VALUES (1, 1, 1e10, %s, NULL)", (text,))
    assert isinstance(leader.turn(None, "own"), Assignment)  # looks for dead workers
    kinds = [row.kind for row in journal.read(0)]
    assert kinds == ["created", "asked", "asked", "told"] and leader.replay().exact


def test_who_stops_waiting_withdraws_the_post(open_again: Open) -> None:
    leader, follower = open_again(), open_again()
    follower.journal.waiting = _stop
    journal_of(follower)._longest_wait = 0.05  # seconds, after which it asks whether to stop
    with leader.journal.transaction(leader.ledger.seq), pytest.raises(KeyboardInterrupt):
        follower.turn(None, "a")
    assert posts(follower) == []
    leader.turn(None, "own")
    assert [*leader.ledger.running] == [0]


def test_who_stops_waiting_after_it_was_answered_gets_the_answer(
    open_again: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, follower = open_again(), open_again()
    leader.turn(None, "")
    journal, errors = journal_of(follower), psycopg.errors

    def post_only(first: str, values: tuple[Any, ...]) -> None:
        journal._posts.pending = True
        journal._run_together(first, values)
        leader.turn(None, "own")
        raise errors.LockNotAvailable

    def no_lock(after: int, leases: bool) -> None:
        journal._run("BEGIN")

    monkeypatch.setattr(journal, "_look_for_answer", post_only)
    monkeypatch.setattr(journal, "_try_lock", no_lock)
    follower.journal.waiting = _stop
    answer = follower.turn(None, "a")
    assert isinstance(answer, Assignment) and answer.trial.id == 1 and posts(follower) == []


def _stop() -> None:
    raise KeyboardInterrupt


def test_a_turn_that_was_broken_off_is_not_taken_later(
    open_again: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, follower = open_again(), open_again()
    leader.turn(None, "")
    journal = journal_of(follower)
    with monkeypatch.context() as patched:

        def break_off(first: str, values: tuple[Any, ...]) -> None:
            journal._posts.pending = True
            journal._run_together(first, values)
            raise KeyboardInterrupt

        patched.setattr(journal, "_look_for_answer", break_off)
        with (
            leader.journal.transaction(leader.ledger.seq),
            pytest.raises(KeyboardInterrupt),
        ):
            follower.turn(None, "a")
    assert waiting_posts(follower) == 1
    answer = follower.turn(None, "b")
    assert isinstance(answer, Assignment) and waiting_posts(follower) == 0
    leader.turn(None, "own")
    assert {opened.request for opened in leader.ledger.running.values()} == {"b", "own"}


def test_a_table_that_is_lost_is_made_again(open_again: Open) -> None:
    study = open_again()
    study.turn(None, "")
    journal = journal_of(study)
    journal._run(f"DROP TABLE {journal._posts.table}")
    with pytest.raises(pb.errors.StorageError, match="lost a table"):
        study.turn(None, "a")
    assert isinstance(study.turn(None, "a"), Assignment)


def test_a_role_that_may_not_make_the_table_does_without(postgres: Server) -> None:
    where = fresh_url(postgres)
    with pb.open_study(where, SPACE, EPOCHS) as owner:
        journal = journal_of(owner)
        role = f"worker_{owner.ledger.study[:8]}"
        for statement in (
            f"CREATE ROLE {role} LOGIN PASSWORD 'secret'",
            f"GRANT USAGE ON SCHEMA {journal._schema} TO {role}",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON {journal._schema}.record, "
            f"{journal._schema}.lease TO {role}",
        ):
            journal._run(statement)
        address = where.replace(f"postgres:{postgres.password}@", f"{role}:secret@")
        for made in (False, True):  # before the table is there, and after that
            with pb.open_study(
                address, folder=owner.checkpoints and owner.checkpoints.root
            ) as study:
                answer = study.turn(None, f"as {made}")
                assert isinstance(answer, Assignment)
                assert study.turn(Report(answer.trial.id, 1, 0.5), "") is None
                assert not study.journal.has_posts()
            owner.turn(None, "")
        assert owner.refresh().history.finished == 2


def test_posts_end_the_rest_of_a_worker_that_has_nothing_to_do(open_again: Open) -> None:
    leader, follower = open_again(), open_again()
    leader.limit(pb.Budget(trials=1))
    assert isinstance(leader.turn(None, "own"), Assignment)
    assert isinstance(leader.turn(None, "more"), Idle) and leader.is_idle()
    with posted(follower, leader, None, "a") as answers:
        assert not leader.is_idle()
        assert isinstance(leader.turn(None, "more"), Idle)
    assert isinstance(answers[0], Idle)


def test_a_closed_worker_leaves_no_post(open_again: Open) -> None:
    leader, follower = open_again(), open_again()
    with posted(follower, leader, None, "a"):
        leader.turn(None, "own")
    assert len(posts(leader)) == 1
    follower.close()
    assert posts(leader) == []


@pytest.mark.parametrize(
    ("workers", "trials"), [(5, 60), pytest.param(12, 1_000, marks=pytest.mark.slow)]
)
def test_many_workers_hand_out_each_trial_once(open_again: Open, workers: int, trials: int) -> None:
    first = open_again()
    first.limit(pb.Budget(trials=trials))
    taken: list[tuple[int, int]] = []

    def work(study: pb.DurableStudy) -> None:
        report, number = None, 0
        while True:
            answer = study.turn(report, f"{study.worker}.{number}")
            if not isinstance(answer, Assignment):
                return
            taken.append((answer.trial.id, answer.attempt))
            loss = abs(answer.trial.config["x"] - 0.3) + 1 / answer.trial.fidelity
            failed = answer.trial.id % 7 == 3
            report = (
                Report(answer.trial.id, answer.attempt, None, "raised", "bad")
                if failed
                else Report(answer.trial.id, answer.attempt, loss)
            )
            number += 1

    threads = [
        threading.Thread(target=work, args=(open_again(),), daemon=True) for _ in range(workers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST)
    assert not any(thread.is_alive() for thread in threads)
    first.refresh()
    assert Counter(taken) == Counter((number, 1) for number in range(trials))
    assert first.state.history.observation_count == trials and not first.ledger.running
    assert first.replay().exact
    assert check(address(first)).sound


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
COUNTS = st.integers(0, 2**40)
CLIENTS = st.builds(
    lambda worker, lease, opened, owner: Client(worker, lease, dict(ATTEMPTS), opened, owner),
    NAMES,
    st.floats(0.1, 1e6),
    st.builds(OpenedWith, COUNTS, COUNTS),
    st.builds(Owner, NAMES, NAMES, NAMES, COUNTS, NAMES),
)
REPORTS = st.builds(Report, COUNTS, COUNTS, NUMBERS, details=st.dictionaries(NAMES, NUMBERS)) | (
    st.builds(Report, COUNTS, COUNTS, st.none(), st.sampled_from([*ATTEMPTS]), NAMES)
)


@given(CLIENTS, st.none() | REPORTS, NAMES)
@settings(max_examples=examples(100))
def test_a_posted_turn_is_read_as_it_was_written(
    client: Client, report: Report | None, request: str
) -> None:
    turn = PostedTurn(client, report, request)
    assert PostedTurn.from_text(turn.to_text()) == turn


@given(st.data())
@settings(max_examples=examples(100))
def test_an_answer_is_read_as_it_was_written(data: st.DataObject) -> None:
    space = data.draw(st.sampled_from([SPACE, BRANCHED]))
    write, read = config_writer(space), config_reader(space)
    idle = st.builds(Idle, NAMES, COUNTS, st.booleans())
    row = space.uniform(1, np.random.default_rng(data.draw(COUNTS)))[0]
    config = space.decode(row)
    parent = data.draw(st.none() | COUNTS)
    trial = st.builds(
        lambda number, fidelity, slot, origin, root: Trial(
            number, config, fidelity, slot, parent, origin, root
        ),
        COUNTS,
        st.floats(1e-3, 1e6),
        st.none() | st.builds(Slot, COUNTS, st.integers(0, 8)),
        NAMES,
        COUNTS,
    )
    winner = st.none() if parent is None else st.integers(1, 9)
    start = st.floats(0, 81)
    assignment = st.builds(Assignment, trial, st.integers(1, 9), winner, start, NUMBERS, start)
    answer = data.draw(st.none() | idle | assignment)
    assert answer_from_text(answer_text(answer, write), read) == answer


@slow
def test_the_table_is_not_logged(open_again: Open) -> None:
    study = open_again()
    study.turn(None, "")
    kinds = journal_of(study)._run(
        "SELECT relpersistence::text FROM pg_class WHERE relname = %s", (TABLE,)
    )
    assert {kind for (kind,) in kinds} == {"u"}
