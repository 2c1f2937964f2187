"""Figures as files: SVG with text as text, PNG or PDF, the same bytes for the same figure."""

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from priorband.errors import ArgumentError, suggestion
from priorband.plots.drawing.svg import PICTURE_DPI, drawing, svg_text
from priorband.plots.names import FORMATS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NO_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""Versions and dates would make the same figure differ between runs."""


def save(figure: "Figure", path: str | Path) -> None:
    """Write a figure as a file; its ending says the format: .svg, .png or .pdf.

    The text of an SVG stays text, and screen readers say what it shows. An existing file is
    replaced once the new one is complete.

    Args:
        figure: a figure of this package, or another one of matplotlib.
        path: the file.

    Raises:
        ArgumentError: if the file has another ending.

    >>> import tempfile
    >>> from priorband import Float, Space, Study, plots
    >>> figure = plots.incumbent(Study(Space(x=Float(0, 1)), method="random"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plots.save(figure, f"{folder}/incumbent.svg")
    """
    place = Path(path)
    content = _content(figure, checked_format(place))
    if place.exists() and not place.is_file():  # a device or a pipe cannot be replaced
        place.write_bytes(content)
        return
    part = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, place)
    finally:
        part.unlink(missing_ok=True)


def checked_format(path: Path) -> str:
    """The format of a file by its ending.

    >>> checked_format(Path("figure.SVG"))
    'svg'
    >>> checked_format(Path("a.pgn"))
    Traceback (most recent call last):
    ...
    priorband.errors.ArgumentError: A plot's file must end in .svg, .png or .pdf, got 'a.pgn'. \
Did you mean 'png'? Known: pdf, png, svg.
    """
    ending = path.suffix.removeprefix(".").lower()
    if ending not in FORMATS:
        raise ArgumentError(
            f"A plot's file must end in .svg, .png or .pdf, got {path.name!r}. "
            f"{suggestion(ending, FORMATS)}"
        )
    return ending


def _content(figure: "Figure", form: str) -> bytes:
    with drawing():
        if form == "svg":
            return svg_text(figure, "plot", str(figure.get_label())).encode()
        written = BytesIO()
        figure.savefig(written, format=form, dpi=PICTURE_DPI, metadata=_NO_METADATA[form])
        return written.getvalue()
