"""The command line: `priorband run`, `worker`, `status` and other commands."""

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Everything else is imported here, because every trial's process imports the script that started
    the run and needs none of it.
    """
    try:
        from priorband.cli.entry_point import main as run
    except KeyboardInterrupt:
        return 130

    return run(argv)
