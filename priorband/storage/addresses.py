"""Addresses of studies in PostgreSQL: which texts are addresses, and what may be shown of them.

An address may hold a password, in several places, and it may be misspelt in any way. So what is
shown of it is built from the parts that are known to be harmless. All others become `***`.
"""

import re
import unicodedata
from urllib.parse import unquote

from priorband.errors import FormatError

DEFAULT_NAME = "study"
EXAMPLE = "postgresql://user@host/database#resnet"
SCHEMES = ("postgresql://", "postgres://")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*://)(?P<authority>[^/?#]*)(?P<path>[^?#]*)"
    r"(?:\?(?P<options>[^#]*))?(?:\#(?P<name>.*))?",
    re.IGNORECASE | re.DOTALL,
)
_HOST_AND_PORT = re.compile(r"(\[[^][]*\]|[^][:]*)(?::(.*))?", re.DOTALL)
_KEYWORDS = (
    "(?:host|hostaddr|port|dbname|user|passfile|service|options|connect_timeout|ssl[a-z]+"
    "|application_name|target_session_attrs)"
)
_ADDRESS = re.compile(
    rf"""
      ://                                   # any URL
    | ^[^\w/.~]*postgres[\w+.-]*:           # with one slash, or none
    | ^[^\w/.~]*[a-z][\w+.-]+:[/\\]         # another scheme; a single letter is a drive, as in C:/
    | ^(?![a-z]:[/\\])[^/\\]*:.*@           # user:password@host
    | //[^/]*:.*@                           # without the scheme's colon
    | ^[^\w/.~]*postgres.*:.*@              # and with one slash
    | (?:^|[\s;,&?'"])(?:ssl)?(?:password|passwd|pwd)\s*=
    | ^\W*dbname\s*=                        # the keywords of libpq
    | ^\W*{_KEYWORDS}\s*=.*\s{_KEYWORDS}\s*=
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)

_HARMLESS = {
    "user": re.compile(r"[\w.+@-]*"),
    "host": re.compile(r"[\w.-]*|\[[0-9a-f:.]+(%\w+)?\]|/[\w./-]*", re.IGNORECASE),
    "port": re.compile(r"\d{0,5}", re.ASCII),
    "path": re.compile(r"/?[\w.+-]*"),
    "option": re.compile(r"[\w.,/+-]*"),
    "name": _NAME,
}
"""What each part must look like, after decoding, to be shown."""
_SHOWN_OPTIONS = (
    *("host", "hostaddr", "port", "dbname", "user", "service", "passfile"),
    *("sslmode", "sslrootcert", "connect_timeout", "target_session_attrs"),
)
_HIDDEN_OPTIONS = ("password", "sslpassword")
"""Options whose names are shown, but not their values."""
_SHORTEST = 4  # characters of a text that is removed from messages; shorter ones are in any message

_Part = tuple[str, bool]
"""A part of an address, and whether it may be shown."""


def is_address(text: str) -> bool:
    """Whether a text is meant as an address, also a misspelt one, and not as a folder.

    >>> is_address("postgresql:/host/lab"), is_address("runs/resnet"), is_address("C:/runs")
    (True, False, False)
    """
    return _ADDRESS.search(unicodedata.normalize("NFKC", unquote(text))) is not None


def shown(where: str) -> str:
    """A folder as it is, or an address without what may be secret.

    >>> shown("postgresql://ann:secret@host/lab?sslmode=require&sslpassword=x#resnet")
    'postgresql://ann:***@host/lab?sslmode=require&sslpassword=***#resnet'
    >>> shown("host=db password=secret"), shown("runs/resnet")
    ('***', 'runs/resnet')
    """
    if not is_address(where):
        return where
    text = "".join(text if harmless or not text else "***" for text, harmless in _parts(where))
    return re.sub(r"(\*\*\*){2,}", "***", text)


def hide_secrets(error: BaseException, address: str) -> None:
    """Remove what `shown` hides from the messages of an exception, and of those that caused it."""
    parts = _parts(address)
    visible = {text for text, harmless in parts if harmless}
    hidden = {form for text, harmless in parts if not harmless for form in (text, unquote(text))}
    secrets = sorted((s for s in hidden - visible if len(s) >= _SHORTEST), key=len, reverse=True)
    found: list[BaseException | None] = [error]
    for one in found:  # grows while it is read
        if one is not None:
            one.args = tuple(
                _without(item, secrets) if isinstance(item, str) else item for item in one.args
            )
            found += [e for e in (one.__cause__, one.__context__) if e not in found]


def split(address: str) -> tuple[str, str]:
    """The address for the driver, and the study's name; raise `FormatError` if it is malformed."""
    url = _URL.fullmatch(address)
    reason = _mistake(address) if url else "it has no host or database"
    if url is None or reason:
        raise FormatError(
            f"{shown(address)} is not the address of a study: {reason}. Example: {EXAMPLE}."
        )
    return address.partition("#")[0], unquote(url["name"] or "") or DEFAULT_NAME


def _mistake(address: str) -> str:
    """What is wrong with an address; empty if nothing is."""
    url = _URL.fullmatch(address)
    assert url is not None
    userinfo, _, hosts = url["authority"].rpartition("@")
    if "@" in address[url.end("authority") :] or "@" in userinfo:
        return (
            "its user name or password contains a character that has a special meaning. Write @ "
            "as %40, / as %2F, ? as %3F and # as %23"
        )
    if re.search(r"[\0-\x1f\x7f-\x9f\ud800-\udfff]", address):
        return "it contains a control character, or one that is not valid text"
    if re.search(r"%(?![0-9A-Fa-f]{2})|%00", address):
        return "a % must be followed by two hexadecimal digits other than 00. Write % as %25"
    for host in hosts.split(","):
        match = _HOST_AND_PORT.fullmatch(host)
        if match is None:
            return "its host is not valid. Write an IPv6 address in brackets, such as [::1]"
        port = match[2] or "1"
        if not _HARMLESS["port"].fullmatch(port) or not 1 <= int(port) <= 65535:
            return "its port must be a number from 1 to 65535"
    if not _NAME.fullmatch(unquote(url["name"] or "") or DEFAULT_NAME):
        return (
            "the name after # must be 1 to 40 letters, digits, '-', '_' and '.', and start with a "
            "letter or a digit"
        )
    return ""


def _parts(address: str) -> list[_Part]:
    """The parts of an address in order, each with whether it may be shown."""
    url = _URL.fullmatch(address.strip())
    if url is None:
        return [(address, False)]
    scheme, rest = url["scheme"], address.strip()[url.end("authority") :]
    if "@" in rest:  # then the password may contain a / or #, and begin anywhere
        return [(scheme, True), (address.strip()[url.end("scheme") :], False)]
    parts = [(scheme, True), *_authority(url["authority"]), _checked("path", url["path"])]
    if url["options"] is not None:
        for number, option in enumerate(url["options"].split("&")):
            parts += [("&" if number else "?", True), *_option(option)]
    if url["name"] is not None:
        parts += [("#", True), _checked("name", url["name"])]
    return parts


def _authority(text: str) -> list[_Part]:
    parts = list[_Part]()
    userinfo, at, hosts = text.rpartition("@")
    user, colon, password = userinfo.partition(":")
    if at:
        parts.append((user, "@" not in user and _checked("user", user)[1]))
        parts += [(colon, True), (password, False), ("@", True)] if colon else [("@", True)]
    for number, host in enumerate(hosts.split(",")):
        match = _HOST_AND_PORT.fullmatch(host)
        parts.append(("," if number else "", True))
        parts.append(_checked("host", match[1]) if match else (host, False))
        if match and match[2] is not None:
            parts += [(":", True), _checked("port", match[2])]
    return parts


def _option(text: str) -> list[_Part]:
    name, equals, setting = text.partition("=")
    if name in _SHOWN_OPTIONS:
        return [(name, True), (equals, True), _checked("option", setting)]
    if name in _HIDDEN_OPTIONS:
        return [(name, True), (equals, True), (setting, False)]
    return [(name, False), (equals, False), (setting, False)]


def _checked(kind: str, text: str) -> _Part:
    return text, _HARMLESS[kind].fullmatch(unquote(text)) is not None


def _without(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "***")
    return text
