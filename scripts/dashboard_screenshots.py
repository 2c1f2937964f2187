"""Take the screenshots of docs/dashboard.md and docs/report.md, of a study that is run for them.

    scripts/test-browser --collect-only -q   # once: installs chromium and Playwright
    .venv/bin/python scripts/dashboard_screenshots.py [--only trials]

The study is the same each time: its seed is fixed, and its trainings are simulated.
"""

import argparse
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import priorband as pb

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync")
SHOTS = {
    "dashboard-list": ("#/", (1200, 420), "light"),
    "dashboard-overview": ("#/{resnet}/overview", (1200, 1000), "light"),
    "dashboard-trials": (
        "#/{resnet}/trials?filter=lr > 1e-3 and origin != uniform",
        (1200, 560),
        "dark",
    ),
    "dashboard-trial": ("#/{resnet}/trial/{best}", (1200, 860), "light"),
    "dashboard-parallel": ("#/{resnet}/parallel", (1200, 760), "dark"),
    "report-prior": ("#/{resnet}/prior", (1200, 800), "light"),
    "dashboard-phone": ("#/{resnet}/overview", (375, 740), "light"),
}
"""By name: the place in the dashboard, the size of the window, and the theme."""


def space() -> pb.Space:
    """The space of the study."""
    return pb.Space(
        {
            "lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
            "weight_decay": pb.Float(1e-6, 1e-1, log=True, prior=1e-4),
            "momentum": pb.Float(0, 0.99, prior=0.9),
            "width": pb.Integer(16, 512, log=True, prior=128),
            "dropout": pb.Float(0, 0.6),
            "optimizer": pb.Categorical(["sgd", "adam", "lion"], prior="adam"),
        }
    )


def error_after(config: Any, epochs: float, noise: float) -> float:
    """A validation error that looks like one, best at a higher learning rate than the prior's."""
    away = 0.08 * (math.log10(config["lr"]) + 2.4) ** 2
    away += 0.01 * (math.log10(config["weight_decay"]) + 3.5) ** 2
    away += 0.3 * (config["momentum"] - 0.93) ** 2 + 0.2 * (config["dropout"] - 0.15) ** 2
    away += {"sgd": 0.03, "adam": 0.0, "lion": 0.015}[config["optimizer"]]
    return 0.08 + away + 0.5 * math.exp(-epochs / 9) + 0.008 * noise


def write_study(folder: Path, trials: int, seed: int, method: str) -> int:
    """Write a study of simulated trainings, and return its best trial."""
    noise = np.random.default_rng(seed)
    with pb.open_study(folder, space(), pb.Fidelity("epochs", 1, 27), method, seed) as study:
        study.limit(pb.Budget(trainings=40))
        for number in range(trials):
            trial = study.ask()
            if number % 41 == 17:
                study.fail(trial, "CUDA out of memory: tried to allocate 2.1 GiB", "memory")
            else:
                study.tell(trial, error_after(trial.config, trial.fidelity, noise.normal()))
        study.note("From here on with the new augmentation.")
        best = study.best_in_full
        assert best is not None
        return best.trial.id


def main() -> int:
    """Take the screenshots."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="take those with this in their name only")
    only = parser.parse_args().only
    with tempfile.TemporaryDirectory() as place:
        runs = Path(place) / "runs"
        best = write_study(runs / "resnet", 180, 0, "priorband")
        write_study(runs / "vit-small", 70, 1, "hyperband")
        report = Path(place) / "report.html"
        priorband = [sys.executable, "-m", "priorband"]
        subprocess.run([*priorband, "report", str(runs), "-o", str(report)], check=True)
        command = [*priorband, "dashboard", str(runs)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=place) as server:
            assert server.stdout is not None
            try:
                _take(server.stdout.readline().split()[-1], report.as_uri(), best, only)
            finally:
                server.terminate()
    return 0


def _take(dashboard: str, report: str, best: int, only: str) -> None:
    from playwright.sync_api import sync_playwright

    browser_path = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        for name, (where, (width, height), theme) in SHOTS.items():
            if only not in name:
                continue
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if theme == "dark" else "light",
            )
            page = context.new_page()
            address = report if name.startswith("report") else dashboard
            page.goto(address)
            page.locator("progress").nth(1).wait_for()
            link = page.get_by_role("link", name="resnet").get_attribute("href") or ""
            ids = {"resnet": re.sub(r"^#/", "", link), "best": best}
            page.goto(address.partition("?")[0] + where.format(**ids))
            page.locator("main").wait_for()
            page.wait_for_timeout(2500)
            page.screenshot(path=FIGURES / f"{name}.png")
            context.close()
            print(FIGURES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
