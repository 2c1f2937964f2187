"""The attempts at a trial of a stored study that brought no result, for its explanation."""

from collections.abc import Iterable

from priorband.durable.records import AdoptedRecord, AskedRecord, ReturnedRecord, decode
from priorband.explanations.why import LostAttempt
from priorband.storage.journal import Row


def lost_attempts(rows: Iterable[Row]) -> tuple[LostAttempt, ...]:
    """The attempts at one trial after which it was attempted again, from the trial's records."""
    workers, lost = dict[int, str](), list[LostAttempt]()
    for row in rows:
        match decode(row):
            case AskedRecord():
                workers[1] = row.worker
            case AdoptedRecord(attempt=attempt):
                workers[attempt] = row.worker
            case ReturnedRecord(attempt=attempt, failure=failure, reason=reason):
                worker = workers.get(attempt, row.worker)
                lost.append(LostAttempt(attempt, failure, reason, worker))
    return tuple(lost)
