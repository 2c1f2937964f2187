"""The trials of a study as a list of records, which can become a table.

`Study.trials()` and `DurableStudy.trials()` return them. The columns of a table of trials are
listed here once: `priorband export` writes the same ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, final, overload

from priorband.errors import ExtraError
from priorband.explanations.outcomes import Outcome
from priorband.failures import split_reason
from priorband.history import History
from priorband.notebook import html_fields, html_table
from priorband.space.config import Config, ReadOnlyDict
from priorband.trial import Slot, Trial
from priorband.values import frozen

COLUMNS = (
    *("trial", "parent", "bracket", "rung", "origin", "fidelity"),
    *("status", "outcome", "kind", "reason", "value", "loss", "cost", "seconds"),
    *("attempts", "worker", "asked", "ended"),
)
"""The columns of a table of trials, before those of the settings and metrics.

The status is "succeeded", "failed", "running", or "waiting" for the next attempt. The outcome says
what became of the trial, as `priorband why` explains: "promoted", "stopped", ... The value is the
loss, or its negative if the study maximises. Seconds and worker are those of the attempt that ended
the trial, or else of the last one.
"""
_SHOWN = ("id", "outcome", "value", "fidelity", "bracket", "rung", "origin", "parent", "config")
_ROWS = 20
"""How many trials a notebook shows."""

NO_METRICS = ReadOnlyDict()
Status = Literal["succeeded", "failed", "running", "waiting"]


@final
@frozen
class TrialRecord:
    """One trial of a study, with its result and everything that is known about it."""

    id: int
    """The number of the trial, from 0."""
    config: Config
    """Its configuration."""
    fidelity: float
    """How far it is trained in total."""
    bracket: int | None
    """The bracket that it belongs to; None for trials that no scheduler placed."""
    rung: int | None
    """The rung that it is on; None for trials that no scheduler placed."""
    origin: str
    """Where the configuration comes from: "uniform", "prior", "incumbent", "queued", ..."""
    parent: int | None
    """The id of the trial that it continues."""
    status: Status
    """ "succeeded", "failed", "running", or "waiting" for the next attempt."""
    outcome: Outcome
    """What became of it: "promoted", "continued", "stopped", "open", "finished", "imported",
    "failed", "retried", "running" or "waiting". `study.why` explains it."""
    value: float | None = None
    """What the objective returned; None unless it succeeded."""
    loss: float | None = None
    """What the study minimises: the value, or its negative if the study maximises."""
    kind: str | None = None
    """The kind of failure, such as "raised"; None unless it failed."""
    reason: str | None = None
    """Why it failed, for people; None unless it failed."""
    cost: float | None = None
    """What it cost, if that was told."""
    metrics: Mapping[str, Any] = NO_METRICS
    """What else was told."""
    attempts: int = 1
    """How many attempts were made at it."""
    worker: str | None = None
    """The worker that ended it, or has it now; None in memory."""
    asked: datetime | None = None
    """When it was first handed out, by the clock of the storage; None in memory."""
    ended: datetime | None = None
    """When its result was stored; None in memory and while it is running."""
    seconds: float | None = None
    """How long the attempt took that ended it; None in memory and while it is running."""
    checkpoint: Path | None = None
    """The folder of its checkpoint, if it has left one that still exists."""

    @property
    def slot(self) -> Slot | None:
        """The bracket and the rung together; None for trials that no scheduler placed."""
        if self.bracket is None or self.rung is None:
            return None
        return Slot(self.bracket, self.rung)

    @property
    def failed(self) -> bool:
        """Whether it ended without a loss."""
        return self.status == "failed"

    def cells(self) -> dict[str, Any]:
        """The values of a row in a table: `COLUMNS`, then settings, metrics and the checkpoint."""
        row = {name: self.id if name == "trial" else getattr(self, name) for name in COLUMNS}
        row |= {f"config.{name}": value for name, value in self.config.items()}
        row |= {f"metrics.{name}": value for name, value in self.metrics.items()}
        return row | {"checkpoint": None if self.checkpoint is None else str(self.checkpoint)}

    def _repr_html_(self) -> str:
        cells = self.cells()
        known = ((name, cells[name]) for name in cells if cells[name] is not None)
        return html_fields(f"Trial {self.id}", known)


@final
class TrialRecords(Sequence[TrialRecord]):
    """The trials of a study, in the order in which they were asked: a list with more methods.

    Args:
        records: the trials.

    >>> from priorband import Float, Space, Study
    >>> study = Study(Space(x=Float(0, 1)), method="random")
    >>> _ = study.tell(study.ask(), 0.25)
    >>> study.ask().id
    1
    >>> study.trials()
    TrialRecords(2 trials: 1 succeeded, 1 running)
    >>> [(trial.id, trial.status, trial.value) for trial in study.trials()]
    [(0, 'succeeded', 0.25), (1, 'running', None)]
    """

    __slots__ = ("_records",)

    def __init__(self, records: Iterable[TrialRecord] = ()) -> None:
        self._records = tuple(records)

    @overload
    def __getitem__(self, index: int) -> TrialRecord: ...
    @overload
    def __getitem__(self, index: slice) -> "TrialRecords": ...
    def __getitem__(self, index: int | slice) -> "TrialRecord | TrialRecords":
        if isinstance(index, slice):
            return TrialRecords(self._records[index])
        return self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[TrialRecord]:
        return iter(self._records)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TrialRecords):
            return self._records == other._records
        return list(self) == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as that of a list

    def __repr__(self) -> str:
        return f"TrialRecords({self._summary()})"

    def _summary(self) -> str:
        counts = {status: 0 for status in Status.__args__}  # type: ignore[attr-defined]  # a Literal has them
        for record in self:
            counts[record.status] += 1
        found = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
        trials = f"{len(self)} trial{'' if len(self) == 1 else 's'}"
        return f"{trials}: {found}" if found else trials

    def _repr_html_(self) -> str:
        shown = self._records[-_ROWS:]
        caption = self._summary() + ("" if len(shown) == len(self) else f"; the last {_ROWS}:")
        rows = [[getattr(record, name) for name in _SHOWN] for record in shown]
        return html_table(["trial", *_SHOWN[1:]], rows, caption)

    def to_frame(self) -> Any:
        """Return the trials as a pandas DataFrame, one row for each.

        It has the columns of `priorband export`, and "checkpoint". A setting is in a column such
        as "config.lr", a metric in one such as "metrics.accuracy".

        Returns:
            The DataFrame.

        Raises:
            ExtraError: if pandas is not installed.
        """
        return frame([record.cells() for record in self], (*COLUMNS, "checkpoint"))


def frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Any:
    """A pandas DataFrame of rows: `columns` first, also if no row has them, then all others."""
    try:
        import pandas
    except ModuleNotFoundError:
        raise ExtraError(
            "`to_frame` needs pandas, which is not installed. Run "
            "`python -m pip install 'priorband[pandas]'`."
        ) from None
    names = dict.fromkeys([*columns, *(name for row in rows for name in row)])
    last = [name for name in ("checkpoint",) if name in names]
    ordered = [name for name in names if name not in last] + last
    return pandas.DataFrame(list(rows), columns=ordered)


def trial_record(
    trial: Trial,
    outcome: Outcome,
    history: History,
    maximize: bool,
    told: Mapping[str, Any] = NO_METRICS,
) -> TrialRecord:
    """The record of a trial in memory; `told` is what was told beside the loss."""
    status: Status = "running"
    loss = kind = reason = None
    ended = history.outcome(trial.id)
    if ended is not None and ended.failed:
        status, (kind, reason) = "failed", split_reason(ended.reason)
    elif ended is not None:
        status, loss = "succeeded", ended.loss
    metrics = dict(told)
    cost = metrics.pop("cost", None)
    return TrialRecord(
        trial.id,
        trial.config,
        trial.fidelity,
        trial.slot.bracket if trial.slot else None,
        trial.slot.rung if trial.slot else None,
        trial.origin,
        trial.parent,
        status,
        outcome,
        -loss if loss is not None and maximize else loss,
        loss,
        kind,
        reason,
        cost,
        metrics,
    )
