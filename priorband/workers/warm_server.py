"""A process that has imported the objective's module, and forks a process for each trial.

`serve` runs in a process of its own below its worker (warm_process.py), with guards above it. It is
a guard itself: while a trial runs, it does what the inner guard of a trial does that starts from
nothing (process_guard.py).

    worker -- three guards -- server -- the trial's process -- whatever it starts

The server loads the objective as `multiprocessing` would load it in the trial's process, and never
calls it. Later it imports libraries that trials have imported (lazy_imports.py). It starts no
thread, opens no file and uses no device. It blocks all signals, since batch systems send signals to
every process of a job.
"""

import gc
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from multiprocessing import process, spawn
from multiprocessing.connection import Connection
from typing import Any, NoReturn, final

from priorband.values import frozen
from priorband.workers.fork_checks import devices_left_alone, fork_problem
from priorband.workers.global_generators import (
    GeneratorStates,
    generator_states,
    restore,
    seeded,
)
from priorband.workers.guarded_process import GuardedProcess, start_session
from priorband.workers.lazy_imports import import_libraries
from priorband.workers.module_files import Stamp, own_files
from priorband.workers.objective_results import Objective
from priorband.workers.process_guard import (
    become_subreaper,
    forget_requests,
    guard_child,
    live_below,
    spared_processes,
)
from priorband.workers.sent_function import SentFunction
from priorband.workers.warm_request import FORK, LEARN, ReceivedObjects, receive

IMPORT_FAILS = "the objective cannot be imported in the process that forks trials"


@final
@frozen
class Loaded:
    """What the server keeps for the processes that it forks."""

    objective: Objective
    generators: GeneratorStates
    """The random generators that a module has seeded."""
    mask: frozenset[int]
    """The signals that are blocked in a trial's process."""
    on_child: Any
    """What SIGCHLD does in a trial's process."""


def serve(channel: Connection) -> None:
    """Load the objective, then fork a process for each request, until the worker has ended."""
    import priorband.workers.trial_process  # noqa: F401  # what a trial's process runs

    start_session()
    requests = socket.socket(fileno=os.dup(channel.fileno()))
    _, files = receive(requests)
    try:
        objective, generators = _load(files)
    except (Exception, SystemExit) as error:
        _refuse(channel, f"{IMPORT_FAILS} ({type(error).__name__}: {error})")
    problem = fork_problem()
    if problem:
        _refuse(channel, problem)
    on_child = signal.getsignal(signal.SIGCHLD)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it is ignored, no exit code can be read
    become_subreaper()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    _send(channel, {"files": own_files(_package(objective)), "learned": False})
    return _fork_trials(channel, requests, Loaded(objective, generators, frozenset(mask), on_child))


def _load(files: list[int]) -> tuple[Objective, GeneratorStates]:
    """Do what a new process does before it calls the objective."""
    before = generator_states()
    objects = ReceivedObjects(files)
    own_process, state = vars(process.current_process()), vars(process)
    own_process["_inheriting"] = True  # so that a script without a guard is told so
    parent = state["_parent_process"]
    state["_parent_process"] = None  # a new process learns of its parent later
    try:
        with devices_left_alone():
            spawn.prepare(objects.next())
            objective = objects.next()
            if isinstance(objective, SentFunction):
                objective.load()
    finally:
        del own_process["_inheriting"]
        state["_parent_process"] = parent
        objects.close()
        os.close(files[0])
    return objective, seeded(before, generator_states())


def _fork_trials(channel: Connection, requests: socket.socket, loaded: Loaded) -> None:
    gc.freeze()  # else garbage collection in a fork would write to, and so copy, all of the memory
    while True:
        kind, files = receive(requests)
        if not kind:
            return
        if kind == LEARN:
            _send(channel, {"files": _learn(loaded.objective, files), "learned": True})
            gc.freeze()
        elif kind == FORK:
            _fork(channel, requests, loaded, files)


def _fork(channel: Connection, requests: socket.socket, loaded: Loaded, files: list[int]) -> None:
    """Start a trial's process, and be its guard until it and all below it have ended."""
    sys.stdout.flush()
    sys.stderr.flush()
    forget_requests()
    server, parent, spared = os.getpid(), os.getppid(), spared_processes()
    child = os.fork()
    if not child:
        requests.close()
        channel.close()
        _run(loaded, server, files)
    _, sentinel, *others = files
    for file in (files[0], *others):
        os.close(file)
    _send(channel, {"pid": server})
    status = guard_child(child, parent, spared)
    _send(channel, {"status": os.waitstatus_to_exitcode(status)})
    os.close(sentinel)  # now the worker goes on


def _learn(objective: Objective, files: list[int]) -> dict[str, Stamp]:
    """Import what a trial has imported; the user's files that are then in use."""
    objects = ReceivedObjects(files)
    names: list[str] = objects.next()
    objects.close()
    os.close(files[0])
    package = _package(objective)
    if not import_libraries(names, package):
        os._exit(0)  # the worker starts a server without them; threads must not delay this
    return own_files(package)


def _run(loaded: Loaded, server: int, files: list[int]) -> NoReturn:
    """In a fork of the server: be the trial's process."""
    _, sentinel, parent_sentinel = files[:3]
    os.close(sentinel)
    live_below(server, loaded.mask)
    signal.signal(signal.SIGCHLD, loaded.on_child)
    restore(loaded.generators)
    above = process.parent_process()
    with suppress(OSError, ValueError, AttributeError):  # a module has closed or replaced it
        os.close(sys.stdin.fileno())  # the server's: `_bootstrap` opens another
    if above is not None:
        os.close(above.sentinel)
    objects = ReceivedObjects(files, loaded.objective)
    trial_process: GuardedProcess = objects.next()
    objects.close()
    os.close(files[0])
    bootstrap: Any = trial_process._bootstrap  # type: ignore[attr-defined]  # as `spawn` calls it
    sys.exit(bootstrap(parent_sentinel))


def _package(objective: Objective) -> str:
    """The name of the package that the objective is in."""
    module = getattr(objective, "__module__", None) or type(objective).__module__
    return str(module).partition(".")[0]


def _refuse(channel: Connection, problem: str) -> NoReturn:
    """Say why no trial can be forked, and end without waiting for threads of the modules."""
    _send(channel, {"unfit": problem})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _send(channel: Connection, message: dict[str, Any]) -> None:
    try:
        channel.send_bytes(json.dumps(message).encode())
    except OSError:
        sys.exit(0)  # the worker has ended
