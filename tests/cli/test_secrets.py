"""A password goes nowhere: no output, log, warning, exception, record, file or process shows it."""

import inspect
import logging
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from amounts import slow, slow_unless_in
from commands import BASIC, WORKERS, environment
from servers import Server, fresh_url
from waiting import wait_until

import priorband as pb
from priorband.cli import main, run_commands
from priorband.cli.parser import _parsers
from priorband.experiments.open_runs import write_study
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.workers import open_with_retry, tuning

MARK = "s3cr3tmark"
SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
EPOCHS = pb.Fidelity("epochs", 1, 9)
FAILING = [
    f"postgresql://ann:{MARK}@127.0.0.1:1/lab#resnet",
    f"postgresql://127.0.0.1:1/lab?user=ann&password={MARK}#resnet",
    f"postgresql://ann:{MARK}@no-such-host.invalid/lab",
    f"postgresql://ann:a@{MARK}@127.0.0.1:1/lab",
    f"postgresql://ann:a:{MARK}@127.0.0.1:1/lab",
    f"postgresql://ann:a%40{MARK}@127.0.0.1:1/lab",
    f"postgresql://ann:a/{MARK}@127.0.0.1:1/lab",
    f"postgresql://ann:{MARK}#a@127.0.0.1:1/lab",
    f"postgresql://ann:a?{MARK}@127.0.0.1:1/lab",
    f"postgresql://ann:{MARK}@127.0.0.1:port/lab",
    f"postgresql://ann:%zz{MARK}@127.0.0.1:1/lab",
    f"postgresql://ann:{MARK}@127.0.0.1:1/lab?nonsense=1",
    f"postgresql://127.0.0.1:1/lab?{MARK}=1",
    f"postgresql://127.0.0.1:1/lab?sslpassword={MARK}&sslmode=verify-full",
    f"postgresql://127.0.0.1:1/lab?PASSWORD={MARK}",
    f"postgresql://127.0.0.1:1/lab;password={MARK}",
    f"postgresql://127.0.0.1:1/lab?pass%77ord={MARK}",
    f"postgresql://127.0.0.1:1/lab?password = {MARK}",
    f"postgresql://127.0.0.1:1/lab#a {MARK}",
    f"postgresql://ann:{MARK}@[::1/lab",
    f"postgresql://ann:{MARK}@127.0.0.1:1/l\nab",
    f"postgresql://ann:{MARK}@127.0.0.1:1/\ud800",
    f"postgresql+psycopg2://ann:{MARK}@127.0.0.1:1/lab",
    f"PostgreSQL://ann:{MARK}@127.0.0.1:1/lab",
    f"mysql://ann:{MARK}@127.0.0.1:1/lab",
    f"jdbc:postgresql://127.0.0.1/lab?password={MARK}",
    f"postgresql:/ann:{MARK}@127.0.0.1:1/lab",
    f"postgresql:ann:{MARK}@127.0.0.1/lab",
    f"ann:{MARK}@127.0.0.1/lab",
    f"host=127.0.0.1 port=1 user=ann password={MARK}",
    f"host=127.0.0.1 port=1 PASSWORD='{MARK}'",
]


def value(trial: pb.Attempt) -> float:
    return float(trial.config["x"])


NEW: dict[str, Any] = {"budget": 1, "show": "plain", "start": "same-process"}
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "open_study": lambda where: pb.open_study(where, SPACE, EPOCHS),
    "open_study to read": lambda where: pb.open_study(where, read_only=True),
    "open_study folder": lambda where: pb.open_study("nowhere", SPACE, EPOCHS, folder=where),
    "tune": lambda where: pb.tune(value, SPACE, EPOCHS, study=where, **NEW),
    "tune what exists": lambda where: pb.tune(value, study=where, show="live"),
    "tune objective": lambda where: pb.tune(where),  # type: ignore[arg-type]  # wrong on purpose
    "check": check,
    "salvage": lambda where: salvage(where, "nowhere"),
    "salvage to": lambda where: salvage("nowhere", where),
    "write_study": lambda where: write_study(pb.Study(SPACE, EPOCHS), where),
}


SERVES = "dashboard"
"""Runs until it is stopped; tests/dashboard looks for passwords in what it shows."""


def commands() -> Iterator[tuple[str, list[str]]]:
    """All commands that take a study, each with the words it needs; STUDY stands for the study."""
    needed = {"objective": "objectives:value", "runs": "none", "new": "nowhere", "trials": "0"}
    needed |= {"trial": "0", "source": "none.py", "beliefs": "x=0.5"}
    needed |= {"name": "incumbent", "output": "nowhere.svg"}
    needed["==SUPPRESS=="] = "unused"  # a group of commands
    for path, parser in _parsers()[1].items():
        words, names = path.split(), set[str]()
        for action in parser._actions:
            name = action.dest.replace("studies", "study")
            if name in ("study", "new") or action.required:
                word = "STUDY" if name == "study" else needed[name]
                words += [*action.option_strings[:1], word]
                names.add(name)
        if "study" in names and path != SERVES:
            yield path, words
        if "new" in names:
            swapped = {"STUDY": "nowhere", "nowhere": "STUDY"}
            yield f"{path}, new", [swapped.get(word, word) for word in words]


COMMANDS = dict(commands())
MISUSED = {
    "no command": ["STUDY"],
    "extra word": ["status", "runs/a", "STUDY"],
    "objective": ["run", "runs/a", "--objective", "STUDY"],
    "budget": ["run", "runs/a", "--objective", "a:b", "--budget", "STUDY"],
    "fidelity": ["run", "runs/a", "--objective", "a:b", "--fidelity=STUDY"],
    "method": ["run", "runs/a", "--objective", "a:b", "--method", "STUDY"],
    "space": ["run", "runs/a", "--objective", "a:b", "--space", "STUDY.json"],
    "seed": ["run", "runs/a", "--objective", "a:b", "--seed", "STUDY"],
    "keep": ["run", "runs/a", "--objective", "a:b", "--keep", "STUDY"],
    "retries": ["run", "runs/a", "--objective", "a:b", "--retries", "a=1,STUDY"],
    "init": ["init", "STUDY"],
    "init to": ["init", "none.py", "-o", "STUDY"],
    "folder": ["worker", "runs/a", "--objective", "a:b", "--folder", "STUDY"],
    "output": ["export", "runs/a", "-o", "STUDY"],
    "trial": ["retry", "runs/a", "STUDY"],
    "kind": ["retry", "runs/a", "--kind", "STUDY"],
    "preset": ["bench", "run", "--preset", "STUDY"],
    "benchmarks": ["bench", "run", "--benchmarks", "STUDY", "--methods", "random"],
    "results": ["bench", "report", "--results", "STUDY"],
    "option": ["status", "--STUDY"],
}


def test_all_that_takes_an_address_is_tried() -> None:
    named = {"study", "where", "new"}
    for name in pb.__all__:
        function = getattr(pb, name)
        if inspect.isfunction(function):
            parameters = inspect.signature(function).parameters.values()
            takes = any(p.name in named and "str" in str(p.annotation) for p in parameters)
            assert name in {*FUNCTIONS, "tune_in_group"} or not takes, f"{name} takes an address"
    assert {"run", "worker", "status", "journal check", "export"} <= {*COMMANDS}
    for path, parser in _parsers()[1].items():
        shown = [a for a in parser._actions if a.metavar in ("STUDY", "NEW")]
        assert {a.dest for a in shown} <= {"study", "studies", "new"}, (
            f"{path} has an address of another name"
        )


@pytest.fixture
def said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> Iterator[list[str]]:
    """All that is said in a test; afterwards nothing of it, and no file, has the mark."""
    monkeypatch.chdir(tmp_path)
    for module in (tuning, run_commands):
        for name in ("open_with_retry", "retried"):
            at_once = partial(getattr(open_with_retry, name), patience=0)
            monkeypatch.setattr(module, name, at_once, raising=False)
    texts = list[str]()
    with warnings.catch_warnings(record=True) as warned, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        yield texts
    texts += [*capfd.readouterr(), caplog.text, *(str(warning.message) for warning in warned)]
    texts += [str(path) for path in tmp_path.rglob("*")]
    texts += [p.read_text(errors="replace") for p in tmp_path.rglob("*") if p.is_file()]
    for text in texts:
        assert MARK not in text


def failure(action: Callable[[], object]) -> str:
    """Everything that an exception may show: its traceback, and all that caused it."""
    try:
        action()
    except (pb.PriorbandError, SystemExit) as error:
        chain: list[BaseException | None] = [error]
        for one in chain:
            if one is not None:
                chain += [e for e in (one.__cause__, one.__context__) if e not in chain]
        return "".join(traceback.format_exception(error)) + repr(chain)
    raise AssertionError("it did not fail")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_shows_a_password(name: str, said: list[str]) -> None:
    for address in FAILING:
        said.append(failure(lambda: FUNCTIONS[name](address)))  # noqa: B023  # called at once


@pytest.mark.parametrize("debug", slow_unless_in(["1"], ["0", "1"]))
@pytest.mark.parametrize("name", [*COMMANDS, *MISUSED])
def test_no_command_shows_a_password(
    name: str, debug: str, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIORBAND_DEBUG", debug)
    monkeypatch.syspath_prepend(WORKERS)
    for address in FAILING:
        words = [word.replace("STUDY", address) for word in (COMMANDS | MISUSED)[name]]
        try:
            code: object = main(words)
        except SystemExit as leaving:
            code = leaving.code
        assert code in (1, 2, 4)


@slow
def test_what_succeeds_shows_no_password_either(
    postgres: Server,
    said: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Also what is in the database, and in all files, after a study and its copies."""
    monkeypatch.setenv("PRIORBAND_SPOOL", str(tmp_path / "spool"))
    monkeypatch.syspath_prepend(WORKERS)
    (tmp_path / "files").mkdir()
    name = f"study-{os.urandom(6).hex()}"
    tail, secret = f"127.0.0.1:{postgres.port}/postgres", postgres.password
    addresses = [
        f"postgresql://postgres:{secret}@{tail}#{name}",
        f"postgres://{tail}?user=postgres&password={secret}#{name}",
        f"postgresql://postgres:{''.join(f'%{ord(c):02x}' for c in secret)}@{tail}#{name}",
    ]
    for number, where in enumerate(addresses):
        run = ("run", where, *BASIC, "--trials", 3 + number, "--folder", tmp_path / "files")
        commands: list[tuple[object, ...]] = [
            (*run, "--workers", 2),
            (*run, "--same-process", "--json"),
        ]
        commands += [(*one.split(), where) for one in ("status", "best", "replay", "journal check")]
        commands += [("export", where, "-o", tmp_path / f"{number}.csv"), ("retry", where, 0)]
        commands += [("journal", "salvage", where, f"{where}-new{number}")]
        commands += [("journal", "salvage", where, tmp_path / f"copy{number}")]
        for words in commands:
            assert main([*map(str, words)]) == (1 if words[0] == "retry" else 0), words
        with pb.open_study(where, read_only=True) as study:
            said += [repr(study), study.where, repr(study.journal), str(study.journal.leases())]
            said += [str(row) for row in study.journal.read(0)]
        tuned = pb.tune(value, study=where, show="plain", start="same-process")
        said += [repr(tuned), failure(lambda: write_study(pb.Study(SPACE, EPOCHS), where))]  # noqa: B023  # called at once
        with psycopg.connect(where.partition("#")[0]) as connection:
            said += [str(connection.execute("SELECT * FROM pg_stat_activity").fetchall())]
    wrong = addresses[0].replace(secret, "x" + secret)
    said.append(failure(lambda: pb.open_study(wrong)))
    said += [*capfd.readouterr()]
    assert not [text for text in said if secret in text]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and not [path for path in files if secret.encode() in path.read_bytes()]


@slow
def test_no_process_of_a_pool_has_the_password_in_its_command_line(
    postgres: Server, tmp_path: Path
) -> None:
    """Nor in its title; it is passed on through a pipe."""
    (tmp_path / "go.py").write_text(
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "import objectives as o, priorband as pb\n"
        "if __name__ == '__main__':\n"
        "    pb.tune(o.waits, o.SPACE, o.EPOCHS, budget=pb.Budget(trials=2), workers=2,\n"
        "            study=os.environ['STUDY'], folder=sys.argv[2], show='plain')\n"
    )
    (tmp_path / "files").mkdir()
    secrets = {"STUDY": fresh_url(postgres), "PRIORBAND_TEST_GATE": str(tmp_path)}
    command = [sys.executable, "go.py", str(WORKERS), str(tmp_path / "files")]
    both = subprocess.STDOUT
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment() | secrets, stdout=subprocess.PIPE, stderr=both
    ) as tuning:
        try:
            saved = partial((tmp_path / "files").glob, "trials/*/1-*/checkpoint/epoch")
            wait_until(lambda: len([*saved()]) == 2, "two running trials")
            lines = [(pid, _command_line(pid)) for pid in _descendants(tuning.pid)]
            assert len(lines) >= 4, "two workers, each with a trial"
            assert not [line for line in lines if postgres.password in line[1]]
            (tmp_path / "go").touch()
            assert tuning.stdout is not None
            assert postgres.password.encode() not in tuning.stdout.read()
        finally:
            tuning.kill()


def _descendants(pid: int) -> list[int]:
    children = [
        int(child)
        for tasks in Path(f"/proc/{pid}/task").glob("*/children")
        for child in tasks.read_text().split()
    ]
    return [*children, *(other for child in children for other in _descendants(child))]


def _command_line(pid: int) -> str:
    folder = Path("/proc", str(pid))
    return (folder / "cmdline").read_text() + (folder / "comm").read_text()


WAYS = slow_unless_in(
    ["PGPASSWORD", "service"],
    ["PGPASSWORD", "PGPASSFILE", ".pgpass", "service", ".pg_service.conf"],
)


@pytest.mark.parametrize("way", WAYS)
def test_a_password_need_not_be_part_of_a_command(
    way: str, postgres: Server, tmp_path: Path
) -> None:
    """It can come from the environment, from a password file or from a service file."""
    name, port, secret = f"study-{os.urandom(6).hex()}", postgres.port, postgres.password
    where = f"postgresql://postgres@127.0.0.1:{port}/postgres#{name}"
    given = environment() | {"HOME": str(tmp_path)}
    line = f"127.0.0.1:{port}:*:postgres:{secret}\n"
    service = (
        f"[lab]\nhost=127.0.0.1\nport={port}\nuser=postgres\ndbname=postgres\npassword={secret}\n"
    )
    text, file = line, {"PGPASSFILE": "secret", "service": "secret"}.get(way, way)
    if "service" in way:
        where, text = f"postgresql:///?service=lab#{name}", service
    if way == "PGPASSWORD":
        given["PGPASSWORD"] = secret
    else:
        (tmp_path / file).write_text(text)
        (tmp_path / file).chmod(0o600)
        variable = {"PGPASSFILE": "PGPASSFILE", "service": "PGSERVICEFILE"}.get(way, "UNUSED")
        given[variable] = str(tmp_path / file)
    command = [sys.executable, "-m", "priorband", "run", where, *BASIC, "--trials", "2"]
    command += ["--same-process", "--folder", str(tmp_path)]
    done = subprocess.run(command, cwd=WORKERS, env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert secret not in done.stdout + done.stderr
    shown = [sys.executable, "-m", "priorband", "status", where]
    done = subprocess.run(shown, cwd=WORKERS, env=given, capture_output=True, text=True)
    assert where in done.stdout and "2 ended" in done.stdout


def test_the_help_says_where_else_a_password_can_be(capsys: pytest.CaptureFixture[str]) -> None:
    for words in COMMANDS.values():
        with pytest.raises(SystemExit):
            main(
                [*words[:2], "--help"]
                if words[0] in ("journal", "bench", "prior")
                else [words[0], "--help"]
            )
        text = " ".join(capsys.readouterr().out.split())
        assert all(word in text for word in ("PGPASSWORD", ".pgpass", "?service=lab#"))
