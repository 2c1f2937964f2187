"""What to do with the best trial: where its checkpoint is, and how to train it in full."""

import shlex

from priorband.display.failure_reports import shown_study
from priorband.display.text import fidelity_text, printable
from priorband.durable.study import DurableStudy
from priorband.trial import Observation


def checkpoint_text(study: DurableStudy, best: Observation) -> str:
    """Where the checkpoint of a trial is; empty if it has none."""
    folder = study.checkpoint(best.trial)
    return "" if folder is None else f"Checkpoint of trial {best.trial.id}: {printable(folder)}"


def full_training(study: DurableStudy, best: Observation) -> Observation | None:
    """The result of a full training of a configuration; None if there is none."""
    full = study.state.history.succeeded_at(study.fidelity.high)
    return next((one for one in full if one.config == best.config), None)


def full_training_text(study: DurableStudy, best: Observation) -> str:
    """How to train a configuration in full; empty if it was."""
    if full_training(study, best) is not None:
        return ""
    name, full = printable(study.fidelity.name), fidelity_text(study.fidelity.high)
    command = f"priorband best {shlex.quote(shown_study(study.where))} --train-in-full"
    return (
        f"Trial {best.trial.id} was trained up to {name}={fidelity_text(best.fidelity)} of {full}. "
        f"To train its configuration in full: {printable(command)}"
    )


def best_trial_lines(study: DurableStudy) -> list[str]:
    """The lines about the best trial of a study, for the end of a run."""
    if study.best is None:
        return []
    texts = checkpoint_text(study, study.best), full_training_text(study, study.best)
    return [text for text in texts if text]
