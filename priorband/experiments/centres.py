"""Centres of priors: made once for each benchmark, and kept in a file beside the results."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from priorband.benchmarks.catalogue import CatalogueEntry
from priorband.benchmarks.priors import GENERATION_SEED, QUALITIES, unperturbed_centres
from priorband.errors import DataError, FormatError
from priorband.experiments.store import put

FILE = "priors.json"
PUBLISHED = "priors.json"
"""The file of the paper's folder that holds the published centres."""

Found = dict[str, dict[str, dict[str, Any]]]


def paper_centres(entries: Iterable[CatalogueEntry], data: Path | None, results: Path) -> Found:
    """Centres as the paper's text defines them; those not in the results' folder yet are made."""
    path = results / FILE
    known = _read(path)
    for entry in entries:
        place = f"paper/{entry.name}"
        if place not in known:
            made = unperturbed_centres(entry.make(data))
            known[place] = {quality: dict(centre) for quality, centre in made.items()}
            text = {"seed": GENERATION_SEED, "centres": known}
            put(path, json.dumps(text, indent=1) + "\n")
    return known


def _read(path: Path) -> Found:
    if not path.is_file():
        return {}
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if read["seed"] != GENERATION_SEED:
            raise ValueError("another seed")
        found: Found = {place: dict(centres) for place, centres in read["centres"].items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise FormatError(f"The file {path} is damaged: delete it, it is made anew.") from None
    return found


def published_centres(rules: str, entries: Iterable[CatalogueEntry], paper: Path | None) -> Found:
    """The centres that the published experiments used, by their authors' own file."""
    wanted = list(entries)
    if paper is None or not (paper / PUBLISHED).is_file():
        raise DataError(
            f"The rules {rules!r} need the authors' prior configurations: a folder with "
            f"{PUBLISHED}. Name it with --paper or PRIORBAND_PAPER, or take --rules paper."
        )
    try:
        told = json.loads((paper / PUBLISHED).read_text(encoding="utf-8"))["benchmarks"]
        strange = [entry.name for entry in wanted if entry.paper_name not in told]
        found: Found = {
            f"{rules}/{entry.name}": {
                quality: told[entry.paper_name]["priors"][quality.replace("-", "_")]["config"]
                for quality in QUALITIES
            }
            for entry in wanted
            if entry.paper_name in told
        }
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{paper / PUBLISHED} does not hold what it should: {error!r}.") from None
    if strange:
        raise DataError(
            f"The rules {rules!r} have no priors of {', '.join(strange)}: the authors' own cover "
            "the paper's benchmarks. Take --rules paper."
        )
    return found
