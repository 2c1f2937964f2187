"""Draw the figures of the README from real runs: docs/figures/regret.svg and docs/figures/run.svg.

    .venv/bin/python scripts/readme_figures.py [--seeds 50]

The first one compares methods on the three-dimensional Hartmann function. The second one is what
`priorband run` shows while two workers tune examples/digits.py.
"""

import argparse
import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console

from priorband.analysis.curves import incumbent_curve, value_at
from priorband.benchmarks.hartmann import Hartmann
from priorband.benchmarks.priors import benchmark_prior
from priorband.display.panel import panel
from priorband.display.polling import StudyWatcher
from priorband.durable.open import open_study
from priorband.plots.drawing.curves import Frame, Line, Panel, curves
from priorband.study import Study
from priorband.values import replaced
from priorband.workers.simulation import simulate

ROOT = Path(__file__).parents[1]
METHODS = ("random", "hyperband", "priorband")
PRIORS = {"good": "a good prior", "bad": "a bad prior"}
BUDGETS = np.linspace(1, 20, 115)


def regrets(method: str, quality: str, seed: int) -> list[float]:
    """The regret of one run at each budget, in full trainings."""
    benchmark = Hartmann(3, "good", seed)
    prior = benchmark_prior(benchmark, quality, seed)
    study = Study(benchmark.space, benchmark.fidelity, method, seed, prior)
    runs = simulate(study, benchmark, budget=float(BUDGETS[-1]))
    full = benchmark.fidelity.high
    at_full = benchmark.evaluate_many([run.outcome.config for run in runs], full)
    curve = incumbent_curve(
        [run.cost for run in runs], [run.outcome.loss for run in runs], at_full, full=full
    )
    assert benchmark.optimum is not None
    return [value_at(curve, budget) - benchmark.optimum[1] for budget in BUDGETS]


def regret_figure(seeds: int) -> str:
    """The mean regret of each method under a good and under a bad prior."""
    panels = []
    for quality, title in PRIORS.items():
        lines = []
        for method in METHODS:
            values = np.array([regrets(method, quality, seed) for seed in range(seeds)])
            error = values.std(axis=0, ddof=1) / np.sqrt(seeds)
            lines.append(Line(method, BUDGETS, values.mean(axis=0), error))
        panels.append(Panel(title, tuple(lines)))
    frame = Frame("full trainings", "mean regret", columns=2, log_y=True)
    return curves(panels, frame, "regret")


def screen_figure(width: int = 90, height: int = 30) -> str:
    """What the live display shows when two thirds of a real study are done."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "digits")
        command = [sys.executable, ROOT / "examples/digits.py", "--study", place, "--budget", "12"]
        with subprocess.Popen([*command, "--workers", "2"], stdout=subprocess.DEVNULL) as process:
            while not (place / "study.db").exists() or process.poll() is not None:
                time.sleep(0.5)
            with open_study(place, read_only=True) as study:
                watcher = StudyWatcher(study, in_full=True)
                while (overview := watcher.read()).share < 0.66 or len(overview.running) < 2:
                    time.sleep(0.2)
            process.terminate()
    shown = replaced(overview, where="runs/digits")
    console = Console(width=width, height=height, record=True, file=io.StringIO())
    console.print(panel(shown, width, height))
    return console.export_svg(title="priorband run runs/digits")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50, help="runs of each method (default 50)")
    options = parser.parse_args()
    figures = ROOT / "docs/figures"
    (figures / "regret.svg").write_text(regret_figure(options.seeds))
    (figures / "run.svg").write_text(screen_figure())


if __name__ == "__main__":
    main()
