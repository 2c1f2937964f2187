"""The scene of a fault: a folder, a storage, and a diary beside it."""

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
from faults.diary import Diary
from faults.findings import Lacking

if TYPE_CHECKING:
    from servers import Server

ROOT = Path(__file__).parent.parent
SPACE = pb.Space({"x": pb.Float(0, 1, prior=0.4), "y": pb.Float(1e-4, 1, log=True)})
EPOCHS = pb.Fidelity("epochs", 1, 9)


@final
@dataclass(frozen=True)
class Setting:
    """How faults are tried: in which storage, with which bug planted, from which seed."""

    storage: str = "sqlite"
    plant: str = ""
    seed: int = 0


@final
class Scene:
    """Where one fault happens."""

    def __init__(self, folder: Path, where: str, setting: Setting) -> None:
        self.folder = folder
        self.where = where
        self.setting = setting
        self.diary = Diary(folder / "diary")

    def opening(self, **more: Any) -> dict[str, Any]:
        """What `open_study` is called with, to create the study or to join it."""
        about: dict[str, Any] = {"where": self.where, "space": SPACE, "fidelity": EPOCHS}
        if "://" in self.where:
            about["folder"] = self.folder / "checkpoints"
        return about | {"seed": self.setting.seed} | more

    def study(self, **more: Any) -> pb.DurableStudy:
        """The study, opened by this process."""
        return pb.open_study(**self.opening(**more))


@contextmanager
def scene(setting: Setting, server: "Server | None" = None) -> Iterator[Scene]:
    """A scene with an empty storage; nothing is left of it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="priorband-faults-"))
    try:
        where = str(folder / "study")
        if setting.storage == "postgres":
            where = f"{(server or shared_server()).url()}#study-{os.urandom(6).hex()}"
            (folder / "checkpoints").mkdir()
        yield Scene(folder, where, setting)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ready(setting: Setting) -> None:
    """Start what scenes share, before processes are forked that are to share it."""
    if setting.storage == "postgres":
        shared_server()


def new_server() -> "Server":
    """A PostgreSQL server of our own, up, that ends with this process."""
    tests = str(ROOT / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    import servers

    if reason := servers.lacking():
        raise Lacking(reason)
    server = servers.Server()
    atexit.register(server.close)
    server.start()
    return server


def shared_server() -> "Server":
    """One server for all faults that do not harm it."""
    if not _shared:
        _shared.append(new_server())
    return _shared[0]


_shared: list["Server"] = []
