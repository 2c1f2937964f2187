"""Read a study as another user and on a read-only disk: all is found, and nothing is written."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

import priorband as pb
from faults.commands import FOLDER, Done, run_command, started_command
from faults.parallel import fork_process
from faults.planted_bugs import plant_bug
from faults.results import MissingRequirement, Result, expect_none, results_of
from faults.saving_objective import HOLD, HOW, WHO, saves
from faults.study_setup import Setting, StudySetup, new_setup
from faults.worker_pool import wait_until
from priorband.cli import main

NOBODY = 65534
STATES = ("closed", "open", "killed -9")
READERS = (("status",), ("best",), ("export", "--csv"), ("replay",), ("journal", "check"))


def run(setting: Setting, *, trials: int, times: int) -> Iterator[Result]:
    """A closed study, one with a worker in a training, and one whose worker was killed."""
    if os.geteuid() or shutil.which("mount") is None:
        raise MissingRequirement("only root can become another user, and mount a disk read-only")
    for state in STATES:
        answers = [_read(setting, state, trials) for _ in range(times)]
        for reader in answers[0]:
            wrong = [text for answer in answers for text in answer[reader][0]]
            written = [text for answer in answers for text in answer[reader][1]]
            commands = times * len(READERS)
            checks = [
                expect_none(wrong, "commands found something else", commands),
                expect_none(written, "files written"),
            ]
            action = f"a study that is {state}, read {reader}"
            yield from results_of("readonly", setting.storage, action, checks)


Reader = Callable[..., Done]


@final
@dataclass(frozen=True)
class Answer:
    """What the commands of one reader have printed, and which files they have written."""

    found: list[Done]
    written: list[str]

    def wrong(self, expected: list[Done]) -> list[str]:
        """The commands that found something else than the owner does."""
        return [
            f"{' '.join(words)}: {found.last_words}"
            for words, found, own in zip(READERS, self.found, expected, strict=True)
            if found.code != 0 or _stable(found) != _stable(own)
        ]


def _read(setting: Setting, state: str, trials: int) -> dict[str, tuple[list[str], list[str]]]:
    """What another user finds, and what is found on a read-only disk."""
    with new_setup(setting) as setup:
        os.environ[FOLDER] = str(setup.folder)
        folder = Path(setup.where)
        with _study_in(setup, state, trials):
            _open_to_all(setup.folder)
            answers = {"as another user": _compare(setup, folder, _as_another_user)}
            with _mounted_read_only(folder, setup.folder / "mount") as mount:
                answers["on a read-only disk"] = _compare(setup, mount, _as_root)
                answers["by another user there"] = _compare(setup, mount, _as_another_user)
            own = [_as_root(setup, *words, folder) for words in READERS]
        return {name: (answer.wrong(own), answer.written) for name, answer in answers.items()}


def _stable(done: Done) -> str:
    """What was printed, without what differs between two looks: paths, times, running trials."""
    text = re.sub(r"\ntrial +attempt .*", "", done.output, flags=re.DOTALL)
    text = re.sub(r"\S*/(study|mount)\b\S*|\d+:\d+|\d+ s\b", "", text)
    return " ".join(text.split())


def _compare(setup: StudySetup, where: Path, reader: Reader) -> Answer:
    before = _listing(where)
    found = [reader(setup, *words, where) for words in READERS]
    after = _listing(where)
    return Answer(found, [n for n in {*before, *after} if before.get(n) != after.get(n)])


def _listing(folder: Path) -> dict[str, int]:
    """The files of a study and their sizes; workers that run write to the log and its index."""
    return {
        str(path): 0 if path.is_dir() or path.name.endswith(("-wal", "-shm")) else _size(path)
        for path in folder.rglob("*")
    }


def _size(path: Path) -> int:
    return path.stat().st_size


def _as_root(setup: StudySetup, *words: object) -> Done:
    return run_command(setup, *words)


def _as_another_user(setup: StudySetup, *words: object) -> Done:
    """Run a command in a process that has become another user.

    It is forked, as that user may not be allowed to read this program.
    """
    output = setup.folder / "output-of-another-user"
    output.unlink(missing_ok=True)
    output.touch()
    output.chmod(0o666)
    pid = fork_process(partial(_become_and_run, setup, output, [*map(str, words)]))
    _, status = os.waitpid(pid, 0)
    return Done(os.waitstatus_to_exitcode(status), output.read_text(errors="replace"))


def _become_and_run(setup: StudySetup, output: Path, words: list[str]) -> None:
    with open(output, "a") as file, open(os.devnull, "w") as nowhere:
        with contextlib.redirect_stdout(nowhere):  # loads modules that the user may not read
            main([*words[:-1], str(setup.folder / "other")])
        plant_bug(setup.setting.plant)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        sys.stdout = sys.stderr = file
        code = main(words)
        file.flush()
        os._exit(code)


@contextmanager
def _study_in(setup: StudySetup, state: str, trials: int) -> Iterator[None]:
    """A study with some trials: closed, open, or left by a worker that was killed."""
    os.environ.update({WHO: "owner", HOW: "insists", HOLD: str(trials - 1)})
    _tune(StudySetup(setup.folder, str(setup.folder / "other"), setup.setting), 1)
    if state == "closed":
        _tune(setup, trials)
        yield
        return
    _tune(setup, 2)
    (setup.folder / "hold-owner").touch()
    words = ("run", setup.where, "--objective", "faults.saving_objective:saves")
    more = ("--trials", trials, "--same-process", "--keep=all")
    with started_command(setup, *words, *more) as process:
        wait_until(partial(_is_holding, setup), "a trial in the middle")
        if state == "killed -9":
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        yield


def _tune(setup: StudySetup, trials: int) -> None:
    arguments = setup.open_arguments()
    arguments["study"] = arguments.pop("where")
    budget = pb.Budget(trials=trials)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        pb.tune(saves, budget=budget, start="same-process", show="quiet", keep="all", **arguments)


def _is_holding(setup: StudySetup) -> bool:
    return any(entry.event == "holding" for entry in setup.log.all_entries())


def _open_to_all(folder: Path) -> None:
    """Let everybody read a folder and what is below it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


@contextmanager
def _mounted_read_only(folder: Path, mount: Path) -> Iterator[Path]:
    """A folder as it is seen on a read-only disk."""
    mount.mkdir()
    for options in (["--bind"], ["-o", "remount,bind,ro"]):
        command = ["mount", *options, str(folder), str(mount)]
        mounted = subprocess.run(command, capture_output=True, text=True)
        if mounted.returncode:
            raise MissingRequirement(f"no read-only mount here: {mounted.stderr.strip()}")
    try:
        yield mount
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)
