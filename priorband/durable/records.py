"""Records: what a study writes down, one class for each kind, and the JSON that stands for it.

    created    the problem, the format and the study's id; always the first record
    budget     the limits; the last such record counts
    queued     a configuration that a person wants tried
    prior      the prior was changed; the last such record counts
    asked      a trial was handed out to its first attempt, or a result was imported
    adopted    a trial whose attempt had ended was handed out again
    returned   an attempt ended and left its trial to the next one: lost, preempted or retried
    told       a trial ended with a loss
    failed     a trial ended without a loss
    remark     something that changes nothing, such as a result that came second

A row of the journal adds a number, a time, a worker's name and a checksum; no decision reads them.
`decode` checks the types of everything in a body, so code that gets a record can rely on them; what
is written is checked in the same way. What a record means for the study, and whether it can follow
the records before it, is the ledger's part.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, NoReturn, final

from priorband.durable.budget import Budget
from priorband.errors import FormatError
from priorband.failures import FAILURE_KINDS, FailureKind
from priorband.numeric import real
from priorband.storage.journal import (
    BASE_FORMAT,
    FORMAT,
    PRIOR_FORMAT,
    RETRY_FORMAT,
    Row,
    refuse_version,
    sealed,
)
from priorband.storage.json_text import from_json, to_json
from priorband.trial import IMPORTED, Slot, Trial
from priorband.values import frozen

INVALID = (FormatError, KeyError, IndexError, TypeError, ValueError, RuntimeError, ArithmeticError)
"""What decoding or applying a record raises when the record is not valid."""

Body = dict[str, Any]


@final
class _NoDetails(dict[str, Any]):
    """An empty mapping that cannot be changed, for all records to share."""

    __slots__ = ()

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError("The default details cannot be changed: they are shared.")

    __setitem__ = __delitem__ = _refuse
    __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> str:
        return "NO_DETAILS"  # a copy, also in another process, is this very object


NO_DETAILS: Mapping[str, Any] = _NoDetails()

STARTUP = "startup"
"""The name among the details for the seconds that a trial spent outside the objective."""
_LARGEST = sys.float_info.max
_SMALLEST = 1e-300  # a fidelity is above 0


@final
@frozen
class CreatedRecord:
    """A study was created."""

    kind = "created"
    trial = None
    study: str
    """The study's id."""
    problem: Mapping[str, Any]
    """What the study is about, as `problem_data` describes it."""
    maximize: bool
    version: int = BASE_FORMAT

    def encode(self) -> Body:
        """The record's body."""
        about: Body = {"format": self.version, "study": self.study, "problem": self.problem}
        return about | {"maximize": self.maximize}

    @staticmethod
    def decode(trial: int | None, body: Body) -> "CreatedRecord":
        """The record from its trial and body, or a `FormatError`."""
        del trial
        version = member(body, "format", int)
        if version > FORMAT:
            refuse_version(version, "The study")
        problem = member(body, "problem", dict)
        number(member(problem, "fidelity", dict), "high", least=_SMALLEST)
        study, maximize = member(body, "study", str), member(body, "maximize", bool)
        return CreatedRecord(study, problem, maximize, version)

    @property
    def full(self) -> float:
        """The highest fidelity: one full training."""
        high: float = self.problem["fidelity"]["high"]
        return high


@final
@frozen
class BudgetRecord:
    """The limits on the study were set."""

    kind = "budget"
    trial = None
    budget: Budget

    def encode(self) -> Body:
        """The record's body."""
        return dict(self.budget.limits)

    @staticmethod
    def decode(trial: int | None, body: Body) -> "BudgetRecord":
        """The record from its trial and body, or a `FormatError`."""
        del trial
        if not body.keys() <= {"trainings", "trials", "cost", "hours"}:
            raise FormatError("it limits something unknown")
        try:
            return BudgetRecord(Budget(**body))
        except (TypeError, ValueError) as error:
            raise FormatError(str(error)) from None


@final
@frozen
class QueuedRecord:
    """A configuration was queued."""

    kind = "queued"
    trial = None
    config: Any
    """The configuration as `config_writer` writes it."""
    fidelity: float | None
    retry: int | None = None
    """The failed trial that is to be handed out again, in its old place."""

    def encode(self) -> Body:
        """The record's body."""
        body: Body = {"config": self.config, "fidelity": self.fidelity}
        return body if self.retry is None else body | {"retry": self.retry}

    @staticmethod
    def decode(trial: int | None, body: Body) -> "QueuedRecord":
        """The record from its trial and body, or a `FormatError`."""
        del trial
        fidelity = body.get("fidelity")
        if fidelity is not None:
            fidelity = number(body, "fidelity", least=_SMALLEST)
        retry = member(body, "retry", int) if "retry" in body else None
        return QueuedRecord(body.get("config"), fidelity, retry)


@final
@frozen
class PriorRecord:
    """The prior was changed."""

    kind = "prior"
    trial = None
    prior: Mapping[str, Any] | None
    """The new one, as in the problem; None for that of the parameters themselves."""

    def encode(self) -> Body:
        """The record's body."""
        return {"prior": self.prior}

    @staticmethod
    def decode(trial: int | None, body: Body) -> "PriorRecord":
        """The record from its trial and body, or a `FormatError`."""
        if trial is not None or body.keys() != {"prior"}:
            raise FormatError("it is not about the prior alone")
        prior = body["prior"]
        return PriorRecord(None if prior is None else member(body, "prior", dict))


@final
@frozen
class AskedRecord:
    """A trial was handed out to its first attempt, or a result was imported."""

    kind = "asked"
    trial: int
    fidelity: float
    origin: str
    slot: Slot | None
    parent: int | None
    config: Any
    """The configuration as `config_writer` writes it; None where it is the parent's."""
    start: float = 0
    """How far the parent's checkpoint goes; 0 without one."""
    request: str = ""
    """The worker's own name for what it asked, so that it can ask again for the same trial."""

    @staticmethod
    def of(
        trial: Trial, write: Callable[[Any], Any], start: float = 0, request: str = ""
    ) -> "AskedRecord":
        """The record that hands out a trial."""
        config = write(trial.config) if trial.parent is None else None
        about = (trial.id, trial.fidelity, trial.origin, trial.slot, trial.parent)
        return AskedRecord(*about, config, start, request)

    @property
    def imported(self) -> bool:
        """Whether the trial was run elsewhere: nobody works on it here."""
        return self.origin == IMPORTED

    def encode(self) -> Body:
        """The record's body."""
        body: Body = {"fidelity": self.fidelity, "origin": self.origin}
        if self.slot is not None:
            body["slot"] = list(self.slot)
        if self.parent is None:
            body["config"] = self.config
        else:
            body["parent"] = self.parent
        if not self.imported:
            body |= {"start": self.start, "claim": self.request}
        return body

    @staticmethod
    def decode(trial: int | None, body: Body) -> "AskedRecord":
        """The record from its trial and body, or a `FormatError`."""
        fidelity = number(body, "fidelity", least=_SMALLEST)
        origin, parent = member(body, "origin", str), body.get("parent")
        if parent is not None and type(parent) is not int:
            raise FormatError(f"`parent` is {parent!r:.60}")
        start, request = 0.0, ""
        if origin != IMPORTED:
            start, request = number(body, "start", least=0), _request(body)
        slot, config = _slot(body.get("slot")), body.get("config")
        return AskedRecord(_id(trial), fidelity, origin, slot, parent, config, start, request)


@final
@frozen
class AdoptedRecord:
    """A trial whose attempt had ended was handed out again."""

    kind = "adopted"
    trial: int
    attempt: int
    start: float = 0
    request: str = ""

    def encode(self) -> Body:
        """The record's body."""
        return {"attempt": self.attempt, "claim": self.request, "start": self.start}

    @staticmethod
    def decode(trial: int | None, body: Body) -> "AdoptedRecord":
        """The record from its trial and body, or a `FormatError`."""
        start = number(body, "start") if "start" in body else 0
        return AdoptedRecord(_id(trial), member(body, "attempt", int), start, _request(body))


@final
@frozen
class ReturnedRecord:
    """An attempt ended without a result and left its trial to the next attempt."""

    kind = "returned"
    trial: int
    attempt: int
    failure: FailureKind
    reason: str
    seen: float | None = None
    """When a lost worker was last heard of; None where the attempt's end was reported.

    It is later if other workers were active for long after that: time counts until then.
    """

    def encode(self) -> Body:
        """The record's body."""
        body: Body = {"attempt": self.attempt, "kind": self.failure, "reason": self.reason}
        return body if self.seen is None else body | {"seen": self.seen}

    @staticmethod
    def decode(trial: int | None, body: Body) -> "ReturnedRecord":
        """The record from its trial and body, or a `FormatError`."""
        seen = number(body, "seen") if "seen" in body else None
        attempt, failure, reason = _failure(body)
        return ReturnedRecord(_id(trial), attempt, failure, reason, seen)


@final
@frozen
class ToldRecord:
    """A trial ended with a loss."""

    kind = "told"
    trial: int
    attempt: int
    """The attempt that brought the loss; 0 for an imported result."""
    loss: float
    details: Mapping[str, Any] = NO_DETAILS
    """Whatever else is kept: cost, seconds, metrics."""

    def encode(self) -> Body:
        """The record's body."""
        return {**self.details, "attempt": self.attempt, "loss": self.loss}

    @staticmethod
    def decode(trial: int | None, body: Body) -> "ToldRecord":
        """The record from its trial and body, or a `FormatError`."""
        attempt, loss = member(body, "attempt", int), float(number(body, "loss"))
        if "cost" in body:
            number(body, "cost")
        return ToldRecord(_id(trial), attempt, loss, _details(body, _TOLD))

    @property
    def cost(self) -> float | None:
        """What the trial said it cost."""
        return self.details.get("cost")


@final
@frozen
class FailedRecord:
    """A trial ended without a loss."""

    kind = "failed"
    trial: int
    attempt: int
    failure: FailureKind
    reason: str
    details: Mapping[str, Any] = NO_DETAILS
    """Whatever else is kept: cost, seconds, metrics, traceback, where."""

    def encode(self) -> Body:
        """The record's body."""
        ending = {"attempt": self.attempt, "kind": self.failure, "reason": self.reason}
        return {**self.details, **ending}

    @staticmethod
    def decode(trial: int | None, body: Body) -> "FailedRecord":
        """The record from its trial and body, or a `FormatError`."""
        return FailedRecord(_id(trial), *_failure(body), _details(body, _FAILED))

    @property
    def cost(self) -> float | None:
        """What the trial said it cost."""
        return real(self.details.get("cost"))


@final
@frozen
class RemarkRecord:
    """Something that changes nothing, such as a result that came second."""

    kind = "remark"
    trial: int | None
    text: str
    attempt: int | None = None
    loss: float | None = None
    failure: FailureKind | None = None
    details: Mapping[str, Any] = NO_DETAILS

    def encode(self) -> Body:
        """The record's body."""
        body: Body = {**self.details, "attempt": self.attempt, "text": self.text}
        return body | {"loss": self.loss, "kind": self.failure}

    @staticmethod
    def decode(trial: int | None, body: Body) -> "RemarkRecord":
        """The record from its trial and body, or a `FormatError`."""
        late = body.get("attempt"), body.get("loss"), body.get("kind")
        return RemarkRecord(trial, member(body, "text", str), *late, _details(body, _REMARK))


TrialEnd = ToldRecord | FailedRecord
Record = (
    CreatedRecord
    | BudgetRecord
    | QueuedRecord
    | PriorRecord
    | AskedRecord
    | AdoptedRecord
    | ReturnedRecord
    | ToldRecord
    | FailedRecord
    | RemarkRecord
)

_DECODERS: dict[str, Callable[[int | None, Body], Record]] = {
    "created": CreatedRecord.decode,
    "budget": BudgetRecord.decode,
    "queued": QueuedRecord.decode,
    "prior": PriorRecord.decode,
    "asked": AskedRecord.decode,
    "adopted": AdoptedRecord.decode,
    "returned": ReturnedRecord.decode,
    "told": ToldRecord.decode,
    "failed": FailedRecord.decode,
    "remark": RemarkRecord.decode,
}
_TOLD = frozenset({"attempt", "loss"})
_FAILED = frozenset({"attempt", "kind", "reason"})
_REMARK = frozenset({"attempt", "text", "loss", "kind"})


def decode(row: Row) -> Record:
    """The record that a row of the journal holds, or a `FormatError`."""
    decoder = _DECODERS.get(row.kind)
    if decoder is None:
        raise FormatError(f"its kind {row.kind!r:.40} is unknown")
    return decoder(row.trial, from_json(row.body))


def needed_version(created: int, rows: Iterable[Row]) -> int:
    """The version of the format that rows need; `created` is that of the study's creation."""
    needed = created
    for row in rows:
        if row.kind == "prior" or (row.kind == "queued" and '"retry"' in row.body):
            with suppress(FormatError):
                needed = max(needed, record_version(decode(row)))
    return needed


def record_version(record: Record) -> int:
    """The version of the format that a record needs, if it is not the first one."""
    if isinstance(record, PriorRecord):
        return PRIOR_FORMAT
    retries = isinstance(record, QueuedRecord) and record.retry is not None
    return RETRY_FORMAT if retries else BASE_FORMAT


def checked_body(record: Record) -> Body:
    """The record's body; raise `FormatError` if it could not be read again."""
    body = record.encode()
    type(record).decode(record.trial, body)
    return body


def sealed_row(record: Record, seq: int, worker: str, at: float, before: int) -> Row:
    """The row that holds a record and follows a row with the checksum `before`.

    Raises:
        FormatError: if the record could not be read again: nothing invalid is ever written.
    """
    row = Row(seq, record.kind, record.trial, worker, at, to_json(checked_body(record)), 0)
    return with_seal(row, before)


def with_seal(row: Row, before: int) -> Row:
    """A row with its seal; `before` is the seal of the row before it."""
    return Row(*row[:-1], sealed(before, row))


def resealed(row: Row, seq: int, before: int) -> Row:
    """A row with another number, which follows a row with the checksum `before`."""
    return with_seal(row._replace(seq=seq), before)


def member(body: Mapping[str, Any], name: str, kind: type) -> Any:
    """A member that a body must have, of exactly a type; a `FormatError` where it does not."""
    value = body.get(name)
    if type(value) is not kind:
        raise FormatError(f"`{name}` is {value!r:.60}")
    return value


def number(body: Mapping[str, Any], name: str, least: float = -math.inf) -> float:
    """A finite number that a body must have; a `FormatError` where it does not."""
    value: Any = body.get(name)
    is_number = type(value) is float or type(value) is int
    if not is_number or not least <= value <= _LARGEST or value < -_LARGEST:
        raise FormatError(f"`{name}` is {value!r:.60}")
    return value  # type: ignore[no-any-return]  # a number


def _request(body: Body) -> str:
    """The worker's name for what it asked; nothing depends on it once the trial has ended."""
    request = body.get("claim")
    return request if type(request) is str else ""


def _id(trial: int | None) -> int:
    if trial is None or trial < 0:
        raise FormatError("it names no trial")
    return trial


def _failure(body: Body) -> tuple[int, FailureKind, str]:
    kind = member(body, "kind", str)
    if kind not in FAILURE_KINDS:
        raise FormatError(f"its kind of failure is {kind!r:.40}")
    return member(body, "attempt", int), kind, member(body, "reason", str)


def _details(body: Body, others: frozenset[str]) -> Mapping[str, Any]:
    if body.keys() == others:
        return NO_DETAILS
    return {name: item for name, item in body.items() if name not in others}


def _slot(data: Any) -> Slot | None:
    if data is None:
        return None
    if type(data) is list and len(data) == 2:
        bracket, rung = data
        if type(bracket) is int and type(rung) is int and bracket >= 0 and rung >= 0:
            return Slot(bracket, rung)
    raise FormatError(f"`slot` is {data!r:.60}")
