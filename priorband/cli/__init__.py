"""The command line: `priorband run`, `worker`, `status` and others, each a thin layer of words."""

from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Do what the words say; the exit code.

    The rest is loaded here: each trial's process imports the script that began all, and needs none
    of it.
    """
    from priorband.cli.entry_point import main as begin

    return begin(words)
