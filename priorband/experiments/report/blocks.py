"""The parts of a report, independent of its format: sections, tables and figures."""

from collections.abc import Sequence
from typing import final

from priorband.values import frozen


@final
@frozen
class Cell:
    """A cell of a table: its text, a smaller text below it, and whether it is bold."""

    text: str
    below: str = ""
    bold: bool = False


@final
@frozen
class ReportTable:
    """A table: the name of its file, a caption, its heads and rows, and its CSV file's content."""

    name: str
    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    fields: Sequence[str] = ()
    numbers: Sequence[Sequence[object]] = ()
    """The rows of the CSV file, whose columns are `fields`."""


@final
@frozen
class Figure:
    """An SVG figure, with the name of its file and a caption."""

    name: str
    caption: str
    svg: str


@final
@frozen
class Section:
    """A title, some paragraphs, and the tables and figures that they describe."""

    title: str
    paragraphs: Sequence[str]
    blocks: Sequence[ReportTable | Figure] = ()
