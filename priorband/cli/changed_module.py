"""What has changed in the objective's module since its study was created."""

from collections.abc import Mapping
from typing import Any

from priorband.durable.problem_data import differences
from priorband.durable.serialize import to_data
from priorband.errors import FormatError, SpaceError
from priorband.fidelity import Fidelity
from priorband.space.space import Space


def changed_module_note(
    stored: Mapping[str, Any], module: str, space: Space | None, fidelity: Fidelity | None
) -> str:
    """A note that a study goes on with its own space and fidelity; empty if nothing has changed.

    Args:
        stored: The data of the study's problem.
        module: The name of the objective's module.
        space: The space in the module; None if there is none, or if another one is used.
        fidelity: The fidelity in the module; likewise.
    """
    here = {name: part for name, part in (("space", space), ("fidelity", fidelity)) if part}
    try:
        data = {name: to_data(part) for name, part in here.items()}
        lines = differences(stored, {**stored, **data})
    except (FormatError, SpaceError):  # a damaged study, which opening it reports
        return ""
    if not lines:
        return ""
    return (
        f"Note: the study goes on as it was created, but {module} has changed since:\n  - "
        + "\n  - ".join(lines)
        + "\nThese changes have no effect. To use them, start a new study in another place."
    )
