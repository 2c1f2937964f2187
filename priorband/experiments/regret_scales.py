"""The scales of regret, which are measured once per benchmark and stored with the results."""

import json
from collections.abc import Iterable
from pathlib import Path

from priorband.analysis.scale import RegretScale, regret_scale
from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.errors import FormatError
from priorband.experiments.result_store import write_atomically

SCALES_FILE = "scales.json"


def regret_scales(
    entries: Iterable[CatalogueEntry], data: Path | None, results: Path
) -> dict[str, RegretScale]:
    """The scales of all benchmarks whose data is available, by name."""
    path = results / SCALES_FILE
    stored, scales = _read(path), dict[str, RegretScale]()
    for entry in entries:
        if entry.missing(data):
            continue
        digest = entry.digest(data)
        if stored.get(entry.name, ("",))[0] != digest:
            scale = regret_scale(entry.make(data))
            stored[entry.name] = (digest, scale.best, scale.median)
            write_atomically(path, json.dumps(stored, indent=1) + "\n")
        scales[entry.name] = RegretScale(*stored[entry.name][1:])
    return scales


def _read(path: Path) -> dict[str, tuple[str, float, float]]:
    try:
        text = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return {
            name: (str(d), float(best), float(median)) for name, (d, best, median) in text.items()
        }
    except (AttributeError, TypeError, ValueError):
        raise FormatError(
            f"The file {path} is damaged: delete it, and it will be created again."
        ) from None
