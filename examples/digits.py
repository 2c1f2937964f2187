"""Tune a small neural network on handwritten digits with PriorBand: a complete, runnable example.

    python examples/digits.py [--budget 12] [--workers 2] [--study runs/digits] [--seed 0]

The fidelity is the number of epochs. Most configurations are trained for one epoch, the best of
them for three, then for nine, and few for all 27. A promoted configuration continues from its
checkpoint. The prior is what a practitioner would try first; it need not be perfect.

The study is stored in a folder. You can kill this script at any time and run it again: it continues
where it was. If the budget is spent, it says so; pass a larger --budget to continue. While it runs,
`priorband status runs/digits` in another terminal shows the progress. To add another worker, run
`priorband worker runs/digits --objective digits:train` in the folder of this script, with the right
path to the study.
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
DATA = Path(__file__).with_name("digits.npz")  # DATA.md says where it is from

Arrays = dict[str, Any]


def train(trial: pb.Attempt) -> dict[str, float]:
    """Train for the epochs of the trial, and return the validation error."""
    x, y, validation_x, validation_y = load_data()
    network = (
        load_network(trial.resume_from)
        if trial.resume_from
        else new_network(trial.config, trial.seed)
    )
    for epoch in trial.steps():
        order = np.random.default_rng([trial.seed, int(epoch)]).permutation(len(x))
        for batch in np.array_split(order, max(1, len(x) // trial.config["batch_size"])):
            update(network, gradients(network, trial.config, x[batch], y[batch]), trial.config)
        error = float(
            (
                layer_outputs(network, trial.config, validation_x)[-1].argmax(1) != validation_y
            ).mean()
        )
        trial.report(epoch, loss=error)
        np.savez(trial.checkpoint_dir / "network.npz", **network)
    return {"loss": error, "parameters": sum(w.size for n, w in network.items() if n[0] == "w")}


def load_data() -> tuple[Any, Any, Any, Any]:
    """Images and labels for training, then images and labels for validation."""
    with np.load(DATA) as data:
        x, y = data["images"] / 16.0, data["labels"].astype(int)
    order = np.random.default_rng(0).permutation(len(x))
    training, validation = order[:1100], order[1100:]
    return x[training], y[training], x[validation], y[validation]


def new_network(config: pb.Config, seed: int) -> Arrays:
    """A network with random weights, and the two moments of Adam for each of them."""
    rng = np.random.default_rng(seed)
    sizes = [64, *[config["width"]] * config["layers"], 10]
    network: Arrays = {"steps": np.array(0)}
    for i, (n, m) in enumerate(zip(sizes, sizes[1:], strict=False)):
        network[f"w{i}"] = rng.normal(0, np.sqrt(2 / n), (n + 1, m))
        network |= {f"m{i}": np.zeros((n + 1, m)), f"v{i}": np.zeros((n + 1, m))}
    return network


def load_network(folder: Path) -> Arrays:
    """The network of a checkpoint."""
    with np.load(folder / "network.npz", allow_pickle=False) as saved:
        return dict(saved)


def layers(network: Arrays) -> range:
    """The indices of the layers of a network."""
    return range(sum(name[0] == "w" for name in network))


def layer_outputs(network: Arrays, config: pb.Config, x: Any) -> list[Any]:
    """The input and the output of each layer; the last has a score for each digit."""
    outputs = [x]
    for i in layers(network):
        x = np.hstack([x, np.ones((len(x), 1))]) @ network[f"w{i}"]
        if i < layers(network)[-1]:
            x = np.tanh(x) if config["activation"] == "tanh" else np.maximum(x, 0)
        outputs.append(x)
    return outputs


def gradients(network: Arrays, config: pb.Config, x: Any, y: Any) -> list[Any]:
    """The gradient of the cross entropy with respect to the weights of each layer."""
    activations = layer_outputs(network, config, x)
    odds = np.exp(activations[-1] - activations[-1].max(1, keepdims=True))
    error = odds / odds.sum(1, keepdims=True)
    error[np.arange(len(y)), y] -= 1
    by_layer = []
    for i in reversed(layers(network)):
        inputs = np.hstack([activations[i], np.ones((len(x), 1))])
        by_layer.append(inputs.T @ error / len(y))
        slope = 1 - activations[i] ** 2 if config["activation"] == "tanh" else activations[i] > 0
        error = (error @ network[f"w{i}"][:-1].T) * slope
    return by_layer[::-1]


def update(network: Arrays, gradients: list[Any], config: pb.Config) -> None:
    """Take one step of Adam with decoupled weight decay."""
    network["steps"] = network["steps"] + 1
    t, beta, rate = int(network["steps"]), config["beta_1"], config["learning_rate"]
    for i, gradient in enumerate(gradients):
        m = network[f"m{i}"] = beta * network[f"m{i}"] + (1 - beta) * gradient
        v = network[f"v{i}"] = 0.999 * network[f"v{i}"] + 0.001 * gradient**2
        move = m / (1 - beta**t) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        network[f"w{i}"] = network[f"w{i}"] * (1 - rate * config["weight_decay"]) - rate * move


def main() -> None:
    """Parse the command line and tune."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=float, default=12, help="full trainings (default 12)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--study", default="runs/digits", help="folder or postgresql:// URL")
    parser.add_argument("--method", default="priorband", help="one of `priorband methods`")
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
