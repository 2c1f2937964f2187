"""A plain training script, tuned by examples/study.toml: a linear model of handwritten digits.

    python examples/train_script.py --lr 0.5 --epochs 9
    priorband run examples/study.toml

The script knows nothing of priorband, except for one line that reports the validation error. It
runs by itself just as well: that line then does nothing.
"""

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np

import priorband

DATA = Path(__file__).with_name("digits.npz")  # DATA.md says where it is from


def main() -> None:
    """Train, save after each epoch, and report the validation error."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--optimizer", choices=["sgd", "momentum"], default="sgd")
    parser.add_argument("--momentum", type=float, default=0.0)
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", type=Path, help="a folder to continue from")
    parser.add_argument("--out", type=Path, help="a folder to save to")
    args = parser.parse_args()

    images, labels, validation_images, validation_labels = load_data()
    weights, velocity, first = np.zeros((65, 10)), np.zeros((65, 10)), 0
    if args.resume:
        saved = np.load(args.resume / "model.npz")
        weights, velocity, first = saved["weights"], saved["velocity"], int(saved["epochs"])

    for epoch in range(first + 1, args.epochs + 1):
        order = np.random.default_rng([args.seed, epoch]).permutation(len(images))
        for batch in np.array_split(order, max(1, len(images) // args.batch_size)):
            scores = images[batch] @ weights
            chances = np.exp(scores - scores.max(1, keepdims=True))
            chances /= chances.sum(1, keepdims=True)
            chances[np.arange(len(batch)), labels[batch]] -= 1
            velocity = args.momentum * velocity - args.lr * images[batch].T @ chances / len(batch)
            weights = weights + velocity
        error = float(((validation_images @ weights).argmax(1) != validation_labels).mean())
        if args.out:
            save(args.out / "model.npz", weights, velocity, epoch)
        priorband.report_metric(val_error=error, step=epoch)
        print(f"epoch {epoch}: validation error {error:.4f}")


def load_data() -> tuple[Any, Any, Any, Any]:
    """Images with a column of ones, and labels: for training, then for validation."""
    with np.load(DATA) as data:
        x, y = data["images"] / 16.0, data["labels"].astype(int)
    x = np.hstack([x, np.ones((len(x), 1))])
    return x[:1100], y[:1100], x[1100:], y[1100:]


def save(path: Path, weights: Any, velocity: Any, epochs: int) -> None:
    """Write another file, then rename it: nobody ever sees half of a checkpoint."""
    part = path.with_name("part.npz")
    np.savez(part, weights=weights, velocity=velocity, epochs=epochs)
    os.replace(part, path)


if __name__ == "__main__":
    main()
