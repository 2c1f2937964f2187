"""What a route is asked and what it answers, without the web framework."""

import json
from collections.abc import Mapping
from typing import Any, final

from priorband.display.text import jsonable
from priorband.values import frozen


@final
@frozen
class Question:
    """A request that was let through."""

    path: Mapping[str, str]
    """The parts of the path that a route names."""
    query: Mapping[str, str]
    body: Any = None
    """The JSON of a request that changes something."""


@final
@frozen
class Reply:
    """An answer."""

    body: bytes
    media_type: str = "application/json"
    status: int = 200


def json_reply(data: Any, status: int = 200) -> Reply:
    """An answer in JSON; what is no number becomes null."""
    text = json.dumps(jsonable(data), allow_nan=False, separators=(",", ":"))
    return Reply(text.encode(), status=status)


def error_reply(message: str, status: int) -> Reply:
    """An answer that says what is wrong."""
    return json_reply({"error": message}, status)
