"""The cells of a trial's row in a table, made from the records that asked and ended the trial.

A long study has many records, so those of the usual form are not decoded: a regular expression
finds the numbers in them, which are copied as they are. A record stores a number as Python prints
it, so decoding it and printing it again would give the same text. All other records are decoded.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, final

from priorband.durable.records import STARTUP, AskedRecord, FailedRecord, ToldRecord
from priorband.durable.serialize import SCALARS, TAG, config_reader, number_test, survives_json
from priorband.space.base import Parameter
from priorband.space.choices import Constant
from priorband.space.parameters import Float, Integer
from priorband.space.space import Space
from priorband.storage.json_text import from_json
from priorband.trial import IMPORTED, Slot

INACTIVE = ""
"""The cell of a setting that is not active."""
_COUNT = r"(?:0|[1-9]\d{0,14})"
_FLOAT = r"(?:0|[1-9]\d{0,16})(?:\.(?:0|\d{0,20}[1-9])(?:e[+-]\d\d)?|e[+-]\d\d)"  # finite
_AMOUNT = f"(?:{_FLOAT}|{_COUNT})"  # a number that is not negative
_TEXT = r'[^"\\\x00-\x1f]{0,1000}'  # without escapes
_CHOICE = rf'"{_TEXT}"|[^"{{}}\[\],]+|\{{"@":"choice","index":{_COUNT}\}}'
_TOLD = re.compile(
    rf'\{{(?:"cost":(-?{_AMOUNT}),)?(?:"metrics":(\{{[^{{}}]*\}}),)?(?:"seconds":(-?{_AMOUNT}),)?'
    rf'(?:"{STARTUP}":{_AMOUNT},)?'
    rf'"attempt":({_COUNT}),"loss":(-?{_FLOAT})\}}'
)


class TableFormat(Protocol):
    """How a table writes values. Numbers are written as Python prints them."""

    @property
    def null(self) -> str:
        """The cell of a value that does not apply, or is not known."""

    def text(self, value: Any, /) -> str:
        """The cell of any value."""

    def time(self, at: float, /) -> str:
        """The cell of a time in seconds since 1970."""


class AskedCells(NamedTuple):
    """What the record says that asked a trial."""

    parent: int | None
    slot: Slot | None
    origin: str
    origin_cell: str
    fidelity: float
    fidelity_cell: str
    config: list[str] | None
    """The cells of all settings, empty for an inactive one; None where they are the parent's."""


class EndCells(NamedTuple):
    """What the record says that ended a trial."""

    attempt: int
    kind: str
    reason: str
    value: str
    loss: str
    cost: str
    seconds: str | None
    """None if the record does not say how long the trial took."""
    metrics: Mapping[str, Any]


@final
class AskedReader:
    """Reads the records that asked the trials of a study."""

    def __init__(self, space: Space, form: TableFormat) -> None:
        self._form = form
        self._origin_cell = lru_cache(1000)(form.text)
        self._read_config = config_reader(space)
        self._names = tuple(space.parameters)
        parameters = space.parameters.values()
        self._frame = [form.text(getattr(p, "value", None)) for p in parameters]
        """The cells of a configuration, with those of constants filled in."""
        self._places = [n for n, p in enumerate(parameters) if not isinstance(p, Constant)]
        self._cells = [_usual_cell(parameter, form) for parameter in space.searched.values()]
        settings = ",".join(
            re.escape(f"{json.dumps(name)}:") + f"({_pattern(parameter)})"
            for name, parameter in space.searched.items()
        )
        if space.conditional:  # which settings there are depends on their values
            settings += "(?!)"  # matches nothing
        self._match = re.compile(
            rf'\{{"fidelity":({_AMOUNT}),"origin":"({_TEXT})"'
            rf'(?:,"slot":\[({_COUNT}),({_COUNT})\])?'
            rf'(?:,"parent":({_COUNT})|,"config":\{{{settings}\}})'
            rf'(,"start":{_AMOUNT},"claim":"{_TEXT}")?\}}'
        ).fullmatch

    def read(self, trial: int, body: str) -> AskedCells:
        """The cells of a record; an error of `INVALID` if it is not valid."""
        return self._usual(body) or self._decoded(trial, body)

    def _usual(self, body: str) -> AskedCells | None:
        """The cells of a record of the usual form; None for all others, and if it is not valid."""
        match = self._match(body)
        if match is None:
            return None
        fidelity, origin, bracket, rung, parent, *settings, start = match.groups()
        config = None
        if parent is None:
            config = self._frame.copy()
            for place, cell, text in zip(self._places, self._cells, settings, strict=True):
                setting = cell(text)
                if setting is None:
                    return None
                config[place] = setting
        if float(fidelity) <= 0 or (start is None and origin != IMPORTED):
            return None
        slot = None if bracket is None else Slot(int(bracket), int(rung))
        about = (slot, origin, self._origin_cell(origin), float(fidelity), fidelity)
        return AskedCells(None if parent is None else int(parent), *about, config)

    def _decoded(self, trial: int, body: str) -> AskedCells:
        record, config = AskedRecord.decode(trial, from_json(body)), None
        if record.parent is None:
            found, text = self._read_config(record.config), self._form.text
            config = [text(found[name]) if name in found else INACTIVE for name in self._names]
        origin, fidelity = record.origin, record.fidelity
        about = (origin, self._origin_cell(origin), fidelity, self._form.text(fidelity))
        return AskedCells(record.parent, record.slot, *about, config)


@final
class EndReader:
    """Reads the records that ended the trials of a study."""

    def __init__(self, form: TableFormat, maximize: bool) -> None:
        self._form = form
        self._maximize = maximize

    def told(self, trial: int, body: str) -> EndCells:
        """The cells of a trial that ended with a loss; an error of `INVALID` if not valid."""
        match, null = _TOLD.fullmatch(body), self._form.null
        if match is not None:
            cost, metrics, seconds, attempt, loss = match.groups()
            value = loss
            if self._maximize:
                value = loss[1:] if loss[0] == "-" else f"-{loss}"
            found = {} if metrics is None else from_json(metrics)
            return EndCells(int(attempt), null, null, value, loss, cost or null, seconds, found)
        told, text = ToldRecord.decode(trial, from_json(body)), self._form.text
        value = text(-told.loss if self._maximize else told.loss)
        return EndCells(told.attempt, null, null, value, text(told.loss), *self._details(told))

    def failed(self, trial: int, body: str) -> EndCells:
        """The cells of a trial that ended without a loss; an error of `INVALID` if not valid."""
        failed, text = FailedRecord.decode(trial, from_json(body)), self._form.text
        null, kind, reason = self._form.null, text(failed.failure), text(failed.reason)
        return EndCells(failed.attempt, kind, reason, null, null, *self._details(failed))

    def _details(self, end: ToldRecord | FailedRecord) -> tuple[str, str | None, Mapping[str, Any]]:
        details, text = end.details, self._form.text
        seconds = text(details["seconds"]) if "seconds" in details else None
        metrics = details.get("metrics")
        return text(end.cost), seconds, metrics if isinstance(metrics, dict) else {}


def _pattern(parameter: Parameter) -> str:
    """What the stored value of a parameter looks like."""
    if isinstance(parameter, Float | Integer):
        return f"-?{_FLOAT}" if isinstance(parameter, Float) else f"-?{_COUNT}"
    return _CHOICE


def _usual_cell(parameter: Parameter, form: TableFormat) -> Callable[[str], str | None]:
    """A function that makes a cell of a stored value's text; None for one that is not allowed."""
    if isinstance(parameter, Float | Integer):
        low, high = parameter.low, parameter.high
        if parameter.grid is not None:
            kind, fits = float if isinstance(parameter, Float) else int, number_test(parameter)
            return lambda text: text if fits(kind(text)) else None
        return lambda text: text if low <= float(text) <= high else None
    cells = {}
    for index, choice in enumerate(parameter.choices):
        itself = type(choice) in SCALARS and survives_json(choice)
        stored = choice if itself else {TAG: "choice", "index": index}
        cells[json.dumps(stored, separators=(",", ":"))] = form.text(choice)
    return cells.get
