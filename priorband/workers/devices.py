"""Which GPUs each worker may use: its own share of those that this process can see."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from priorband.errors import ArgumentError
from priorband.numeric import whole

MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def masks(
    workers: int, each: int | None, environment: Mapping[str, str], found: int | None = None
) -> list[dict[str, str]]:
    """For each worker, the environment variable that shows it `each` devices of its own.

    The devices of a variable that is already set are shared out, whatever is found. If none is
    set, devices are numbered from 0, up to the number `found` on this machine; None if that is not
    known. With `each=None` the workers get no variable.

    >>> masks(2, 1, {"CUDA_VISIBLE_DEVICES": "4,7"})
    [{'CUDA_VISIBLE_DEVICES': '4'}, {'CUDA_VISIBLE_DEVICES': '7'}]
    """
    if each is None:
        return [{} for _ in range(workers)]
    if not whole(each) or each < 0:
        raise ArgumentError(f"`gpus_per_trial` must be a whole number of at least 0, got {each!r}.")
    name = next((mask for mask in MASKS if environment.get(mask)), MASKS[0])
    visible = environment.get(name)
    if visible is None:
        if found is not None and found < workers * each:
            raise _too_few(workers, each, found)
        devices = [str(number) for number in range(workers * each)]
    else:
        devices = [part.strip() for part in visible.split(",") if part.strip()]
    if len(devices) < workers * each:
        raise ArgumentError(
            f"`gpus_per_trial`={each} with workers={workers} needs {_devices(workers * each)}, but "
            f"{name}={visible!r} lists {len(devices)}. Use fewer workers, or list more devices."
        )
    return [{name: ",".join(devices[i * each : (i + 1) * each])} for i in range(workers)]


def _too_few(workers: int, each: int, found: int) -> ArgumentError:
    have, way_out = "no GPU was", "Leave `gpus_per_trial` out to train on the CPU."
    if found:
        have = f"only {_devices(found)} {'was' if found == 1 else 'were'}"
        way_out = f"Use at most {found // each} workers." if found >= each else "Ask for fewer."
    listed = ",".join(map(str, range(workers * each)))
    return ArgumentError(
        f"`gpus_per_trial`={each} with workers={workers} needs {_devices(workers * each)}, but "
        f"{have} found on this machine. {way_out} If there "
        f"are GPUs that were not found, list them in the environment: {MASKS[0]}={listed}."
    )


def _devices(number: int) -> str:
    return "1 GPU" if number == 1 else f"{number} GPUs"


def apply_mask(mask: Mapping[str, str]) -> None:
    """Set a mask for this process and all that it starts."""
    os.environ.update(mask)


@contextmanager
def applied_mask(mask: Mapping[str, str]) -> Iterator[None]:
    """Set a mask within a `with` block, and restore the previous one afterwards."""
    previous = {name: os.environ.get(name) for name in mask}
    apply_mask(mask)
    try:
        yield
    finally:
        for name, value in previous.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
