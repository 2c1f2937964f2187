"""Every plot, of no trial up to very many: it can be read, and says what it leaves out."""

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from amounts import slow_unless_in
from matplotlib.figure import Figure
from matplotlib.text import Text

import priorband as pb
from plots.figure_parts import axes_of, drawn_texts, paths_of, points_of, said, texts
from plots.sample_studies import EPOCHS, HOSTILE, data, loss, one_rung, told
from plots.test_theme import contrast
from priorband import plots
from priorband.errors import ArgumentError, ExtraError
from priorband.plots.drawing.theme import DARK, LIGHT
from priorband.plots.names import NAMES
from priorband.study_analysis import study_data
from priorband.study_analysis.source import StudyData

EACH = pytest.mark.parametrize("name", NAMES)
EACH_SLOWLY = pytest.mark.parametrize("name", slow_unless_in(["incumbent"], [*NAMES]))
SVG = "{http://www.w3.org/2000/svg}"


def plotted(name: str, study: StudyData | pb.Study, **options: Any) -> Figure:
    figure: Figure = getattr(plots, name)(study, **options)
    return figure


def checked(figure: Figure) -> Figure:
    """A figure in which each text is within the figure and can be read, and no number is NaN."""
    width, height = figure.bbox.size
    figure.canvas.draw()
    background = matplotlib.colors.to_hex(figure.get_facecolor())
    for text in drawn_texts(figure):
        assert not text.get_parse_math()
        assert contrast(matplotlib.colors.to_hex(text.get_color()), background) > 4.5
        box = text.get_window_extent()
        inside = box.x0 > -2 and box.y0 > -2 and box.x1 < width + 2 and box.y1 < height + 2
        assert inside, f"{text.get_text()!r} is cut off"
        assert text.get_text().lower() not in ("nan", "inf")
    return figure


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of tick labels of one axis that overlap."""
    shown = {id(text) for text in drawn_texts(figure)}
    pairs = []
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = [label for label in axis.get_ticklabels() if id(label) in shown]
            for one, other in pairwise(labels):
                if one.get_window_extent().overlaps(other.get_window_extent()):
                    pairs.append((one.get_text(), other.get_text()))
    return pairs


def test_each_plot_has_a_name_and_a_function() -> None:
    assert {*NAMES, "save"} == {*plots.__all__}
    with pytest.raises(AttributeError, match="no attribute 'incumbant'"):
        _ = plots.incumbant


@EACH
@pytest.mark.parametrize("trials", slow_unless_in([0, 120], [0, 1, 5, 120]))
def test_any_number_of_trials_is_drawn(name: str, trials: int) -> None:
    figure = checked(plotted(name, data(trials)))
    assert overlaps(figure) == []
    assert matplotlib.colors.to_hex(figure.get_facecolor()) == LIGHT.background
    if trials == 0 and name not in ("rung_agreement", "timeline"):
        assert any(
            word in said(figure) for word in ("no successful trial yet", "yet", "not enough")
        )


@EACH
def test_in_the_dark_everything_can_be_read(name: str) -> None:
    figure = checked(plotted(name, data(120), dark=True))
    assert matplotlib.colors.to_hex(figure.get_facecolor()) == DARK.background
    faces = {matplotlib.colors.to_hex(axes.get_facecolor()) for axes in figure.axes}
    assert faces == {DARK.background}


@EACH_SLOWLY
def test_one_rung_and_no_fidelity(name: str) -> None:
    checked(plotted(name, one_rung()))


@EACH_SLOWLY
def test_only_failures(name: str) -> None:
    study = pb.Study(pb.Space(x=pb.Float(0, 1)), EPOCHS, "priorband")
    for _ in range(4):
        study.fail(study.ask())
    checked(plotted(name, study))


@EACH_SLOWLY
def test_the_same_value_in_all_trials(name: str) -> None:
    space = pb.Space(x=pb.Float(0, 1), c=pb.Categorical(["only"]), k=pb.Constant(1))
    study = pb.Study(space, EPOCHS, "priorband")
    for _ in range(30):
        study.tell(study.ask(), 0.0)
    checked(plotted(name, study))


@EACH_SLOWLY
def test_values_without_bounds(name: str) -> None:
    study = pb.Study(pb.Space(x=pb.Float(0, 1)), EPOCHS, "asha")
    for number in range(30):
        study.tell(study.ask(), [1e300, -1e300, 1e-300, 0.5][number % 4])
    checked(plotted(name, study))


@EACH
def test_names_are_only_names(name: str) -> None:
    space = pb.Space(
        {HOSTILE: pb.Float(0, 1), "b" * 300: pb.Categorical(["$x$", "\\alpha", "y" * 99])}
    )
    study = pb.Study(space, pb.Fidelity("$e_p$", 1, 9), "priorband")
    for number in range(40):
        study.tell(study.ask(), number)
    figure = checked(plotted(name, study))
    if name in ("parallel", "prior"):
        assert "$x$" in texts(figure)
    if name in ("incumbent", "curves", "rung_flow", "ancestry"):
        assert "$e_p$" in said(figure)


@EACH_SLOWLY
def test_many_parameters(name: str) -> None:
    space = pb.Space({f"parameter_{i}": pb.Float(0, 1) for i in range(60)})
    study = pb.Study(space, EPOCHS, "hyperband")
    for number in range(45):
        study.tell(study.ask(), number)
    figure = checked(plotted(name, study))
    if name in ("parallel", "prior"):
        assert "36 more" in said(figure)


def test_nothing_outside_is_changed() -> None:
    def now() -> dict[str, object]:
        own = matplotlib.rcParams
        return {name: own[name] for name in own if name != "backend"}  # asking would choose one

    before = now()
    for name in NAMES:
        plotted(name, data(0), dark=True)
    assert now() == before
    assert "matplotlib.pyplot" not in sys.modules


@EACH_SLOWLY
def test_settings_of_the_user_do_not_show(name: str) -> None:
    usual = texts(plotted(name, data(120)))
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "text.parse_math": True}):
        figure = plotted(name, data(120))
        figure.canvas.draw()
    assert texts(figure) == usual
    assert {text.get_parse_math() for text in figure.findobj(Text)} == {False}
    assert all(axes.get_facecolor() == (1, 1, 1, 1) for axes in figure.axes)


@EACH
def test_without_matplotlib_the_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ExtraError, match=r"pip install 'priorband\[plots\]'"):
        plotted(name, data(5))


@EACH
def test_something_else_than_a_study_is_refused(name: str) -> None:
    wrong: Any = "runs/resnet"
    with pytest.raises(
        ArgumentError, match=r"`study` must be a study.* Open it with priorband.open"
    ):
        plotted(name, wrong)


# Files


@pytest.mark.parametrize("form", slow_unless_in(["svg"], ["svg", "png", "pdf"]))
def test_the_same_figure_is_the_same_file(form: str, tmp_path: Path) -> None:
    one, other = (tmp_path / f"{n}.{form}" for n in "ab")
    for path in (one, other):
        plots.save(plots.rung_flow(data(120)), path)
    assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [one.name, other.name]
    assert one.read_bytes()[:4] in (b"<svg", b"\x89PNG", b"%PDF")


@EACH_SLOWLY
def test_a_page_can_hold_the_figure(name: str, tmp_path: Path) -> None:
    plots.save(plotted(name, data(120)), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    root = ElementTree.fromstring(text)
    assert root.get("role") == "img" and root.get("aria-label")
    assert "<script" not in text and len(text) < 300_000


def test_an_existing_file_is_replaced_only_by_a_whole_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.svg"
    path.write_text("before")
    figure = plots.incumbent(data(5))
    with monkeypatch.context() as broken:
        broken.setattr("os.replace", _full)
        with pytest.raises(OSError, match="disk is full"):
            plots.save(figure, path)
    assert path.read_text() == "before" and [p.name for p in tmp_path.iterdir()] == ["a.svg"]
    plots.save(figure, path)
    assert path.read_text().startswith("<svg")


def _full(*args: object) -> None:
    raise OSError("The disk is full.")


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ArgumentError, match=r"must end in .svg, .png or .pdf, got 'a.sgv'. Did you mean 'svg'"
    ):
        plots.save(plots.incumbent(data(5)), tmp_path / "a.sgv")


# Very many trials


def many(trials: int) -> pb.Study:
    """A study of results from elsewhere, and some of its own: quick to make."""
    space = pb.Space(lr=pb.Float(1e-5, 1e-1, log=True, prior=1e-3), n=pb.Integer(1, 64))
    study = pb.Study(space, EPOCHS, "asha+esp")
    rng = np.random.default_rng(0)
    for row in rng.random((trials - 300, 2)).tolist():
        config = {"lr": 10 ** (-1 - 4 * row[0]), "n": 1 + int(63 * row[1])}
        study.add(config, row[0] + row[1], 3 ** int(4 * row[1]))
    for _ in range(300):
        trial = study.ask()
        study.tell(trial, loss(pb.Config(lr=trial.config["lr"], batch=64), trial.fidelity))
    return study


@pytest.fixture(scope="module", params=slow_unless_in([7000], [7000, 50_000]))
def large(request: pytest.FixtureRequest) -> StudyData:
    return study_data(many(request.param))


LIMITS: dict[str, Callable[[Figure], int]] = {
    "incumbent": lambda figure: len(points_of(axes_of(figure))),
    "curves": lambda figure: len(points_of(axes_of(figure))) + len(paths_of(axes_of(figure))),
    "parallel": lambda figure: len(paths_of(axes_of(figure))),
}


@pytest.mark.parametrize("name", slow_unless_in([*LIMITS], [*NAMES]))
def test_very_many_trials_are_thinned_and_that_is_said(
    name: str, large: StudyData, tmp_path: Path
) -> None:
    figure = checked(plotted(name, large))
    if name in LIMITS:
        drawn = LIMITS[name](figure)
        assert 1000 < drawn <= 5000
        assert f"{drawn:,} of " in said(figure) and "are drawn" in said(figure)
    plots.save(figure, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").stat().st_size < 1_500_000


def test_told_says_what_it_makes() -> None:
    study = told(30)
    assert [trial.status for trial in study.trials()].count("failed") == 3
