"""The script that was started: whether other processes can import it without running it again.

A new process imports the script in which the objective may be defined. That fails for a script that
was read from standard input. A script that calls `tune` without `if __name__ == "__main__":` would
call it again in the new process.
"""

import ast
import sys
from pathlib import Path
from types import FrameType, ModuleType

from priorband.errors import MethodError

EXAMPLE = "    if __name__ == '__main__':\n        pb.tune(...)"
IN_THIS_PROCESS = "workers=1 and start='same-process'"


def require_importable_script() -> None:
    """Raise `MethodError` if worker and trial processes could not import the script."""
    main = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if file is None or (spec is not None and spec.name.split(".")[-1] == "__main__"):
        return  # a prompt, or a package that was started with -m: neither is imported
    if spec is None and not Path(file).is_file():
        raise MethodError(
            f"The script comes from {file}, where worker and trial processes cannot import it. "
            "Save it as a file, such as train.py, and run `python train.py`; or let trials run in "
            f"this process, with {IN_THIS_PROCESS}."
        )
    line = _running_line(main, sys._getframe(1))
    if line is not None and _is_unguarded(Path(file), line):
        raise MethodError(
            f"{file}, line {line}, starts tuning when the script is imported, and worker and trial "
            "processes import the script to find the objective. Put what starts it under a guard:\n"
            f"{EXAMPLE}\n"
            f"Or let trials run in this process, with {IN_THIS_PROCESS}."
        )


def _running_line(main: ModuleType, frame: FrameType | None) -> int | None:
    """The line of the script's top level that is running; None if none is, as in a thread."""
    while frame is not None:
        if frame.f_globals is vars(main) and frame.f_code.co_name == "<module>":
            return frame.f_lineno
        frame = frame.f_back
    return None


def _is_unguarded(file: Path, line: int) -> bool:
    """Whether a line at the top level of a file is under no `if`, so that importing runs it."""
    try:
        body = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return False
    statement = next((s for s in body if s.lineno <= line <= (s.end_lineno or s.lineno)), None)
    return statement is not None and not any(
        isinstance(node, ast.If) and node.lineno <= line <= (node.end_lineno or node.lineno)
        for node in ast.walk(statement)
    )
