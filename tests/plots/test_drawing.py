"""The figures: what they show, what they must not let through, and how large they are."""

import re
import sys
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from amounts import examples, slow_unless_in
from hypothesis import given, settings
from hypothesis import strategies as st

from priorband.errors import DataError, ExtraError, MethodError
from priorband.named_methods import methods
from priorband.plots.drawing.curves import Frame, Line, Panel, curves
from priorband.plots.drawing.style import FONTS, display_name, method_style, styles
from priorband.plots.drawing.svg import plain
from priorband.plots.drawing.violins import Group, ViolinPanel, density, violins

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
FRAME = Frame("budget", "loss")
X = np.arange(5.0)
ODD = '_a_b $x^2$ <script>alert(\'1\')</script> & "c" id="d" --> \x00\x07\n\ud800 e'
ROLES = ("uniform", "prior", "incumbent", "near optimum", "good", "bad")
ABLATIONS = [name for name in methods() if name.startswith(("priorband(", "hyperband+prior("))]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def paths(svg: str, colour: str) -> list[str]:
    """The lines of a colour within the panels."""
    found = [path.attrib for path in ElementTree.fromstring(svg).iter(f"{SVG}path")]
    drawn = [one for one in found if f"stroke: {colour}" in one["style"] and "clip-path" in one]
    return [one["d"] for one in drawn]


def vertices(path: str) -> list[tuple[float, float]]:
    """The points of a path of straight lines."""
    points = re.findall(r"[ML] ([\d.]+) ([\d.]+)", path)
    return [(float(x), float(y)) for x, y in points]


def regrets(panels: int, lines: int) -> list[Panel]:
    rng = np.random.default_rng(1)
    names = list(methods())[:lines]
    x = np.linspace(0.1, 20, 2000)
    noisy = [[np.exp(-x / 5 + 0.1 * rng.normal(size=2000)) for _ in names] for _ in range(panels)]
    return [
        Panel(f"benchmark {i}", tuple(map(Line, names, [x] * lines, ys, [y / 9 for y in ys])))
        for i, ys in enumerate(noisy)
    ]


def losses(values: object, mark: float | None = None, text: str = "") -> ViolinPanel:
    return ViolinPanel("benchmark", (Group("good", np.asarray(values, float), mark, text),))


def test_every_method_has_a_style() -> None:
    assert {method_style(name).colour[0] for name in methods()} == {"#"}
    assert method_style("HB+Prior(50%)") == method_style("hyperband+prior(50%)")


def test_any_two_methods_differ_in_dash_or_marker_and_in_colour_or_dash() -> None:
    looks = [method_style(name) for name in methods()]
    for one, other in combinations(looks, 2):
        assert (one.dash, one.marker) != (other.dash, other.marker)
        assert (one.colour, one.dash) != (other.colour, other.dash)


def test_an_unknown_method_has_no_style_of_its_own() -> None:
    with pytest.raises(MethodError, match="Did you mean 'priorband'"):
        method_style("priorbnd")


@given(st.lists(st.sampled_from([*methods(), *"abcdefgh", *ROLES]), unique=True))
def test_no_two_labels_of_a_figure_look_the_same_in_grey(labels: list[str]) -> None:
    looks = styles(labels)
    assert set(looks) == set(labels)
    assert len({(look.dash, look.marker) for look in looks.values()}) == len(labels)


def test_what_is_published_has_the_colour_of_what_is_held_against_it() -> None:
    ours, theirs = styles(["HB", "HB (published)"]).values()
    assert (ours.colour, True) == (theirs.colour, theirs.hollow)
    assert ours.dash != theirs.dash


@pytest.mark.parametrize(
    ("method", "shown"),
    [
        ("random", "RS"),
        ("hyperband", "HB"),
        ("priorband", "PriorBand"),
        ("hyperband+prior(50%)", "HB+Prior(50%)"),
        ("random+prior", "RS+Prior"),
        ("asha+esp", "ASHA(+ESP)"),
        ("async-hyperband", "AsyncHB"),
        ("async-hyperband+esp", "Async-HB(+ESP)"),
        ("bo", "BO"),
        ("pibo", "piBO"),
        ("bohb", "BOHB"),
        ("mobster", "Mobster"),
        ("mobster+esp", "Mobster(+ESP)"),
        ("mobster+esp(joint)", "Mobster(+ESP, joint)"),
        ("priorband+bo", "PriorBand+BO"),
        ("priorband(50%)", "PriorBand(50%)"),
        ("priorband(rate=0.3)", "PriorBand(rate=0.3)"),
        ("priorband (published)", "PriorBand (published)"),
        ("a text", "a text"),
        ("incumbent", "incumbent"),
    ],
)
def test_a_method_is_shown_under_the_papers_name(method: str, shown: str) -> None:
    assert display_name(method) == shown


def test_no_two_methods_share_their_shown_name() -> None:
    assert len({display_name(name) for name in methods()}) == len(methods())


def test_the_same_figure_is_drawn_twice_in_the_same_way() -> None:
    panels = regrets(2, 3)
    assert curves(panels, FRAME) == curves(panels, FRAME)
    many = [losses(np.geomspace(0.1, 9, 40), 0.2)]
    assert violins(many, "loss") == violins(many, "loss")


def test_figures_leave_matplotlib_as_it_was() -> None:
    import matplotlib

    def now() -> dict[str, object]:
        own = matplotlib.rcParams
        return {name: own[name] for name in own if name != "backend"}  # asking would choose one

    with matplotlib.rc_context({"font.size": 31.0}):
        before = now()
        drawn = curves(regrets(1, 1), FRAME)
        assert now() == before
    assert drawn == curves(regrets(1, 1), FRAME)
    assert "matplotlib.pyplot" not in sys.modules


def test_figures_on_one_page_share_no_ids() -> None:
    first, second = (curves(regrets(2, 2), FRAME, name) for name in ("first", "second"))
    both = [set(re.findall(r'id="([^"]*)"', svg)) for svg in (first, second)]
    assert both[0] and not both[0] & both[1]
    assert all(own.startswith("first-") for own in both[0])


def test_every_reference_points_into_the_figure() -> None:
    drawn = curves(regrets(2, 8), FRAME)
    root = ElementTree.fromstring(drawn)
    known = {element.get("id") for element in root.iter()} - {None}
    links = {str(e.get(LINK)).removeprefix("#") for e in root.iter(f"{SVG}use")}
    links |= set(re.findall(r"url\(#([^)]*)\)", drawn))
    assert links and links <= known


def test_a_figure_sets_no_style_for_its_page_and_says_what_it_is() -> None:
    drawn = curves(regrets(2, 2), FRAME)
    root = ElementTree.fromstring(drawn)
    assert drawn.startswith("<svg") and not list(root.iter(f"{SVG}style"))
    assert (root.get("stroke-linejoin"), root.get("stroke-linecap")) == ("round", "butt")
    assert "Matplotlib" not in drawn and "<metadata" not in drawn
    assert root.get("role") == "img"
    assert "loss over budget" in root.attrib["aria-label"]
    assert "benchmark 1" in root.attrib["aria-label"]


@pytest.mark.parametrize("name", ["", "1st", "a b", 'a"', "é"])
def test_a_name_that_is_no_id_is_refused(name: str) -> None:
    with pytest.raises(DataError, match="A figure's name"):
        curves(regrets(1, 1), FRAME, name)


def test_labels_are_shown_as_they_are_and_do_nothing() -> None:
    panel = Panel(ODD, (Line(ODD, X, X), Line("other", X, X)), note=ODD)
    drawn = curves([panel], Frame(ODD, ODD, columns=1))
    assert "<script" not in drawn
    shown = texts(drawn)
    assert plain(ODD) in shown
    assert "".join(plain(ODD).split()) * 5 == "".join(
        text.replace(" ", "") for text in shown if set(text) - set("0123456789.\N{MINUS SIGN}")
    ).replace("other", "")
    group = ViolinPanel(ODD, (Group(ODD, X, None, ODD),))
    assert "<script" not in violins([group], ODD)


@settings(max_examples=examples(15))
@given(st.text(max_size=30))
def test_any_label_makes_a_valid_figure(label: str) -> None:
    drawn = curves([Panel(label, (Line(label, X, X),))], Frame(label, label))
    assert ElementTree.fromstring(drawn).tag == f"{SVG}svg"


def test_the_fonts_measured_with_are_those_named_last() -> None:
    drawn = ElementTree.fromstring(curves(regrets(1, 1), FRAME))
    for text in drawn.iter(f"{SVG}text"):
        assert f"font-family: {FONTS}" in text.attrib["style"]
    assert FONTS.endswith("'DejaVu Sans', sans-serif")


def test_a_gap_is_left_where_a_value_is_nan() -> None:
    y = np.array([1, 2, np.nan, 2, 1])
    colour = method_style("hyperband").colour
    [whole] = paths(curves([Panel("", (Line("hyperband", X, X),))], FRAME), colour)
    [parts] = paths(curves([Panel("", (Line("hyperband", X, y),))], FRAME), colour)
    assert (whole.count("M"), parts.count("M")) == (1, 2)


def test_a_band_is_drawn_only_where_its_error_is_known() -> None:
    bands = [
        curves([Panel("", (Line("hyperband", X, X, error),))], FRAME).count("fill-opacity")
        for error in (None, np.full(5, np.nan), np.ones(5))
    ]
    assert bands == [0, 0, 1]


def test_a_panel_without_data_says_so() -> None:
    nothing = Panel("a", (Line("hyperband", X, np.full(5, np.nan)),))
    drawn = curves([nothing, Panel("b", ()), Panel("c", (Line("random", X, X),))], FRAME)
    assert texts(drawn).count("no data") == 2


def test_steps_hold_a_value_until_the_next() -> None:
    def places(step: bool) -> list[tuple[int, int]]:
        """Which of the different x and which of the different y each point has."""
        line = Line("hyperband", np.array([0.0, 1, 2]), np.array([2.0, 1.5, 0]))
        svg = curves([Panel("", (line,))], Frame("", "", step=step))
        points = vertices(paths(svg, method_style("hyperband").colour)[0])
        across, down = (sorted(set(values)) for values in zip(*points, strict=True))
        return [(across.index(x), down.index(y)) for x, y in points]

    assert places(step=True) == [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)]
    assert places(step=False) == [(0, 0), (1, 1), (2, 2)]


def test_numbers_stand_only_at_the_outer_panels() -> None:
    lines = (Line("hyperband", np.array([0.0, 3]), np.array([7.0, 8])),)
    shared = texts(curves([Panel("", lines)] * 5, Frame("", "", columns=3)))
    assert (shared.count("3"), shared.count("8")) == (3, 2)
    own = Frame("", "", columns=3, share_x=False, share_y=False)
    every = texts(curves([Panel("", lines)] * 5, own))
    assert (every.count("3"), every.count("8")) == (5, 5)


def test_one_legend_names_each_line_once_row_by_row() -> None:
    panels = [Panel("", tuple(Line(name, X, X) for name in ["random", *ABLATIONS]))] * 3
    shown = texts(curves(panels, FRAME))
    wanted = [display_name(name) for name in ["random", *ABLATIONS]]
    assert sorted(text for text in shown if text in wanted) == sorted(wanted)


def test_what_a_logarithmic_axis_cannot_show_leaves_at_the_bottom() -> None:
    line = Line("hyperband", X, np.array([1, 0.1, 0, -1, 0.1]), np.full(5, 0.2))
    frame = Frame("", "", columns=1, log_y=True, y_limits=(1e-2, 1))
    drawn = curves([Panel("", (line,))], frame)
    assert {"0.01", "0.1", "1"} <= set(texts(drawn))
    assert not re.search("nan|inf", drawn)


def test_the_level_is_labelled_and_the_marks_are_drawn() -> None:
    panel = Panel("", (Line("hyperband", X, X),), marks=(1.0, 2.0), level=2.75)
    with_rules, without = curves([panel], FRAME), curves([Panel("", panel.lines)], FRAME)
    assert texts(with_rules).count("2.75") == 1 and "2.75" not in texts(without)
    assert with_rules.count("stroke-dasharray") == without.count("stroke-dasharray") + 3


def test_the_ordinate_can_be_turned_over() -> None:
    def heights(invert: bool) -> list[float]:
        svg = curves([Panel("", (Line("random", X, X),))], Frame("", "", invert_y=invert))
        found = {e.text: e for e in ElementTree.fromstring(svg).iter(f"{SVG}text")}
        return [float(found[number].attrib["y"]) for number in "14" if number in found]

    upright, turned = heights(False), heights(True)
    assert (upright == sorted(upright)) != (turned == sorted(turned))


@pytest.mark.parametrize(
    ("panels", "lines", "columns"),
    slow_unless_in([(12, 4, 4)], [(12, 4, 4), (7, 8, 4), (4, 14, 2)]),
)
def test_a_figure_of_many_points_is_smaller_than_a_megabyte(
    panels: int, lines: int, columns: int
) -> None:
    frame = Frame("", "", columns, log_y=True, y_limits=(1e-2, 1), x_limits=(1, 20))
    assert len(curves(regrets(panels, lines), frame)) < 1_000_000


def test_thinned_steps_begin_and_end_where_the_line_does() -> None:
    x = np.linspace(0, 10, 5001)
    colour = method_style("hyperband").colour
    ends = x[[0, -1]]
    [thinned] = paths(curves([Panel("", (Line("hyperband", x, -x),))], FRAME), colour)
    [whole] = paths(curves([Panel("", (Line("hyperband", ends, -ends),))], FRAME), colour)
    points, corners = vertices(thinned), vertices(whole)
    assert 100 < len(points) <= 600
    assert points[0] == pytest.approx(corners[0], abs=1e-3)
    assert points[-1] == pytest.approx(corners[-1], abs=1e-3)


@pytest.mark.parametrize(
    ("x", "y", "error"),
    [(X, X[:4], None), (X, X, X[:1]), (X[:, None], X[:, None], None)],
)
def test_arrays_of_different_shapes_are_refused(
    x: np.ndarray, y: np.ndarray, error: np.ndarray | None
) -> None:
    with pytest.raises(DataError, match="of the same length, got shapes"):
        Line("a", x, y, error)


def test_unsorted_points_are_refused() -> None:
    with pytest.raises(DataError, match="must be ascending"):
        Line("a", np.array([0.0, 2, 1]), X[:3])


@pytest.mark.parametrize("limits", [(1.0, 1.0), (2.0, 1.0), (0.0, 1.0), (np.nan, 1.0)])
def test_impossible_limits_are_refused(limits: tuple[float, float]) -> None:
    with pytest.raises(DataError, match="the lower one first, and above 0"):
        Frame("", "", log_y=True, y_limits=limits)


def test_a_figure_needs_a_panel_and_a_column() -> None:
    with pytest.raises(DataError, match="at least one panel"):
        curves([], FRAME)
    with pytest.raises(DataError, match="whole number from 1 on, got 0"):
        violins([losses(X)], "loss", columns=0)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ExtraError, match=r"pip install 'priorband\[plots\]'"):
        curves(regrets(1, 1), FRAME)
    with pytest.raises(ExtraError, match=r"pip install 'priorband\[plots\]'"):
        violins([losses(X)], "loss")


def test_the_density_is_the_mean_of_the_kernels() -> None:
    """Of -1, 0, 1: deviation 1, quartiles ±1/2, so the width is 0.9 * 3^(-1/5) / 1.34."""
    width = 0.9 * 3**-0.2 / 1.34
    kernels = [np.exp(-0.5 * (at / width) ** 2) / (width * np.sqrt(2 * np.pi)) for at in (-1, 0, 1)]
    found = density(np.array([-1.0, 0, 1]), np.array([0.0]))
    assert found[0] == pytest.approx(sum(kernels) / 3)


def test_the_density_sums_to_one() -> None:
    values = np.random.default_rng(3).normal(size=9000)
    levels = np.linspace(-7, 7, 400)
    step = levels[1] - levels[0]
    assert density(values, levels).sum() * step == pytest.approx(1, abs=1e-3)


def test_a_few_very_high_losses_do_not_squash_a_violin() -> None:
    calm = np.linspace(1, 2, 99)
    shown = texts(violins([losses([*calm, 1e6, np.inf])], "loss"))
    numbers = [float(text) for text in shown if re.fullmatch(r"[\d.]+", text)]
    assert max(numbers) < 10


def test_very_low_losses_and_marks_are_always_shown() -> None:
    def numbers(panel: ViolinPanel) -> list[float]:
        shown = texts(violins([panel], "loss"))
        return [float(text) for text in shown if re.fullmatch(r"[\d.]+", text)]

    calm = np.linspace(100, 101, 99)
    assert min(numbers(losses([*calm, 1.0]))) < 50
    assert max(numbers(losses(calm, mark=900.0))) > 500


@pytest.mark.parametrize("log_y", [False, True])
@pytest.mark.parametrize("values", [[], [np.nan, np.inf], [1.0], [2.0, 2.0, 2.0], [0.0, 1.0, -1.0]])
def test_any_values_make_a_violin(values: list[float], log_y: bool) -> None:
    drawn = violins([losses(values, mark=0.0, text="0.5")], "loss", log_y=log_y)
    known = [value for value in values if np.isfinite(value) and (value > 0 or not log_y)]
    assert ("no data" in texts(drawn)) == (not known)
    assert not re.search(r"[ \"](nan|inf)", drawn)


def test_values_of_a_group_stand_in_one_row() -> None:
    with pytest.raises(DataError, match=r"must be one-dimensional, got the shape \(2, 2\)"):
        Group("good", np.ones((2, 2)))
