"""Which accelerators a worker may see: each gets its own share of those that this process has."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from priorband.errors import ArgumentError
from priorband.numeric import whole

MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def masks(workers: int, each: int | None, environment: Mapping[str, str]) -> list[dict[str, str]]:
    """For each worker the environment that shows it its own devices, and no others.

    A mask that is set already is shared out; without one, devices are counted from 0.

    >>> masks(2, 1, {"CUDA_VISIBLE_DEVICES": "4,7"})
    [{'CUDA_VISIBLE_DEVICES': '4'}, {'CUDA_VISIBLE_DEVICES': '7'}]
    """
    if each is None:
        return [{} for _ in range(workers)]
    if not whole(each) or each < 0:
        raise ArgumentError(f"`gpus_per_trial` must be a whole number of at least 0, got {each!r}.")
    name = next((mask for mask in MASKS if environment.get(mask)), MASKS[0])
    given = environment.get(name)
    if given is None:
        devices = [str(number) for number in range(workers * each)]
    else:
        devices = [part.strip() for part in given.split(",") if part.strip()]
    if len(devices) < workers * each:
        raise ArgumentError(
            f"{workers} workers with {each} devices each need {workers * each}, but {name} shows "
            f"{len(devices)}: {given!r}. Take fewer workers, or show more devices."
        )
    return [{name: ",".join(devices[i * each : (i + 1) * each])} for i in range(workers)]


def apply(mask: Mapping[str, str]) -> None:
    """Set a worker's mask for itself and all processes that it starts."""
    os.environ.update(mask)


@contextmanager
def applied(mask: Mapping[str, str]) -> Iterator[None]:
    """Set a mask for a while: this process may tune again, with other devices."""
    before = {name: os.environ.get(name) for name in mask}
    apply(mask)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
