"""The last step of a figure: everything that matplotlib leaves for later is done at once."""

from typing import TYPE_CHECKING

from priorband.plots.drawing.style import SMALL
from priorband.plots.drawing.svg import plain
from priorband.plots.drawing.theme import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def finished(figure: "Figure", description: str) -> "Figure":
    """The figure, with its layout, ticks and texts made with the settings of now.

    Its label is the description, which files of it have for screen readers.
    """
    figure.set_label(plain(description))
    figure.draw_without_rendering()
    return figure


def say(axes: "Axes", text: str, theme: Theme) -> None:
    """Put a text in the middle of a panel that has nothing to show, and take its numbers away."""
    axes.text(
        0.5,
        0.5,
        plain(text),
        ha="center",
        va="center",
        transform=axes.transAxes,
        fontsize=SMALL + 1,
        color=theme.ink,
        wrap=True,
    )
    axes.set_xticks([])
    axes.set_yticks([])
