"""The study that a fault is done to: a temporary folder, a storage, and a log beside it."""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import priorband as pb
from faults.results import MissingRequirement
from faults.worker_log import WorkerLog

if TYPE_CHECKING:
    from servers import Server

ROOT = Path(__file__).parent.parent
SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4), "y": pb.Float(1e-4, 1, log=True)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


@final
@dataclass(frozen=True)
class Setting:
    """How faults are run: in which storage, with which planted bug, from which seed."""

    storage: str = "sqlite"
    plant: str = ""
    seed: int = 0


@final
class StudySetup:
    """Where a study is, and the log of its workers."""

    def __init__(self, folder: Path, where: str, setting: Setting) -> None:
        self.folder = folder
        self.where = where
        self.setting = setting
        self.log = WorkerLog(folder / "worker-log")

    def open_arguments(self, **more: Any) -> dict[str, Any]:
        """The arguments of `open_study` that create the study, or join it."""
        arguments: dict[str, Any] = {"where": self.where, "space": SPACE, "fidelity": EPOCHS}
        if "://" in self.where:
            arguments["folder"] = self.folder / "checkpoints"
        return arguments | {"seed": self.setting.seed} | more

    def study(self, **more: Any) -> pb.DurableStudy:
        """Open the study in this process."""
        return pb.open_study(**self.open_arguments(**more))


@contextmanager
def new_setup(setting: Setting, server: "Server | None" = None) -> Iterator[StudySetup]:
    """A setup without a study yet; its folder is deleted at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="priorband-faults-"))
    try:
        where = str(folder / "study")
        if setting.storage == "postgres":
            where = f"{(server or shared_server()).url()}#study-{os.urandom(6).hex()}"
            (folder / "checkpoints").mkdir()
        yield StudySetup(folder, where, setting)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def start_shared_server(setting: Setting) -> None:
    """Start the shared server, if needed, before processes are forked that use it."""
    if setting.storage == "postgres":
        shared_server()


def new_server(**settings: object) -> "Server":
    """Start a PostgreSQL server that ends with this process."""
    tests = str(ROOT / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    import servers

    if reason := servers.lacking():
        raise MissingRequirement(reason)
    server = servers.Server(**settings)
    atexit.register(server.close)
    server.start()
    return server


def shared_server() -> "Server":
    """The server for all faults that do not harm it, started if necessary."""
    if not _shared:
        _shared.append(new_server())
    return _shared[0]


def execute_on_shared_server(statement: str) -> None:
    """Run a statement as the administrator of the shared server."""
    import psycopg

    with psycopg.connect(shared_server().url(), autocommit=True) as connection:
        connection.execute(statement.encode())  # only a literal may be a str


_shared: list["Server"] = []
