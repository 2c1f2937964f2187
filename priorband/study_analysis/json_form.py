"""Results of an analysis as plain data that JSON holds."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from priorband.values import field_names


def as_json(result: Any) -> Any:
    """Return a result as dicts, lists, numbers and texts. What is not finite becomes None.

    A value becomes a dict of its fields, an array or a tuple a list.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> from priorband.study_analysis import as_json, incumbent_over_budget, study_data
    >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "sh")
    >>> _ = study.tell(study.ask(), 0.5)
    >>> as_json(incumbent_over_budget(study_data(study)).any_fidelity)["value"]
    [0.5]

    Raises:
        TypeError: for an object that is neither a result nor part of one.
    """
    if isinstance(result, np.ndarray):
        return _plain_array(result)
    if isinstance(result, Mapping):
        return {str(name): as_json(item) for name, item in result.items()}
    if isinstance(result, tuple | list):
        return [as_json(item) for item in result]
    if isinstance(result, float | np.floating):
        return float(result) if math.isfinite(result) else None
    if isinstance(result, np.integer | np.bool_):
        return result.item()
    if result is None or isinstance(result, str | int):
        return result
    if type(result).__module__.startswith(_RESULTS):
        return {name: as_json(getattr(result, name)) for name in field_names(result)}
    raise TypeError(f"{type(result).__name__} is not a result of an analysis.")


_RESULTS = ("priorband.study_analysis.", "priorband.prior_report.")


def _plain_array(array: "np.ndarray[Any, Any]") -> list[Any]:
    if array.dtype.kind != "f" or np.isfinite(array).all():
        plain: list[Any] = array.tolist()
        return plain
    if array.ndim > 1:
        return [_plain_array(row) for row in array]
    finite = np.isfinite(array).tolist()
    return [x if fine else None for x, fine in zip(array.tolist(), finite, strict=True)]
