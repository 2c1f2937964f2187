"""A study with every kind of record, and ways to write one from records of one's own."""

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import priorband as pb
from priorband.durable.messages import Assignment, Report
from priorband.events import Event
from priorband.problem import Problem
from priorband.repair.salvage import Salvage
from priorband.storage.checkpoints import Checkpoints
from priorband.storage.high_water import HighWater
from priorband.storage.journal import BASE_FORMAT, FORMAT, Row, sealed
from priorband.storage.json_text import from_json, to_json
from priorband.storage.sqlite_file import APPLICATION_ID, TABLES

SPACE = pb.Space(
    {
        "x": pb.Float(0, 1, prior=0.4),
        "n": pb.Integer(1, 64, log=True),
        "kind": pb.Categorical(["a", "b", (1, 2)]),
    }
)
CONDITIONAL = pb.Space(
    {
        "x": pb.Float(0, 1, prior=0.4),
        "n": pb.Integer(1, 64, log=True),
        "kind": pb.Categorical(
            {
                "a": {"alpha": pb.Float(0, 1, step=0.25, prior=0.5)},
                "b": {"beta": pb.Categorical({"p": {"gamma": pb.Integer(2, 8, step=2)}, "q": {}})},
                (1, 2): {},
            }
        ),
        "skip": pb.Float(0, 1, prior=0.3, when={"n": pb.at_least(4), "kind": ["a", (1, 2)]}),
        "width": pb.Ordinal([16, 32, "large"], when={"x": pb.at_most(0.5)}),
        "version": pb.Constant(3, when={"kind": "b"}),
    }
)
CHILDREN: dict[Any, dict[str, Any]] = {
    "b": {"beta": "p", "gamma": 4, "width": 32, "version": 3},
    (1, 2): {"skip": 0.25, "width": 16},
    "a": {"alpha": 0.75, "skip": 0.5, "width": "large"},
}
"""What the configurations that `fill` writes need beside the usual, by kind."""
EPOCHS = pb.Fidelity("epochs", 1, 9)
PROBLEM = Problem(SPACE, SPACE.prior, EPOCHS, pb.optimizer("priorband"), 0)
PAGE = 4096


def loss(trial: pb.Trial) -> float:
    return float((trial.config["x"] - 0.3) ** 2 + 1 / trial.fidelity)


def tell_some(study: pb.DurableStudy, trials: int) -> None:
    """Ask for trials and tell them; each sixth fails."""
    for _ in range(trials):
        trial = study.ask()
        if trial.id % 6 == 3:
            study.fail(trial, "it was not to be")
        else:
            study.tell(trial, loss(trial), accuracy=0.5)


def fill(
    study: pb.DurableStudy, trials: int = 20, others: Mapping[Any, Mapping[str, Any]] | None = None
) -> tuple[Event, ...]:
    """Write each kind of record; two trials are left running.

    `others` says which settings the configurations of a kind have beside the usual.
    """
    if others is None:
        others = CHILDREN if study.space.conditional else dict.fromkeys(CHILDREN, {})
    study.limit(500)
    study.add({"x": 0.5, "n": 3, "kind": "b", **others["b"]}, 0.7)
    tell_some(study, trials // 2)
    study.queue({"x": 0.2, "n": 4, "kind": (1, 2), **others[1, 2]}, 3)
    study.queue({"x": 0.3, "n": 5, "kind": "a", **others["a"]})
    claim = study.turn(None, "first")
    assert isinstance(claim, Assignment)
    again = study.turn(Report(claim.trial.id, 1, None, "preempted", "SIGTERM"), "second")
    assert isinstance(again, Assignment) and again.attempt == 2
    study.turn(Report(again.trial.id, 2, 0.44), "")
    study.turn(Report(again.trial.id, 1, 0.43), "")
    tell_some(study, trials - trials // 2)
    study.ask()
    study.ask()
    return study.state.history.events


class Shapes(NamedTuple):
    """A study's files at moments of its life, and what they tell."""

    closed: Path
    """study.db and study.head alone."""
    live: Path
    """While a process is at work: nearly all is in the log."""
    copied: Path
    """The same, without the log's index: as after a power loss, or copied."""
    halfway: Path
    """A crash while the log is brought back: every other page of study.db is new already."""
    older: Path
    """Closed, but earlier."""
    earlier: Path
    """Live, but earlier."""
    events: tuple[Event, ...]
    records: int


def write_shapes(folder: Path) -> Shapes:
    """Make them of one study."""
    names = ("closed", "live", "copied", "halfway", "older", "earlier")
    closed, live, copied, halfway, older, earlier = (folder / name for name in names)
    with pb.open_study(closed, SPACE, EPOCHS) as study:
        tell_some(study, 4)
    shutil.copytree(closed, older)
    with pb.open_study(closed) as study:
        tell_some(study, 1)
        shutil.copytree(closed, earlier)
        fill(study, 12)
        shutil.copytree(closed, live)
        shutil.copytree(closed, copied, ignore=shutil.ignore_patterns("*-shm"))
        shutil.copytree(copied, halfway)
        happened, last = study.state.history.events, study.ledger.seq
    whole = (closed / "study.db").read_bytes()
    with open(halfway / "study.db", "r+b") as file:
        for start in range(PAGE, len(whole), 2 * PAGE):
            file.seek(start)
            file.write(whole[start : start + PAGE])
    return Shapes(closed, live, copied, halfway, older, earlier, happened, last)


def checkpoints_in(folder: Path, study: str = "0123456789abcdef") -> Checkpoints:
    """The checkpoints in a folder, all of one configuration."""
    return Checkpoints(folder, study, lambda trial: "config")


def events(where: str | Path, read_only: bool = True) -> tuple[Event, ...]:
    """What a study says has happened."""
    with pb.open_study(where, read_only=read_only) as study:
        return study.state.history.events


def rows(where: str | Path) -> list[Row]:
    """A study's records."""
    with pb.open_study(where, read_only=True) as study:
        return study.journal.read(0)


def resealed(changed: Iterable[Row]) -> list[Row]:
    """Records with the seals that a writer would have given them."""
    made: list[Row] = []
    for row in changed:
        made.append(row._replace(seal=sealed(made[-1].seal if made else 0, row)))
    return made


def write_rows(folder: Path, made: Sequence[Sequence[Any]], head: tuple[int, int] | None) -> Path:
    """A study of any records, without a look at them."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "study.db")) as connection:
        connection.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {_stated_format(made)}")
        for table in TABLES:
            connection.execute(table)
        connection.executemany("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?)", made)
        connection.commit()
    if head is not None:
        witness = HighWater(folder)
        witness.write(*head)
        witness.close()
    return folder


def _stated_format(made: Sequence[Sequence[Any]]) -> int:
    """The version that the first record states, if it can be read."""
    with suppress(Exception):
        version = from_json(made[0][5])["format"]
        return version if version in range(BASE_FORMAT, FORMAT + 1) else BASE_FORMAT
    return BASE_FORMAT


def end(made: Sequence[Row]) -> tuple[int, int]:
    """What a head says after these records."""
    return made[-1].seq, made[-1].seal


def altered(row: Row, **changes: Any) -> Row:
    """A record with some members of its body changed; None takes one out."""
    data = from_json(row.body) | changes
    return row._replace(
        body=to_json({name: item for name, item in data.items() if item is not None})
    )


def numbers(salvage: Salvage) -> set[int]:
    """The records that a salvage says it has dropped."""
    found = set[int]()
    for finding in salvage.dropped:
        match = re.fullmatch(r"records? (-?\d+)(?: to (\d+))?", finding.where)
        if match:
            found |= {*range(int(match[1]), int(match[2] or match[1]) + 1)}
    return found


def alter_file(path: Path, change: Callable[[bytearray], object]) -> None:
    """Change a file's bytes."""
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
