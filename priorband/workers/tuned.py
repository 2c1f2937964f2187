"""The result of tuning, and what can be read from the study afterwards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

from priorband.durable.budget import Spending
from priorband.durable.open import open_study
from priorband.durable.study import DurableStudy
from priorband.notebook import html_fields
from priorband.results.learning_curves import Curves
from priorband.results.trial_records import TrialRecords
from priorband.space.config import Config
from priorband.storage.addresses import shown
from priorband.trial import Observation
from priorband.values import frozen


@final
class StudySource:
    """The arguments that open a study again. An address is never shown, copied or stored in full.

    Args:
        opening: the arguments of `open_study`.
    """

    __slots__ = ("_opening",)

    def __init__(self, opening: Mapping[str, Any]) -> None:
        needed = ("where", "method", "prior", "folder")
        self._opening = {name: opening[name] for name in needed if name in opening}

    def __repr__(self) -> str:
        return f"StudySource({shown(str(self._opening['where']))!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StudySource) and self._opening == other._opening

    def __hash__(self) -> int:
        return hash(str(self._opening["where"]))

    def __reduce__(self) -> tuple[type["StudySource"], tuple[dict[str, Any]]]:
        return StudySource, ({**self._opening, "where": shown(str(self._opening["where"]))},)

    def open(self) -> DurableStudy:
        """The study, to be read only. Close it."""
        return open_study(**self._opening, read_only=True)


@final
@frozen
class Tuned:
    """The result of tuning."""

    where: str
    """Where the study is kept; an address is without its password."""
    best: Observation | None
    """The result with the lowest loss at any fidelity; None if no trial has succeeded."""
    best_in_full: Observation | None
    """The result with the lowest loss at the full fidelity."""
    spending: Spending
    """How much of the budget is used."""
    maximize: bool
    """Whether higher values are better."""
    reason: str
    """Why tuning has ended."""
    checkpoint: Path | None = None
    """The folder of the best trial's checkpoint; None if the objective saved nothing."""
    source: StudySource | None = None
    """How to open the study again, to read its trials."""

    @property
    def config(self) -> Config | None:
        """The configuration of the best trial."""
        return self.best.config if self.best else None

    @property
    def value(self) -> float | None:
        """What the objective returned for the best trial."""
        if self.best is None:
            return None
        return -self.best.loss if self.maximize else self.best.loss

    def trials(self) -> TrialRecords:
        """Return all trials of the study as of now, as a list with a method `to_frame`.

        Returns:
            A record of each trial, in the order in which they were asked.

        Raises:
            FormatError: if the study was removed.
            StorageError: if the storage is not reachable.
        """
        with self._study() as study:
            return study.trials()

    def curves(self) -> Curves:
        """Return the learning curves by trial, each with those of the trials that it continues.

        Returns:
            The curves by the id of the trial, with a method `to_frame`.

        Raises:
            FormatError: if the study was removed.
            StorageError: if the storage is not reachable.
        """
        with self._study() as study:
            return study.curves()

    def _study(self) -> DurableStudy:
        return (self.source or StudySource({"where": self.where})).open()

    def _repr_html_(self) -> str:
        fields: list[tuple[str, object]] = [("study", self.where), ("ended", self.reason)]
        if self.best is not None:
            fields += [("best", self.value), ("fidelity", self.best.fidelity)]
            fields += [("trial", self.best.trial.id), ("checkpoint", self.checkpoint)]
            fields += self.best.config.items()
        return html_fields("Tuned", fields)


def tuned_from(study: DurableStudy, reason: str, opening: Mapping[str, Any]) -> Tuned:
    """The result of tuning a study, which was opened with these arguments."""
    best = study.best
    return Tuned(
        study.where,
        best,
        study.best_in_full,
        study.spending(),
        study.maximize,
        reason,
        None if best is None else study.checkpoint(best.trial),
        StudySource(opening),
    )
