"""Put a FIFO, a socket, a device or a link where a file should be: nothing may hang or be lost."""

import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import final

import priorband as pb
from faults.commands import FOLDER, PLANT, Done, run_command, shared_log, study_words
from faults.parallel import run_in_parallel
from faults.planted_bugs import plant_bug
from faults.results import Check, Result, expect_none, results_of
from faults.study_setup import (
    EPOCHS,
    SPACE,
    Setting,
    StudySetup,
    new_setup,
    start_shared_server,
)
from faults.training import loss

FIDELITY = EPOCHS
OBJECTIVE = ("--objective", "faults.special_files:saves")
__all__ = ["FIDELITY", "SPACE", "make_special", "run", "saves"]
SECONDS = 60.0
"""How long a command may take, also on a busy machine; its own limits are lower."""
LIMITS = ("--trial-seconds", 30, "--patience", 2, "--grace", 2)
REFUSALS = ("neither a file nor a folder", "is a link", "plain files and folders")

plant_bug(os.environ.get(PLANT, ""))


def make_special(path: Path, kind: str) -> None:
    """Put something that is no plain file at a path."""
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    elif kind == "device":
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # as /dev/zero, which never ends
    else:
        folder = os.open(path.parent, os.O_RDONLY)
        try:  # the whole path may be too long for a socket
            with socket.socket(socket.AF_UNIX) as opened:
                opened.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)


def saves(trial: pb.Attempt) -> float:
    """Save something special beside the checkpoint, if a file says so, and report."""
    shared_log().write("start", trial.id, trial.attempt, worker_pid=0)
    saved = Path(os.environ[FOLDER]) / "saved"
    for step in trial.steps():
        (trial.checkpoint_dir / "model").write_text(str(step))
        if saved.exists():
            (trial.checkpoint_dir / "inner").mkdir(exist_ok=True)
            for name in ("special", "inner/special"):
                make_special(trial.checkpoint_dir / name, saved.read_text())
        trial.report(step, loss=1 / step)
    result = loss(trial)
    shared_log().write("done", trial.id, trial.attempt, loss=result)
    return result


@final
@dataclass(frozen=True)
class Place:
    """A file of a study that is exchanged for something else, and what must come of it."""

    name: str
    """Its path in the folder of the study, or of the fault."""
    works: bool = True
    """Whether a worker goes on without it, or says what is wrong."""
    in_folder: bool = False
    """Whether only a study in a folder has it."""


PLACES = (
    Place("what the objective saves"),
    Place("trials/1/log-1.txt"),
    Place("trials/1/curve-1.jsonl"),
    Place("spool"),
    Place("a file in the spool"),
    Place("trials/study.json", works=False),
    Place("trials", works=False),
    Place("trials/1", works=False),
    Place("study.snapshot", in_folder=True),
    Place("study.head", works=False, in_folder=True),
    Place("study.lock", works=False, in_folder=True),
    Place("study.db", works=False, in_folder=True),
    Place("study.db-wal", works=False, in_folder=True),
    Place("study.db-shm", works=False, in_folder=True),
)
KINDS = ("fifo", "socket", "link", "device")
READERS = (("status",), ("journal", "check"), ("best",), ("export", "--csv"), ("replay",))


def run(setting: Setting, *, kinds: int, places: int, readers: int) -> Iterator[Result]:
    """Each place with each kind of special file: a worker, and each command that reads."""
    start_shared_server(setting)
    chosen = [kind for kind in KINDS[:kinds] if kind != "device" or not os.geteuid()]
    tried = [one for one in PLACES if setting.storage == "sqlite" or not one.in_folder][:places]
    cases = [(kind, one) for kind in chosen for one in tried]
    answers = run_in_parallel([partial(_try, setting, *case, readers) for case in cases])
    for kind in chosen:
        same = [answer for case, answer in zip(cases, answers, strict=True) if case[0] == kind]
        action = f"a {kind} in {len(tried)} places"
        yield from results_of("special", setting.storage, action, _checks(same))


@final
@dataclass
class Outcome:
    """What the commands did with one special file."""

    commands: int = 0
    hung: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, what: str, done: Done, allowed: bool) -> None:
        """Note how a command ended."""
        self.commands += 1
        if done.code is None:
            self.hung.append(f"{what}: {done.last_words}")
        elif done.problem or not allowed:
            self.problems.append(f"{what}: exit code {done.code}: {done.last_words}")


def _checks(outcomes: list[Outcome]) -> Iterator[Check]:
    commands = sum(outcome.commands for outcome in outcomes)
    hung = [text for outcome in outcomes for text in outcome.hung]
    problems = [text for outcome in outcomes for text in outcome.problems]
    yield expect_none(hung, "commands hung", commands)
    yield expect_none(problems, "neither went on nor said what is wrong", commands)


def _try(setting: Setting, kind: str, one: Place, readers: int) -> Outcome:
    outcome = Outcome()
    with new_setup(setting) as setup:
        folder = setup.folder / ("study" if setting.storage == "sqlite" else "checkpoints")
        _prepare(setup)
        _exchange(setup, folder, one, kind)
        words = ("run", *study_words(setup), *OBJECTIVE, "--trials=2", "--keep=all", *LIMITS)
        done = run_command(setup, *words, seconds=SECONDS)
        told = done.code == 0 and _told(setup) == {0, 1}
        said = done.code not in (0, None) and _names_problem(done, one)
        outcome.add(f"run, {kind} {one.name}", done, told if one.works else told or said)
        for words in READERS[:readers]:
            done = run_command(setup, *words, setup.where, seconds=SECONDS)
            allowed = done.code == 0 or _names_problem(done, one)
            outcome.add(f"{' '.join(words)}, {kind} {one.name}", done, allowed)
    return outcome


def _exchange(setup: StudySetup, folder: Path, one: Place, kind: str) -> None:
    """Put something special at a place."""
    if one.name == "what the objective saves":
        (setup.folder / "saved").write_text(kind)
        return
    if one.name == "spool":
        make_special(setup.folder / "spool", kind)
        return
    if one.name == "a file in the spool":
        with setup.study(read_only=True) as study:
            place = setup.folder / "spool" / study.ledger.study
        place.mkdir(parents=True)
        make_special(place / "1-1.json", kind)
        return
    path = folder / one.name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        path.rename(setup.folder / "kept")
    make_special(path, kind)


def _prepare(setup: StudySetup) -> None:
    """Make the study, with one trial, and without a bug."""
    os.environ[FOLDER] = str(setup.folder)
    arguments = setup.open_arguments()
    arguments["study"] = arguments.pop("where")
    pb.tune(saves, budget=pb.Budget(trials=1), start="same-process", show="quiet", **arguments)


def _told(setup: StudySetup) -> set[int]:
    with setup.study(read_only=True) as study:
        return {one.trial.id for one in study.state.history.observations if not one.failed}


def _names_problem(done: Done, one: Place) -> bool:
    """Whether a command has said which file is wrong."""
    text = " ".join(done.output.split())
    return any(words in text for words in (*REFUSALS, one.name))
