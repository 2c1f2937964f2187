"""The JSON schema of study files, with which editors complete and check them."""

from typing import Any

from priorband.study_file.keys import (
    BELIEF_KEYS,
    BUDGET_KEYS,
    CONDITION_KEYS,
    FIDELITY_KEYS,
    METRIC_KEYS,
    PARAMETER_KEYS,
    RETRIES_KEYS,
    TOP_KEYS,
    Keys,
)


def study_file_schema() -> dict[str, Any]:
    """The schema, as data that JSON can hold."""
    top = _table(TOP_KEYS, "space")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "priorband study file",
        "description": "A study in one file: what to run, what to search, and for how long.",
        **top,
        "oneOf": [{"required": ["command"]}, {"required": ["objective"]}],
        "$defs": {
            "budget": _table(BUDGET_KEYS) | {"minProperties": 1},
            "fidelity": _table(FIDELITY_KEYS, "name", "min", "max"),
            "metric": _table(METRIC_KEYS),
            "retries": _table(RETRIES_KEYS),
            "space": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"$ref": "#/$defs/parameter"},
            },
            "parameter": {"oneOf": [_table(keys, kind) for kind, keys in PARAMETER_KEYS.items()]},
            "belief": {"oneOf": [_table(keys, kind) for kind, keys in BELIEF_KEYS.items()]},
            "when": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {
                    "anyOf": [
                        {"$ref": "#/$defs/choice"},
                        _table(CONDITION_KEYS) | {"minProperties": 1},
                    ]
                },
            },
            "choice": {
                "anyOf": [
                    {"type": ["string", "number", "boolean"]},
                    {"type": "array", "items": {"$ref": "#/$defs/choice"}},
                ]
            },
        },
    }


def _table(keys: Keys, *required: str) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            name: {**key.kind.schema, "description": key.about} for name, key in keys.items()
        },
        "additionalProperties": False,
    }
    return schema | ({"required": [*required]} if required else {})
