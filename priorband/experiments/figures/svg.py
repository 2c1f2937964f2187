"""From a matplotlib figure to the text of an SVG that several may share a page with.

What matplotlib writes is made smaller and harmless to its neighbours: ids start with the figure's
name, no rule of style reaches beyond the figure, no element has an id that nothing points to, paths
are steps of a tenth of a point. Text stays text, so that it can be searched, copied and read aloud.
"""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from priorband.errors import DataError, ExtraError
from priorband.experiments.figures.style import FONTS, SETTINGS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_TOKEN = re.compile(r"[A-Za-z]|-?\d*\.?\d+(?:e[-+]?\d+)?")
_DECIMALS = re.compile(r"-?\d+\.\d+")
_SHORTHAND = re.compile(r"(?:(bold|\d{3}) )?([\d.]+px) ")
_NO_TEXT = re.compile("[\\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")
_LOOKS = {"fill", "fill-opacity", "opacity", "stroke", "stroke-opacity", "stroke-width"}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@contextmanager
def drawing() -> Iterator[None]:
    """Our settings of matplotlib, whatever the user's are; afterwards the user's again."""
    try:
        import matplotlib
    except ImportError as error:
        raise ExtraError("Figures need matplotlib: pip install 'priorband[plots]'") from error
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph ")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def plain(text: str) -> str:
    """A text on one line, without the characters that no XML may have."""
    return _NO_TEXT.sub(" ", str(text)).strip()


def svg_text(figure: "Figure", name: str, description: str) -> str:
    """The figure as SVG; all its ids start with the name, and the description is read aloud."""
    if not _NAME.fullmatch(name):
        raise DataError(
            f"A figure's name starts with a letter, and has only letters, digits, '-' and '_' "
            f"(the ids within it start with it), got {name!r}."
        )
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    FigureCanvasSVG(figure)
    written = StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(written.getvalue())
    _prune(root)
    _hoist(root)
    _rename(root, name)
    _frame(root, description)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _prune(root: ElementTree.Element) -> None:
    """Drop metadata, rules of style and white space, and write what is left in short."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.tail = None
        if element.tag != "text":
            element.text = None
        _shorten(element)
    for element in list(root.iter()):
        for child in list(element):
            if child.tag in ("metadata", "style") or child.tag in ("g", "defs") and not len(child):
                element.remove(child)


def _shorten(element: ElementTree.Element) -> None:
    given = element.attrib
    for part in given.pop("style", "").split(";"):
        key, _, value = part.partition(":")
        _style(element, key.strip(), value.strip())
    if given.get("transform", "").startswith(("rotate(-0 ", "rotate(0 ")):
        del given["transform"]
    if "d" in given:
        given["d"] = compact(given["d"])
    for key in {"x", "y", "width", "height", "transform"} & given.keys():
        given[key] = _DECIMALS.sub(lambda number: f"{float(number[0]):.1f}", given[key])


def _style(element: ElementTree.Element, key: str, value: str) -> None:
    """One setting as an attribute: a page may forbid the attribute `style`."""
    if key == "font":
        weight, size = _SHORTHAND.match(value).groups()  # type: ignore[union-attr]  # has a size
        element.attrib |= {"font-size": size} | ({"font-weight": weight} if weight else {})
    elif key and key not in ("font-family", "stroke-dashoffset"):
        element.set(key, value)


def compact(path: str) -> str:
    """A path in steps from point to point, to a tenth of a point.

    >>> compact("M 10 20 L 13.04 20 L 13.04 18.5 L 14 17 z")
    'M10 20h3v-1.5l1-1.5z'
    """
    tokens = _TOKEN.findall(path)
    if set(filter(str.isalpha, tokens)) - {"M", "L", "z"}:
        return " ".join(_DECIMALS.sub(lambda n: f"{float(n[0]):.2f}", path).split())
    written, here, at = [], (0, 0), 0
    while at < len(tokens):
        command = tokens[at]
        if command == "z":
            written.append("z")
            at += 1
            continue
        there = (round(float(tokens[at + 1]) * 10), round(float(tokens[at + 2]) * 10))
        written.append(_move(there) if command == "M" else _step(here, there))
        here, at = there, at + 3
    return "".join(written)


def _move(to: tuple[int, int]) -> str:
    return f"M{_tenths(to[0])} {_tenths(to[1])}"


def _tenths(number: int) -> str:
    """A tenth of a number, without the zero before the point."""
    return (
        f"{number / 10:.10g}".replace("0.", ".", 1) if abs(number) < 10 else f"{number / 10:.10g}"
    )


def _step(here: tuple[int, int], there: tuple[int, int]) -> str:
    across, down = there[0] - here[0], there[1] - here[1]
    if across and down:
        return f"l{_tenths(across)}{'' if down < 0 else ' '}{_tenths(down)}"
    return f"h{_tenths(across)}" * bool(across) + f"v{_tenths(down)}" * bool(down)


def _hoist(root: ElementTree.Element) -> None:
    """Say once how a sign looks, where it is defined, and not wherever it is used."""
    known = {element.get("id"): element for element in root.iter("path")}
    for element in root.iter("use"):
        looks = {key: element.attrib.pop(key) for key in [*element.attrib] if key in _LOOKS}
        known[element.attrib[_LINK].removeprefix("#")].attrib |= looks


def _rename(root: ElementTree.Element, name: str) -> None:
    """Number the ids that something points to, after the name; drop the others."""
    used: dict[str, str] = {}
    for element in root.iter():
        links = [element.attrib.get(_LINK, "").removeprefix("#")]
        links += _REFERENCE.findall(element.attrib.get("clip-path", ""))
        for link in filter(None, links):
            used.setdefault(link, f"{name}-{len(used) + 1}")
    for element in root.iter():
        given = element.attrib
        if "id" in given and (own := given.pop("id")) in used:
            given["id"] = used[own]
        if _LINK in given:
            given["xlink:href"] = "#" + used[given.pop(_LINK).removeprefix("#")]
        if "clip-path" in given:
            given["clip-path"] = _REFERENCE.sub(
                lambda found: f"url(#{used[found[1]]})", given["clip-path"]
            )


def _frame(root: ElementTree.Element, description: str) -> None:
    root.attrib |= {
        "xmlns": "http://www.w3.org/2000/svg",
        "xmlns:xlink": "http://www.w3.org/1999/xlink",
        "role": "img",
        "aria-label": plain(description),
        "font-family": FONTS,
        "stroke-linejoin": "round",
    }
