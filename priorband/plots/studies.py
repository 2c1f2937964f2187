"""What plots are made of: a study, or the data of one."""

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from priorband.errors import ArgumentError
from priorband.plots.drawing.points import dot
from priorband.plots.drawing.texts import short
from priorband.plots.drawing.ticks import number
from priorband.study import BaseStudy
from priorband.study_analysis.source import StudyData, study_data

if TYPE_CHECKING:
    from matplotlib.artist import Artist

    from priorband.plots.drawing.theme import Theme

AnyStudy: TypeAlias = BaseStudy | StudyData
"""A study in memory, a stored one, or `study_data` of one."""

NO_RESULT = "no successful trial yet"


def as_data(study: AnyStudy) -> StudyData:
    """The data of a study as of now; data that was read already as it is.

    >>> as_data("runs/resnet")
    Traceback (most recent call last):
    ...
    priorband.errors.ArgumentError: `study` must be a study, or `study_data` of one, got \
'runs/resnet'. Open it with priorband.open_study('runs/resnet', read_only=True).
    """
    given: object = study
    if isinstance(given, StudyData):
        return given
    if isinstance(given, BaseStudy):
        return study_data(given)
    shown = short(repr(given), 60)
    place = isinstance(given, str | Path)
    how = f" Open it with priorband.open_study({shown}, read_only=True)." if place else ""
    raise ArgumentError(f"`study` must be a study, or `study_data` of one, got {shown}.{how}")


def rung_legend(data: StudyData, theme: "Theme") -> "list[tuple[Artist, str]]":
    """An entry of the legend for each rung, with its fidelity."""
    fidelities = data.ladder.fidelities
    texts = [number(fidelity) for fidelity in fidelities]
    texts[0] = f"{short(data.problem.fidelity.name, 20)} {texts[0]}"
    colours = theme.ordered(len(fidelities))
    return [(dot(colour), text) for colour, text in zip(colours, texts, strict=True)]
