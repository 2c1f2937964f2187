"""What a report is made of: sections of text, tables and figures, in whatever form it is read."""

from collections.abc import Sequence
from typing import final

from priorband.values import frozen


@final
@frozen
class Cell:
    """A cell of a table: a text, what is printed below it, and whether it stands out."""

    text: str
    below: str = ""
    bold: bool = False


@final
@frozen
class ReportTable:
    """Rows under heads, with a name for its file and a caption; and its numbers, for machines."""

    name: str
    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    fields: Sequence[str] = ()
    numbers: Sequence[Sequence[object]] = ()
    """The rows of its CSV, under the fields."""


@final
@frozen
class Figure:
    """A vector graphic, with a name for its file and a caption."""

    name: str
    caption: str
    svg: str


@final
@frozen
class Section:
    """A title, some paragraphs, and what they speak of."""

    title: str
    paragraphs: Sequence[str]
    blocks: Sequence[ReportTable | Figure] = ()
