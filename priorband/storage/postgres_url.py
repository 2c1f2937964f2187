"""Connections to the servers of studies in PostgreSQL."""

from typing import TYPE_CHECKING, Any

from priorband.errors import ExtraError, FormatError
from priorband.storage.addresses import hide_secrets, shown

if TYPE_CHECKING:
    import psycopg

_TIMEOUTS = {
    "connect_timeout": 10,  # seconds
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 40_000,  # milliseconds
}


def driver() -> Any:
    """The module psycopg (version 3); raise `ExtraError` if it is not installed."""
    try:
        import psycopg
    except ImportError:
        raise ExtraError(
            "A study in PostgreSQL needs psycopg 3: pip install 'priorband[postgres]'."
        ) from None
    return psycopg


def connect(url: str) -> "psycopg.Connection":
    """Connect to a server, with time limits: the client gives up on one that does not answer."""
    psycopg = driver()
    try:
        connection: Any = psycopg.connect(
            url,
            autocommit=True,
            prepare_threshold=None,
            cursor_factory=psycopg.ClientCursor,
            application_name="priorband",
            **_TIMEOUTS,
        )
    except psycopg.Error as error:
        hide_secrets(error, url)
        if isinstance(error, psycopg.ProgrammingError):
            raise FormatError(f"{shown(url)} is not a valid URL: {brief(error)}.") from None
        raise
    return connection  # type: ignore[no-any-return]  # the driver is loaded by a function


def brief(error: BaseException) -> str:
    """An error's message on one line, cut to 300 characters."""
    return " ".join(str(error).split())[:300]
