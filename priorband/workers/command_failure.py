"""The failure of a script that a study file runs: its exit code, and what it said last."""

from typing import Any, final

from priorband.failures import FailureKind


@final
class CommandFailed(Exception):  # noqa: N818  # it says what happened
    """A script that ended without a result.

    Args:
        kind: the kind of failure.
        reason: what happened, in a sentence.
        output: the last lines that the script printed.
    """

    def __init__(self, kind: FailureKind, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.kind = kind
        self.output = output

    @property
    def details(self) -> dict[str, Any]:
        """What is recorded with the failure."""
        return {"traceback": self.output or str(self)}
