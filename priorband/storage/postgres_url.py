"""URLs of studies in PostgreSQL, and connections to their servers."""

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from priorband.errors import ExtraError, FormatError

if TYPE_CHECKING:
    import psycopg

DEFAULT_NAME = "study"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_PASSWORD = re.compile(r"(://[^:@/?#]*):(.*)@")  # up to the last @, whatever is in between
_OPTION = re.compile(r"([?&]password=)[^&#]*", re.IGNORECASE)
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


def shown(url: str) -> str:
    """A URL without its password.

    >>> shown("postgresql://ann:secret@host/lab#resnet")
    'postgresql://ann:***@host/lab#resnet'
    """
    masked = _PASSWORD.sub(r"\1:***@", url)
    return _OPTION.sub(r"\1***", masked)


def split(url: str) -> tuple[str, str]:
    """The URL for the driver, and the study's name."""
    password = _PASSWORD.search(url)
    if password and re.search(r"[@/?#]", password[2]):
        raise FormatError(
            f"The user name or password in {shown(url)} contains a character that has a special "
            "meaning in a URL. Write @ as %40, / as %2F, ? as %3F and # as %23."
        )
    parts = urlsplit(url)
    name = unquote(parts.fragment) or DEFAULT_NAME
    if not _NAME.fullmatch(name):
        raise FormatError(
            "A study's name in a URL must be 1 to 40 letters, digits, '-', '_' and '.', and start "
            f"with a letter or a digit, got {name!r}. Example: postgresql://host/database#resnet."
        )
    return urlunsplit(parts._replace(fragment="")), name


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
    except psycopg.ProgrammingError as error:
        password, message = _PASSWORD.search(url), brief(error)
        if password and password[2]:
            message = message.replace(password[2], "***")
        raise FormatError(f"{shown(url)} is not a valid URL: {message}.") from None
    return connection  # type: ignore[no-any-return]  # the driver is loaded by a function


def brief(error: BaseException) -> str:
    """An error's message on one line, cut to 300 characters."""
    return " ".join(str(error).split())[:300]
