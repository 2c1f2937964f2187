"""The beliefs of a section `[prior]`: in a study file, in a file of its own, or as words."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from priorband.errors import SpaceError
from priorband.space.prior import prior
from priorband.space.space import Space
from priorband.study_file.beliefs import read_belief
from priorband.study_file.keys import TOP_KEYS
from priorband.study_file.mistakes import proposal
from priorband.study_file.tables import Source, Table

PRIOR = "prior"


def read_beliefs(source: Source, stated: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """The beliefs by parameter of a section `[prior]`; mistakes are noted in the source."""
    beliefs: dict[str, Any] = {}
    for name, belief in stated.items():
        path = (PRIOR, name)
        if name not in space.searched:
            hint = proposal(name, space.searched)
            source.mistake(path, f"`prior` names `{name}`, which is not searched.{hint}", key=True)
            continue
        before = len(source.mistakes)
        beliefs[name] = read_belief(source, path, belief, space.searched[name].choices)
        if len(source.mistakes) == before:
            try:
                prior(space, {name: beliefs[name]})
            except SpaceError as error:
                source.mistake(path, str(error))
    return beliefs


def beliefs_in_file(path: str | Path, space: Space) -> dict[str, Any] | None:
    """The beliefs of the section `[prior]` of a TOML file; None if a study file has none.

    Raises:
        StudyFileError: if something is wrong with the section, or there is none.
    """
    source = Source(Path(path))
    if PRIOR not in source.data and "space" in source.data:
        return None
    top = Table(source, (), source.data, "A file with a prior")
    found = top.values({PRIOR: TOP_KEYS[PRIOR]} if "space" not in source.data else TOP_KEYS)
    if PRIOR not in source.data:
        source.mistake((), "There is no section [prior], with lines such as lr = 1e-3.")
    beliefs = read_beliefs(source, found.get(PRIOR, {}), space)
    source.raise_mistakes()
    return beliefs


def beliefs_in_words(words: Iterable[str], space: Space) -> dict[str, Any]:
    """The beliefs of words such as `lr=1e-3` and `lr={ normal = 1e-3, sigma = 0.1 }`.

    Raises:
        StudyFileError: if something is wrong with one of them.
    """
    lines = ["[prior]"]
    for word in words:
        name, _, value = word.partition("=")
        lines.append(f"{_quoted(name.strip())} = {_toml_value(value.strip())}")
    source = Source(Path("prior"), "\n".join(lines))
    beliefs = read_beliefs(source, source.data[PRIOR], space)
    source.raise_mistakes()
    return beliefs


def _toml_value(text: str) -> str:
    """A text as it is if it is a value in TOML, or else as a string."""
    try:
        alone = [*tomllib.loads(f"value = {text}")] == ["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        alone = False
    return text if alone and "\n" not in text else _quoted(text)


def _quoted(text: str) -> str:
    """A text as a string in TOML, whose escapes are among those of JSON."""
    return json.dumps(text, ensure_ascii=False)
