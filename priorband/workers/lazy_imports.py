"""Libraries that trials import while they run: their server imports them for the next trials.

Some libraries import much of themselves at first use. The first step of an optimizer of torch
imports 800 modules, and each forked trial would do so again. So a trial's process says which
modules it has imported (`new_libraries`), its worker passes their names on (trial_starter.py), and
the server imports them (`import_libraries`) before it forks again.

Only Python's own and installed modules are taken. The user's modules may do anything when they are
imported, and are imported where the objective does it.
"""

import importlib
import os
import signal
import sys
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any

from priorband.workers.fork_checks import devices_left_alone, fork_problem
from priorband.workers.global_generators import GeneratorStates, generator_states, seeded
from priorband.workers.module_files import is_foreign, library_folders

MOST_LIBRARIES = 5000  # that a server imports for its trials
_LONGEST_NAME = 200
_LONGEST_IMPORT = 120  # seconds after which the server is killed, and the trial starts cold


def new_libraries(before: Container[str]) -> list[str]:
    """The libraries that this process has imported, in this order, except those in `before`."""
    names = list[str]()
    folders = library_folders()
    for name, module in list(sys.modules.items()):
        if name not in before and _is_library(name, _spec(module), folders):
            names.append(name)
    return names[:MOST_LIBRARIES]


def import_libraries(names: list[str], package: str) -> bool:
    """In the server: import libraries, unless they are of `package`; whether it may still fork.

    It may not if they have done more than forks can share: started threads, used a device, seeded a
    random generator or handled a signal. One that cannot be imported is left to the trials.
    """
    generators, handlers = generator_states(), _handlers()
    folders = library_folders()
    with _limited_time(), _without_output(), devices_left_alone():
        for name in names:
            if name not in sys.modules and name.partition(".")[0] != package:
                with suppress(BaseException):  # some libraries have errors that are no `Exception`
                    if _is_library(name, find_spec(name), folders):
                        importlib.import_module(name)
    if seeded(generators, generator_states()) != GeneratorStates() or handlers != _handlers():
        return False
    sys.modules["numpy.random"].set_state(generators.numpy)  # it may be one that was seeded before
    return not fork_problem()


def _is_library(name: str, spec: ModuleSpec | None, folders: tuple[str, ...]) -> bool:
    """Whether this is a module of Python or an installed one that can be imported by its name."""
    if spec is None or spec.name != name or not spec.origin or len(name) > _LONGEST_NAME:
        return False
    is_script = name.rpartition(".")[2] in ("__main__", "__mp_main__")
    return not is_script and spec.has_location and is_foreign(spec.origin, folders)


def _spec(module: object) -> ModuleSpec | None:
    """How a module was found; without asking the module, which may import others when asked."""
    try:
        spec = object.__getattribute__(module, "__dict__").get("__spec__")
    except Exception:  # anything may be in `sys.modules`
        return None
    return spec if isinstance(spec, ModuleSpec) else None


def _handlers() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in signal.valid_signals()}


@contextmanager
def _limited_time() -> Iterator[None]:
    """Kill this process, which blocks all signals, if the `with` block takes too long."""
    handler = signal.getsignal(signal.SIGALRM)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
    signal.alarm(_LONGEST_IMPORT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        if handler is not None:
            signal.signal(signal.SIGALRM, handler)


@contextmanager
def _without_output() -> Iterator[None]:
    """Drop what is printed: it is in the log of the trial that has imported the same."""
    sys.stdout.flush()
    sys.stderr.flush()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    saved = [os.dup(file) for file in (1, 2)]
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, file in enumerate(saved, 1):
            os.dup2(file, number)
            os.close(file)
        os.close(nowhere)
