"""The address of a study in PostgreSQL, and the way to its server."""

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from priorband.errors import ExtraError, FormatError

if TYPE_CHECKING:
    import psycopg

USUAL_NAME = "study"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_SETTINGS = "-c idle_in_transaction_session_timeout=30s -c lock_timeout=60s"
_REACH = {"connect_timeout": 10, "keepalives_idle": 20, "keepalives_interval": 5}
_PATIENCE = {"keepalives_count": 4, "tcp_user_timeout": 40_000}


def driver() -> Any:
    """psycopg 3, or the word that it is missing."""
    try:
        import psycopg
    except ImportError:
        raise ExtraError(
            "A study in PostgreSQL needs psycopg 3: pip install 'priorband[postgres]'."
        ) from None
    return psycopg


def shown(url: str) -> str:
    """A URL without its password."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.split(':')[0]}:***@{host}"))


def split(url: str) -> tuple[str, str]:
    """The address for the driver, and the study's name."""
    parts = urlsplit(url)
    name = unquote(parts.fragment) or USUAL_NAME
    if not _NAME.fullmatch(name):
        raise FormatError(
            f"A study's name in a URL is up to 40 letters, digits, '-', '_' and '.', got {name!r}. "
            "Write postgresql://host/database#resnet."
        )
    return urlunsplit(parts._replace(fragment="")), name


def connect(url: str) -> "psycopg.Connection":
    """A connection that gives up on a server out of reach, and is cut off when it freezes."""
    psycopg = driver()
    try:
        connection: Any = psycopg.connect(
            url,
            autocommit=True,
            prepare_threshold=None,
            cursor_factory=psycopg.ClientCursor,
            options=_SETTINGS,
            application_name="priorband",
            **_REACH,
            **_PATIENCE,
        )
    except psycopg.ProgrammingError as error:
        raise FormatError(f"{shown(url)} is not an address: {brief(error)}.") from None
    return connection  # type: ignore[no-any-return]  # the driver is loaded by a function


def brief(error: BaseException) -> str:
    """An error's message on one line."""
    return " ".join(str(error).split())[:300]
