"""HTML for notebooks. All text is escaped: names and values come from users."""

from collections.abc import Iterable, Sequence
from html import escape

LONGEST = 120
"""How many characters of a value are shown."""


def html_table(titles: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table of values as HTML.

    >>> html_table(["x"], [["<b>"], [None]])[41:]
    '<tbody><tr><td>&lt;b&gt;</td></tr><tr><td></td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows
    )
    above = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_fields(title: str, fields: Iterable[tuple[str, object]]) -> str:
    """A title, and a table with one row for each named value, as HTML.

    >>> html_fields("Trial 3", [("x", 0.5)])
    '<b>Trial 3</b><table><tbody><tr><th>x</th><td>0.5</td></tr></tbody></table>'
    """
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{_cell(v)}</td></tr>" for name, v in fields)
    return f"<b>{escape(title)}</b><table><tbody>{rows}</tbody></table>"


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = f"{value:.5g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
