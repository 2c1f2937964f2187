"""Colours that all can tell apart and see, on a light and on a dark background."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from priorband.plots.drawing.style import SETTINGS
from priorband.plots.drawing.theme import DARK, LIGHT, ORIGINS, Theme

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)

# Machado, Oliveira and Fernandes (2009), at full severity, for linear RGB.
VISION = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
FIXED = ("uniform", "prior", "incumbent", "mode", "model", "queued", "imported")


def linear(colour: str) -> NDArray[np.float64]:
    """The linear red, green and blue of a colour."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG."""
    low, high = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    """A colour in CIELAB."""
    white = TO_XYZ @ np.ones(3)
    ratio = TO_XYZ @ np.clip(rgb, 0, 1) / white
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@THEMES
def test_each_origin_has_its_colour_whatever_else_is_drawn(theme: Theme) -> None:
    assert tuple(ORIGINS) == FIXED
    alone = {name: theme.origins([name])[name] for name in ORIGINS}
    assert (
        theme.origins(["grid", *reversed(FIXED)])
        == {"grid": theme.origins(["grid"])["grid"]} | alone
    )
    assert len(set(alone.values())) == len(FIXED)


@THEMES
@pytest.mark.parametrize("vision", VISION)
def test_origins_differ_for_the_colour_blind(theme: Theme, vision: str) -> None:
    colours = theme.origins(FIXED).values()
    seen = [lab(VISION[vision] @ linear(colour)) for colour in colours]
    distances = [float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)]
    assert min(distances) > 15  # a difference of 2 or 3 is just noticeable


@THEMES
def test_text_and_data_stand_out_from_the_background(theme: Theme) -> None:
    assert contrast(theme.text, theme.background) > 7
    assert contrast(theme.ink, theme.background) > 7
    least = min(contrast(colour, theme.background) for colour in theme.origins(FIXED).values())
    assert least > (4 if theme is DARK else 2.2)  # orange and light blue on white are the palest


@THEMES
def test_rungs_go_from_pale_to_strong(theme: Theme) -> None:
    shades = [contrast(colour, theme.background) for colour in theme.ordered(6)]
    assert shades == sorted(shades) and shades[0] > 1.5
    assert theme.ordered(1) == [theme.ramp[1]] and theme.ordered(0) == []


def test_the_light_theme_has_the_settings_of_the_evaluation() -> None:
    assert LIGHT.settings() is SETTINGS
    assert {LIGHT.colour(colour) for colour in ORIGINS.values()} == set(ORIGINS.values())
