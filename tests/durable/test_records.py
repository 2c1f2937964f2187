"""Records: each kind comes back from its row, and nothing else is taken for one."""

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import priorband as pb
from priorband.durable.records import (
    NO_DETAILS,
    AdoptedRecord,
    AskedRecord,
    BudgetRecord,
    CreatedRecord,
    FailedRecord,
    PriorRecord,
    QueuedRecord,
    Record,
    RemarkRecord,
    ReturnedRecord,
    ToldRecord,
    decode,
    sealed_row,
)
from priorband.errors import FormatError
from priorband.failures import FAILURE_KINDS
from priorband.storage.journal import Row, sealed
from priorband.storage.json_text import to_json
from priorband.trial import IMPORTED, Slot

PROBLEM = {"fidelity": {"high": 9}}
ids = st.integers(0, 2**31)
numbers = st.floats(allow_nan=False, allow_infinity=False)
above_zero = st.floats(1e-300, 1e300)
kinds = st.sampled_from(FAILURE_KINDS)
details = st.fixed_dictionaries(
    {},
    optional={"cost": numbers, "metrics": st.dictionaries(st.text(), numbers), "where": st.text()},
)
slots = st.none() | st.builds(Slot, ids, ids)
configs = st.dictionaries(st.text(), numbers)
origins = st.sampled_from(["prior", "uniform", "mode", "queued"])
asked = st.builds(AskedRecord, ids, above_zero, origins, slots, st.none(), configs, above_zero)
continued = st.builds(
    AskedRecord, ids, above_zero, origins, slots, ids, st.none(), above_zero, st.text()
)
imported = st.builds(AskedRecord, ids, above_zero, st.just(IMPORTED), st.none(), st.none(), configs)
records: st.SearchStrategy[Record] = st.one_of(
    st.builds(CreatedRecord, st.text(), st.just(PROBLEM), st.booleans()),
    st.builds(BudgetRecord, st.builds(pb.Budget, above_zero, st.integers(1, 99) | st.none())),
    st.builds(QueuedRecord, configs, st.none() | above_zero, st.none() | st.integers(0, 99)),
    st.builds(PriorRecord, st.none() | st.just({"@": "Independent", "space": None})),
    *(asked, continued, imported),
    st.builds(AdoptedRecord, ids, ids, above_zero, st.text()),
    st.builds(ReturnedRecord, ids, ids, kinds, st.text(), st.none() | numbers),
    st.builds(ToldRecord, ids, ids, numbers, details),
    st.builds(FailedRecord, ids, ids, kinds, st.text(), details),
    st.builds(RemarkRecord, ids, st.text(), ids, st.none() | numbers, st.none() | kinds, details),
)


@given(records, ids, numbers)
def test_a_record_comes_back_from_its_row(record: Record, before: int, at: float) -> None:
    row = sealed_row(record, 5, "worker", at, before)
    assert (row.seq, row.kind, row.worker, row.at) == (5, record.kind, "worker", at)
    assert row.trial == record.trial and row.seal == sealed(before, row)
    assert decode(row) == record
    assert decode(row).encode() == record.encode()


def row(kind: str, trial: int | None, body: dict[str, Any]) -> Row:
    return Row(2, kind, trial, "worker", 0.5, to_json(body), 0)


ASKED = {"fidelity": 3, "origin": "prior", "slot": [0, 1], "config": {}, "start": 0, "claim": ""}
WRONG: list[tuple[str, int | None, dict[str, Any], str]] = [
    ("Created", None, {}, "its kind 'Created' is unknown"),
    ("created", None, {"format": "1"}, "`format` is '1'"),
    ("created", None, {"format": 5}, "this library reads up to 4"),
    ("created", None, {"format": 1, "problem": {"fidelity": {"high": 0}}}, "`high` is 0"),
    ("budget", None, {"days": 3}, "it limits something unknown"),
    ("budget", None, {"trials": -1}, "above 0"),
    ("queued", None, {"config": {}, "fidelity": "3"}, "`fidelity` is '3'"),
    ("prior", None, {}, "it is not about the prior alone"),
    ("prior", 3, {"prior": None}, "it is not about the prior alone"),
    ("prior", None, {"prior": None, "at": 3}, "it is not about the prior alone"),
    ("prior", None, {"prior": []}, r"`prior` is \[\]"),
    ("asked", None, ASKED, "it names no trial"),
    ("asked", -1, ASKED, "it names no trial"),
    ("asked", 0, ASKED | {"fidelity": True}, "`fidelity` is True"),
    ("asked", 0, ASKED | {"fidelity": 0}, "`fidelity` is 0"),
    ("asked", 0, ASKED | {"slot": [0, 1, 2]}, r"`slot` is \[0, 1, 2\]"),
    ("asked", 0, ASKED | {"parent": "2"}, "`parent` is '2'"),
    ("asked", 0, ASKED | {"start": -1}, "`start` is -1"),
    ("adopted", 0, {"attempt": 1.5}, "`attempt` is 1.5"),
    ("returned", 0, {"attempt": 1, "kind": "bored", "reason": ""}, "kind of failure is 'bored'"),
    ("told", 0, {"attempt": 1, "loss": None}, "`loss` is None"),
    ("told", 0, {"attempt": 1, "loss": 0.5, "cost": "much"}, "`cost` is 'much'"),
    ("failed", 0, {"attempt": 1, "kind": "raised"}, "`reason` is None"),
    ("remark", 0, {"text": 3}, "`text` is 3"),
]


@pytest.mark.parametrize(("kind", "trial", "body", "message"), WRONG)
def test_what_is_not_a_record_is_refused(
    kind: str, trial: int | None, body: dict[str, Any], message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        decode(row(kind, trial, body))


@pytest.mark.parametrize(
    "record",
    [
        QueuedRecord({}, 1e-305),
        AskedRecord(0, 1.0, "own", Slot(-1, 0), None, {}),
        AskedRecord(0, 1.0, "own", Slot(True, 0), None, {}),
        ToldRecord(0, 1, 0.5, {"cost": None}),
        ToldRecord(0, 1, 0.5, {"cost": "much"}),
        ToldRecord(-1, 1, 0.5),
        FailedRecord(0, 1, "bored", ""),  # type: ignore[arg-type]  # wrong on purpose
        CreatedRecord("id", {"fidelity": {"high": 1e-303}}, False),
    ],
    ids=repr,
)
def test_what_could_not_be_read_again_is_not_written(record: Record) -> None:
    with pytest.raises(FormatError):
        sealed_row(record, 1, "worker", 0.5, 0)


def test_the_default_details_are_shared_and_cannot_be_changed() -> None:
    for record in (ToldRecord(0, 1, 0.5), FailedRecord(0, 1, "raised", ""), RemarkRecord(0, "")):
        copies = copy.deepcopy(record), pickle.loads(pickle.dumps(record))
        assert all(again == record and again.details is NO_DETAILS for again in copies)
        with pytest.raises(TypeError):
            record.details["cost"] = 1.0  # type: ignore[index]  # wrong on purpose


def test_fields_that_older_records_lack_take_their_defaults() -> None:
    for odd in ({}, {"claim": 3}):
        old = decode(row("asked", 0, {n: ASKED[n] for n in ASKED if n != "claim"} | odd))
        assert isinstance(old, AskedRecord) and old.request == ""
    assert decode(row("adopted", 3, {"attempt": 2})) == AdoptedRecord(3, 2)
    assert decode(row("remark", None, {"text": "hm"})) == RemarkRecord(None, "hm")
