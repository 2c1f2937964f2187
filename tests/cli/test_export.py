"""`priorband export` prints what the history says, of any study, and notices all damage."""

import csv
import json
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
import stored_studies
from amounts import examples, slow
from commands import BASIC, priorband, started
from export_reference import table
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator
from servers import Server, fresh_url
from space.conditional_spaces import SPACES as CONDITIONAL
from stored_studies import Shapes, end, events, fill, rows, write_rows
from waiting import wait_until

import priorband as pb
from priorband.cli.entry_point import main
from priorband.cli.export_command import exported as exporting
from priorband.durable import trial_table
from priorband.durable.open import created_record
from priorband.durable.records import (
    AdoptedRecord,
    AskedRecord,
    BudgetRecord,
    FailedRecord,
    QueuedRecord,
    Record,
    RemarkRecord,
    ReturnedRecord,
    ToldRecord,
    sealed_row,
)
from priorband.durable.serialize import config_writer
from priorband.failures import FAILURE_KINDS
from priorband.problem import Problem
from priorband.storage.journal import Row
from priorband.storage.sqlite import SqliteJournal
from priorband.trial import Slot
from priorband.values import replaced

SPACE = pb.Space(
    {
        "=lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
        "x": pb.Float(-1e30, 1e30),
        "n": pb.Integer(-5, 64),
        'a,"é"': pb.Categorical(["=1+1", " -x", "\x1b[2J", (1, ("a", 2.5)), None, True, "é,"]),
        "odd": pb.Categorical([float("inf"), float("-inf"), 1.5, "'", "1"]),
        "depth": pb.Ordinal([2, 4, 8, "@16"]),
        "fixed": pb.Constant(("+", 1)),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 9)
RUNGS = (1, 3, 9)
PROBLEM = Problem(SPACE, SPACE.prior, EPOCHS, pb.optimizer("priorband"), 0)
TEXTS = (
    *("", "plain", "=1+1", " +x", "\t@a", "-5", "a\nb", "a\r\nb", 'say "x", y', "\x1b[2J\x00"),
    *("\u202e", "é€\U0001f600", "raised: twice", "'", '"', ",", "\u2028", "[1]", "\ud800"),
)
NUMBERS = (0, 1, -3, 2**70, 0.0, -0.0, 0.1, -2.5, 1e-5, 1e16, 1.5e300, 5e-324, 0.1 + 0.2)
TIMES = (0.0, 0.5, 1.0, 1e9, 1.7e9 + 1 / 3, 1.7e9 + 0.9999999, 2.5e-6, -1.5, 1e12, 4e17, -1e12)


class Writer:
    """Writes the records of a random study that could have happened."""

    def __init__(self, random: Random, maximize: bool, space: pb.Space = SPACE) -> None:
        self.random, self.rows = random, list[Row]()
        self.space, self.write_config = space, config_writer(space)
        self.asked: list[AskedRecord] = []
        self.open: dict[int, int] = {}
        """The attempt that each running trial is at."""
        self.waiting: set[int] = set()
        self.succeeded: list[AskedRecord] = []
        self.queue = 0
        problem = replaced(PROBLEM, space=space, prior=space.prior)
        self.write(created_record(problem, maximize))

    def write(self, record: Record) -> None:
        worker = self.random.choice([text for text in TEXTS if text != "\ud800"])
        at = self.random.choice([*TIMES, self.random.uniform(1e9, 2e9)])
        before = self.rows[-1].seal if self.rows else 0
        self.rows.append(sealed_row(record, len(self.rows) + 1, worker, at, before))

    def step(self) -> None:
        steps = (self.ask, self.ask, self.finish, self.finish, self.promote, self.give_back)
        others = (self.adopt, self.import_one, self.wish, self.say, self.limit)
        self.random.choice([*steps, *others])()

    def config(self) -> dict[str, Any]:
        sizes = self.space.sizes
        encoded = [self.random.randrange(size) if size else self.number() for size in sizes]
        return self.write_config(self.space.decode([float(code) for code in encoded]))

    def number(self) -> float:
        return self.random.choice([0.0, 1.0, self.random.random()])

    def ask(self) -> None:
        origin = self.random.choice(["uniform", "prior", *TEXTS, *["queued"] * (self.queue > 0)])
        self.queue -= origin == "queued"
        rung = self.random.randrange(3)
        slot = self.random.choice([None, Slot(self.random.randrange(4), rung)])
        fidelity = self.random.choice([2, 0.5, 9.0]) if slot is None else RUNGS[rung]
        self.hand_out(fidelity, origin, slot, None, self.config())

    def promote(self) -> None:
        parents = [record for record in self.succeeded if record.fidelity < 9]
        if parents:
            parent = self.random.choice(parents)
            rung = next(n for n, fidelity in enumerate(RUNGS) if fidelity > parent.fidelity)
            slot = Slot(self.random.randrange(4), rung)
            self.hand_out(RUNGS[rung], parent.origin, slot, parent.trial, None)

    def hand_out(
        self, fidelity: float, origin: str, slot: Slot | None, parent: int | None, config: Any
    ) -> None:
        new, about = len(self.asked), (fidelity, origin, slot, parent, config)
        start, claim = self.random.choice([0, 1, 0.5]), self.random.choice(TEXTS)
        self.asked.append(AskedRecord(new, *about, start, claim))
        self.open[new] = 1
        self.write(self.asked[-1])

    def import_one(self) -> None:
        new = len(self.asked)
        fidelity = self.random.choice([1, 3, 4.5])
        self.asked.append(AskedRecord(new, fidelity, "imported", None, None, self.config()))
        self.write(self.asked[-1])
        if self.random.random() < 0.9:
            self.end(new, 0)

    def finish(self) -> None:
        if self.open:
            trial = self.random.choice([*self.open])
            attempt = self.random.randint(1, self.open.pop(trial))
            self.waiting.discard(trial)
            self.end(trial, attempt)

    def end(self, trial: int, attempt: int) -> None:
        choose = self.random.choice
        details: dict[str, Any] = {}
        if choose([0, 1]):
            details["cost"] = choose(NUMBERS)
        if choose([0, 1]):
            details["seconds"] = choose([*NUMBERS, *NUMBERS, None, "=x", [1, "a"], True])
        if choose([0, 1]):
            values = [*NUMBERS, *TEXTS, None, True, [1.5, {"a": None}], {"=": "\n"}]
            names = self.random.sample(["loss", "acc", *TEXTS], self.random.randrange(4))
            details["metrics"] = {name: choose(values) for name in names}
        if not choose([0] * 9 + [1]):
            details.setdefault("metrics", choose([[1], "x", {}]))
        if choose([0, 0, 0, 1]):
            details |= {"traceback": choose(TEXTS), "where": "f.py:1"}
            kind, reason = choose(FAILURE_KINDS), choose(TEXTS)
            self.write(FailedRecord(trial, attempt, kind, reason, details))
        else:
            loss = choose([*NUMBERS, self.random.gauss(0, 1)])
            self.write(ToldRecord(trial, attempt, loss, details))
            self.succeeded += [self.asked[trial]] * (attempt > 0)

    def give_back(self) -> None:
        held = [*self.open.keys() - self.waiting]
        if held:
            trial, kind = self.random.choice(held), self.random.choice(FAILURE_KINDS)
            self.waiting.add(trial)
            self.write(ReturnedRecord(trial, self.open[trial], kind, self.random.choice(TEXTS)))

    def adopt(self) -> None:
        if self.waiting:
            trial = self.random.choice(sorted(self.waiting))
            self.waiting.remove(trial)
            self.open[trial] += 1
            self.write(AdoptedRecord(trial, self.open[trial], 0, self.random.choice(TEXTS)))

    def wish(self) -> None:
        self.queue += 1
        self.write(QueuedRecord(self.config(), self.random.choice([None, 3])))

    def say(self) -> None:
        trial = self.random.choice([None, *range(len(self.asked))])
        details = {"metrics": {"late": 1}} if trial else {}
        self.write(RemarkRecord(trial, "late", 1, 0.5, None, details))

    def limit(self) -> None:
        self.write(BudgetRecord(pb.Budget(trials=self.random.randrange(1, 999))))


def exported(where: Path | str, word: str) -> str:
    """What the command prints, made in this process."""
    with exporting(str(where), as_json=word == "--json") as text:
        return "".join(text)


def assert_as_the_history(where: Path | str) -> None:
    assert exported(where, "--csv") == table(str(where))
    assert exported(where, "--json") == table(str(where), as_json=True)


@settings(max_examples=examples(200))
@given(seed=st.integers(0, 2**32), maximize=st.booleans(), steps=st.integers(0, 80))
def test_a_random_study_is_exported_as_its_history(seed: int, maximize: bool, steps: int) -> None:
    writer = Writer(Random(seed), maximize)
    for _ in range(steps):
        writer.step()
    with tempfile.TemporaryDirectory() as place:
        folder = write_rows(Path(place, "study"), writer.rows, end(writer.rows))
        assert_as_the_history(folder)


@settings(max_examples=examples(100))
@given(seed=st.integers(0, 2**32), name=st.sampled_from(sorted(CONDITIONAL)))
def test_a_random_conditional_study_is_exported_as_its_history(seed: int, name: str) -> None:
    writer = Writer(Random(seed), maximize=False, space=CONDITIONAL[name])
    for _ in range(40):
        writer.step()
    with tempfile.TemporaryDirectory() as place:
        folder = write_rows(Path(place, "study"), writer.rows, end(writer.rows))
        assert_as_the_history(folder)


def test_what_is_inactive_has_an_empty_cell_in_csv_and_is_left_out_of_json(place: Path) -> None:
    space = stored_studies.CONDITIONAL
    with pb.open_study(place / "study", space, EPOCHS, "random") as study:
        study.add({"x": 0.75, "n": 2, "kind": "a", "alpha": 0.25}, 0.5)
        study.add({"x": 0.25, "n": 2, "kind": "b", "beta": "q", "width": 16, "version": 3}, 0.5)
    header, *lines = csv.reader(exported(place / "study", "--csv").splitlines())
    first = header.index("config.x")
    assert header[first:] == [f"config.{name}" for name in space.parameters]
    assert [line[first:] for line in lines] == [
        ["0.75", "2", "a", "0.25", "", "", "", "", ""],
        ["0.25", "2", "b", "", "q", "", "", "16", "3"],
    ]
    assert [row["config"] for row in json.loads(exported(place / "study", "--json"))] == [
        {"x": 0.75, "n": 2, "kind": "a", "alpha": 0.25},
        {"x": 0.25, "n": 2, "kind": "b", "beta": "q", "width": 16, "version": 3},
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_it_does_not_matter_how_many_are_read_at_a_time(
    place: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    writer = Writer(Random(0), maximize=False)
    for _ in range(200):
        writer.step()
    folder = write_rows(place / "study", writer.rows, end(writer.rows))
    monkeypatch.setattr(trial_table, "TRIALS_AT_ONCE", size)
    monkeypatch.setattr(SqliteJournal.read_in_pages, "__defaults__", (size,))
    assert_as_the_history(folder)


@pytest.mark.parametrize("shape", ["closed", "live", "copied", "halfway", "older", "earlier"])
def test_a_study_is_exported_from_any_shape_of_its_files(shapes: Shapes, shape: str) -> None:
    assert_as_the_history(getattr(shapes, shape))


class Mine:
    """A sampler that no record can name."""

    def sample(self, state: pb.State, rung: int, rng: Generator) -> pb.samplers.Draw:
        return pb.samplers.FromUniform().sample(state, rung, rng)


def test_a_method_of_ones_own_is_not_needed(place: Path) -> None:
    method = pb.Optimizer(pb.schedulers.ASHA(), Mine(), eta=2)
    with pb.open_study(place / "study", stored_studies.SPACE, EPOCHS, method) as study:
        fill(study)
    rows = json.loads(exported(place / "study", "--json"))
    assert len(rows) == len(study.state.history) and {2, 4} & {row["fidelity"] for row in rows}


@pytest.mark.parametrize("word", ["--csv", "--json"])
def test_the_output_does_not_depend_on_where_it_goes(
    shapes: Shapes, place: Path, word: str
) -> None:
    assert main(["export", str(shapes.closed), word, "-o", str(place / "file")]) == 0
    expected = exported(shapes.closed, word)
    assert (place / "file").read_bytes().decode() == expected
    assert priorband("export", shapes.closed, word).stdout == expected


DAMAGE = {
    "another body": "UPDATE record SET body = replace(body, '1', '2') WHERE seq = 20",
    "another time": "UPDATE record SET at = at + 1 WHERE seq = 20",
    "another seal": "UPDATE record SET seal = seal + 1 WHERE seq = 20",
    "a record less": "DELETE FROM record WHERE seq = 20",
    "the last record less": "DELETE FROM record WHERE seq = (SELECT max(seq) FROM record)",
    "a last record of no sense": "UPDATE record SET seq = 99999 WHERE seq = 20",
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("word", ["--csv", "--json"])
def test_a_damaged_study_is_not_exported(
    shapes: Shapes, place: Path, capsys: pytest.CaptureFixture[str], damage: str, word: str
) -> None:
    shutil.copytree(shapes.closed, place / "study")
    with closing(sqlite3.connect(place / "study" / "study.db")) as connection, connection:
        assert connection.execute(DAMAGE[damage]).rowcount == 1
    with pytest.raises(pb.errors.DamagedError) as caught:
        events(place / "study")
    (place / "table").write_text("as before")
    before = [*place.iterdir()]
    for words in ([], ["-o", str(place / "table")]):
        assert main(["export", str(place / "study"), word, *words]) == 1
        out, err = capsys.readouterr()
        assert (out, err) == ("", f"priorband: {caught.value}\n")
    assert (place / "table").read_text() == "as before" and [*place.iterdir()] == before


def test_another_head_is_noticed(shapes: Shapes, place: Path) -> None:
    found = rows(shapes.closed)
    folder = write_rows(place / "study", found, (found[9].seq, found[9].seal + 1))
    for reading in (lambda: events(folder), lambda: exported(folder, "--csv")):
        with pytest.raises(pb.errors.DamagedError, match="study.head says that record 10 was"):
            reading()


@pytest.mark.parametrize("space", [stored_studies.SPACE, stored_studies.CONDITIONAL])
@pytest.mark.parametrize("where", ["sqlite", "postgres"])
def test_a_database_is_exported_as_a_folder_is(
    request: pytest.FixtureRequest, place: Path, where: str, space: pb.Space
) -> None:
    """And what is written after the beginning does not come in."""
    url = str(place / "study")
    if where == "postgres":
        url = fresh_url(request.getfixturevalue("postgres"))
    folder = place if where == "postgres" else None
    with pb.open_study(url, space, EPOCHS, "hyperband+prior", folder=folder) as study:
        fill(study, 40)
        assert_as_the_history(url)
        expected = table(url)
        with exporting(url) as text:
            fill(study, 3)
            assert "".join(text) == expected != table(url)


def test_damage_in_a_database_is_noticed(
    postgres: Server, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import psycopg

    url = fresh_url(postgres)
    with pb.open_study(url, stored_studies.SPACE, EPOCHS, folder=place) as study:
        fill(study, 10)
    schema = '"priorband ' + url.partition("#")[2] + '"'
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(
            f"UPDATE {schema}.record SET body = overlay(body placing '7' from 15) WHERE seq = 9"
        )
    assert main(["export", url]) == 1
    out, err = capsys.readouterr()
    assert out == "" and "record 9 is not what was written" in err


@slow
@pytest.mark.parametrize("where", ["sqlite", "postgres"])
def test_workers_go_on_while_their_study_is_exported(
    request: pytest.FixtureRequest, place: Path, where: str
) -> None:
    url, more = str(place / "study"), []
    if where == "postgres":
        url = fresh_url(request.getfixturevalue("postgres"))
        more = ["--folder", place / "files"]
    words = ("--workers", 4, "--trials", 200, "--same-process", "--quiet", *more)
    with started("run", url, *BASIC, *words) as process:
        wait_until(lambda: process.poll() is not None or _trials(url) > 20, "the first trials")
        texts = [exported(url, "--json")]
        while process.poll() is None:
            texts.append(exported(url, "--json"))
        assert process.returncode == 0
    last = json.loads(table(url, as_json=True))
    assert exported(url, "--json") == table(url, as_json=True) and len(last) == 200
    for text in texts:
        for row, final in zip(json.loads(text), last, strict=False):
            if row["status"] == "succeeded":
                known = row["outcome"] != "open"  # only what is open may still change
                assert known or final["outcome"] in ("open", "promoted", "stopped")
                assert row == (final if known else final | {"outcome": "open"})
            assert (row["trial"], row["config"]) == (final["trial"], final["config"])
    lengths = [len(json.loads(text)) for text in texts]
    assert lengths == sorted(lengths) and 20 < lengths[0] <= 200


def _trials(url: str) -> int:
    try:
        with pb.open_study(url, read_only=True) as study:
            return study.ledger.trials
    except pb.PriorbandError:  # it is not there yet
        return 0
