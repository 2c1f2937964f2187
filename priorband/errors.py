"""The errors that this library raises on purpose.

    PriorbandError
    ├── ArgumentError     (ValueError)    an argument that is not allowed, such as a negative budget
    ├── SpaceError        (ValueError)    an invalid parameter, space, prior or fidelity
    ├── ConfigError       (ValueError)    a configuration that is not in the space
    ├── MethodError       (ValueError)    an unknown method, or an option that it does not take
    ├── TrialError        (ValueError)    a trial that is unknown, or was told already
    ├── LossError         (TypeError)     a loss that is not a number
    ├── ExhaustedError    (RuntimeError)  nothing is left to try, or the budget is handed out
    ├── StudyFileError    (ValueError)    a mistake in a study file, with its line and column
    ├── FormatError       (ValueError)    data that is not a study, or is from a newer version
    ├── DamagedError      (RuntimeError)  a study whose records are not what was written
    ├── MismatchError     (ValueError)    a study opened with another problem than its own
    ├── HaltedError       (RuntimeError)  an objective that keeps failing: nothing was found
    ├── RankError         (RuntimeError)  ranks of a job that cannot go on training together
    ├── StorageError      (OSError)       storage that is busy, full or not reachable for now
    ├── ExtraError        (ImportError)   an optional package that is not installed
    └── DataError         (ValueError)    benchmark data that is missing or not as expected

    SingleRungWarning     (UserWarning)   a fidelity range too narrow for more than one rung

Each message says what was wrong, what is allowed and, where it is not obvious, what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "ArgumentError",
    "ConfigError",
    "DamagedError",
    "DataError",
    "ExhaustedError",
    "ExtraError",
    "FormatError",
    "HaltedError",
    "LossError",
    "MethodError",
    "MismatchError",
    "PriorbandError",
    "RankError",
    "SingleRungWarning",
    "SpaceError",
    "StorageError",
    "StudyFileError",
    "TrialError",
]


class PriorbandError(Exception):
    """The base class of all errors that this library raises on purpose."""


class ArgumentError(PriorbandError, ValueError):
    """An argument that is not allowed, such as a negative budget or a wrong URL."""


class SpaceError(PriorbandError, ValueError):
    """An invalid parameter, space, prior or fidelity."""


class ConfigError(PriorbandError, ValueError):
    """A configuration that is not in the space."""


class MethodError(PriorbandError, ValueError):
    """An unknown method, or an option that it does not take."""


class TrialError(PriorbandError, ValueError):
    """A trial that is unknown, or was told already."""


class LossError(PriorbandError, TypeError):
    """A loss that is not a number."""


class ExhaustedError(PriorbandError, RuntimeError):
    """Nothing is left to try, or the budget is handed out."""


class StudyFileError(PriorbandError, ValueError):
    """A mistake in a study file; the message has its line and column."""


class FormatError(PriorbandError, ValueError):
    """Data that is not a study, or that a newer version wrote."""


class DamagedError(PriorbandError, RuntimeError):
    """A study whose records are not what was written."""


class MismatchError(PriorbandError, ValueError):
    """A study opened with another problem than the one it was created with."""


class HaltedError(PriorbandError, RuntimeError):
    """An objective that keeps failing in the same way from the start, or that never succeeds."""


class RankError(PriorbandError, RuntimeError):
    """Ranks of a data-parallel job that cannot go on training together."""


class StorageError(PriorbandError, OSError):
    """Storage that is busy, full, restarting or not reachable: worth another try."""


class ExtraError(PriorbandError, ImportError):
    """An optional package that is not installed."""


class DataError(PriorbandError, ValueError):
    """Benchmark data that is missing or not as expected."""


class SingleRungWarning(UserWarning):
    """A fidelity range too narrow for more than one rung."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """`Did you mean ...? Known: ...`, for the end of a message about an unknown name."""
    names = sorted(known)
    close = get_close_matches(str(word), names, n=1, cutoff=0.6)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    return f"{hint}Known: {', '.join(names)}."
