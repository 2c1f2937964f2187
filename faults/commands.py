"""The command `priorband` as people start it: real processes with a command line.

A planted bug reaches them through an environment variable. Without one, the command is `python -m
priorband`. Run as a program, this file plants the bug, and is the same command otherwise.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from faults.planted_bugs import plant_bug
from faults.study_setup import ROOT, StudySetup
from faults.worker_log import WorkerLog
from faults.worker_pool import TIMEOUT
from priorband.storage.spool import VARIABLE as SPOOL

FOLDER = "PRIORBAND_FAULTS_FOLDER"
"""The environment variable that names the folder of a fault, with the log in it."""
PLANT = "PRIORBAND_FAULTS_PLANT"
"""The environment variable that names the bug to plant."""
LOG = "worker-log"
_PASSWORD = re.compile(r"(?<=//)([^:/@]+):([^@]*)@")


@final
@dataclass(frozen=True)
class Done:
    """What a command has printed, and its exit code; None if it had to be killed."""

    code: int | None
    output: str

    @property
    def last_words(self) -> str:
        """The end of the output, in one line."""
        return " ".join(self.output[-300:].split())

    @property
    def problem(self) -> str:
        """What is wrong with how it ended: it hung, or an exception escaped; empty if nothing."""
        if self.code is None:
            return f"did not end: {self.last_words}"
        unexpected = any(words in self.output for words in ("Traceback (most", "Unexpected error"))
        return f"ended by an exception: {self.last_words}" if unexpected else ""


def run_command(
    setup: StudySetup, *words: object, seconds: float = TIMEOUT, **options: Any
) -> Done:
    """Run a command of `priorband` to its end; after some seconds it is killed."""
    with started_command(setup, *words, **options) as process:
        return wait_for(process, seconds)


@contextmanager
def started_command(
    setup: StudySetup, *words: object, cwd: str | Path = ROOT, **variables: str | Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a command of `priorband`; it is killed at the end of the block if it still runs.

    Its output goes to a file, so that nobody has to read it. `variables` are added to its
    environment.
    """
    with (
        open(_output(setup), "wb") as output,
        subprocess.Popen(
            command_line(setup, *words),
            cwd=cwd,
            env=environment(setup, **variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        vars(process)["output"] = Path(output.name)
        try:
            yield process
        finally:
            process.kill()


def wait_for(process: "subprocess.Popen[bytes]", seconds: float = TIMEOUT) -> Done:
    """Wait for a command to end by itself, and kill it after some seconds."""
    try:
        code: int | None = process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        code = None
    return Done(code, printed(process))


def printed(process: "subprocess.Popen[bytes]") -> str:
    """What a command has printed so far."""
    output: Path = vars(process)["output"]
    return output.read_text(errors="replace")


def command_line(setup: StudySetup, *words: object) -> list[str]:
    """The words of a command, without a password: anyone can see them."""
    program = "faults.commands" if setup.setting.plant else "priorband"
    return [sys.executable, "-m", program, *(_PASSWORD.sub(r"\1@", str(word)) for word in words)]


def environment(setup: StudySetup, **variables: str | Path) -> dict[str, str]:
    """The environment of a command: where the log and the spool are, and the password."""
    password = _PASSWORD.search(setup.where)
    given: Mapping[str, str | Path] = {
        FOLDER: setup.folder,
        PLANT: setup.setting.plant,
        SPOOL: setup.folder / "spool",
        "PYTHONPATH": ROOT,
        "PGPASSWORD": password[2] if password else "",
    }
    return os.environ | {name: str(value) for name, value in {**given, **variables}.items()}


def study_words(setup: StudySetup, folder: str | Path | None = None) -> list[object]:
    """The study, and where its checkpoints are, as words of `priorband run` or `worker`."""
    if "://" not in setup.where:
        return [setup.where]
    return [setup.where, "--folder", folder or setup.folder / "checkpoints"]


def shared_log() -> WorkerLog:
    """In a process of the fault: the log."""
    return WorkerLog(Path(os.environ[FOLDER]) / LOG)


def send_signal(process: "subprocess.Popen[bytes]", number: int) -> None:
    """Send a signal to a command, if it still runs."""
    if process.poll() is None:
        os.kill(process.pid, number)


def _output(setup: StudySetup) -> Path:
    return setup.folder / f"output-{os.getpid()}-{time.monotonic_ns()}"


def main() -> int:
    """Plant the bug that the environment names, and run the command."""
    plant_bug(os.environ[PLANT])
    from priorband.cli import main as priorband

    return priorband(sys.argv[1:])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
