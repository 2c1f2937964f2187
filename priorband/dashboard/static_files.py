"""The files of the page: a fixed list, read when the server starts, so no request names a path."""

from pathlib import Path
from typing import final

from priorband.dashboard.answers import Reply

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


@final
class StaticFiles:
    """The files of the page by name, such as `views/curves.js`."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): Reply(path.read_bytes(), TYPES[path.suffix])
            for path in sorted(folder.rglob("*"))
            if path.suffix in TYPES and path.is_file() and not path.is_symlink()
        }

    def get(self, name: str) -> Reply | None:
        """A file; None if there is none of that name."""
        return self._files.get(name)

    def names(self) -> list[str]:
        """The names of all files."""
        return list(self._files)
