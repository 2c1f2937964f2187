"""An objective that starts processes which do not end by themselves, and where to find them.

The environment variable GATE (objectives.py) names a folder. Each process writes its pid to a file
there, and holds a lock on it for as long as it or a fork of it runs. They all end when the folder
is gone. The file `end` says how the objective ends, and `kinds` which of `KINDS` it starts, if not
all.
"""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

if __name__ != "__main__":
    from objectives import GATE

    import priorband as pb

TRIAL = "trial"
"""The kind of the trial's own process."""


def starts_processes(trial: "pb.Attempt") -> float:
    """Start processes, and end once they run: return, raise, exit, or wait to be stopped."""
    gate = Path(os.environ[GATE])
    kinds = _text(gate / "kinds", " ".join(KINDS)).split()
    for kind in kinds:
        KINDS[kind](gate, f"{kind}-{trial.id}-{trial.attempt}")
    register(gate, f"{TRIAL}-{trial.id}-{trial.attempt}")
    while len([*gate.glob(f"*-{trial.id}-{trial.attempt}.pid")]) <= len(kinds):
        time.sleep(0.01)
    (gate / f"started-{trial.id}-{trial.attempt}").touch()
    ending = _text(gate / "end", "return")
    if ending == "raise":
        raise ValueError("as planned")
    if ending == "exit":
        os._exit(3)
    while ending == "wait" and not trial.should_stop:
        time.sleep(0.02)
    while ending == "wait-for-ever" and gate.exists():
        time.sleep(0.2)
    return 0.5


def loads_data(trial: "pb.Attempt") -> float:
    """Load data with processes of torch that stay for the next epoch."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    gate = Path(os.environ[GATE])
    loader = DataLoader(
        TensorDataset(torch.arange(8.0)),
        num_workers=2,
        persistent_workers=True,
        worker_init_fn=partial(_register_loader, gate),
    )
    total = sum(float(batch[0]) for batch in loader)
    while (gate / "wait").exists():
        time.sleep(0.02)
    return total


def _register_loader(gate: Path, number: int) -> None:
    register(gate, f"loader-0-{number}")


def trains_in_ranks(trial: "pb.Attempt") -> float:
    """Start two ranks that do not end by themselves."""
    import torch.multiprocessing

    del trial
    ranks: Any = torch.multiprocessing
    ranks.spawn(_rank, (Path(os.environ[GATE]),), nprocs=2)
    return 0.5


def _rank(number: int, gate: Path) -> None:
    runs(gate, f"rank-0-{number}")


def started_pids(gate: Path, kind: str = "*") -> dict[str, int]:
    """The pids of the processes that were started, by name."""
    return {path.stem: int(path.read_text()) for path in gate.glob(f"{kind}-*.pid")}


def alive(gate: Path) -> list[str]:
    """The names of the processes that still run."""
    return [path.stem for path in gate.glob("*.pid") if _is_locked(path)]


def parent(pid: int) -> int:
    """The pid of the process above another."""
    text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    return int(text.rpartition(")")[2].split()[1])


def register(gate: Path, name: str) -> None:
    """Write the pid of this process to a file, and lock it."""
    file = os.open(gate / f"{name}.new", os.O_RDWR | os.O_CREAT)  # stays open
    fcntl.flock(file, fcntl.LOCK_EX)
    os.write(file, str(os.getpid()).encode())
    (gate / f"{name}.new").rename(gate / f"{name}.pid")


def _is_locked(path: Path) -> bool:
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def runs(gate: Path, name: str) -> None:
    """Run until the test is over."""
    register(gate, name)
    while gate.exists():
        time.sleep(0.2)
    os._exit(0)


def _text(path: Path, default: str) -> str:
    return path.read_text() if path.exists() else default


def _program(gate: Path, name: str, **options: Any) -> None:
    """Start a program with an empty environment, so that nothing marks it as ours."""
    command = [sys.executable, __file__, str(gate), name]
    subprocess.Popen(command, env={}, **options)


def _session(gate: Path, name: str) -> None:
    _program(gate, name, start_new_session=True)


def _forked(gate: Path, name: str) -> None:
    """Start a process that has all files of the objective open."""
    if not os.fork():
        runs(gate, name)


def _daemon(gate: Path, name: str) -> None:
    """Fork twice and leave the session, as daemons do, and ignore all signals that can be."""
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    runs(gate, name)


def _relay(gate: Path, name: str) -> None:
    """A process that forks all the time, and leaves it to its child to go on, in a new session."""
    if os.fork():
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    register(gate, name)
    while gate.exists():
        os.setsid()
        time.sleep(0.005)
        if os.fork():
            os._exit(0)
    os._exit(0)


KINDS: dict[str, Callable[[Path, str], None]] = {
    "program": _program,
    "session": _session,
    "forked": _forked,
    "daemon": _daemon,
    "relay": _relay,
}

if __name__ == "__main__":
    runs(Path(sys.argv[1]), sys.argv[2])
