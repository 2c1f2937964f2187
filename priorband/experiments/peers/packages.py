"""Other libraries are optional: what to say if one is missing."""

from importlib.util import find_spec

from priorband.errors import ExtraError


def required_package(package: str, extra: str) -> None:
    """Raise `ExtraError` if a package is missing, with the extra that installs it."""
    if find_spec(package) is None:
        raise ExtraError(f"The package {package} is missing: pip install 'priorband[{extra}]'.")
