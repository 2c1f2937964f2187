"""Draw the figures of docs/plots.md from real runs: docs/figures/plots/*.svg.

    .venv/bin/python scripts/plot_figures.py [--runs FOLDER]

Two studies of examples/digits.py, one with PriorBand and one with HyperBand, each with the seed 0.
With `--runs` they are kept in that folder, and used again if they are there. The seed and the order
in which trials end decide what is tried, so with two workers the figures differ from run to run.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs/figures/plots"
BUDGET, WORKERS = "20", "2"
METHODS = {"priorband": "digits", "hyperband": "digits-hyperband"}
DARK = ("rung_flow",)
"""Plots that the page shows in the dark, too."""
LARGEST = 150_000
"""Bytes of a file."""


def run(method: str, place: Path) -> None:
    """Run one study to its end; a finished one is left as it is."""
    code = (
        "import digits, priorband as pb, sys; pb.tune(digits.train, digits.SPACE, digits.FIDELITY, "
    )
    code += (
        f"budget={BUDGET}, workers={WORKERS}, method={method!r}, study=sys.argv[1], show='quiet')"
    )
    if not place.exists():
        command = [sys.executable, "-c", code, str(place)]
        subprocess.run(command, cwd=ROOT / "examples", check=True)


def draw(folder: Path) -> None:
    """Draw all plots of the first study, and compare both."""
    command = [sys.executable, "-m", "priorband", "plot"]
    digits, other = (folder / name for name in METHODS.values())
    subprocess.run([*command, "all", digits, "-o", FIGURES], check=True)
    subprocess.run([*command, "compare", digits, other, "-o", FIGURES / "compare.svg"], check=True)
    for name in DARK:
        place = FIGURES / f"{name}-dark.svg"
        subprocess.run([*command, name, digits, "--dark", "-o", place], check=True)
    for path in sorted(FIGURES.glob("*.svg")):
        size = path.stat().st_size
        print(f"{path.name} {size:,} bytes")
        if size > LARGEST:
            sys.exit(f"{path.name} is larger than {LARGEST:,} bytes.")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, help="where to keep the studies")
    options = parser.parse_args()
    FIGURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.runs or Path(temporary)).absolute()
        for method, name in METHODS.items():
            run(method, folder / name)
        draw(folder)


if __name__ == "__main__":
    main()
