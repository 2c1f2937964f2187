"""Tune a small neural network on handwritten digits with PriorBand: a real training, end to end.

    python examples/digits.py [--budget 12] [--workers 2] [--study runs/digits] [--seed 0]

Epochs are the fidelity: most configurations are given one epoch, the best of them three, then nine,
and few all 27. A promoted configuration goes on training from the checkpoint it has left. The prior
is what a practitioner would try first; it is neither perfect nor taken on faith.

The study is kept in a folder. Kill this at any moment and run it again: it goes on where it was.
With the budget spent it says so; a larger --budget goes on from there. `priorband status
runs/digits` shows it from another terminal, and `priorband worker runs/digits --objective
digits:train` there (in this folder) helps along.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

import priorband as pb

SPACE = pb.Space(
    {
        "learning_rate": pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
        "weight_decay": pb.Float(1e-7, 1e-1, log=True, prior=1e-4, confidence="low"),
        "beta_1": pb.Float(0.5, 0.99, prior=0.9),
        "batch_size": pb.Integer(16, 256, log=True, prior=64),
        "width": pb.Integer(8, 128, log=True),
        "layers": pb.Ordinal([1, 2, 3], prior=2),
        "activation": pb.Categorical(["relu", "tanh"], prior="relu"),
    }
)
FIDELITY = pb.Fidelity("epochs", 1, 27)
DATA = Path(__file__).with_name("digits.npz")  # see DATA.md for where it is from

Arrays = dict[str, Any]


def train(trial: pb.Attempt) -> dict[str, float]:
    """Train up to the trial's epochs, and return the validation error."""
    x, y, validation_x, validation_y = load()
    network = restored(trial.resume_from) if trial.resume_from else fresh(trial.config, trial.seed)
    for epoch in trial.steps():
        order = np.random.default_rng([trial.seed, int(epoch)]).permutation(len(x))
        for batch in np.array_split(order, max(1, len(x) // trial.config["batch_size"])):
            update(network, gradients(network, trial.config, x[batch], y[batch]), trial.config)
        error = float(
            (scores(network, trial.config, validation_x)[-1].argmax(1) != validation_y).mean()
        )
        trial.report(epoch, loss=error)
        np.savez(trial.checkpoint_dir / "network.npz", **network)
    return {"loss": error, "parameters": sum(w.size for n, w in network.items() if n[0] == "w")}


def load() -> tuple[Any, Any, Any, Any]:
    """Images and labels to train on, and to validate on."""
    with np.load(DATA) as data:
        x, y = data["images"] / 16.0, data["labels"].astype(int)
    order = np.random.default_rng(0).permutation(len(x))
    first, rest = order[:1100], order[1100:]
    return x[first], y[first], x[rest], y[rest]


def fresh(config: pb.Config, seed: int) -> Arrays:
    """A new network, with Adam's two moments for each weight."""
    rng = np.random.default_rng(seed)
    sizes = [64, *[config["width"]] * config["layers"], 10]
    network: Arrays = {"steps": np.array(0)}
    for i, (n, m) in enumerate(zip(sizes, sizes[1:], strict=False)):
        network[f"w{i}"] = rng.normal(0, np.sqrt(2 / n), (n + 1, m))
        network |= {f"m{i}": np.zeros((n + 1, m)), f"v{i}": np.zeros((n + 1, m))}
    return network


def restored(folder: Path) -> Arrays:
    """The network that a checkpoint holds."""
    with np.load(folder / "network.npz", allow_pickle=False) as saved:
        return dict(saved)


def layers(network: Arrays) -> range:
    """The numbers of its layers."""
    return range(sum(name[0] == "w" for name in network))


def scores(network: Arrays, config: pb.Config, x: Any) -> list[Any]:
    """What each layer gives, the last one the digits' scores."""
    found = [x]
    for i in layers(network):
        x = np.hstack([x, np.ones((len(x), 1))]) @ network[f"w{i}"]
        if i < layers(network)[-1]:
            x = np.tanh(x) if config["activation"] == "tanh" else np.maximum(x, 0)
        found.append(x)
    return found


def gradients(network: Arrays, config: pb.Config, x: Any, y: Any) -> list[Any]:
    """Of the cross entropy, for each layer's weights."""
    seen = scores(network, config, x)
    odds = np.exp(seen[-1] - seen[-1].max(1, keepdims=True))
    back = odds / odds.sum(1, keepdims=True)
    back[np.arange(len(y)), y] -= 1
    found = []
    for i in reversed(layers(network)):
        inputs = np.hstack([seen[i], np.ones((len(x), 1))])
        found.append(inputs.T @ back / len(y))
        slope = 1 - seen[i] ** 2 if config["activation"] == "tanh" else seen[i] > 0
        back = (back @ network[f"w{i}"][:-1].T) * slope
    return found[::-1]


def update(network: Arrays, slopes: list[Any], config: pb.Config) -> None:
    """One step of Adam with decoupled weight decay."""
    network["steps"] = network["steps"] + 1
    t, beta, rate = int(network["steps"]), config["beta_1"], config["learning_rate"]
    for i, slope in enumerate(slopes):
        m = network[f"m{i}"] = beta * network[f"m{i}"] + (1 - beta) * slope
        v = network[f"v{i}"] = 0.999 * network[f"v{i}"] + 0.001 * slope**2
        move = m / (1 - beta**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        network[f"w{i}"] = network[f"w{i}"] * (1 - rate * config["weight_decay"]) - rate * move


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=float, default=12, help="full trainings (default 12)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--study", default="runs/digits", help="a folder, or postgresql://...")
    parser.add_argument("--method", default="priorband", help="see priorband.methods()")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers share the cores: one thread each
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        pb.tune(
            train,
            SPACE,
            FIDELITY,
            budget=options.budget,
            workers=options.workers,
            study=options.study,
            method=options.method,
            seed=options.seed,
        )
    except pb.PriorbandError as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
