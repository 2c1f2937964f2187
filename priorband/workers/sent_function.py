"""Functions that no other process can import: from a notebook, a prompt, or within a function.

They are sent to the trial's process by value, with cloudpickle, which is an extra. They are never
stored.
"""

import sys
from multiprocessing.reduction import ForkingPickler
from typing import Any, final

from priorband.errors import ExtraError, MethodError
from priorband.workers.attempt import Attempt
from priorband.workers.objective_results import Objective


@final
class SentFunction:
    """An objective that is sent by value. It is loaded where it is called."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self.__name__ = name
        self._function: Any = None

    def __reduce__(self) -> tuple[object, ...]:
        return SentFunction, (self._data, self.__name__)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"

    def load(self) -> Any:
        """The function; what it uses is imported."""
        if self._function is None:
            self._function = _cloudpickle(self.__name__).loads(self._data)
            self.__wrapped__ = self._function  # for `inspect`: failures name where it is defined
        return self._function

    def __call__(self, attempt: Attempt) -> Any:
        return self.load()(attempt)


def sendable(objective: Objective) -> Objective:
    """The objective itself if other processes can import it, or else a `SentFunction`.

    Raise `ExtraError` if that takes cloudpickle, which is not installed, and `MethodError` if the
    objective cannot be sent at all.
    """
    name = getattr(objective, "__qualname__", type(objective).__qualname__)
    if not _is_from_a_prompt(objective):
        try:
            ForkingPickler.dumps(objective)
            return objective
        except Exception as error:
            failure = error
    try:
        return SentFunction(_cloudpickle(name).dumps(objective), name)
    except ExtraError:
        raise
    except Exception as error:
        failure = error
    raise pickling_error(objective, failure)


def pickling_error(objective: Objective, error: Exception) -> MethodError:
    """The error for an objective that cannot be sent to another process."""
    return MethodError(
        f"`objective` {objective!r} cannot be sent to another process ({type(error).__name__}: "
        f"{error}). Define it at the top level of a module, or run it in this process with "
        "workers=1, start='same-process'."
    )


def _is_from_a_prompt(objective: Objective) -> bool:
    """Whether it was defined where no file is: a pickle by name could not be loaded elsewhere."""
    module = getattr(objective, "__module__", None)
    return module == "__main__" and not hasattr(sys.modules["__main__"], "__file__")


def _cloudpickle(name: str) -> Any:
    try:
        import cloudpickle
    except ImportError:
        raise ExtraError(
            f"`objective` {name} is not at the top level of a module, so other processes cannot "
            "import it. Install cloudpickle, which sends it to them: pip install "
            "'priorband[notebook]'. Or define it in a .py file, or run trials in this process: "
            "workers=1, start='same-process'."
        ) from None
    return cloudpickle
