"""Parameter importance: which parameters decide whether a configuration is good."""

from typing import TYPE_CHECKING

import numpy as np

from priorband.plots.drawing.finish import finished, say
from priorband.plots.drawing.grid import PanelGrid, legend
from priorband.plots.drawing.intervals import IntervalRows
from priorband.plots.drawing.points import patch
from priorband.plots.drawing.style import BLUE
from priorband.plots.drawing.svg import drawing
from priorband.plots.drawing.texts import counted, sentences, short
from priorband.plots.drawing.theme import theme_of
from priorband.plots.drawing.ticks import number, scale_x
from priorband.plots.studies import AnyStudy, as_data
from priorband.study_analysis.importance import ParameterImportance, parameter_importance
from priorband.study_analysis.trial_columns import Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 40


def importance(study: AnyStudy, *, rung: int | None = None, dark: bool = False) -> "Figure":
    """Plot which parameters decide whether a configuration is good, the most important first.

    Each bar is the share of a parameter, with its interval; a pale one may well be chance. The note
    says which method was used, on which fidelity and with how many configurations. Below a number
    of configurations there are no bars: they would say nothing.

    Args:
        study: a study, or `study_data` of one.
        rung: the rung whose results to use; None for the highest one with enough of them.
        dark: whether the background is dark.

    Returns:
        The figure. `plots.save` writes it to a file.

    Raises:
        ArgumentError: if there is no such rung.
        ExtraError: if matplotlib is not installed.

    >>> from priorband import Fidelity, Float, Space, Study, plots
    >>> study = Study(Space(x=Float(0, 1), y=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> for trial in study.ask(9):
    ...     _ = study.tell(trial, trial.config["x"])
    >>> figure = plots.importance(study)
    """
    data, theme = as_data(study), theme_of(dark)
    found = parameter_importance(data, rung)
    order = np.argsort(-np.nan_to_num(found.importance, nan=-1.0), kind="stable")[:_MOST]
    grid = PanelGrid(1, 1, theme, 7.0, float(np.clip(0.5 + 0.2 * len(order), 1.4, 8.0)))
    title = f"{short(data.name)}: which parameters matter"
    with drawing(theme):
        figure, [axes] = grid.open()
        if not found.enough:
            say(axes, f"not enough evidence: {_needed(found)}", theme)
            note = ""
        else:
            clear, chance = theme.colour(BLUE), theme.faint
            shades = [clear if found.clear[index] else chance for index in order.tolist()]
            _rows(found, order).draw(axes, shades, True, theme)
            legend(figure, [patch(clear), patch(chance)], ["clear", "may be chance"], length=1.4)
            scale_x(axes, (0.0, max(float(np.nanmax(found.upper)) * 1.05, 1e-3)))
            note = _note(found, data.problem.fidelity.name)
            grid.label(figure, "importance, as a share of all", "")
        grid.entitle([axes], [title], [note])
        return finished(figure, sentences(title, note))


def _needed(found: ParameterImportance) -> str:
    return f"{counted(found.used, 'configuration')} of the {found.least} that are needed"


def _note(found: ParameterImportance, fidelity: str) -> str:
    more = len(found.names) - _MOST
    where = f"{short(fidelity, 20)} {number(found.fidelity)}"
    return sentences(
        f"{found.method} on {counted(found.used, 'configuration')} at {where}",
        f"Lines are {found.level:.0%} intervals",
        f"A model proposed {found.model_share:.0%} of the best, so some may only have come along"
        if found.model_share > 0
        else "",
        f"{counted(more, 'less important parameter')} not drawn" if more > 0 else "",
    )


def _rows(found: ParameterImportance, order: Ints) -> IntervalRows:
    counts = found.count[order].tolist()
    return IntervalRows(
        labels=[short(found.names[index], 36) for index in order.tolist()],
        value=found.importance[order],
        lower=found.lower[order],
        upper=found.upper[order],
        remarks=[f"active in {count:,}" if count < found.used else "" for count in counts],
        missing=[f"not enough: {count} of {found.least}" for count in counts],
    )
