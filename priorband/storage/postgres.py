"""The journal in PostgreSQL, for workers on several machines.

Each study has a schema of its own, with the same tables as in SQLite. A process uses one connection
for everything. What it sets and locks there ends with each transaction, so that a connection pooler
may stand in between.

Writers queue at the server for two advisory locks. The one that is *on deck* will write next: while
another still writes, it reads and applies what was written before. Then it takes the *write lock*,
and the next in line is on deck. So there is little to read while the write lock is held.

Workers, whose turns are alike, do not queue for the write lock. One that does not get it at once
posts its turn, and the one that holds the lock takes the turn for it (see `posted_turns`).

A transaction is committed without waiting for the disk, which releases the lock, and is synced
before the caller is told that it was written. So the syncs of several workers overlap. The server's
log is one file: a sync makes all earlier commits durable, too.
"""

import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NoReturn, final

from priorband.errors import DamagedError, FormatError, PriorbandError, StorageError
from priorband.storage import sql
from priorband.storage.addresses import shown, split
from priorband.storage.high_water import salvage_hint
from priorband.storage.journal import (
    BASE_FORMAT,
    FORMAT,
    LARGEST_ROW,
    PAGE,
    Beat,
    Lease,
    Meanwhile,
    Row,
    StaleError,
    Transaction,
    refuse_to_write,
    refuse_version,
)
from priorband.storage.posted_turns import NOW as _NOW
from priorband.storage.posted_turns import PAUSE, SYNC, PostedTurns
from priorband.storage.posted_turns import TABLE as POSTS_TABLE
from priorband.storage.postgres_url import brief, connect, driver
from priorband.storage.snapshot_file import Snapshot, packed_seq, unpacked

if TYPE_CHECKING:
    import psycopg

LOCK_TIMEOUT = 60.0  # seconds
IDLE_TIMEOUT = 30.0  # seconds after which the server ends a client that stops in a transaction
LONGEST_WAIT = 15.0  # seconds in the queue at a time: in between, leases can be renewed
WAITS_PER_LEASE = 4  # a wait is no longer than a lease divided by this
LONG_WAIT = 15.0  # seconds without the lock that are worth a message
SERVED = 0.3  # seconds after an answer during which a worker posts its next turn at once
FAR_BEHIND = 500  # records that a worker lacks; with more, it does not take the write lock
LOOKS = 8  # how often a worker looks for an answer before it tries to take the lock itself
SNAPSHOT_TABLE = "snapshot"  # it is made when the first snapshot is written
DERIVED_TABLES = (SNAPSHOT_TABLE, POSTS_TABLE)  # a study does without them


@final
class PostgresJournal:
    """A study in a database: `postgresql://user@host/database#name`."""

    def __init__(self, url: str, read_only: bool = False) -> None:
        self._url, self.name = split(url)
        self.where = shown(url)
        self.read_only = read_only
        schema = '"priorband ' + self.name + '".'
        self._names = names = dialect(schema)
        self._tables = [table.format(**names) for table in sql.TABLES]
        self._sql = {text: text.format(**names) for text in sql.STATEMENTS}
        self._schema = schema[:-1]
        self._snapshots = schema + SNAPSHOT_TABLE
        self._write_lock, self._on_deck = _lock_key(schema), _lock_key(f"{schema} on deck")
        self._catching_up = _lock_key(f"{schema} catching up")
        self._posts = self._new_posts()
        self._can_post: bool | None = None
        """Whether turns can be posted; None if that is not known yet."""
        self._answered_at = -math.inf
        """When a posted turn was last answered, by `time.monotonic`."""
        self._looks = LOOKS
        self._said_at = -math.inf
        """When it was last said that the lock is not free, by `time.monotonic`."""
        self._longest_wait = LONGEST_WAIT
        self._turns = threading.Condition()
        """Held by the thread that uses the connection."""
        self._link: psycopg.Connection | None = None
        self._pid = os.getpid()
        self._known = self._kept = (0, 0)
        """The number and the seal of the last record that this process knows, and of the last one
        that it knows to be on the server's disk."""
        self.say: Callable[[str], None] = lambda text: None
        """Called with a message when the write lock is not free for long."""
        self.waiting: Callable[[], None] = lambda: None
        """Called while the write lock is not free; may raise, to stop waiting."""

    def _new_posts(self) -> PostedTurns:
        schema = self._schema + "."
        return PostedTurns(schema, self._write_lock, _lock_key(f"{schema} posted turns"))

    def exists(self) -> bool:
        """Whether the study exists in the database."""
        with self._own_turn():
            return self.first() is not None

    def prepare(self) -> None:
        """Create the schema and the tables, unless they exist."""
        refuse_to_write(self)
        with self._own_turn():
            if self._version() is None:
                statements = [
                    f"{_begin(LOCK_TIMEOUT)}; SELECT pg_advisory_xact_lock({self._write_lock})",
                    f"CREATE SCHEMA IF NOT EXISTS {self._schema}",
                    *(table.replace("TABLE", "TABLE IF NOT EXISTS", 1) for table in self._tables),
                    f"{self._set_version(BASE_FORMAT)}; COMMIT",
                    _SYNC,
                ]
                self._run("; ".join(statements))

    def read(self, after: int) -> list[Row]:
        """The records with numbers above `after`, in order. Needs no lock."""
        with self._own_turn():
            return self._checked_rows(self._new_records(after), after)

    def read_in_pages(self, size: int = PAGE) -> Iterator[list[Row]]:
        """The records up to the last one at the first step, in order, at most `size` at a time."""
        with self._own_turn():
            results = self._run(self._sql[sql.SELECT_LAST_NUMBER])
        last, after = sql.last_number(results, self.where), 0
        while after < last:
            with self._own_turn():
                results = self._run(self._sql[sql.SELECT_PAGE], (after, last, size))
                rows = sql.checked_rows(results, self.where)
                sql.check_page(rows, self.where, after)
            after = rows[-1].seq
            yield rows

    def read_numbered(self, numbers: Sequence[int]) -> list[Row]:
        """The records with these numbers, in order. Needs no lock."""
        with self._own_turn():
            results = self._run(sql.numbered(self._sql[sql.SELECT_NUMBERED_RECORDS], numbers))
            return sql.checked_rows(results, self.where)

    def first(self) -> Row | None:
        """The record that created the study; None if there is no study."""
        with self._own_turn():
            if self._version() is None:
                return None
            results = self._run(self._sql[sql.SELECT_FIRST_RECORD])
            rows = sql.checked_rows(results, self.where)
            return rows[0] if rows else None

    def trial_rows(self, trial: int) -> list[Row]:
        """The records of one trial, in order."""
        with self._own_turn():
            results = self._run(self._sql[sql.SELECT_TRIAL_RECORDS], (trial,))
            return sql.checked_rows(results, self.where)

    def leases(self) -> list[Lease]:
        """The leases: which worker holds which trial. Needs no lock."""
        with self._own_turn():
            return sql.checked_leases(self._run(self._sql[sql.SELECT_LEASES]), self.where)

    def snapshot(self) -> Snapshot | None:
        """The stored snapshot; None if there is none that can be read."""
        with suppress(DamagedError), self._own_turn():
            if self._has_snapshots():
                query = f"SELECT data FROM {self._snapshots}"
                cursor = driver().Cursor(self._connection())
                found = cursor.execute(query, binary=True).fetchone()  # not as hexadecimal text
                return unpacked(bytes(found[0])) if found else None
        return None

    def snapshot_seq(self) -> int:
        """The number of the last record of the stored snapshot; 0 if there is none."""
        with suppress(DamagedError), self._own_turn():
            if self._has_snapshots():
                found = self._run(f"SELECT seq FROM {self._snapshots}")
                return int(found[0][0]) if found else 0
        return 0

    def write_snapshot(self, data: bytes, replace: bool) -> None:
        """Store a snapshot, unless there is one of more records and `replace` is false.

        The table is not logged: after a crash of the server it is empty, which does no harm.
        """
        table = self._snapshots
        with suppress(PriorbandError), self._own_turn():
            if not self._has_snapshots():
                self._run(
                    f"CREATE UNLOGGED TABLE IF NOT EXISTS {table} "
                    "(id BIGINT PRIMARY KEY, seq BIGINT NOT NULL, data BYTEA NOT NULL); "
                    f"ALTER TABLE {table} ALTER COLUMN data SET STORAGE EXTERNAL"
                )
            driver().Cursor(self._connection()).execute(
                f"INSERT INTO {table} AS old VALUES (0, %s, %b) ON CONFLICT (id) DO UPDATE "
                "SET seq = excluded.seq, data = excluded.data WHERE old.seq < excluded.seq OR %s",
                (packed_seq(data), data, replace),
            )

    def _has_snapshots(self) -> bool:
        return bool(self._run("SELECT to_regclass(%s)", (self._snapshots,))[0][0])

    def now(self) -> float:
        """The server's clock, in seconds since 1970."""
        with self._own_turn():
            return float(self._run(f"SELECT {_NOW}")[0][0])

    @contextmanager
    def transaction(
        self,
        after: int,
        meanwhile: Meanwhile = list,
        leases: bool = True,
        post: Callable[[], str] | None = None,
    ) -> Iterator[Transaction]:
        """Wait for the write lock, and write the transaction's changes when the block ends.

        It takes one round trip to the server to begin and one to end; one more if others write.
        With `post`, another worker may take the turn.
        """
        refuse_to_write(self)
        with self._own_turn():
            try:
                transaction = self._begin(after, meanwhile, leases, post)
                yield transaction
                if transaction.answer is None:
                    self._finish(transaction)
            except BaseException:
                self._roll_back()
                raise

    def _begin(
        self, after: int, meanwhile: Meanwhile, leases: bool, post: Callable[[], str] | None
    ) -> Transaction:
        """Wait for the lock, or for the answer to a post, for up to `LOCK_TIMEOUT`."""
        last, began = after, time.monotonic()
        self._connection(idle=True)
        self._delete_broken_off_post()

        def catch_up(rows: list[Row]) -> int:
            nonlocal last
            if rows:
                last = rows[-1].seq
                meanwhile(rows)
            return last

        while True:
            self._connection(idle=True)
            try:
                if post is not None and self._may_post():
                    return self._share(last, catch_up, leases, post)
                return self._queue(last, catch_up, leases)
            except driver().errors.LockNotAvailable:
                self._roll_back()
            answer = self._stop_waiting()
            if answer is not None:
                return answer
            self._limit_wait(began)
            self._turns.wait(0.001)  # another thread may renew leases

    def _limit_wait(self, began: float) -> None:
        """Say that the lock is not free for long; raise `StorageError` after `LOCK_TIMEOUT`."""
        waited = time.monotonic() - began
        if waited > LOCK_TIMEOUT:
            raise StorageError(
                f"{self.where} is busy: the write lock was not free for {LOCK_TIMEOUT:g} s."
            )
        if waited > LONG_WAIT and self._said_at < began:
            self._said_at = time.monotonic()
            self.say(
                f"{self.where} is busy: the write lock was not free for {waited:.0f} s. If a "
                f"process has stopped while holding it, the server ends its session after "
                f"{IDLE_TIMEOUT:g} s."
            )

    def _delete_broken_off_post(self) -> None:
        """Delete a post of an earlier turn, to which nobody waits for an answer."""
        if self._posts.pending:
            self._run(self._posts.delete_own())
            self._posts.pending = False

    def has_posts(self) -> bool:
        """Whether workers wait for answers to turns that they have posted. Needs no lock."""
        with self._own_turn():
            if not self._can_post:
                return False
            [[found]] = self._run(f"SELECT EXISTS ({self._posts.unanswered()})")
            return bool(found)

    def _stop_waiting(self) -> Transaction | None:
        """Call `waiting`. If it raises, withdraw a post; return its answer if it has one."""
        try:
            self.waiting()
        except BaseException:
            if self._posts.pending:
                withdraw = f"{_begin(self._longest_wait)}; {self._posts.withdraw()}; COMMIT"
                withdrawn, _ = self._run_together(f"{withdraw}; {_SYNC}")
                for (answer,) in withdrawn:
                    if answer is not None:
                        return self._answered(answer)
            raise
        return None

    def _may_post(self) -> bool:
        """Whether turns can be posted: the table is made when it is first needed.

        A role that may not create or use it does without.
        """
        if self._can_post is None:
            posts = self._posts
            [[usable]] = self._run(posts.usable())
            try:
                if usable is None:
                    lock = f"SELECT pg_advisory_xact_lock({self._catching_up})"
                    self._run_together(f"{_begin(LOCK_TIMEOUT)}; {lock}; {posts.create()}; COMMIT")
                if usable is not False:
                    self._run(posts.delete_forgotten())
                self._can_post = usable is not False
            except driver().errors.InsufficientPrivilege:
                self._roll_back()
                self._can_post = False
        return self._can_post

    def _share(
        self,
        after: int,
        catch_up: Callable[[list[Row]], int],
        leases: bool,
        post: Callable[[], str],
    ) -> Transaction:
        """Take the lock if it is free, or post a turn and wait for the answer.

        A worker that has just got an answer from another posts its next turn at once: that other
        one is up to date, and takes turns faster. Raise `LockNotAvailable` if there is no answer,
        and the lock is not free either.
        """
        tries = not self._posts.pending and time.monotonic() - self._answered_at > SERVED
        transaction = self._try_lock(after, leases) if tries else None
        transaction = transaction or self._wait_for_answer(post, in_transaction=tries)
        if transaction is None and self._catch_up_alone(after, catch_up):
            transaction = self._try_lock(catch_up([]), leases)
        if transaction is None:
            raise driver().errors.LockNotAvailable
        return transaction

    def _wait_for_answer(self, post: Callable[[], str], in_transaction: bool) -> Transaction | None:
        """Post a turn, unless that is done, and look for the answer a few times."""
        posts, began = self._posts, time.monotonic()
        for _ in range(self._looks):
            first, values = (posts.renew(), ()) if posts.pending else posts.post(post())
            # Without a BEGIN of its own, it would be committed after the wait that follows.
            begin = "" if in_transaction else f"{_begin(self._longest_wait)}; "
            answer = self._look_for_answer(f"{begin}{first}; COMMIT", values)
            if answer is not None:
                return answer
            if time.monotonic() - began > self._longest_wait:
                break  # another thread must renew leases
            in_transaction = False
        return None

    def _catch_up_alone(self, after: int, catch_up: Callable[[list[Row]], int]) -> bool:
        """Take in what others have written, unless another worker is doing that.

        Nobody has answered, so one of those that wait must. If all of them caught up at the same
        time, it would take them many times longer.
        """
        condition = f"current_setting('{_LOCKED}') = 'true'"
        lock = f"pg_try_advisory_xact_lock({self._catching_up})::text"
        [[is_locked]], _, records = self._run_together(
            f"{_begin(min(self._longest_wait, LOCK_TIMEOUT))}; "
            f"SELECT set_config('{_LOCKED}', {lock}, true); "
            f"{self._state_query(after, False, condition)}"
        )
        if is_locked == "true":
            catch_up(self._checked_rows(records, after))
        self._run("COMMIT")
        return bool(is_locked == "true")

    def _look_for_answer(self, first: str, values: tuple[Any, ...]) -> Transaction | None:
        """Run a statement about the own post, and wait for those who answer posts."""
        longest = min(self._longest_wait, LOCK_TIMEOUT)
        self._posts.pending = True
        *_, rows = self._run_together(
            f"{first}; {_begin(longest)}; {self._posts.wait()}; COMMIT; {self._posts.answer()}",
            values,
        )
        for answer, _ in rows:
            if answer is not None:
                return self._answered(answer)
        return None

    def _answered(self, answer: str) -> Transaction:
        self._posts.pending = False
        self._answered_at = time.monotonic()
        transaction = Transaction(0.0, [], self.leases)
        transaction.answer = answer
        return transaction

    def _try_lock(self, after: int, leases: bool) -> Transaction | None:
        """Take the write lock if it is free; return None, in a transaction, if it is not.

        Who has many records to read does not take it: the others would have to wait. It is tried
        twice, since one that waits for an answer holds it, shared, for a moment.
        """
        locked = f"current_setting('{_LOCKED}') = 'true'"
        last = self._sql[sql.SELECT_LAST_NUMBER]
        take = f"pg_try_advisory_xact_lock({self._write_lock})"
        lock = (
            f"(CASE WHEN ({last}) > {after + FAR_BEHIND} THEN false WHEN {take} THEN true "
            f"WHEN pg_sleep({PAUSE}) IS NULL THEN false ELSE {take} END)::text"
        )
        [[is_locked]], *state, posted = self._run_together(
            f"{_begin(min(self._longest_wait, LOCK_TIMEOUT))}; "
            f"SELECT set_config('{_LOCKED}', {lock}, true); "
            f"{self._state_query(after, leases, locked)}; {self._posts.select(locked)}"
        )
        if is_locked != "true":
            return None
        answer = self._posts.own_answer(posted)
        if answer is not None:
            self._run_together(f"COMMIT; {_SYNC}")
            return self._answered(answer)
        transaction = self._transaction(after, state, leases)
        transaction.posts = self._posts.others(posted)
        return transaction

    def _queue(self, after: int, catch_up: Callable[[list[Row]], int], leases: bool) -> Transaction:
        """Wait for the lock once; raise `LockNotAvailable` if that takes too long."""
        write_lock, on_deck = self._write_lock, self._on_deck
        longest, began = min(self._longest_wait, LOCK_TIMEOUT), time.monotonic()
        [[locked]], *state = self._run_together(
            f"{_begin(longest)}; "
            f"SELECT CASE WHEN pg_try_advisory_xact_lock({write_lock}) THEN true "
            f"ELSE pg_advisory_xact_lock({on_deck}) IS NULL END; "
            f"{self._state_query(after, leases)}"
        )
        if not locked:  # but on deck
            after = catch_up(self._checked_rows(state[1], after))
            # The shared lock is only a way to wait for the writer before us. Then our place on deck
            # is given up, which ends a transaction, and the write lock taken, which begins one.
            left = max(began + longest - time.monotonic(), longest / 4)
            _, _, *state = self._run_together(
                f"SET LOCAL lock_timeout = {_milliseconds(left)}; "
                f"SELECT pg_advisory_xact_lock_shared({write_lock}); COMMIT; "
                f"{_begin(left)}; SELECT pg_advisory_xact_lock({write_lock}); "
                f"{self._state_query(after, leases)}"
            )
        return self._transaction(after, state, leases)

    def _transaction(self, after: int, state: list[list[Any]], leases: bool) -> Transaction:
        """The transaction that begins with the results of `_state_query`."""
        [[now, comment]], records, *found = state
        if comment is not None:
            self._check_version([[comment]])
        rows = self._checked_rows(records, after)
        return Transaction(
            now, rows, sql.checked_leases(found[0], self.where) if leases else self.leases
        )

    def _state_query(self, after: int, leases: bool, condition: str = "true") -> str:
        """The queries for the clock and the format, the new records, and the leases.

        No records and leases are read unless a condition holds.
        """
        records = self._sql[sql.SELECT_RECORDS] % (after - self._compares(after))
        queries = [
            f"SELECT {_NOW}, ({self._comment})",
            records.replace("ORDER BY", f"AND {condition} ORDER BY"),
            *([self._sql[sql.SELECT_LEASES]] if leases else []),
        ]
        return "; ".join(queries)

    def _new_records(self, after: int) -> Sequence[Any]:
        return self._run(self._sql[sql.SELECT_RECORDS], (after - self._compares(after),))

    def _compares(self, after: int) -> bool:
        """Whether the record with this number is read again, to compare it with the known one."""
        return after > 0 and after == self._known[0]

    def _checked_rows(self, records: Sequence[Any], after: int) -> list[Row]:
        """The records after one, without that one; raise `StorageError` if a known one is gone."""
        rows = sql.checked_rows(records, self.where)
        if self._compares(after):
            if [(row.seq, row.seal) for row in rows[:1]] != [self._known]:
                self._refuse_lost_records()
            del rows[0]
        elif after < self._kept[0]:
            same_number = (row for row in rows if row.seq == self._kept[0])
            if [(row.seq, row.seal) for row in same_number] != [self._kept]:
                self._refuse_lost_records()
        for row in rows[-1:]:
            self._known = row.seq, row.seal
        return rows

    def _refuse_lost_records(self) -> NoReturn:
        """Raise `StaleError` if all records are there that were on disk, and else `StorageError`.

        A server that was restored from a backup, or replaced by a standby, may lack its newest
        records. After a crash it may lack those that another process has not synced yet.
        """
        number = self._kept[0]
        kept = self._run(sql.numbered(self._sql[sql.SELECT_NUMBERED_RECORDS], [number]))
        if not number or [(row[0], row[-1]) for row in kept] == [self._kept]:
            raise StaleError(
                f"{self.where} has lost records that were not on its disk yet, and none that was "
                "acknowledged. It is read again."
            )
        raise StorageError(
            f"{self.where} has lost records, or is another study by now: record {number}, which "
            "was on its disk, is not there. Was the database restored from a backup, or "
            "replaced by a standby? Stop all workers of the study, which keep their results. Then "
            "bring the records back, or start again to continue without them."
        )

    def _finish(self, transaction: Transaction) -> None:
        """Commit, which releases the lock, and sync the commit; in one round trip."""
        for lease in transaction.written_leases.values():
            self._longest_wait = min(self._longest_wait, lease.seconds / WAITS_PER_LEASE)
        writes = [
            (text.format(**self._names), values)
            for text, values in sql.write_statements_together(transaction)
        ]
        if transaction.version is not None:
            writes.append((self._set_version(transaction.version), ()))
        if transaction.answers:
            writes.append(self._posts.write_answers(transaction.answers))
        if self._posts.pending:
            writes.append((self._posts.delete_own(), ()))
        nothing = transaction.empty and not self._posts.pending
        writes.append(("ROLLBACK" if nothing else "COMMIT", ()))
        if transaction.appended or transaction.confirmed:
            writes.append((_SYNC, ()))
        self._write_together(writes)
        self._posts.pending = False
        for row in transaction.appended[-1:]:
            self._known = row.seq, row.seal
        if transaction.appended or transaction.confirmed:
            self._kept = self._known

    def beat(self, worker: str, beats: Sequence[Beat], seconds: float) -> set[int]:
        """Renew a worker's leases for `seconds`; the trials that it still holds.

        Renewals are not synced: one that is lost in a crash of the server does no harm.
        """
        refuse_to_write(self)
        with self._own_turn():
            self._connection(idle=True)
            statements: list[sql.Statement] = [(_begin(self._longest_wait), ())]
            for beat in beats:
                text, values = sql.renewal_statement(worker, beat, seconds)
                text = self._sql[text].replace("until = %s", f"until = {_NOW} + %s")
                statements.append((text, values))
            suspect = self._sql[sql.SUSPECT_EXPIRED_LEASES].replace("%s", _NOW)
            statements.append((f"{suspect}; COMMIT", ()))
            try:
                counts = self._write_together(statements)
            except BaseException:
                self._roll_back()
                raise
            renewed = counts[-2 - len(beats) : -2]
            return {beat.trial for beat, n in zip(beats, renewed, strict=True) if n}

    def close(self) -> None:
        """Close the connection. A later call opens it again."""
        with self._own_turn():
            if self._link is not None:
                if self._posts.ticket:
                    with suppress(driver().Error):
                        self._run(self._posts.delete_own())
                self._link.close()
            self._link = None

    @property
    def _comment(self) -> str:
        """The SQL for the comment on the schema, which holds the format.

        It is the query inside `obj_description`, whose call takes longer than all the rest.
        """
        name = self._schema.replace("'", "''")
        return (
            f"SELECT description FROM pg_catalog.pg_description WHERE objoid = "
            f"to_regnamespace('{name}') AND classoid = 'pg_namespace'::regclass AND objsubid = 0"
        )

    def _set_version(self, version: int) -> str:
        """The SQL that stores the version of the format."""
        return f"COMMENT ON SCHEMA {self._schema} IS 'priorband format {version}'"

    def _version(self) -> int | None:
        name = self._schema.replace("'", "''")
        return self._check_version(
            self._run(f"SELECT ({self._comment}) WHERE to_regnamespace('{name}') IS NOT NULL")
        )

    def _check_version(self, comments: Sequence[Any]) -> int | None:
        if not comments:
            return None
        match = re.fullmatch(r"priorband format (\d+)", str(comments[0][0]))
        if match is None:
            raise FormatError(f"The schema {self._schema} in {self.where} is not a study.")
        if int(match[1]) > FORMAT:
            refuse_version(int(match[1]), self.where)
        return int(match[1])

    def _run(self, text: str, values: tuple[Any, ...] = ()) -> Sequence[Any]:
        cursor = self._connection().execute(text, values or None)
        return cursor.fetchall() if cursor.description else []

    def _run_together(self, text: str, values: tuple[Any, ...] = ()) -> list[list[Any]]:
        """Run statements in one round trip; the results of each query among them."""
        cursor, results = self._connection().execute(text, values or None), []
        while True:
            result = cursor.pgresult  # `cursor.description` would make an object for each column
            if result is not None and result.nfields:
                results.append(cursor.fetchall())
            if not cursor.nextset():
                return results

    def _write_together(self, statements: Sequence[sql.Statement]) -> list[int]:
        """Run statements in one round trip; how many rows each has changed.

        The driver quotes the values.
        """
        all_values = [value for _, values in statements for value in values]
        text = "; ".join(text for text, _ in statements)
        cursor = self._connection().execute(text, all_values or None)
        counts = [cursor.rowcount]
        while cursor.nextset():
            counts.append(cursor.rowcount)
        return counts

    def _roll_back(self) -> None:
        """Leave a transaction that has failed."""
        link = self._link
        if link is None or link.closed:
            return
        try:
            link.execute("ROLLBACK")
        except driver().Error:
            link.close()

    def _connection(self, idle: bool = False) -> "psycopg.Connection":
        """The connection, opened if necessary; with `idle`, one that is in no transaction."""
        link = self._link
        if link is not None and idle and link.info.transaction_status:
            link.close()  # a signal handler's exception left it so
        if link is None or link.closed:
            link = self._link = connect(self._url)
        return link

    @contextmanager
    def _own_turn(self) -> Iterator[None]:
        """Keep other threads from using the connection, and translate errors."""
        if self._pid != os.getpid():  # forked: the connection and the lock belong to the parent
            self._pid = os.getpid()
            _inherited.append(self._link)
            self._link, self._turns = None, threading.Condition()
            self._posts = self._new_posts()
        with self._turns, self._translated_errors():
            yield

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Turn errors of PostgreSQL into `StorageError` or `DamagedError`."""
        psycopg = driver()
        try:
            yield
        except (psycopg.errors.DataCorrupted, psycopg.errors.IndexCorrupted) as error:
            # Listed first: other errors of their class, InternalError, are worth another try.
            raise self._damage(error) from error
        except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError) as error:
            if "statement pooling mode" in str(error):
                raise FormatError(
                    f"{self.where} is a PgBouncer in statement mode, which allows no transactions. "
                    "Set pool_mode = transaction, or pool_mode = session."
                ) from None
            if self._link is not None:
                self._link.close()
            self._link = None
            raise StorageError(
                f"{self.where} cannot be reached ({brief(error)}).{_hint(error)}"
            ) from error
        except psycopg.Error as error:
            raise self._other_error(error) from error

    def _other_error(self, error: Exception) -> PriorbandError:
        """What an error means that is not one of the connection."""
        errors = driver().errors
        if isinstance(error, driver().IntegrityError):
            return StorageError(f"{self.where} was written by another process at the same time.")
        if isinstance(error, errors.InsufficientPrivilege):
            return StorageError(f"{self.where} denies permission ({brief(error)}).")
        if isinstance(error, errors.UndefinedTable) and POSTS_TABLE in str(error):
            self._can_post, self._posts.pending = None, False  # the next turn makes it again
            return StorageError(f"{self.where} has lost a table ({brief(error)}).")
        return self._damage(error)

    def _damage(self, error: Exception) -> DamagedError:
        return DamagedError(f"{self.where} is damaged ({brief(error)}). {salvage_hint(self.where)}")


def dialect(schema: str) -> dict[str, str]:
    """What stands for the names in the SQL; `schema` ends with a dot.

    The server does not send a text that is too large. It knows its size without reading it.
    """
    text = f"CASE WHEN octet_length({{0}}) <= {LARGEST_ROW} THEN {{0}} END"
    return sql.dialect(schema, "BIGINT", "DOUBLE PRECISION", text)


_SYNC = f"SELECT {SYNC}"
_LOCKED = "priorband.locked"
"""A setting of a transaction: whether it holds the write lock."""
_inherited: list[Any] = []
"""A parent process's connections, kept open: closing them here would end the parent's sessions."""


def _hint(error: Exception) -> str:
    """What to do about a server that has no connection left; empty for other errors."""
    if not re.search("too many (clients|connections)|connection slots|no more conn", str(error)):
        return ""
    return (
        " It has no connection left, and each worker needs one: raise max_connections in the "
        "server's settings, connect through PgBouncer, or use fewer workers."
    )


def _lock_key(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=7).digest(), "big")


def _begin(wait: float) -> str:
    """Begin a transaction with settings of its own.

    They are: for how long to wait for a lock, when to end the session of a client that stops
    responding, and that a commit does not wait for the disk.
    """
    return (
        f"BEGIN; SET LOCAL lock_timeout = {_milliseconds(wait)}; "
        f"SET LOCAL idle_in_transaction_session_timeout = {_milliseconds(IDLE_TIMEOUT)}; "
        "SET LOCAL synchronous_commit = off"
    )


def _milliseconds(seconds: float) -> int:
    return max(int(seconds * 1e3), 1)  # 0 would mean no limit
