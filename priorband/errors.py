"""What can be wrong with what a person gave us, and how we say it.

    PriorbandError
    ├── SpaceError        (ValueError)    a parameter, a space, a prior or a fidelity that cannot be
    ├── ConfigError       (ValueError)    a configuration that does not lie in the space
    ├── MethodError       (ValueError)    an unknown method, or an option that it does not take
    ├── TrialError        (ValueError)    a trial that is unknown, or was told already
    ├── LossError         (TypeError)     a loss that is not a number
    ├── ExhaustedError    (RuntimeError)  nothing is left to try, or the budget is handed out
    ├── FormatError       (ValueError)    data that is no study, or one of a newer library
    ├── DamagedError      (RuntimeError)  a study whose records are not what was written
    ├── MismatchError     (ValueError)    a study opened with another problem than its own
    ├── HaltedError       (RuntimeError)  an objective that fails in the same way from the start
    ├── RankError         (RuntimeError)  ranks of a job that cannot go on training together
    ├── StorageError      (OSError)       storage that is busy, full or out of reach for now
    ├── ExtraError        (ImportError)   an optional package that is not installed
    └── DataError         (ValueError)    a benchmark's data that is missing, or is not what it says

    SingleRungWarning     (UserWarning)   a fidelity range too narrow for more than one rung

Each message says what was wrong, what is allowed and, where it is not plain, what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class PriorbandError(Exception):
    """The root of all errors that this library raises on purpose."""


class SpaceError(PriorbandError, ValueError):
    """A parameter, a space, a prior or a fidelity that cannot be."""


class ConfigError(PriorbandError, ValueError):
    """A configuration that does not lie in the space."""


class MethodError(PriorbandError, ValueError):
    """An unknown method, or an option that it does not take."""


class TrialError(PriorbandError, ValueError):
    """A trial that is unknown, or was told already."""


class LossError(PriorbandError, TypeError):
    """A loss that is not a number."""


class ExhaustedError(PriorbandError, RuntimeError):
    """Nothing is left to try, or the budget is handed out."""


class FormatError(PriorbandError, ValueError):
    """Data that is no study, or one that a newer library wrote."""


class DamagedError(PriorbandError, RuntimeError):
    """A study whose records are not what was written."""


class MismatchError(PriorbandError, ValueError):
    """A study opened with another problem than the one it was created with."""


class HaltedError(PriorbandError, RuntimeError):
    """An objective that fails in the same way from the start."""


class RankError(PriorbandError, RuntimeError):
    """Ranks of a data-parallel job that cannot go on training together."""


class StorageError(PriorbandError, OSError):
    """Storage that is busy, full, restarting or out of reach: worth another try."""


class ExtraError(PriorbandError, ImportError):
    """An optional package that is not installed."""


class DataError(PriorbandError, ValueError):
    """A benchmark's data that is missing, or is not what it says."""


class SingleRungWarning(UserWarning):
    """A fidelity range too narrow for more than one rung."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """`Did you mean ...? Known: ...`, to end a message about an unknown word."""
    names = sorted(known)
    close = get_close_matches(str(word), names, n=1, cutoff=0.5)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    return f"{hint}Known: {', '.join(names)}."
