"""Rung agreement: how well the order on a lower rung predicts that on a higher one."""

from typing import TYPE_CHECKING

import numpy as np

from priorband.plots.drawing.finish import finished, say
from priorband.plots.drawing.grid import PanelGrid
from priorband.plots.drawing.intervals import IntervalRows
from priorband.plots.drawing.style import BLUE
from priorband.plots.drawing.svg import drawing
from priorband.plots.drawing.texts import counted, sentences, short
from priorband.plots.drawing.theme import theme_of
from priorband.plots.drawing.ticks import number, scale_x
from priorband.plots.studies import AnyStudy, as_data
from priorband.study_analysis.rung_agreement import RungAgreement
from priorband.study_analysis.rung_agreement import rung_agreement as agreement_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def rung_agreement(study: AnyStudy, *, dark: bool = False) -> "Figure":
    """Plot how well the order of configurations on a rung predicts that on each higher rung.

    Each row is a pair of rungs: Kendall's tau with its interval, from -1 (the reverse order) over 0
    (no relation) to 1 (the same order). Only configurations that succeeded on both rungs count.
    These were promoted because they were good on the lower one: among all configurations the
    agreement is usually higher.

    Args:
        study: a study, or `study_data` of one.
        dark: whether the background is dark.

    Returns:
        The figure. `plots.save` writes it to a file.

    Raises:
        ExtraError: if matplotlib is not installed.

    >>> from priorband import Fidelity, Float, Space, Study, plots
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> for loss in range(13):
    ...     _ = study.tell(study.ask(), 1 / (1 + loss))
    >>> figure = plots.rung_agreement(study)
    """
    data, theme = as_data(study), theme_of(dark)
    found = agreement_of(data)
    grid = PanelGrid(1, 1, theme, 7.0, float(np.clip(0.6 + 0.2 * len(found.low), 1.4, 7.0)))
    title = f"{short(data.name)}: how well a lower rung predicts a higher one"
    with drawing(theme):
        figure, [axes] = grid.open()
        note = ""
        if not len(found.low):
            say(axes, "there is only one rung, so there is nothing to compare", theme)
        else:
            colours = [theme.colour(BLUE)] * len(found.low)
            _rows(found, data.problem.fidelity.name).draw(axes, colours, False, theme)
            scale_x(axes, (-1.05, 1.05))
            axes.axvline(0, color=theme.ink, linewidth=0.8, zorder=1)
            note = sentences(f"Lines are {found.level:.0%} intervals")
            grid.label(figure, "Kendall's tau between the values on the two rungs", "")
        grid.entitle([axes], [title], [note])
        return finished(figure, sentences(title, note))


def _rows(found: RungAgreement, fidelity: str) -> IntervalRows:
    low, high = (
        [number(float(found.fidelities[rung])) for rung in each.tolist()]
        for each in (found.low, found.high)
    )
    labels = [f"{one} → {other}" for one, other in zip(low, high, strict=True)]
    labels[0] = f"{short(fidelity, 20)} {labels[0]}"
    counts = found.count.tolist()
    return IntervalRows(
        labels=labels,
        value=found.tau,
        lower=found.lower,
        upper=found.upper,
        remarks=[counted(count, "configuration") for count in counts],
        missing=[f"not enough: {count} of {found.least}" for count in counts],
    )
