"""The address of a study in PostgreSQL, and the way to its server."""

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from priorband.errors import ExtraError, FormatError

if TYPE_CHECKING:
    import psycopg

USUAL_NAME = "study"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_PASSWORD = re.compile(r"(://[^:@/?#]*):(.*)@")  # to the last @, whatever is in it
_OPTION = re.compile(r"([?&]password=)[^&#]*", re.IGNORECASE)
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
    """A URL without its password.

    >>> shown("postgresql://ann:secret@host/lab#resnet")
    'postgresql://ann:***@host/lab#resnet'
    """
    masked = _PASSWORD.sub(r"\1:***@", url)
    return _OPTION.sub(r"\1***", masked)


def split(url: str) -> tuple[str, str]:
    """The address for the driver, and the study's name."""
    secret = _PASSWORD.search(url)
    if secret and re.search(r"[@/?#]", secret[2]):
        raise FormatError(
            f"A password, or what comes before the last '@', in {shown(url)} has a letter that "
            "means something else in a URL. Write @ as %40, / as %2F, ? as %3F and # as %23."
        )
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
        secret, said = _PASSWORD.search(url), brief(error)
        said = said.replace(secret[2], "***") if secret and secret[2] else said
        raise FormatError(f"{shown(url)} is not an address: {said}.") from None
    return connection  # type: ignore[no-any-return]  # the driver is loaded by a function


def brief(error: BaseException) -> str:
    """An error's message on one line."""
    return " ".join(str(error).split())[:300]
