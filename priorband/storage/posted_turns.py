"""The SQL of posted turns: what a worker writes if it cannot have PostgreSQL's write lock.

A worker that finds the lock taken writes its turn into a table: what it reports, and what it asks
for. The next worker that holds the lock takes all posted turns in its own transaction and writes
the answers beside them. It is up to date, so the others need not apply each other's records.

The table has one row for each worker. It is not logged: after a crash of the server it is empty,
and the workers, whose connections have ended, take their turns again.
"""

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any, final

from priorband.storage.journal import LARGEST_ROW, Post

TABLE = "posted_turn"
MOST = 100
"""How many posted turns are taken in one transaction."""
VALID = 20.0
"""Seconds after which a post is not answered: a worker that still waits renews its post."""
FORGOTTEN = 60.0
"""Seconds after which a post is deleted."""
PAUSE = 0.001
"""Seconds that a worker waits at the server if there is no answer, and nobody holds the lock."""

NOW = "extract(epoch FROM clock_timestamp())::float8"
SYNC = "pg_logical_emit_message(true, 'priorband', '')"
"""Writes to the server's log: the commit of this statement waits until the log is on the disk."""


@final
class PostedTurns:
    """The statements for one worker's own post, and for those of others."""

    def __init__(self, schema: str, write_lock: int, queue: int) -> None:
        self.table = schema + TABLE
        self._write_lock, self._queue = write_lock, queue
        self.ticket = 0
        """Which of this worker's posts is the last one."""
        self.pending = False
        """Whether this worker's last post has no answer yet, as far as it knows."""

    @cached_property
    def poster(self) -> int:
        """This worker's own number."""
        return int.from_bytes(os.urandom(7), "big")

    def usable(self) -> str:
        """The query whether the table exists, and this role may use it; NULL if there is none."""
        table = self.table.replace("'", "''")
        rights = " AND ".join(
            f"has_table_privilege(to_regclass('{table}'), '{right}')"
            for right in ("SELECT", "INSERT", "UPDATE", "DELETE")
        )
        return f"SELECT CASE WHEN to_regclass('{table}') IS NOT NULL THEN {rights} END"

    def create(self) -> str:
        """Create the table, unless it exists.

        Rows are updated again and again: with free space in each page that stays cheap.
        """
        return (
            f"CREATE UNLOGGED TABLE IF NOT EXISTS {self.table} (poster BIGINT PRIMARY KEY, "
            "ticket BIGINT NOT NULL, posted DOUBLE PRECISION NOT NULL, body TEXT NOT NULL, "
            "answer TEXT) WITH (fillfactor = 50)"
        )

    def delete_forgotten(self) -> str:
        """Delete the posts of workers that have ended without deleting them."""
        return f"DELETE FROM {self.table} WHERE posted < {NOW} - {FORGOTTEN}"

    def delete_own(self) -> str:
        """Delete this worker's own post."""
        return f"DELETE FROM {self.table} WHERE poster = {self.poster}"

    def unanswered(self) -> str:
        """The query for the posts without an answer."""
        return (
            f"SELECT poster, ticket, body, answer FROM {self.table} WHERE answer IS NULL "
            f"AND posted > {NOW} - {VALID} AND octet_length(body) <= {LARGEST_ROW}"
        )

    def select(self, condition: str) -> str:
        """Lock and return the posts without an answer, oldest first, and this worker's own.

        Return nothing unless a condition holds.
        """
        either = f"{self.unanswered()} OR poster = {self.poster}".replace("WHERE", "WHERE (", 1)
        return f"{either}) AND {condition} ORDER BY posted LIMIT {MOST} FOR UPDATE"

    def others(self, rows: Sequence[Any]) -> list[Post]:
        """The posts of other workers among the results of `select`."""
        return [Post(*row[:3]) for row in rows if row[0] != self.poster and row[3] is None]

    def own_answer(self, rows: Sequence[Any]) -> str | None:
        """The answer to this worker's last post among the results of `select`."""
        own = (row[3] for row in rows if row[:2] == (self.poster, self.ticket))
        return next(own, None) if self.pending else None

    def post(self, body: str) -> tuple[str, tuple[Any, ...]]:
        """Write a post, in the place of this worker's earlier one."""
        self.ticket += 1
        values = f"({self.poster}, {self.ticket}, {NOW}, %s, NULL)"
        return (
            f"INSERT INTO {self.table} VALUES {values} ON CONFLICT (poster) DO UPDATE SET "
            "ticket = excluded.ticket, posted = excluded.posted, body = excluded.body, "
            "answer = NULL",
            (body,),
        )

    def renew(self) -> str:
        """Show that this worker still waits for an answer."""
        return f"UPDATE {self.table} SET posted = {NOW} WHERE {self._own} AND answer IS NULL"

    def wait(self) -> str:
        """Wait until the worker that holds the write lock has written its answers.

        Only one of those that wait for an answer waits for that lock: the others queue for a lock
        of their own, and find their answers when they get it. The write lock is taken, shared, and
        released in the same expression. If there is no answer then, wait for somebody to take it,
        and once more for the answer.
        """
        lock, unlock = (f"pg_advisory_{name}_shared" for name in ("lock", "unlock"))
        wait = f"CASE WHEN {lock}({self._write_lock}) IS NOT NULL "
        wait += f"THEN {unlock}({self._write_lock}) END"
        steps = (wait, f"pg_sleep({PAUSE})", wait)
        unanswered = f"FROM {self.table} WHERE {self._own} AND answer IS NULL"
        queries = [f"SELECT {step} {unanswered}" for step in steps]
        return "; ".join([f"SELECT pg_advisory_xact_lock({self._queue})", *queries])

    def answer(self) -> str:
        """The query for the answer to the last post; if there is one, the server's log is synced.

        The worker that has answered may not have synced it yet.
        """
        sync = f"CASE WHEN answer IS NOT NULL THEN {SYNC} END"
        return f"SELECT answer, {sync} FROM {self.table} WHERE {self._own}"

    def withdraw(self) -> str:
        """Delete the last post; the result is its answer. Waits for a worker that is answering."""
        return f"DELETE FROM {self.table} WHERE {self._own} RETURNING answer"

    def write_answers(self, answers: dict[Post, str]) -> tuple[str, tuple[Any, ...]]:
        """Write the answers to posts of others."""
        rows = ", ".join(f"({post.poster}, {post.ticket}, %s)" for post in answers)
        return (
            f"UPDATE {self.table} AS old SET answer = new.answer FROM (VALUES {rows}) "
            "AS new (poster, ticket, answer) WHERE old.poster = new.poster "
            "AND old.ticket = new.ticket",
            tuple(answers.values()),
        )

    @property
    def _own(self) -> str:
        return f"poster = {self.poster} AND ticket = {self.ticket}"
