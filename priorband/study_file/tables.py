"""Reading a table of a study file key by key, and noting each mistake with its place."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, final

from priorband.errors import StudyFileError
from priorband.study_file.keys import Keys
from priorband.study_file.kinds import Kind
from priorband.study_file.mistakes import Mistake, proposal, study_file_error
from priorband.study_file.positions import KeyPosition, TextSpan, find_positions, line_and_column
from priorband.study_file.positions import Path as KeyPath

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)")
_LONGEST_VALUE = 60


@final
class Source:
    """The text of a study file, what it says, and the mistakes that were found in it.

    Args:
        path: the file; its name is in messages.
        text: its text, if it is not to be read.
    """

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        self.text = _text(path) if text is None else text
        try:
            self.data: dict[str, Any] = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise self._syntax_error(str(error)) from None
        except RecursionError:
            raise StudyFileError(f"{path}: its values are nested too deeply.") from None
        self.entries: Mapping[KeyPath, KeyPosition] = find_positions(self.text)
        self.mistakes: list[Mistake] = []
        self.notes: list[str] = []
        """What may be meant as it is, but should be said."""

    def mistake(self, path: KeyPath, message: str, key: bool = False) -> None:
        """Note a mistake at a value, or at its key."""
        entry = self.entries.get(path)
        while entry is None and path:
            path = path[:-1]
            entry = self.entries.get(path)
        span = None if entry is None else (entry.key if key else entry.value)
        self.mistakes.append(Mistake(span, message))

    def mistake_within(self, path: KeyPath, part: str, message: str) -> None:
        """Note a mistake at a part of a string."""
        value = self.entries[path].value
        start = self.text.find(part, value.start, value.end)
        span = value if start < 0 else TextSpan(start, start + len(part))
        self.mistakes.append(Mistake(span, message))

    def note(self, path: KeyPath, message: str) -> None:
        """Note what is no mistake, but may be a surprise."""
        line, _ = line_and_column(self.text, self.entries[path].key.start)
        self.notes.append(f"{self.path}, line {line}: {message}")

    def raise_mistakes(self) -> None:
        """Raise `StudyFileError` if there are any."""
        if self.mistakes:
            raise study_file_error(str(self.path), self.text, self.mistakes)

    def _syntax_error(self, message: str) -> StudyFileError:
        place = _PLACE.search(message)
        what = message[: place.start()] if place else message
        offset = len(self.text.rstrip())
        if place and place[1]:
            lines = self.text.split("\n")[: int(place[1]) - 1]
            offset = sum(len(line) + 1 for line in lines) + int(place[2]) - 1
        mistake = Mistake(TextSpan(offset, offset + 1), f"This is not valid TOML: {what}.")
        hint = _syntax_hint(self.text, offset)
        if what.startswith(("Cannot overwrite", "Cannot declare", "Cannot mutate")):
            mistake = _second(self.text, offset)
        return study_file_error(
            str(self.path), self.text, [Mistake(mistake.span, f"{mistake.message}{hint}")]
        )


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise StudyFileError(
            f"{path} is not text in UTF-8: byte {error.start} is {error.object[error.start]:#04x}."
        ) from None
    except OSError as error:
        raise StudyFileError(f"{path} cannot be read: {error.strerror}.") from None


def _second(text: str, offset: int) -> Mistake:
    """The mistake of a key, or of a section, that is there a second time."""
    line = text.rfind("\n", 0, offset) + 1
    written = text[line:].partition("\n")[0]
    match = re.match(r"\s*(\[+[^\]]*\]+|[^=]*[^=\s])", written)
    start, end = match.span(1) if match else (0, len(written))
    message = f"`{written[start:end]}` is there twice. Drop one of them."
    return Mistake(TextSpan(line + start, line + end), message)


def _syntax_hint(text: str, offset: int) -> str:
    """What may help with a line that is no TOML."""
    line = text[text.rfind("\n", 0, offset) + 1 :].partition("\n")[0]
    if re.search(r"=\s*(True|False)\b", line):
        return " Write true and false in lower case."
    if re.search(r"=\s*None\b", line):
        return " There is no None: leave the key out."
    if re.match(r"\s*[\w.-]+\s*:", line):
        return " Write `key = value`, with an equals sign."
    if re.search(r"=\s*[A-Za-z_][\w./-]*\s*(#.*)?$", line):
        return ' A string needs quotes: "text".'
    if line.count("{") > line.count("}"):
        return " A table in braces must be on one line. For a long one, use a [section]."
    return ""


@final
class Table:
    """A table of a study file."""

    def __init__(self, source: Source, path: KeyPath, data: Mapping[str, Any], what: str) -> None:
        self.source = source
        self.path = path
        self.data = data
        self.what = what
        """How messages call it, such as "`fidelity`"."""

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def values(self, keys: Keys, advice: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The values of all keys that are known and have the right kind; note the others."""
        found = {}
        for key, value in self.data.items():
            if key not in keys:
                self._note_unknown(key, keys, advice or {})
            elif not keys[key].kind.accepts(value):
                self._note_wrong(key, keys[key].kind, value)
            else:
                found[key] = keys[key].kind.converted(value)
        return found

    def require(self, found: Mapping[str, Any], *keys: str) -> bool:
        """Whether all keys have a value; note those that are not there at all."""
        for key in keys:
            if key not in self.data:
                self.source.mistake(self.path, f"{self.what} needs the key `{key}`.", key=True)
        return all(key in found for key in keys)

    def mistake(self, key: str | None, message: str, at_key: bool = False) -> None:
        """Note a mistake at the value of a key, or at the table itself."""
        path = self.path if key is None else (*self.path, key)
        self.source.mistake(path, message, key=at_key)

    def subtables(self) -> Iterator[tuple[str, Any]]:
        """The keys and values as they are."""
        yield from self.data.items()

    def _name(self, key: str) -> str:
        return f"`{key}` of {self.what}" if self.path else f"`{key}`"

    def _note_wrong(self, key: str, kind: Kind, value: Any) -> None:
        close = proposal(value, kind.schema.get("enum", ())) if isinstance(value, str) else ""
        self.mistake(key, f"{self._name(key)} must be {kind.allowed}{got(value)}{close}")

    def _note_unknown(self, key: str, keys: Keys, advice: Mapping[str, str]) -> None:
        known = ", ".join(f"`{name}`" for name in keys)
        hint = advice.get(key) or proposal(key, keys) or f" Its keys are {known}."
        self.mistake(key, f"{self.what} has no key `{key}`.{hint}", at_key=True)


def got(value: Any) -> str:
    """`, got ...` for the end of a message, as it would be written in the file.

    >>> got(True), got("x"), got(["a"])
    (', got true.', ', got "x".', ', got ["a"].')
    """
    shown = toml_text(value)
    if len(shown) > _LONGEST_VALUE:
        shown = shown[: _LONGEST_VALUE - 3] + "..."
    return f", got {shown}."


def toml_text(value: Any) -> str:
    """A value as it is written in TOML, on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_text, value))}]"
    if isinstance(value, dict):
        pairs = ", ".join(f"{key} = {toml_text(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return str(value)
