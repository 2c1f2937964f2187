"""Guards: small processes above a trial's own, which end everything that the trial has started.

    worker -- outer guard -- inner guard -- the trial's process -- whatever it starts

Both guards are subreapers: a process below them that loses its parent becomes a child of the next
guard above it, even if it has left its session or was forked twice. So nothing can get away. When
the trial's process has ended, or the worker has died, the inner guard ends all processes below it
and exits in the same way as the trial's process did. If a guard is killed, the other one does this.
Guards block all signals, since batch systems send signals to every process of a job. Each has a
session of its own, so that killing a process group does not reach both.

`split` makes the guards. A new interpreter imports this module by its path and calls `split` before
anything else, so that guards are small and a fork does not copy threads. This module may therefore
import only what starts fast. It works on Linux alone.

A server that forks trials (warm_server.py) is such a process, with one more guard above it. It is
itself the innermost guard of each trial, by `guard_child`: a fork of a process that has imported
much is too slow to make guards of.
"""

import ctypes
import os
import signal
import time
from collections.abc import Collection, Iterable
from contextlib import suppress

TERMINATE = signal.SIGRTMIN  # asks a guard to send SIGTERM to all processes below it
FINISH = signal.SIGRTMIN + 1  # asks a guard to kill the trial's process, and end the others
AFTER_TERM = 1.0  # seconds between SIGTERM and SIGKILL for processes that the trial has left
AFTER_KILL = 5.0  # seconds until a guard no longer waits for processes that SIGKILL does not end
INNER_STUCK = 7.0  # seconds after which the outer guard kills an inner one that does not respond
OUTER_STUCK = 15.0  # seconds after which the worker kills the outer guard

_LOOK = 0.5  # seconds between checks of the parent, in case the kernel does not report its death
_LOOK_FOR_NEW = 0.02  # seconds between checks for new processes while the others are being ended
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 1, 4, 15, 36


def split(parent: int, sentinel: int, guards: int) -> None:
    """Fork for each guard and return in the innermost process; the others become its guards.

    Call it in a process that has one thread, and that is not the leader of a process group.

    Args:
        parent: the pid of the process whose death ends everything.
        sentinel: a file descriptor that is closed when the outer guard exits, and not before.
        guards: how many.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it is ignored, no exit code can be read
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    for place in range(guards):
        os.setsid()
        become_subreaper()  # not inherited, and needed before there is a child
        guard, child = os.getpid(), os.fork()
        if child:
            keep = (0, 1, 2) if place else (0, 1, 2, sentinel)
            _guard(child, parent, outer=place < guards - 1, keep=keep)
        parent = guard
    global _guarded
    _guarded = True
    os.close(sentinel)
    live_below(parent, blocked)


def live_below(guard: int, mask: Iterable[int]) -> None:
    """In a new process: have a session of its own, and die with its guard.

    Args:
        guard: the pid of the process that has forked this one.
        mask: the signals to block.
    """
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def guard_child(child: int, parent: int, spared: Collection[int]) -> int:
    """Be the guard of a child until it and all that it has started have ended; its status.

    This process must be a subreaper that blocks all signals.

    Args:
        child: the pid of a process that has called `live_below`.
        parent: the pid of the process above this one.
        spared: the processes that were below this one before; they go on, with those below them.
    """
    status, asked_at = _wait(child, parent, outer=False, spared=spared)
    end_descendants(child, asked_at, spared)
    return status


def spared_processes() -> set[int]:
    """The processes below this one, which `guard_child` leaves alone if it is told so."""
    return descendants(os.getpid()) if _has_own_proc() else set()


def forget_requests() -> None:
    """Drop requests that came after the child had ended, so that they are not for the next one."""
    while signal.sigtimedwait((TERMINATE, FINISH), 0):
        pass


def is_guarded() -> bool:
    """Whether this process, or one that it was forked from, has guards."""
    return _guarded


_guarded = False


def become_subreaper() -> None:
    """Become the parent of all processes below this one that lose their parent."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _guard(child: int, parent: int, outer: bool, keep: Collection[int]) -> None:
    """Wait for the child to end, end what it has left, and exit in the same way as it did."""
    try:
        _close_files(keep)
        _prctl(_PR_SET_NAME, b"priorband-guard")
        # Only to wake up: the kernel also sends it if a thread of the parent has ended.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGCHLD)
        status, asked_at = _wait(child, parent, outer)
        end_descendants(child, asked_at)
        _exit_like(status)
    except BaseException:  # the child is killed when this process exits
        import traceback

        traceback.print_exc()
    finally:
        os._exit(1)


def _wait(child: int, parent: int, outer: bool, spared: Collection[int] = ()) -> tuple[int, float]:
    """Wait for the child; its status, and when the processes below were first asked to end."""
    asked_at = finished_at = float("inf")
    while True:
        status, _ = _reap(child)
        if status is not None:
            return status, asked_at
        now = time.monotonic()
        if finished_at == float("inf") and parent_is_dead(parent):
            finished_at = now
            os.kill(child, FINISH if outer else signal.SIGKILL)
        elif outer and now - finished_at > INNER_STUCK:
            os.kill(child, signal.SIGKILL)
        request = signal.sigtimedwait((signal.SIGCHLD, TERMINATE, FINISH), _LOOK)
        number = request.si_signo if request else signal.SIGCHLD
        if number == TERMINATE:
            asked_at = min(asked_at, now)
            if outer:
                os.kill(child, TERMINATE)
            else:
                _signal_descendants(signal.SIGTERM, child, spared)
        elif number == FINISH:
            finished_at = min(finished_at, now)
            os.kill(child, FINISH if outer else signal.SIGKILL)


def parent_is_dead(parent: int) -> bool:
    """Whether the process above this one has died."""
    return os.getppid() != parent


def end_descendants(group: int, asked_at: float, spared: Collection[int] = ()) -> None:
    """End all processes below this one: SIGTERM, and some time later SIGKILL, until none is left.

    Args:
        group: the process group to signal if /proc does not say which processes there are.
        asked_at: when they were already sent SIGTERM; infinity if they were not.
        spared: processes that are left alone, with those below them.
    """
    now = time.monotonic()
    kill_at = min(asked_at, now) + AFTER_TERM
    give_up_at = max(kill_at, now) + AFTER_KILL
    asked: set[int] = set()
    while _has_children(spared) and (now := time.monotonic()) < give_up_at:
        if now < kill_at:
            asked |= _signal_descendants(signal.SIGTERM, group, spared, asked)
        else:
            _signal_descendants(signal.SIGKILL, group, spared)
        signal.sigtimedwait((signal.SIGCHLD,), _LOOK_FOR_NEW)


def _has_children(spared: Collection[int]) -> bool:
    """Whether processes are left below this one, after collecting those that have ended."""
    is_any_left = _reap()[1]
    return is_any_left and not (spared and _children(os.getpid()) <= {*spared})


def _reap(child: int = 0) -> tuple[int | None, bool]:
    """Collect children that have ended: the status of `child`, and whether any others are left."""
    status = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status, False
        if not pid:
            return status, True
        if pid == child:
            status = ended


def _signal_descendants(
    number: int, group: int, spared: Collection[int] = (), leave_out: Collection[int] = ()
) -> set[int]:
    """Send a signal to all processes below this one; which these are."""
    if not _has_own_proc():
        with suppress(OSError):
            os.killpg(group, number)
        return set()
    pids = descendants(os.getpid(), spared) - {*leave_out}
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):  # such as a program that is setuid
            os.kill(pid, number)
    return pids


def descendants(pid: int, but: Collection[int] = ()) -> set[int]:
    """The processes that a process has started, and those that these have started, and so on.

    Those in `but` are left out, with what they have started.
    """
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        new = _children(waiting.pop()) - found - {*but}
        found |= new
        waiting += new
    return found


def _children(pid: int) -> set[int]:
    """The children of a process."""
    children: set[int] = set()
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):  # an option of the kernel
        return {other for other in _numbers("/proc") if _parent(other) == pid}
    for thread in _numbers(f"/proc/{pid}/task"):
        with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
            children.update(map(int, file.read().split()))
    return children


def _parent(pid: int) -> int:
    with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])
    return 0


def _has_own_proc() -> bool:
    """Whether there is a /proc, and not that of another pid namespace."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def _numbers(folder: str) -> list[int]:
    """The names in a folder that are numbers; none if it does not exist."""
    with suppress(OSError):
        return [int(name) for name in os.listdir(folder) if name.isdigit()]
    return []


def _close_files(keep: Collection[int]) -> None:
    """Close all other files, so that whoever is at the other end sees that the child has ended."""
    for file in _numbers("/proc/self/fd") or range(3, 1024):
        if file not in keep:
            with suppress(OSError):
                os.close(file)


def _exit_like(status: int) -> None:
    """Exit with the code of another process, or die of the same signal."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        os._exit(code)
    _prctl(_PR_SET_DUMPABLE, 0)  # one core file is enough
    if -code not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(-code, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (-code,))
    os.kill(os.getpid(), -code)


_libc = ctypes.CDLL(None)


def _prctl(option: int, value: int | bytes) -> None:
    """Set an attribute of this process; a sandbox may refuse, and then less is guarded."""
    argument = value if isinstance(value, bytes) else ctypes.c_ulong(value)
    zero = ctypes.c_ulong(0)
    _libc.prctl(option, argument, zero, zero, zero)
