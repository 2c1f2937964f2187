"""Whether a process may fork trials: not with threads or devices, which do not survive a fork.

A thread is not copied by a fork, and a lock that it holds stays locked in the copy for ever. The
thread pool of OpenBLAS, which numpy starts, is stopped before a fork and started again after it, so
`fork_problem` forks once and then counts the threads that are left.
"""

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_DEVICES = ("/dev/nvidia-uvm", "/dev/kfd")  # opened by CUDA and ROCm once a process uses a device
USES_GPU = "the objective's module uses a GPU when it is imported"
_NVML = "PYTORCH_NVML_BASED_CUDA_CHECK"


@contextmanager
def devices_left_alone() -> Iterator[None]:
    """Let `torch.cuda.is_available()` look for devices without using one, within a `with` block.

    Many modules call it when they are imported. It would make CUDA unusable in forks.
    """
    if _NVML in os.environ:
        yield
        return
    os.environ[_NVML] = "1"
    try:
        yield
    finally:
        os.environ.pop(_NVML, None)


def fork_problem() -> str:
    """Why this process must not fork trials; empty if it may. It forks once to find out."""
    if threading.active_count() > 1:
        names = sorted(thread.name for thread in threading.enumerate())
        return (
            f"the objective's module starts a thread when it is imported ({', '.join(names[1:])})"
        )
    if _has_open(_DEVICES) or _torch_uses_cuda():
        return USES_GPU
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads, which are counted below
        child = os.fork()
    if not child:
        os._exit(_torch_cannot_use_cuda())
    with suppress(ChildProcessError):  # SIGCHLD is ignored
        if os.waitpid(child, 0)[1]:
            return USES_GPU
    threads = _number_of_threads()
    if threads > 1:
        plural = "s" if threads > 2 else ""
        return (
            f"the objective's module starts {threads - 1} native thread{plural} when it is imported"
        )
    return ""


def _number_of_threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def _has_open(paths: tuple[str, ...]) -> bool:
    """Whether this process has one of these files open."""
    try:
        files = os.listdir("/proc/self/fd")
    except OSError:
        return False
    for file in files:
        with suppress(OSError):
            if os.readlink(f"/proc/self/fd/{file}") in paths:
                return True
    return False


def _torch_uses_cuda() -> bool:
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return bool(cuda and cuda.is_initialized())


def _torch_cannot_use_cuda() -> bool:
    """In a fork: whether torch refuses to use CUDA, since a device was used before the fork."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    is_in_bad_fork = getattr(cuda, "_is_in_bad_fork", None)
    return bool(is_in_bad_fork and is_in_bad_fork())
