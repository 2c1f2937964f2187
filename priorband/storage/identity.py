"""Who a process is, and whether it still lives."""

import os
import select
import sys
from hashlib import blake2b
from typing import Literal, final

from priorband.values import frozen

Fate = Literal["alive", "dead", "unknown"]


@final
@frozen
class Owner:
    """A process on a machine, named so that no later one can be taken for it."""

    host: str
    """The machine's name, for people."""
    machine: str
    """A hash of host name and machine id: the same computer, or pod, over reboots."""
    place: str
    """Boot id and pid namespace, as `boot/namespace`: where the pid means something."""
    pid: int
    """0 for a hold that is tied to no process."""
    started: str
    """When the process started, in the kernel's ticks; empty where that is unknown."""


def me() -> Owner:
    """This process; a forked child is another one.

    >>> fate(me())
    'alive'
    """
    pid = os.getpid()
    owner = _known.get(pid)
    if owner is None:
        _known.clear()
        owner = _known.setdefault(pid, _introduce(pid))
    return owner


def fate(owner: Owner) -> Fate:
    """Whether a process lives, as far as this one can tell: unknown is never a guess."""
    if owner.pid <= 0:
        return "unknown"
    mine = me()
    if owner.place == mine.place:
        return _look(owner) if mine.started else _signal(owner.pid, there="alive")
    rebooted = owner.machine == mine.machine and _differ(_boot(owner), _boot(mine))
    return "dead" if rebooted else "unknown"


def worker_name() -> str:
    """A name for one worker that no other has had: host, pid and six random digits."""
    stem = f"{me().host}-{os.getpid()}-"
    while (name := stem + os.urandom(3).hex()) in _named:
        pass
    _named.add(name)
    return name


def die_with_parent(signal_number: int, parent: int) -> None:
    """Let the kernel send this process a signal when its parent, `parent` by pid, dies.

    It comes at once if the parent is dead already. The kernel's parent is the thread that started
    this process, so that thread must last. Linux only: elsewhere nothing happens.
    """
    if not _LINUX:
        return
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    zero = ctypes.c_ulong(0)
    if libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal_number), zero, zero, zero):
        problem = os.strerror(ctypes.get_errno())
        raise OSError(
            ctypes.get_errno(),
            f"The kernel refused signal {signal_number!r} at the parent's death: {problem}. "
            "Give the number of a signal, such as signal.SIGKILL",
        )
    if os.getppid() != parent:
        os.kill(os.getpid(), signal_number)


_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_NAMES_OF_MANY = ("", "(none)", "localhost")
_MOST_WATCHED = 100
_known: dict[int, Owner] = {}
_watched: dict[Owner, int] = {}
_named: set[str] = set()

# A child that is the first of a new pid namespace can have its parent's pid.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_known.clear)


def _introduce(pid: int) -> Owner:
    host = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    boot = _boot_id()
    machine = _machine(host, boot)
    namespace = _link("/proc/self/ns/pid")
    # Every machine calls its first namespace the same: it says something only with a boot id.
    place = f"{boot}/{namespace}" if boot and namespace else f"{boot}/{machine}"
    shown = "".join(c if c.isprintable() and not c.isspace() else "?" for c in host)
    return Owner(shown or "host", machine, place, pid, _own_start(pid))


def _machine(host: str, boot: str) -> str:
    known = _text("/etc/machine-id") or _text("/var/lib/dbus/machine-id")
    if not known and host.partition(".")[0] in _NAMES_OF_MANY:
        known = boot
    named = f"{host}\n{known}".encode("utf-8", "surrogateescape")
    return blake2b(named, digest_size=8).hexdigest()


def _boot_id() -> str:
    if _LINUX:
        return _text("/proc/sys/kernel/random/boot_id")
    if os.name != "posix":
        return ""
    import subprocess

    # Not kern.boottime, which moves when the clock is set.
    command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _own_start(pid: int) -> str:
    # A /proc that was mounted for another pid namespace knows this process by another number.
    if _link("/proc/self") != str(pid):
        return ""
    try:
        return _stat(pid)[1]
    except OSError:
        return ""


def _look(owner: Owner) -> Fate:
    """Look at a process; one that lives is watched from then on, which is ten times cheaper."""
    watched = _watched.get(owner)
    if watched is None:
        fate = _inspect(owner)
        return _watch(owner) if fate == "alive" and hasattr(os, "pidfd_open") else fate
    poll = select.poll()
    poll.register(watched, select.POLLIN)
    if not poll.poll(0):
        return "alive"
    os.close(_watched.pop(owner))
    return "dead"


def _watch(owner: Owner) -> Fate:
    """Take hold of a process, so that its end is seen and its number is never another's."""
    while len(_watched) >= _MOST_WATCHED:
        os.close(_watched.pop(next(iter(_watched))))
    try:
        watched = os.pidfd_open(owner.pid)
    except OSError:
        return _inspect(owner)
    fate = _inspect(owner)  # it may have ended, and another have its number, in between
    if fate == "alive":
        _watched[owner] = watched
    else:
        os.close(watched)
    return fate


def _inspect(owner: Owner) -> Fate:
    try:
        state, started = _stat(owner.pid)
    except (FileNotFoundError, ProcessLookupError):
        return _signal(owner.pid, there="unknown")  # /proc can hide other people's processes
    except OSError:
        return "unknown"
    replaced = _differ(owner.started, started)
    return "dead" if replaced or state in ("Z", "X", "x") else "alive"


def _stat(pid: int) -> tuple[str, str]:
    """State and start time. The name before them is in brackets, and can hold brackets."""
    file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    try:
        text = os.read(file, 4096)
    finally:
        os.close(file)
    fields = text[text.rindex(b")") + 2 :].split(None, 20)
    return fields[0].decode(), fields[19].decode()


def _signal(pid: int, there: Fate) -> Fate:
    """What a signal that does nothing meets: nobody, or somebody."""
    if os.name != "posix":  # there it would end the process
        return "unknown"
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return "dead"
    except PermissionError:
        pass
    return there


def _boot(owner: Owner) -> str:
    return owner.place.partition("/")[0]


def _differ(one: str, other: str) -> bool:
    """Whether two things are known, and not the same."""
    return bool(one and other and one != other)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(256).strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
