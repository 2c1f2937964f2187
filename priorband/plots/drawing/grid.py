"""Small multiples: a grid of panels with their titles, labels at its edges and one legend above."""

from collections.abc import Sequence
from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING, final

from priorband.errors import DataError
from priorband.numeric import whole
from priorband.plots.drawing.style import LARGE, MEDIUM, SMALL
from priorband.plots.drawing.svg import plain
from priorband.plots.drawing.theme import LIGHT, Theme
from priorband.values import derived, frozen, settle

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NARROW, _WIDE = 4.0, 7.0
_HEIGHTS = {1: 2.4, 2: 1.9, 3: 1.4, 4: 1.2}
_LOWEST = 1.1
_POINTS = 72
_GAP = 1.6


@final
@frozen
class PanelGrid:
    """A number of panels in columns; sizes in inches."""

    count: int
    columns: int
    theme: Theme = LIGHT
    width: float = 0.0
    """The width of the figure; 0 stands for the usual one for this number of columns."""
    height: float = 0.0
    """The height of a panel; 0 stands for the usual one for this number of columns."""
    rows: int = derived()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise DataError("A figure needs at least one panel, got none.")
        if not whole(self.columns) or self.columns < 1:
            raise DataError(f"Columns must be a whole number from 1 on, got {self.columns!r}.")
        columns = min(self.columns, self.count)
        settle(self, columns=columns, rows=ceil(self.count / columns))
        settle(self, width=self.width or (_NARROW if columns == 1 else _WIDE))
        settle(self, height=self.height or _HEIGHTS.get(columns, _LOWEST))

    @property
    def panel_width(self) -> float:
        """The width that a title may take, in points."""
        return ((self.width - 0.7) / self.columns - 0.1) * _POINTS

    def first(self, index: int) -> bool:
        """Whether a panel stands at the left edge."""
        return index % self.columns == 0

    def last(self, index: int) -> bool:
        """Whether no panel stands below."""
        return index + self.columns >= self.count

    def open(self) -> "tuple[Figure, list[Axes]]":
        """An empty figure of this form, and its panels row by row."""
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine

        height = self.rows * (self.height + 0.12)
        gaps = ConstrainedLayoutEngine(w_pad=0.05, h_pad=0.03, wspace=0.02, hspace=0.02)
        figure = Figure(figsize=(self.width, height), layout=gaps)
        cells = figure.add_gridspec(self.rows, self.columns)
        places = [divmod(index, self.columns) for index in range(self.count)]
        return figure, [figure.add_subplot(cells[row, column]) for row, column in places]

    def entitle(self, axes: "Sequence[Axes]", titles: Sequence[str], notes: Sequence[str]) -> None:
        """Put a title above each panel, on more lines if it is long, and a small note below it."""
        below = [_folded(note, SMALL, self.panel_width) for note in notes]
        for place, title, note in zip(axes, titles, below, strict=True):
            lines = note.count("\n") + 1 if note else 0
            folded = _folded(title, LARGE, self.panel_width)
            place.set_title(folded, pad=4 + lines * SMALL * 1.25, color=self.theme.text)
            if note:
                place.annotate(
                    note,
                    (0.5, 1),
                    (0, 3),
                    "axes fraction",
                    "offset points",
                    ha="center",
                    va="bottom",
                    fontsize=SMALL,
                    color=self.theme.ink,
                )

    def label(self, figure: "Figure", x_label: str, y_label: str) -> None:
        """One label for all abscissae and one for all ordinates."""
        height = figure.get_size_inches()[1]
        if x_label:
            figure.supxlabel(_folded(x_label, MEDIUM, self.width * 65), fontsize=MEDIUM)
        if y_label:
            figure.supylabel(_folded(y_label, MEDIUM, height * 60), fontsize=MEDIUM)


def legend(
    figure: "Figure", handles: "Sequence[Artist]", labels: Sequence[str], length: float = 3.2
) -> None:
    """One legend above all panels, to be read row by row; the figure grows by its height.

    The length is that of its lines in sizes of its text: long enough to show the dash.
    """
    texts = [plain(label) for label in labels]
    if not texts:
        return
    width, height = figure.get_size_inches()
    taken = [text_width(text, MEDIUM) + (length + 0.6 + _GAP) * MEDIUM for text in texts]
    columns = _columns(taken, width * _POINTS - 12)
    order = [i for column in range(columns) for i in range(column, len(texts), columns)]
    figure.set_size_inches(width, height + ceil(len(texts) / columns) * 0.165 + 0.05)
    made = figure.legend(
        [handles[i] for i in order],
        [" "] * len(texts),  # a label that starts with "_" would be left out
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        handlelength=length,
        columnspacing=_GAP,
        handletextpad=0.6,
        borderpad=0.1,
        labelspacing=0.35,
        borderaxespad=0.2,
    )
    for text, i in zip(made.get_texts(), order, strict=True):
        text.set_text(texts[i])


def text_width(text: str, size: float) -> float:
    """The width of a text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=["DejaVu Sans"], size=size)
    return float(text_to_path.get_text_width_height_descent(text, font, False)[0])


def _columns(widths: Sequence[float], available: float) -> int:
    """As few rows as fit, and as few columns as those rows need."""
    for columns in range(len(widths), 1, -1):
        if sum(max(widths[at::columns]) for at in range(columns)) <= available:
            return ceil(len(widths) / ceil(len(widths) / columns))
    return 1


def _folded(text: str, size: float, width: float) -> str:
    """A text on as many lines as its width asks for, all of about the same length."""
    text = plain(text)
    needed = text_width(text, size) if text else 0
    if needed <= width:
        return text
    most = max(4, int(len(text) * width / needed))
    lines = len(_wrapped(text, most))
    least = next(room for room in range(1, most + 1) if len(_wrapped(text, room)) <= lines)
    return "\n".join(_wrapped(text, least))


def _wrapped(text: str, room: int) -> list[str]:
    """Lines that break between words only."""
    return wrap(text, room, break_on_hyphens=False)
