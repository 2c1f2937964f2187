"""A command with placeholders, such as `{lr}`, and the words that it becomes for one trial.

| placeholder     | becomes                                                                     |
|-----------------|-----------------------------------------------------------------------------|
| `{lr}`          | the value of a parameter, or of the fidelity by its name                    |
| `{lr?}`         | the same; if it is empty, the word is left out, and the option before it    |
| `{args}`        | `--name value` for everything that has no placeholder of its own            |
| `{overrides}`   | `name=value` for the same, as Hydra reads it                                |
| `{{` and `}}`   | a brace                                                                     |

The command is a list and no shell reads it, so no value can be taken for anything else.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, final

from priorband.errors import MethodError
from priorband.values import frozen

ARGS, OVERRIDES = "args", "overrides"
BUILT_IN = {
    "checkpoint_dir": "the folder to save to",
    "resume_from": "the folder of the checkpoint to continue from; empty without one",
    "fidelity": "how far to train in total",
    "start": "how far the checkpoint in `resume_from` was trained; 0 without one",
    "seed": "a seed, the same for all attempts at a configuration",
    "trial": "the number of the trial",
    "attempt": "the number of the attempt at it, from 1",
    "python": "the Python that runs priorband",
    ARGS: "`--name value` for all parameters and the fidelity",
    OVERRIDES: "`name=value` for the same",
}
"""The placeholders that every command has."""

_PIECE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")
_PLAIN = re.compile(r"[\w./+@%*-]+")
_OTHER_TYPE = re.compile(r"(?i:true|false|null|nan|[+-]?inf|[+-]?[\d_.]+(e[+-]?\d+)?)")


@final
@frozen
class Placeholder:
    """A name in braces."""

    name: str
    optional: bool
    text: str
    """As it is written, with the braces."""


def pieces(word: str) -> list[str | Placeholder]:
    """The pieces of a word: text as it is, and placeholders.

    Raises:
        MethodError: if a brace has no partner; its message begins with that brace.

    >>> pieces("--lr={lr?}")
    ['--lr=', Placeholder(name='lr', optional=True, text='{lr?}')]
    """
    found: list[str | Placeholder] = []
    for match in _PIECE.finditer(word):
        text = match[0]
        if text in ("{{", "}}"):
            found.append(text[0])
        elif match[1] is not None:
            name = match[1].strip()
            found.append(Placeholder(name.removesuffix("?").strip(), name.endswith("?"), text))
        elif text in ("{", "}"):
            raise MethodError(f"{text} has no partner. Write {text * 2} for a brace.")
        else:
            found.append(text)
    return found


def placeholders(command: Iterable[str]) -> list[Placeholder]:
    """All placeholders of a command."""
    found = (piece for word in command for piece in pieces(word))
    return [piece for piece in found if isinstance(piece, Placeholder)]


def expanded(
    command: Sequence[str], built_in: Mapping[str, Any], settings: Mapping[str, Any]
) -> list[str]:
    """The words of a command for one trial.

    Args:
        command: words with placeholders.
        built_in: the values of the placeholders that every command has.
        settings: the active parameters and the fidelity, by name; a parameter hides a placeholder
            of the same name.

    >>> expanded(["train", "--lr", "{lr}", "--resume", "{resume_from?}", "{args}"],
    ...          {"resume_from": ""}, {"lr": 0.1, "epochs": 3})
    ['train', '--lr', '0.1', '--epochs', '3']
    """
    values = {**built_in, **settings}
    named = {placeholder.name for placeholder in placeholders(command)}
    others = {name: value for name, value in settings.items() if name not in named}
    words: list[str] = []
    for number, word in enumerate(command):
        parts = pieces(word)
        if _is_all(parts, ARGS) and ARGS not in settings:
            words += (item for name in others for item in (f"--{name}", as_word(others[name])))
        elif _is_all(parts, OVERRIDES) and OVERRIDES not in settings:
            words += (f"{name}={as_override(value)}" for name, value in others.items())
        elif _is_dropped(parts, values):
            if number and _awaits_value(command[number - 1]) and not word.startswith("-"):
                words.pop()
        else:
            words.append("".join(_filled(parts, values)))
    return words


def _is_all(parts: Sequence[str | Placeholder], name: str) -> bool:
    return len(parts) == 1 and isinstance(parts[0], Placeholder) and parts[0].name == name


def _is_dropped(parts: Iterable[str | Placeholder], values: Mapping[str, Any]) -> bool:
    """Whether a word has an optional placeholder that is empty."""
    optional = (part.name for part in parts if isinstance(part, Placeholder) and part.optional)
    return any(as_word(values.get(name)) == "" for name in optional)


def _awaits_value(word: str) -> bool:
    return word.startswith("-") and "=" not in word and not placeholders([word])


def _filled(parts: Iterable[str | Placeholder], values: Mapping[str, Any]) -> Iterator[str]:
    for part in parts:
        yield part if isinstance(part, str) else as_word(values.get(part.name))


def as_word(value: Any) -> str:
    """A value as one word of a command.

    >>> as_word(1e-05), as_word(True), as_word((64, 32)), as_word(None)
    ('1e-05', 'true', '64,32', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ",".join(map(as_word, value))
    return repr(value) if isinstance(value, float) else str(value)


def as_override(value: Any) -> str:
    """A value as Hydra reads it.

    >>> as_override((64, 32)), as_override("a b"), as_override("true"), as_override(0.1)
    ('[64,32]', "'a b'", "'true'", '0.1')
    """
    if isinstance(value, tuple | list):
        return f"[{','.join(map(as_override, value))}]"
    if isinstance(value, str) and (not _PLAIN.fullmatch(value) or _OTHER_TYPE.fullmatch(value)):
        quoted = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{quoted}'"
    return as_word(value)


def as_json(settings: Mapping[str, Any]) -> str:
    """All settings as one JSON object, for scripts that read them from the environment."""
    return json.dumps(dict(settings))
