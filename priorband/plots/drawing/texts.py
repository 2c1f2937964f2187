"""Texts of figures: names of any kind made short and harmless, numbers for people."""

import re
from unicodedata import category

from priorband.plots.drawing.svg import plain

_SILENT = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
"""Kinds of characters that show nothing or change the direction of the text."""

_PARTS = re.compile(r"[^\s_./-]*[\s_./-]*")


def short(text: object, most: int = 40) -> str:
    """A text on one line with at most `most` characters; the middle of a longer one is left out.

    >>> short("  a\\nname "), short("learning_rate_of_the_head", 12)
    ('a name', 'learni…_head')
    """
    line = plain("".join(" " if category(c) in _SILENT else c for c in str(text)))
    if len(line) <= most:
        return line
    tail = (most - 1) // 2
    return f"{line[: most - 1 - tail].rstrip()}…{line[len(line) - tail :].lstrip()}"


def counted(count: int, one: str, many: str = "") -> str:
    """A number and what it counts.

    >>> counted(1, "trial"), counted(50000, "trial"), counted(2, "study", "studies")
    ('1 trial', '50,000 trials', '2 studies')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def sentences(*parts: str) -> str:
    """Texts as sentences, one after the other; empty ones are left out.

    >>> sentences("2 trials failed", "", "1 is running")
    '2 trials failed. 1 is running.'
    """
    return " ".join(f"{part.rstrip('.')}." for part in parts if part)


def folded_name(name: object, width: int, lines: int = 3) -> str:
    """A name on at most `lines` lines of at most `width` characters, if possible between words.

    >>> folded_name("learning_rate_of_head", 14).split("\\n")
    ['learning_rate_', 'of_head']
    >>> folded_name("abcdefghij", 4).split("\\n")
    ['abcd', 'efgh', 'ij']
    """
    found = [""]
    for part in _PARTS.findall(short(name, width * lines)):
        if len(found[-1]) + len(part.rstrip()) <= width:
            found[-1] += part
        else:
            found += [part[start : start + width] for start in range(0, len(part), width)]
    texts = [text.strip() for text in found if text.strip()]
    if len(texts) > lines:
        texts = [*texts[: lines - 1], f"{texts[lines - 1][: width - 1]}…"]
    return "\n".join(texts)
