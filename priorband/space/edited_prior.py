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
    columns = zip(space.names, current.densities, new.densities, strict=True)
    densities = [changed if name in beliefs else old for name, old, changed in columns]
    mode = whole_mode(current) | {name: whole_mode(new)[name] for name in beliefs}
    return Independent(space, densities, space.complete(mode))


def whole_mode(belief: Independent) -> dict[str, Any]:
    """The most likely value of each searched parameter, also of those that the mode leaves out.

    These are the parameters that are not used with the other values of the mode.

    >>> from priorband import Categorical, Float, Space
    >>> momentum = Float(0, 1, prior=0.9, when={"optimizer": "sgd"})
    >>> optimizer = Categorical(["sgd", "adam"], prior="adam")
    >>> space = Space({"optimizer": optimizer, "momentum": momentum})
    >>> space.prior.mode, whole_mode(space.prior)
    ({'optimizer': 'adam'}, {'optimizer': 'adam', 'momentum': 0.9})
    """
    searched = zip(belief.space.searched.items(), belief.densities, strict=True)
    return {
        name: belief.mode.get(name, parameter.decode(density.mode))
        for (name, parameter), density in searched
    }
