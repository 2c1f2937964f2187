"""A prior with new beliefs about some parameters."""

from collections.abc import Mapping
from typing import Any

from priorband.space.prior import Independent, prior


def with_beliefs(
    current: Independent, beliefs: Mapping[str, Any], confidence: str = "medium"
) -> Independent:
    """Return a prior with new beliefs about some parameters, and the same about all others.

    Args:
        current: The prior as it is.
        beliefs: For each parameter to change, what `prior` takes.
        confidence: How sure you are of plain values: "low", "medium" or "high".

    Returns:
        The new prior.

    Raises:
        SpaceError: If a name is unknown, or a belief does not fit its parameter.

    Example:
        >>> from priorband import Float, Space
        >>> space = Space({"x": Float(0, 1, prior=0.2), "y": Float(0, 1, prior=0.3)})
        >>> with_beliefs(space.prior, {"y": 0.8}).mode
        {'x': 0.2, 'y': 0.8}
    """
    space = current.space
    new = prior(space, beliefs, confidence)
    densities, mode = [], dict[str, Any]()
    columns = zip(space.searched.items(), current.densities, new.densities, strict=True)
    for (name, parameter), old, changed in columns:
        density, source = (changed, new) if name in beliefs else (old, current)
        densities.append(density)
        # A parameter that is not active in a mode has no value there.
        mode[name] = source.mode.get(name, parameter.decode(density.mode))
    return Independent(space, densities, space.complete(mode))
