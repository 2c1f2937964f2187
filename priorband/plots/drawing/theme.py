"""Light and dark: the colours of background, text and grid, and of the data on them.

The colours of data are those of `style`. On a dark background those that would be hard to see are
replaced by lighter ones. `tests/plots/test_theme.py` measures the contrast of each with the
background, and how far apart they are for people with each kind of colour blindness.
"""

from collections.abc import Iterable
from typing import Any, final

from priorband.plots.drawing.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    INDIGO,
    INK,
    OLIVE,
    ORANGE,
    PINK,
    PURPLE,
    RED,
    SETTINGS,
    SKY,
    TEAL,
    WINE,
    Style,
)
from priorband.values import frozen, replaced


@final
@frozen
class Theme:
    """The colours of a figure."""

    name: str
    background: str
    text: str
    """Titles, and texts that name data."""
    ink: str
    """Axes, numbers and notes."""
    grid: str
    faint: str
    """Data that stands in the background, such as trials that are not among the best."""
    ramp: tuple[str, str]
    """The colours of the first and of the last of things in an order, such as rungs."""
    lighter: tuple[tuple[str, str], ...] = ()
    """Colours of the style, and what this theme has instead."""

    def colour(self, colour: str) -> str:
        """A colour of the style, as it is in this theme."""
        return dict(self.lighter).get(colour, colour)

    def look(self, look: Style) -> Style:
        """A style, with its colour as it is in this theme."""
        return replaced(look, colour=self.colour(look.colour))

    def origins(self, names: Iterable[str]) -> dict[str, str]:
        """The colour of each origin: always the same one for those that come with the library."""
        distinct = list(dict.fromkeys(names))
        own = [name for name in sorted(distinct) if name not in ORIGINS]
        spare = {name: _SPARE[index % len(_SPARE)] for index, name in enumerate(own)}
        return {name: self.colour(ORIGINS.get(name) or spare[name]) for name in distinct}

    def ordered(self, count: int) -> list[str]:
        """Colours for things in an order, from the first to the last."""
        if count < 2:
            return [self.ramp[1]] * count
        shares = [index / (count - 1) for index in range(count)]
        return [_mixed(*self.ramp, share) for share in shares]

    def settings(self) -> dict[Any, object]:
        """The settings of matplotlib for a figure of this theme."""
        if self is LIGHT:
            return SETTINGS
        ink = ("axes.edgecolor", "xtick.color", "ytick.color")
        text = ("text.color", "axes.labelcolor", "axes.titlecolor")
        background = ("figure.facecolor", "axes.facecolor")
        return {
            **SETTINGS,
            **dict.fromkeys(ink, self.ink),
            **dict.fromkeys(text, self.text),
            **dict.fromkeys(background, self.background),
            "grid.color": self.grid,
        }


ORIGINS = {
    "uniform": GREY,
    "prior": BLUE,
    "incumbent": RED,
    "mode": SKY,
    "model": WINE,
    "queued": ORANGE,
    "imported": BLACK,
}
"""The colour of each origin of a configuration."""
_SPARE = (GREEN, OLIVE, PINK, TEAL, PURPLE, INDIGO)

LIGHT = Theme("light", "#ffffff", "#000000", INK, "#e4e4e4", "#b9bdc3", ("#b7d3e8", "#08306b"))
DARK = Theme(
    "dark",
    background="#15181d",
    text="#f2f2f2",
    ink="#c3c7cc",
    grid="#2b3038",
    faint="#5a616b",
    ramp=("#3f76a8", "#d6ecff"),
    lighter=(
        (BLACK, "#f5f5f5"),
        (GREY, "#808080"),
        (BLUE, "#2f8fd8"),
        (SKY, "#8fd3ff"),
        (INDIGO, "#9b8ff0"),
        (GREEN, "#1fbf92"),
        (ORANGE, "#ffc341"),
        (RED, "#f0712c"),
        (PINK, "#f0a6d0"),
        (WINE, "#e377b8"),
        (PURPLE, "#d47fd0"),
    ),
)


def theme_of(dark: bool) -> Theme:
    """The theme: dark or light."""
    return DARK if dark else LIGHT


def _mixed(first: str, last: str, share: float) -> str:
    """A colour between two, at a share of the way.

    >>> _mixed("#000000", "#ffffff", 0.5)
    '#808080'
    """
    parts = [(int(first[i : i + 2], 16), int(last[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(low + (high - low) * share):02x}" for low, high in parts)
