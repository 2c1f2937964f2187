"""The command line: `priorband run`, `worker`, `status` and others, each a thin layer of words."""

from priorband.cli.entry import main

__all__ = ["main"]
