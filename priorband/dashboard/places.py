"""Where the studies of a dashboard are: folders, folders of studies, and databases.

A study is asked for by an id that is made from its place, never by the place itself, so no request
can name a file. Links are not followed.
"""

import os
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import final

from priorband.errors import FormatError
from priorband.storage.addresses import is_address, shown, split
from priorband.storage.sqlite_file import DATABASE_NAME
from priorband.values import frozen

DEPTH = 3
"""How many folders deep studies are looked for."""
MOST = 500
"""How many studies are shown."""


@final
@frozen
class StudyPlace:
    """Where a study is."""

    where: str
    """The folder, or the URL with its password."""
    id: str
    name: str
    """A short name for people."""

    @property
    def folder(self) -> Path | None:
        """The folder; None for a study in a database."""
        return None if is_address(self.where) else Path(self.where)

    @property
    def shown(self) -> str:
        """The folder or the URL, without a password."""
        return shown(self.where)


def study_place(where: str) -> StudyPlace:
    """The place of a study in a folder or at a URL.

    >>> study_place("postgresql://ann:secret@host/lab#resnet").name
    'resnet'
    """
    if is_address(where):
        return StudyPlace(where, _id(split(where)[1], shown(where)), split(where)[1])
    folder = os.path.abspath(where)
    name = Path(folder).name or "study"
    return StudyPlace(folder, _id(name, folder), name)


def study_places(wheres: Iterable[str]) -> tuple[StudyPlace, ...]:
    """The studies at places, each either a study or a folder with studies in it.

    Raises:
        FormatError: if a place is neither a database, a study nor a folder.
    """
    found: dict[str, StudyPlace] = {}
    for where in wheres:
        for place in _places(where):
            found.setdefault(place.id, place)
            if len(found) >= MOST:
                return tuple(found.values())
    return tuple(found.values())


def _places(where: str) -> Iterator[StudyPlace]:
    if is_address(where) or os.path.isfile(os.path.join(where, DATABASE_NAME)):
        yield study_place(where)
    elif os.path.isdir(where):
        yield from map(study_place, _folders_with_studies(where, DEPTH))
    else:
        raise FormatError(
            f"There is no study in {where}: there is no such folder. Give the folder of a study, "
            "a folder with studies in it, or the URL of a study in PostgreSQL."
        )


def _folders_with_studies(folder: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            below = sorted(one.path for one in entries if one.is_dir(follow_symlinks=False))
    except OSError:  # one that this user may not look at, or that has just been removed
        return
    for path in below:
        if os.path.isfile(os.path.join(path, DATABASE_NAME)):
            yield path
        elif depth > 1:
            yield from _folders_with_studies(path, depth - 1)


def _id(name: str, place: str) -> str:
    readable = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:24] or "study"
    return (
        f"{readable}-{blake2b(place.encode('utf-8', 'surrogatepass'), digest_size=5).hexdigest()}"
    )
