"""Priors in a study file: plain values, and tables such as `{ normal = 0.2, sigma = 0.1 }`."""

from collections.abc import Sequence
from typing import Any

from priorband.errors import SpaceError
from priorband.space.beliefs import Beta, Histogram, Mixture, Normal, Uniform, Weights
from priorband.study_file.keys import BELIEF_KEYS
from priorband.study_file.kinds import as_choice
from priorband.study_file.mistakes import proposal
from priorband.study_file.positions import Path
from priorband.study_file.tables import Source, Table, toml_text


def read_belief(source: Source, path: Path, stated: Any, choices: Sequence[Any]) -> Any:
    """The prior that a value or a table stands for; None, and a mistake, if it is wrong.

    Args:
        source: the study file.
        path: where the prior is.
        stated: what is written there.
        choices: the choices of the parameter; empty for a number.
    """
    if not isinstance(stated, dict):
        return as_choice(stated)
    name = f"`{path[-1]}`"
    kind = next((kind for kind in BELIEF_KEYS if kind in stated), None)
    table = Table(source, path, stated, f"The belief in {name}")
    if kind is None:
        known = ", ".join(BELIEF_KEYS)
        close = next(filter(None, (proposal(str(key), BELIEF_KEYS) for key in stated)), "")
        table.mistake(None, f"{name} has no kind of belief.{close} It has one of {known}.")
        return None
    found = table.values(BELIEF_KEYS[kind])
    if kind not in found or len(found) < len(stated):
        return None
    try:
        return _belief(source, path, kind, found, choices)
    except SpaceError as error:
        table.mistake(kind, str(error))
        return None


def _belief(
    source: Source, path: Path, kind: str, found: dict[str, Any], choices: Sequence[Any]
) -> Any:
    value, confidence = found[kind], found.get("confidence", "medium")
    if kind == "normal":
        return Normal(value, found.get("sigma", "medium"))
    if kind == "mixture":
        inner = (*path, "mixture")
        parts = [read_belief(source, (*inner, i), one, choices) for i, one in enumerate(value)]
        return None if None in parts else Mixture(parts, found.get("weights", ()))
    if kind == "weights":
        return weights_by_choice(value, choices)
    if kind == "beta":
        return Beta(*value)
    if kind == "histogram":
        return Histogram(value)
    return Uniform() if kind == "uniform" else Weights(value, confidence)


def weights_by_choice(stated: Any, choices: Sequence[Any]) -> dict[Any, float]:
    """Weights by choice, from a list in the order of the choices or from a table.

    The keys of a table are strings, so a choice that is none is named by its text: `16 = 2.5`.
    """
    if not choices:
        raise SpaceError("Weights are for choices. For a number use `normal` or `histogram`.")
    if isinstance(stated, list):
        if len(stated) != len(choices):
            raise SpaceError(
                f"There must be one weight for each choice, got {len(choices)} choices and "
                f"{len(stated)} weights."
            )
        return dict(zip(choices, stated, strict=True))
    by_text = {_as_key(choice): choice for choice in choices}
    for key in stated:
        if key not in by_text:
            listed = ", ".join(map(toml_text, choices))
            raise SpaceError(f"There is no choice {key!r}. The choices are {listed}.")
    return {by_text[key]: weight for key, weight in stated.items()}


def _as_key(choice: Any) -> str:
    return choice if isinstance(choice, str) else toml_text(choice)
