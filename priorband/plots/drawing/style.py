"""The style of each method: a colour, a dash and a marker, the same in every figure.

The colours are Okabe and Ito's (https://jfly.uni-koeln.de/color/), without yellow, which is hard to
see on white, and with two of Paul Tol's and a grey. No two methods have the same dash and marker,
so figures are readable in grey; no two have the same colour and dash either.
"""

import re
from collections.abc import Iterable
from itertools import cycle
from typing import Any, final

from priorband.errors import MethodError, suggestion
from priorband.values import frozen, replaced

BLACK, GREY, BLUE, SKY, INDIGO = "#000000", "#7f7f7f", "#0072b2", "#56b4e9", "#332288"
GREEN, ORANGE, RED, PINK, WINE = "#009e73", "#e69f00", "#d55e00", "#cc79a7", "#882255"
TEAL, PURPLE, OLIVE = "#44aa99", "#aa4499", "#999933"
INK = "#333333"
"""The colour of axes and other lines that are not data."""

Dash = tuple[float, ...]
SOLID: Dash = ()
LONG: Dash = (6, 2)
SHORT: Dash = (2.8, 1.4)
DOTS: Dash = (1, 1.3)
DASH_DOT: Dash = (6, 1.6, 1, 1.6)
DASH_DOTS: Dash = (6, 1.6, 1, 1.6, 1, 1.6)
PUBLISHED: Dash = (1, 2.6)
_MARKERS = ("", "o", "s", "^", "v", "D", "P", "X", "*")

SMALL, MEDIUM, LARGE = 7.0, 8.0, 8.5
"""Text sizes in points."""
FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
"""None of these fonts is wider than DejaVu Sans, with which matplotlib measures text."""

SETTINGS: dict[Any, object] = {
    **{"font.family": ["DejaVu Sans"], "font.size": MEDIUM, "text.parse_math": False},
    **{"axes.titlesize": LARGE, "axes.titlepad": 4.0, "axes.linewidth": 0.6},
    **{"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": INK},
    **{"axes.grid": True, "grid.color": "#e4e4e4", "grid.linewidth": 0.5, "axes.axisbelow": True},
    **{"xtick.labelsize": SMALL, "ytick.labelsize": SMALL, "xtick.color": INK, "ytick.color": INK},
    **{"xtick.major.size": 2.5, "ytick.major.size": 2.5, "xtick.major.width": 0.6},
    **{"ytick.major.width": 0.6, "ytick.minor.size": 1.5, "ytick.minor.width": 0.4},
    **{"xtick.major.pad": 2.0, "ytick.major.pad": 2.0, "axes.unicode_minus": True},
    **{"lines.scale_dashes": True, "lines.dash_capstyle": "butt", "legend.fontsize": MEDIUM},
    **{"svg.fonttype": "none", "svg.hashsalt": "priorband", "figure.facecolor": "white"},
}


@final
@frozen
class Style:
    """The style of a line. The dash is in line widths; an empty one is a solid line."""

    colour: str
    dash: Dash = SOLID
    marker: str = ""
    width: float = 1.3
    hollow: bool = False


# fmt: off
_METHODS = {
    "random": Style(BLACK, DOTS),
    "random+prior": Style(BLACK, LONG, ">"),
    "random+prior(50%)": Style(BLACK, DASH_DOT, "X"),
    "grid": Style(BLACK, SHORT, "X"),
    "sh": Style(BLUE, DOTS, "s"),
    "hyperband": Style(BLUE, LONG),
    "hyperband+prior": Style(BLUE, SOLID, "s"),
    "hyperband+prior(50%)": Style(GREEN, DASH_DOT, "s"),
    "asha": Style(SKY, SHORT),
    "asha+prior": Style(SKY, DASH_DOT, "^"),
    "asha+esp": Style(SKY, SOLID, "^", 1.5),
    "async-hyperband": Style(INDIGO, DASH_DOT),
    "async-hyperband+prior": Style(INDIGO, DOTS, "D"),
    "async-hyperband+esp": Style(INDIGO, SOLID, "D", 1.5),
    "priorband": Style(RED, SOLID, "o", 1.9),
    "priorband(50%)": Style(BLUE, SHORT, "s"),
    "priorband(linear)": Style(GREEN, SOLID, "P"),
    "priorband(constant)": Style(PINK, DOTS, "^"),
    "priorband(decay)": Style(ORANGE, DASH_DOTS, "v"),
    "priorband(crossover)": Style(SKY, LONG, "X"),
    "priorband(hypersphere)": Style(INDIGO, SHORT, "D"),
    "priorband(no-incumbent)": Style(BLACK, DASH_DOTS, "*"),
    "priorband(mode@min)": Style(WINE, SHORT, "P"),
    "priorband(no-mode)": Style(GREY, LONG, "v"),
    "priorband(rate=0.25)": Style(BLUE, DASH_DOTS, "^"),
    "priorband(rate=0.75)": Style(GREEN, SHORT, "^"),
    "priorband(sigma=0.125)": Style(SKY, DOTS, "v"),
    "priorband(sigma=0.5)": Style(WINE, DOTS, "X"),
    "bo": Style(GREY, SHORT, "*"),
    "pibo": Style(GREEN, DASH_DOTS, "D"),
    "bohb": Style(PINK, LONG, "^"),
    "mobster": Style(ORANGE, SHORT, "v"),
    "mobster(joint)": Style(ORANGE, DASH_DOT, "v"),
    "mobster+esp": Style(ORANGE, SOLID, "v", 1.5),
    "mobster+esp(joint)": Style(ORANGE, LONG, "D", 1.5),
    "priorband+bo": Style(WINE, LONG, "s", 1.7),
    "priorband+bo(rung)": Style(WINE, DASH_DOT, "P", 1.5),
    "guardband": Style(TEAL, SOLID, "p", 1.9),
    "guardband(no-guard)": Style(TEAL, LONG, "p"),
    "guardband(all-brackets)": Style(TEAL, SHORT, "p"),
    "guardband(no-opening)": Style(TEAL, DOTS, "p"),
    "guardband(no-continue)": Style(TEAL, DASH_DOT, "p"),
    "guardband(mode@max)": Style(TEAL, DASH_DOTS, "p"),
    "guardband(trusted=1)": Style(OLIVE, SOLID, "<"),
    "guardband+bo": Style(PURPLE, SOLID, "h", 1.7),
    "guardband+bo(no-duel)": Style(PURPLE, LONG, "h"),
    "guardband+bo(no-proof)": Style(PURPLE, SHORT, "h"),
    "guardband+bo(no-prior)": Style(PURPLE, DOTS, "h"),
    "guardband+bo(sum)": Style(PURPLE, DASH_DOT, "h"),
    "guardband+bo(linear)": Style(PURPLE, DASH_DOTS, "h"),
    "guardband+bo(esp)": Style(OLIVE, LONG, "<"),
    "asha+guard": Style(OLIVE, SHORT, "<"),
    "async-hyperband+guard": Style(OLIVE, DOTS, "<"),
}
_ROLES = {
    "uniform": Style(GREY, DOTS, "o", 1.6),
    "prior": Style(BLUE, LONG, "o", 1.6),
    "incumbent": Style(RED, SOLID, "", 1.6),
    "near optimum": Style(GREEN, SOLID, "*"),
    "good": Style(SKY, DASH_DOT, "*"),
    "bad": Style(ORANGE, DOTS, "*"),
}
_WORDS = {
    "random": "RS", "grid": "Grid", "sh": "SH", "hyperband": "HB", "asha": "ASHA",
    "async-hyperband": "AsyncHB", "priorband": "PriorBand", "guardband": "GuardBand", "bo": "BO",
    "pibo": "piBO", "bohb": "BOHB", "mobster": "Mobster",
}
_EXCEPTIONS = {"async-hyperband+esp": "Async-HB(+ESP)"}
# fmt: on
_PARTS = re.compile(r"([a-z-]+)((?:\+prior|\+bo|\+guard)?)((?:\+esp)?)((?:\([^()]*\))?)")
_SUFFIX = " (published)"
_FILL = {"+prior": "+Prior", "+bo": "+BO", "+guard": "+Guard", "": ""}


def display_name(method: str) -> str:
    """A method's name as in the paper; any other text unchanged.

    >>> display_name("hyperband+prior(50%)"), display_name("asha+esp"), display_name("else")
    ('HB+Prior(50%)', 'ASHA(+ESP)', 'else')
    """
    if method.endswith(_SUFFIX):
        return display_name(method.removesuffix(_SUFFIX)) + _SUFFIX
    parts = _PARTS.fullmatch(method)
    if method in _EXCEPTIONS or parts is None or parts[1] not in _WORDS:
        return _EXCEPTIONS.get(method, method)
    inner = parts[4].strip("()")
    extra = ", ".join(filter(None, ("+ESP" if parts[3] else "", inner)))
    return _WORDS[parts[1]] + _FILL[parts[2]] + (f"({extra})" if extra else "")


_KNOWN = _METHODS | {display_name(name): style for name, style in _METHODS.items()}


def method_style(name: str) -> Style:
    """The style of a method, by its name here or in the paper."""
    if name not in _KNOWN:
        raise MethodError(f"No style for the method {name!r}. {suggestion(name, _METHODS)}")
    return _KNOWN[name]


def styles(labels: Iterable[str]) -> dict[str, Style]:
    """A style for each label: that of the method, or one that no other label of the figure has.

    A label that ends in ` (published)` has the colour and the marker of the label without it.
    """
    distinct = list(dict.fromkeys(labels))
    fixed = {label: style for label in distinct if (style := _fixed(label))}
    taken = {(style.dash, style.marker) for style in fixed.values()}
    spare = [style for style in _spare() if (style.dash, style.marker) not in taken]
    rest = (label for label in distinct if label not in fixed)
    return fixed | dict(zip(rest, cycle(spare), strict=False))


def _fixed(label: str) -> Style | None:
    if label.endswith(_SUFFIX):
        own = _fixed(label.removesuffix(_SUFFIX))
        return own and replaced(
            own, dash=PUBLISHED, width=1.1, marker=own.marker or "o", hollow=True
        )
    return _KNOWN.get(label, _ROLES.get(label))


def _spare() -> list[Style]:
    """Styles for labels that are not methods; no two have the same dash and marker."""
    colours = (BLUE, RED, GREEN, ORANGE, PINK, BLACK, SKY, WINE, GREY, INDIGO)
    dashes = (SOLID, LONG, DOTS, DASH_DOT, SHORT, DASH_DOTS)
    return [
        Style(colours[i % 10], dashes[i % 6], _MARKERS[(i + i // 18) % len(_MARKERS)])
        for i in range(54)
    ]
