"""Naming a process so that others can tell whether it is still alive."""

import os
import select
import sys
from hashlib import blake2b
from typing import Literal, final

from priorband.values import frozen

Liveness = Literal["alive", "dead", "unknown"]


@final
@frozen
class Owner:
    """A process on a machine. No later process is mistaken for it, even with the same pid."""

    host: str
    """The machine's name, to show to people."""
    machine: str
    """A hash of the host name and machine id, which stays the same over reboots."""
    place: str
    """Boot id and pid namespace, as `boot/namespace`: a pid is only unique within both."""
    pid: int
    """0 for a lease that does not depend on a process."""
    started: str
    """When the process started, in the kernel's clock ticks; empty if that is unknown."""


def this_process() -> Owner:
    """The `Owner` of this process. A forked child has another one.

    >>> liveness(this_process())
    'alive'
    """
    pid = os.getpid()
    owner = _own.get(pid)
    if owner is None:
        _own.clear()
        owner = _own.setdefault(pid, _own_identity(pid))
    return owner


def liveness(owner: Owner) -> Liveness:
    """Whether a process is alive or dead; "unknown" if this process cannot tell for sure."""
    if owner.pid <= 0:
        return "unknown"
    mine = this_process()
    if owner.place == mine.place:
        return _observed(owner) if mine.started else _probed(owner.pid, if_exists="alive")
    rebooted = owner.machine == mine.machine and _differ(_boot(owner), _boot(mine))
    return "dead" if rebooted else "unknown"


def worker_name() -> str:
    """A unique name for a worker: host, pid and six random hexadecimal digits."""
    stem = f"{this_process().host}-{os.getpid()}-"
    while (name := stem + os.urandom(3).hex()) in _names_given:
        pass
    _names_given.add(name)
    return name


def die_with_parent(signal_number: int, parent: int) -> None:
    """Ask the kernel to send this process a signal when its parent (a pid) dies.

    If the parent is already dead, the signal is sent at once. To the kernel, the parent is the
    thread that started this process, so that thread must keep running. On other systems than Linux
    this function does nothing.
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
            f"The kernel refused signal {signal_number!r} for when the parent dies: {problem}. "
            "Give the number of a signal, such as signal.SIGKILL",
        )
    if os.getppid() != parent:
        os.kill(os.getpid(), signal_number)


_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG = 1
_COMMON_HOST_NAMES = ("", "(none)", "localhost")
_MAX_WATCHED = 100
_own: dict[int, Owner] = {}  # this process's Owner, by its pid
_watched: dict[Owner, int] = {}  # pidfds
_names_given: set[str] = set()

# The first process of a new pid namespace can have the same pid as its parent.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_own.clear)


def _own_identity(pid: int) -> Owner:
    host = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    boot = _boot_id()
    machine = _machine(host, boot)
    namespace = _link("/proc/self/ns/pid")
    # The first namespace has the same name on every machine, so it is used only with a boot id.
    place = f"{boot}/{namespace}" if boot and namespace else f"{boot}/{machine}"
    printable = "".join(c if c.isprintable() and not c.isspace() else "?" for c in host)
    return Owner(printable or "host", machine, place, pid, _own_start(pid))


def _machine(host: str, boot: str) -> str:
    machine_id = _text("/etc/machine-id") or _text("/var/lib/dbus/machine-id")
    if not machine_id and host.partition(".")[0] in _COMMON_HOST_NAMES:
        machine_id = boot
    both = f"{host}\n{machine_id}".encode("utf-8", "surrogateescape")
    return blake2b(both, digest_size=8).hexdigest()


def _boot_id() -> str:
    if _LINUX:
        return _text("/proc/sys/kernel/random/boot_id")
    if os.name != "posix":
        return ""
    import subprocess

    # Not kern.boottime, which changes when the clock is set.
    command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _own_start(pid: int) -> str:
    # A /proc that was mounted for another pid namespace lists this process under another pid.
    if _link("/proc/self") != str(pid):
        return ""
    try:
        return _stat(pid)[1]
    except OSError:
        return ""


def _observed(owner: Owner) -> Liveness:
    """The fate of a process in this namespace.

    A process that is alive is watched with a pidfd from then on, which is ten times cheaper than
    reading /proc.
    """
    pidfd = _watched.get(owner)
    if pidfd is None:
        liveness = _read_from_proc(owner)
        return _watch(owner) if liveness == "alive" and hasattr(os, "pidfd_open") else liveness
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    if not poll.poll(0):
        return "alive"
    os.close(_watched.pop(owner))
    return "dead"


def _watch(owner: Owner) -> Liveness:
    """Open a pidfd, which notices the end of the process even if its pid is reused."""
    while len(_watched) >= _MAX_WATCHED:
        os.close(_watched.pop(next(iter(_watched))))
    try:
        pidfd = os.pidfd_open(owner.pid)
    except OSError:
        return _read_from_proc(owner)
    liveness = _read_from_proc(owner)  # it may have ended in between, and its pid been reused
    if liveness == "alive":
        _watched[owner] = pidfd
    else:
        os.close(pidfd)
    return liveness


def _read_from_proc(owner: Owner) -> Liveness:
    try:
        state, started = _stat(owner.pid)
    except (FileNotFoundError, ProcessLookupError):
        return _probed(owner.pid, if_exists="unknown")  # /proc can hide other users' processes
    except OSError:
        return "unknown"
    replaced = _differ(owner.started, started)
    return "dead" if replaced or state in ("Z", "X", "x") else "alive"


def _stat(pid: int) -> tuple[str, str]:
    """State and start time. The name before them is in parentheses, and may contain some."""
    file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    try:
        text = os.read(file, 4096)
    finally:
        os.close(file)
    fields = text[text.rindex(b")") + 2 :].split(None, 20)
    return fields[0].decode(), fields[19].decode()


def _probed(pid: int, if_exists: Liveness) -> Liveness:
    """Send signal 0, which only tests whether a process exists."""
    if os.name != "posix":  # Windows: it would end the process
        return "unknown"
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return "dead"
    except PermissionError:
        pass
    return if_exists


def _boot(owner: Owner) -> str:
    return owner.place.partition("/")[0]


def _differ(first: str, second: str) -> bool:
    """Whether both texts are known (not empty), and not the same."""
    return bool(first and second and first != second)


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
