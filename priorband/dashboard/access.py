"""Who may ask what of the dashboard: the token, and the checks of each request.

A page on another site can make a browser send requests to a local server. What protects the
dashboard: it answers only under a name that is its own (against DNS rebinding), only to requests
that its own page has made, and only with the token that was printed when it was started. A request
that changes something needs a second token, which only the page itself can read.
"""

import base64
import hashlib
import hmac
import ipaddress
import os
import re
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import final
from urllib.parse import urlsplit

from priorband.values import frozen

TOKEN_BYTES = 24
EDIT_HEADER = "x-priorband-edit"
"""The header with the second token, in requests that change something."""
READING = ("GET", "HEAD")
OWN_FETCHES = ("same-origin", "none")
"""What `Sec-Fetch-Site` says of requests from the page itself, or from the address bar."""
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
"""The headers of every answer."""

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?", re.IGNORECASE)


def new_token() -> str:
    """A token that nobody can guess."""
    return base64.urlsafe_b64encode(os.urandom(TOKEN_BYTES)).decode().rstrip("=")


@final
@frozen
class Refusal:
    """Why a request is refused."""

    status: int
    reason: str


@final
@frozen
class Access:
    """What a request must have to be answered."""

    token: str
    port: int
    names: frozenset[str] = frozenset({"localhost", "127.0.0.1", "[::1]"})
    """The names under which the dashboard may be asked, without the port."""
    any_address: bool = False
    """Whether it may also be asked under any IP address: it listens on several."""
    edits: bool = False
    """Whether requests may change something."""

    @property
    def cookie(self) -> str:
        """The name of the cookie. Browsers share cookies between the ports of a host."""
        return f"priorband-{self.port}"

    @property
    def edit_token(self) -> str:
        """The second token, for requests that change something."""
        key = self.token.encode()
        return hmac.new(key, b"priorband dashboard edit", hashlib.sha256).hexdigest()

    def set_cookie(self) -> str:
        """The header that exchanges the token for a cookie."""
        return f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"

    def is_token(self, text: str) -> bool:
        """Whether a text is the token, in constant time."""
        return hmac.compare_digest(text.encode(), self.token.encode())

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Why a request is refused; None if it is not. Names of headers are in lower case.

        The token in the address of the first page is not looked at here.
        """
        checks = (
            self._wrong_host(headers),
            self._foreign_page(method, path, headers),
            self._wrong_token(headers),
            self._wrong_edit(method, headers),
        )
        return next((found for found in checks if found is not None), None)

    def refusal_of_first_page(self, headers: Mapping[str, str]) -> Refusal | None:
        """Why a request that brings the token in its address is refused."""
        return self._wrong_host(headers) or self._foreign_page("GET", "/", headers)

    def _wrong_host(self, headers: Mapping[str, str]) -> Refusal | None:
        found = _HOST.fullmatch(headers.get("host", ""))
        name = found[1].lower().rstrip(".") if found else ""
        if name in self.names or (self.any_address and _is_address(name)):
            return None
        return Refusal(421, "This server is not known under that host name.")

    def _foreign_page(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        refused = Refusal(403, "The request comes from another site.")
        origin = headers.get("origin")
        if origin is not None and not self._is_own(origin, headers.get("host", "")):
            return refused
        if headers.get("sec-fetch-site", "none") in OWN_FETCHES:
            return None
        opens_page = method == "GET" and path == "/"
        if opens_page and headers.get("sec-fetch-mode") == "navigate":
            return None  # a link to the dashboard on another page
        return refused

    def _is_own(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()

    def _wrong_token(self, headers: Mapping[str, str]) -> Refusal | None:
        given = headers.get("authorization", "").removeprefix("Bearer ")
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            cookie = None
        if self.is_token(given) or (cookie is not None and self.is_token(cookie.value)):
            return None
        return Refusal(
            401, "Open the address with the token that `priorband dashboard` has printed."
        )

    def _wrong_edit(self, method: str, headers: Mapping[str, str]) -> Refusal | None:
        if method in READING:
            return None
        if not self.edits:
            return Refusal(
                403, "The dashboard is read-only. Start it with --allow-edit to change studies."
            )
        if "origin" not in headers:
            return Refusal(403, "A request that changes something must name its origin.")
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return Refusal(415, "A request that changes something must be JSON.")
        given = headers.get(EDIT_HEADER, "")
        if not hmac.compare_digest(given.encode(), self.edit_token.encode()):
            return Refusal(403, "The request lacks the token for changes. Reload the page.")
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
