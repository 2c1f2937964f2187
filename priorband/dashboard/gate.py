"""The gate before the application: refuses requests, exchanges the token, sets the headers."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, final
from urllib.parse import parse_qs

from priorband.dashboard.access import HEADERS, Access, Refusal

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 1_000_000  # bytes of a request


@final
class Gate:
    """An ASGI application that lets through only what `Access` allows."""

    def __init__(self, inner: Application, access: Access) -> None:
        self._inner = inner
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a websocket is closed
        await self._answer(scope, receive, _with_headers(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _single_headers(scope)
        token = self._token_of_first_page(scope)
        refusal = (
            _too_large(headers)
            or _repeated(scope)
            or (
                self._access.refusal(scope["method"], scope["path"], headers)
                if token is None
                else self._access.refusal_of_first_page(headers) or self._wrong(token)
            )
        )
        if refusal is not None:
            await _send_text(send, refusal.status, refusal.reason)
        elif token is not None:
            cookie = self._access.set_cookie()
            await _send_text(send, 303, "", {"location": "/", "set-cookie": cookie})
        else:
            await self._inner(scope, receive, send)

    def _token_of_first_page(self, scope: Scope) -> str | None:
        if scope["path"] != "/" or scope["method"] != "GET":
            return None
        found = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        return found[0] if found else None

    def _wrong(self, token: str) -> Refusal | None:
        return None if self._access.is_token(token) else Refusal(401, "The token is not valid.")


def _single_headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _repeated(scope: Scope) -> Refusal | None:
    """Refuse a request that says twice who asks: it could be read in two ways."""
    names = [name for name, _ in scope["headers"]]
    if names.count(b"host") != 1 or names.count(b"origin") > 1 or names.count(b"cookie") > 1:
        return Refusal(400, "A header is missing or repeated.")
    return None


def _too_large(headers: dict[str, str]) -> Refusal | None:
    length = headers.get("content-length", "0")
    if "transfer-encoding" in headers or not length.isdecimal() or int(length) > LARGEST_BODY:
        return Refusal(413, f"A request may have at most {LARGEST_BODY} bytes, and says how many.")
    return None


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message.get("headers", ())}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            kept = [pair for pair in more if pair[0] not in own]
            message["headers"] = [*message.get("headers", ()), *kept]
        await send(message)

    return send_with_headers


async def _send_text(
    send: Send, status: int, text: str, headers: dict[str, str] | None = None
) -> None:
    about = {"content-type": "text/plain; charset=utf-8", **(headers or {})}
    start = [(name.encode(), value.encode()) for name, value in about.items()]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": text.encode()})
