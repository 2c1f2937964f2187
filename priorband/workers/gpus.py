"""How many GPUs this machine has, as far as its device files tell; no driver is loaded."""

import re
import sys
from pathlib import Path

_NVIDIA = re.compile(r"nvidia\d+")
_OTHER_SIGNS = ("kfd", "dxg", "nvhost-gpu", "nvgpu")
"""ROCm, Windows' Subsystem for Linux, and two names on Jetson: these do not tell the number."""


def gpus_found(root: Path = Path("/"), platform: str = sys.platform) -> int | None:
    """The number of GPUs; None if it is not known, which is always so outside Linux.

    A container sees the device files of its own GPUs only.
    """
    if platform != "linux":
        return None
    try:
        names = {path.name for path in (root / "dev").iterdir()}
    except OSError:
        return None
    numbered = sum(_NVIDIA.fullmatch(name) is not None for name in names)
    if numbered:
        return numbered
    others = any(name in names for name in _OTHER_SIGNS)
    drivers = any((root / "proc/driver/nvidia/gpus").glob("*"))
    return None if others or drivers else 0
