"""Ask and tell by hand, with types: a loop of your own around a study.

    python examples/ask_and_tell.py

It passes `mypy --strict` with the installed package.
"""

from collections.abc import Mapping
from typing import Any

import priorband as pb


def validation_loss(config: Mapping[str, Any], epochs: float) -> float:
    """Stands for a training: better near dropout 0.3, and with more epochs."""
    slow: bool = config["optimizer"] == "sgd"
    off = abs(float(config["dropout"]) - 0.3) + 0.1 * slow
    return off + 0.5 / epochs


class AlwaysTheMode:
    """A custom sampler: it proposes the prior's mode, on every rung."""

    def sample(self, state: pb.State, rung: int, rng: pb.samplers.Generator) -> pb.samplers.Draw:
        """Return the configuration to try next."""
        del rung, rng
        return pb.samplers.Draw(state.prior.mode, "mode")


def work(study: pb.BaseStudy, budget: float) -> pb.Observation | None:
    """Evaluate trials until a number of full trainings is spent; return the best one."""
    while study.state.history.spent < budget * study.fidelity.high:
        trial: pb.Trial = study.ask()
        try:
            loss = validation_loss(trial.config, trial.fidelity)
        except ArithmeticError as error:
            study.fail(trial, error)
        else:
            study.tell(trial, loss, cost=trial.fidelity)
    return study.best


def main() -> None:
    """Tune with PriorBand, and compare with the prior's own settings."""
    space = pb.Space(
        {
            "dropout": pb.Float(0.0, 0.9, prior=pb.Normal(0.2, sigma=0.1)),
            "optimizer": pb.Categorical(["sgd", "adam"], prior="adam"),
            "width": pb.Integer(16, 512, log=True, prior=64),
        }
    )
    epochs = pb.Fidelity("epochs", 1, 27)
    best = work(pb.Study(space, epochs, "priorband", seed=0), budget=8)
    mode = pb.Optimizer(pb.schedulers.FullFidelity(), AlwaysTheMode())
    start = work(pb.Study(space, epochs, mode), budget=1)
    assert best is not None and start is not None
    print(f"prior's settings {start.loss:.4f}, after 8 full trainings {best.loss:.4f}")
    print(dict(best.config))


if __name__ == "__main__":
    main()
