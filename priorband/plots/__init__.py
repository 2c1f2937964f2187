"""Plots of studies: each function takes a study and returns a matplotlib figure.

    from priorband import plots

    figure = plots.incumbent(study)
    plots.save(figure, "incumbent.svg")

They need matplotlib: `pip install 'priorband[plots]'`. Nothing is shown on a screen, and neither
pyplot nor its settings are touched. What they draw is computed by `priorband.study_analysis`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from priorband.plots.ancestry_plot import ancestry
    from priorband.plots.chances_plot import chances
    from priorband.plots.compare_plot import compare
    from priorband.plots.curves_plot import curves
    from priorband.plots.importance_plot import importance
    from priorband.plots.incumbent_plot import incumbent
    from priorband.plots.parallel_plot import parallel
    from priorband.plots.prior_plot import prior
    from priorband.plots.rung_agreement_plot import rung_agreement
    from priorband.plots.rung_flow_plot import rung_flow
    from priorband.plots.save_figure import save
    from priorband.plots.timeline_plot import timeline

__all__ = [
    "ancestry",
    "chances",
    "compare",
    "curves",
    "importance",
    "incumbent",
    "parallel",
    "prior",
    "rung_agreement",
    "rung_flow",
    "save",
    "timeline",
]


def __getattr__(name: str) -> Any:
    """Import a function when it is first used."""
    if name in __all__:
        module = "save_figure" if name == "save" else f"{name}_plot"
        return getattr(import_module(f"priorband.plots.{module}"), name)
    raise AttributeError(f"module 'priorband.plots' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
