"""What to do with the best trial: where its checkpoint is, and how to train it in full."""

import shlex
from collections.abc import Iterator

from priorband.display.text import fidelity_text, printable
from priorband.durable.study import DurableStudy
from priorband.trial import Observation


def checkpoint_text(study: DurableStudy, best: Observation) -> str:
    """Where the checkpoint of a trial is; empty if it has none."""
    folder = study.checkpoint(best.trial)
    return "" if folder is None else f"Checkpoint: {printable(folder)}"


def full_training_text(study: DurableStudy, best: Observation) -> str:
    """How to train a configuration in full; empty if it was."""
    if best.fidelity == study.fidelity.high:
        return ""
    name, full = printable(study.fidelity.name), fidelity_text(study.fidelity.high)
    command = f"priorband best {shlex.quote(study.where)} --train-in-full"
    return (
        f"Seen at {name}={fidelity_text(best.fidelity)} of {full}. To train it in full: "
        f"{printable(command)}"
    )


def best_trial_lines(study: DurableStudy) -> Iterator[str]:
    """The lines about the best trial of a study, for the end of a run."""
    if study.best is not None:
        texts = checkpoint_text(study, study.best), full_training_text(study, study.best)
        yield from (f"Best trial {study.best.trial.id}. {text}" for text in texts if text)
