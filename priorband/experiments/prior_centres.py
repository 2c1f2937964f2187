"""The centres of priors, which are searched once per benchmark and stored with the results."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.benchmarks.priors import GENERATION_SEED, QUALITIES, unperturbed_centres
from priorband.errors import DataError, FormatError
from priorband.experiments.result_store import write_atomically

CENTRES_FILE = "priors.json"
"""The file in the results' folder with the centres that were searched here."""
PAPER_CENTRES_FILE = "priors.json"
"""The file in the paper's folder with the published centres."""

CentresByQuality = dict[str, dict[str, Any]]


def paper_centres(
    entries: Iterable[CatalogueEntry], data: Path | None, results: Path
) -> dict[str, CentresByQuality]:
    """The centres as the paper's text defines them, by `paper/BENCHMARK` and quality.

    Those that are not yet in the results' folder are searched and stored there.
    """
    path = results / CENTRES_FILE
    centres = _read_centres(path)
    for entry in entries:
        key = f"paper/{entry.name}"
        if key not in centres:
            searched = unperturbed_centres(entry.make(data))
            centres[key] = {quality: dict(centre) for quality, centre in searched.items()}
            text = {"seed": GENERATION_SEED, "centres": centres}
            write_atomically(path, json.dumps(text, indent=1) + "\n")
    return centres


def _read_centres(path: Path) -> dict[str, CentresByQuality]:
    if not path.is_file():
        return {}
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["seed"] != GENERATION_SEED:
            raise ValueError("another seed")
        return {key: dict(centres) for key, centres in stored["centres"].items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise FormatError(
            f"The file {path} is damaged: delete it, and it will be created again."
        ) from None


def published_centres(
    rules: str, entries: Iterable[CatalogueEntry], paper: Path | None
) -> dict[str, CentresByQuality]:
    """The centres of the published experiments, from their authors' file."""
    wanted = list(entries)
    if paper is None or not (paper / PAPER_CENTRES_FILE).is_file():
        raise DataError(
            f"The rules {rules!r} need the authors' prior configurations: a folder with "
            f"{PAPER_CENTRES_FILE}. Set it with --paper or PRIORBAND_PAPER, or use --rules paper."
        )
    path = paper / PAPER_CENTRES_FILE
    try:
        published = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
        unknown = [entry.name for entry in wanted if entry.paper_name not in published]
        centres: dict[str, CentresByQuality] = {
            f"{rules}/{entry.name}": {
                quality: published[entry.paper_name]["priors"][quality.replace("-", "_")]["config"]
                for quality in QUALITIES
            }
            for entry in wanted
            if entry.paper_name in published
        }
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} does not have the expected content: {error!r}.") from None
    if unknown:
        raise DataError(
            f"The rules {rules!r} have no priors for {', '.join(unknown)}: the authors' priors "
            "are for the paper's benchmarks. Use --rules paper."
        )
    return centres
