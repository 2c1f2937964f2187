"""Turns that one worker takes for another: what is posted, what is answered, and who decides.

A worker that cannot have the write lock posts its turn (`PostedTurn`). The one that holds the lock
takes it (`take_turns`), exactly as the other would have: records and leases have the other's
name, and its terms count. The answer has all that the other needs to begin its trial, since it has
not read the records.
"""

from collections.abc import Callable, Mapping
from typing import Any, final

from priorband.durable.clients import Client
from priorband.durable.dispatch import Dispatcher
from priorband.durable.messages import Assignment, Idle, Report
from priorband.durable.records import INVALID, member, number
from priorband.errors import FormatError, PriorbandError, StorageError
from priorband.space.config import Config
from priorband.storage.identity import liveness
from priorband.storage.journal import Post, Transaction
from priorband.storage.json_text import from_json, to_json
from priorband.trial import Slot, Trial
from priorband.values import frozen

VERSION = 1
"""The version of posts and answers. A post of another version is refused."""

Answer = Assignment | Idle | None
"""What a turn is answered with; None if it asked for nothing."""


@final
@frozen
class PostedTurn:
    """What a worker reports and asks for, as it is posted."""

    client: Client
    report: Report | None
    request: str

    def to_text(self) -> str:
        """The turn as JSON."""
        report = None if self.report is None else self.report.to_data()
        about = {"client": self.client.to_data(), "report": report, "request": self.request}
        return to_json({"version": VERSION, **about})

    @staticmethod
    def from_text(text: str) -> "PostedTurn":
        """The turn that a text stands for, or a `FormatError`."""
        data = from_json(text)
        if member(data, "version", int) != VERSION:
            raise FormatError("it is of another version of the library")
        client = Client.from_data(member(data, "client", dict))
        report = data.get("report")
        if report is not None:
            report = Report.from_data(member(data, "report", dict))
        return PostedTurn(client, report, member(data, "request", str))


class RefusedError(PriorbandError):
    """Another worker could not take a turn: the one that posted it must take it."""


def take_turn(
    dispatcher: Dispatcher, transaction: Transaction, report: Report | None, request: str
) -> Answer:
    """Write down a report, and hand out a trial if there is a request."""
    if report is not None:
        dispatcher.settle(transaction, report)
    return dispatcher.assign(transaction, request) if request else None


def take_turns(
    dispatcher: Dispatcher, transaction: Transaction, report: Report | None, request: str
) -> tuple[Answer, bool]:
    """Take a worker's own turn, and those that others have posted.

    Return the answer to its own, and whether all others could be taken. One that cannot is refused,
    and those after it are left for later. What it has changed is not written, but the dispatcher's
    view must then be dropped.
    """
    looks, posted = dispatcher.looks, [_read(post) for post in transaction.posts]
    looks.workers = 1 + len(posted)
    looks.reported = {turn.report.trial for turn in posted if turn and turn.report}
    answer = take_turn(dispatcher, transaction, report, request)
    all_taken = True
    for post, turn in zip(transaction.posts, posted, strict=True):
        if turn is None:
            transaction.answers[post] = to_json({"refused": "it cannot be read"})
        elif all_taken:
            all_taken = _take_posted_turn(dispatcher, transaction, post, turn)
    looks.reported = ()
    return answer, all_taken


def _read(post: Post) -> PostedTurn | None:
    try:
        return PostedTurn.from_text(post.body)
    except INVALID:
        return None


def _take_posted_turn(
    dispatcher: Dispatcher, transaction: Transaction, post: Post, turn: PostedTurn
) -> bool:
    """Answer a post, or refuse it if that fails; return whether it was answered."""
    mark, client = transaction.mark(), turn.client
    try:
        request = "" if liveness(client.owner) == "dead" else turn.request
        answer = take_turn(dispatcher.on_behalf_of(client), transaction, turn.report, request)
        transaction.answers[post] = answer_text(answer, dispatcher.view.write_config)
    except StorageError:
        raise
    except Exception as error:  # whatever it is, it must not end this worker, too
        transaction.return_to(mark)
        transaction.answers[post] = to_json({"refused": str(error)[:300]})
        return False
    return True


def answer_text(answer: Answer, write: Callable[[Any], Any]) -> str:
    """An answer as JSON; `write` returns the stored form of a configuration."""
    match answer:
        case None:
            return to_json({"none": True})
        case Idle(reason, running, halted):
            return to_json({"idle": {"reason": reason, "running": running, "halted": halted}})
    trial = answer.trial
    return to_json(
        {
            "trial": trial.id,
            "config": write(trial.config),
            "fidelity": trial.fidelity,
            "slot": None if trial.slot is None else list(trial.slot),
            "parent": trial.parent,
            "origin": trial.origin,
            "root": trial.root,
            "attempt": answer.attempt,
            "parent_attempt": answer.parent_attempt,
            "start": answer.start,
            "since": answer.since,
            "parent_fidelity": answer.parent_fidelity,
        }
    )


def answer_from_text(text: str, read: Callable[[Any], Config]) -> Answer:
    """The answer that a text stands for.

    Raises:
        RefusedError: if the turn was not taken.
        FormatError: if the text is no answer.
    """
    data = from_json(text)
    if "refused" in data:
        raise RefusedError(member(data, "refused", str))
    if "none" in data:
        return None
    if "idle" in data:
        idle = member(data, "idle", dict)
        running, halted = member(idle, "running", int), member(idle, "halted", bool)
        return Idle(member(idle, "reason", str), running, halted)
    return _assignment(data, read)


def _assignment(data: Mapping[str, Any], read: Callable[[Any], Config]) -> Assignment:
    slot = data.get("slot")
    if slot is not None:
        bracket, rung = member(data, "slot", list)
        slot = Slot(bracket, rung)
    parent = None if data.get("parent") is None else member(data, "parent", int)
    winner = None if parent is None else member(data, "parent_attempt", int)
    trial = Trial(
        member(data, "trial", int),
        read(data.get("config")),
        number(data, "fidelity", least=0),
        slot,
        parent,
        member(data, "origin", str),
        member(data, "root", int),
    )
    attempt, start, since = member(data, "attempt", int), number(data, "start"), data["since"]
    if type(since) is not float:
        raise FormatError(f"`since` is {since!r:.60}")
    return Assignment(trial, attempt, winner, start, since, number(data, "parent_fidelity"))
