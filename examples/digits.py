"""Tune a small neural network on handwritten digits with PriorBand: a real training, end to end.

    python examples/digits.py [--budget 12] [--seed 0] [--method priorband]

The network is scikit-learn's MLP on the digits it ships with. Epochs are the fidelity: most
configurations are given one epoch, the best of them three, then nine, and few all 27. A promoted
configuration goes on training where it had stopped. The prior is what a practitioner would try
first; it is neither perfect nor taken on faith.
"""

import argparse
import copy
import sys
import warnings
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import priorband as pb

SPACE = pb.Space(
    {
        "learning_rate": pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
        "weight_decay": pb.Float(1e-7, 1e-1, log=True, prior=1e-4, confidence="low"),
        "beta_1": pb.Float(0.5, 0.99, prior=0.9),
        "batch_size": pb.Integer(16, 256, log=True, prior=64),
        "width": pb.Integer(8, 128, log=True),
        "layers": pb.Ordinal([1, 2, 3], prior=2),
        "activation": pb.Categorical(["relu", "tanh", "logistic"], prior="relu"),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 27)


class Digits:
    """Trains networks and keeps them, so that a promotion can go on from its parent's weights."""

    def __init__(self) -> None:
        try:
            from sklearn.datasets import load_digits
            from sklearn.model_selection import train_test_split
        except ImportError:
            sys.exit("This example trains with scikit-learn: pip install 'priorband[demo]'")
        images, labels = load_digits(return_X_y=True)
        split = train_test_split(images / 16.0, labels, test_size=0.4, random_state=0)
        self.train_x, self.test_x, self.train_y, self.test_y = split
        self.trained: dict[int, tuple[Any, int]] = {}

    def error(self, trial: pb.Trial) -> float:
        """The validation error after training up to the trial's epochs."""
        network, done = self._start(trial)
        for _ in range(done, int(trial.fidelity)):
            network.partial_fit(self.train_x, self.train_y, classes=np.arange(10))
        self.trained[trial.id] = network, int(trial.fidelity)
        return 1.0 - float(network.score(self.test_x, self.test_y))

    def _start(self, trial: pb.Trial) -> tuple[Any, int]:
        from sklearn.neural_network import MLPClassifier

        if trial.parent is not None:
            return copy.deepcopy(self.trained[trial.parent])
        config = trial.config
        network = MLPClassifier(
            hidden_layer_sizes=(config["width"],) * config["layers"],
            activation=config["activation"],
            learning_rate_init=config["learning_rate"],
            alpha=config["weight_decay"],
            beta_1=config["beta_1"],
            batch_size=config["batch_size"],
            random_state=0,
        )
        return network, 0


def tune(study: pb.Study, digits: Digits, trainings: float, console: Console) -> None:
    """Ask, train, tell, until the budget is spent, and say how it goes."""
    budget = trainings * EPOCHS.high
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} epochs"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("starting", total=budget)
        while study.state.history.spent < budget:
            trial = study.ask()
            before = study.best
            try:
                study.tell(trial, digits.error(trial))
            except ValueError as reason:  # weights that overflowed
                study.fail(trial, reason)
            best = study.best
            if best is not None and best is not before:
                bar.console.print(
                    f"{study.state.history.spent / EPOCHS.high:5.1f} trainings  trial {trial.id:3d}"
                    f"  {trial.fidelity:2g} epochs  {trial.origin:<9}  error {best.loss:.4f}"
                )
            if best is not None:
                bar.update(task, description=f"trial {trial.id}, best error {best.loss:.4f}")
            bar.update(task, completed=min(study.state.history.spent, budget))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=float, default=12, help="full trainings (default 12)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", default="priorband", help="see priorband.methods()")
    options = parser.parse_args()
    if not options.budget > 0:
        parser.error("--budget must be above 0")
    try:
        study = pb.Study(SPACE, EPOCHS, options.method, options.seed)
    except pb.PriorbandError as error:
        parser.error(str(error))
    console = Console(highlight=False)
    console.print(
        f"Trials of each bracket, and what it costs in full trainings:\n{study.state.ladder}"
    )
    console.print(f"Tuning for {options.budget:g} full trainings of {EPOCHS.high} epochs.\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that diverge are told as bad losses
        tune(study, Digits(), options.budget, console)
    report(study, console)


def report(study: pb.Study, console: Console) -> None:
    """What was found, beside what the prior alone would have given."""
    history, best = study.state.history, study.best
    if best is None:
        sys.exit("No trial succeeded.")
    console.print(f"\nBest error {best.loss:.4f}, after {best.fidelity} epochs, with:")
    for name, setting in best.config.items():
        shown = f"{setting:.4g}" if isinstance(setting, float) else setting
        console.print(f"    {name:<14} {shown}")
    mode = next((o for o in history.observations if o.trial.origin == "mode"), None)
    if mode is not None:
        console.print(f"The prior's own settings gave {mode.loss:.4f}.")
    console.print(
        f"{len(history.observations)} trials for the price of "
        f"{history.spent / EPOCHS.high:.1f} full trainings."
    )


if __name__ == "__main__":
    main()
