"""Matplotlib figures as SVG text, safe to put several of on one page.

Matplotlib's own SVG, with ids that start with the figure's name, no CSS rule that would apply to
the rest of the page, and a description for screen readers. Text stays text: it can be searched,
copied and read aloud.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING
from xml.dom.minidom import Element, parseString

from priorband.errors import DataError, ExtraError
from priorband.plots.drawing.style import FONTS
from priorband.plots.drawing.theme import LIGHT, Theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NO_TEXT = re.compile("[\\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
"""Matplotlib's date and version would make the same figure differ between runs."""
_MEASURED_FONT = "'DejaVu Sans'"
"""Matplotlib measures text with this font, which it brings along, and names no other."""
PICTURE_DPI = 200
"""The resolution of what is a picture within a figure, such as very many points."""
_INHERITED = {"stroke-linejoin": "round", "stroke-linecap": "butt"}
"""Matplotlib sets these with a CSS rule for every element of the page."""


def need_matplotlib() -> None:
    """Raise `ExtraError` if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401  # only to see whether it is there
    except ImportError as error:
        raise ExtraError("Figures need matplotlib: pip install 'priorband[plots]'") from error


@contextmanager
def drawing(theme: Theme = LIGHT) -> Iterator[None]:
    """Our settings of matplotlib, whatever the user's are; afterwards the user's again."""
    need_matplotlib()
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph ")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(theme.settings())
        yield


def plain(text: str) -> str:
    """A text on one line, without the characters that no XML may have."""
    return _NO_TEXT.sub(" ", str(text)).strip()


def svg_text(figure: "Figure", name: str, description: str) -> str:
    """The figure as SVG: its ids start with the name, and screen readers say the description."""
    if not _NAME.fullmatch(name):
        raise DataError(
            f"A figure's name starts with a letter, and has only letters, digits, '-' and '_' "
            f"(the ids within it start with it), got {name!r}."
        )
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    FigureCanvasSVG(figure)
    written = StringIO()
    figure.savefig(written, format="svg", dpi=PICTURE_DPI, metadata=_NO_METADATA)
    document = parseString(written.getvalue())
    for definitions in document.getElementsByTagName("defs"):
        for style in definitions.getElementsByTagName("style"):
            definitions.removeChild(style)
    for element in document.getElementsByTagName("*"):
        _rewrite_attributes(element, name)
    [root] = document.getElementsByTagName("svg")
    described = {"role": "img", "aria-label": plain(description)}
    for key, value in (_INHERITED | described).items():
        root.setAttribute(key, value)
    return root.toxml() + "\n"


def _rewrite_attributes(element: Element, name: str) -> None:
    """Start ids and references to them with the name, and name fonts to fall back to."""
    for key, value in list(element.attributes.items()):
        if key == "id":
            element.setAttribute(key, f"{name}-{value}")
        elif key == "xlink:href" and value.startswith("#"):  # others are pictures
            element.setAttribute(key, f"#{name}-{value.removeprefix('#')}")
        elif key in ("clip-path", "style"):
            value = value.replace("url(#", f"url(#{name}-")
            element.setAttribute(key, value.replace(_MEASURED_FONT, FONTS))
