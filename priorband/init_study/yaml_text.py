"""YAML files, with the extra package that reads them."""

from pathlib import Path
from typing import Any

from priorband.errors import ExtraError, FormatError


def yaml_mapping(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file; nothing in it is ever run.

    Raises:
        ExtraError: if PyYAML is not installed.
        FormatError: if the file is not YAML, or holds something else than a mapping.
    """
    try:
        import yaml
    except ImportError as error:
        raise ExtraError(
            f"{path} is YAML, which needs PyYAML: pip install 'priorband[yaml]'"
        ) from error
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is not YAML that can be read: {error}") from error
    if not isinstance(data, dict):
        raise FormatError(f"{path} must hold a mapping, such as `parameters:`, got {data!r:.60}.")
    return {str(key): value for key, value in data.items()}


def number_of(value: object) -> object:
    """A number that YAML 1.1 reads as text, such as `1e-3`, as a number; others as they are."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value
