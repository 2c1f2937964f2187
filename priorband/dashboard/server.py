"""Running the dashboard: its socket, its address with the token, and its end."""

import ipaddress
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import closing, suppress

from priorband.dashboard.access import Access, new_token
from priorband.dashboard.application import application, require_extra
from priorband.dashboard.studies import Studies
from priorband.errors import ArgumentError

LOOPBACK = "127.0.0.1"
BACKLOG = 128
NICENESS = 5
"""How far the server stands back behind workers on the same machine."""


def serve(
    wheres: Sequence[str],
    host: str = LOOPBACK,
    port: int = 0,
    edits: bool = False,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the dashboard until the process is interrupted.

    Args:
        wheres: studies, or folders with studies in them.
        host: the address to listen on; others than this machine can connect if it is no loopback.
        port: the port; 0 for any that is free.
        edits: whether the page may change studies.
        say: called with each line for the user; the first has the address with the token.
    """
    require_extra()
    import uvicorn

    studies = Studies(wheres)
    with closing(studies), _listening(host, port) as listener:
        bound = listener.getsockname()[1]
        access = _access(host, bound, edits)
        servers = list[uvicorn.Server]()
        app = application(studies, access, lambda: servers[0].should_exit)
        config = uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=3,
        )
        servers.append(uvicorn.Server(config))
        say(f"Dashboard: http://{_shown_host(host)}:{bound}/?token={access.token}")
        _say_more(say, host, edits, len(studies.feeds()))
        with suppress(OSError):
            os.nice(NICENESS)
        with suppress(KeyboardInterrupt):
            servers[0].run(sockets=[listener])


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _access(host: str, port: int, edits: bool) -> Access:
    own = {"localhost", "127.0.0.1", "[::1]"}
    if is_loopback(host):
        return Access(new_token(), port, frozenset(own), False, edits)
    names = own | {host.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}
    return Access(new_token(), port, frozenset(names), True, edits)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ArgumentError(
            f"`host` must be an address of this machine, got {host!r}: {error}."
        ) from None
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)  # the address works as soon as it is printed
    except OSError as error:
        listener.close()
        raise ArgumentError(
            f"`port` {port} on {host} cannot be used: {error.strerror}. Leave --port out to take "
            "any that is free."
        ) from None
    return listener


def _shown_host(host: str) -> str:
    if host in ("0.0.0.0", "::", ""):
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _say_more(say: Callable[[str], None], host: str, edits: bool, studies: int) -> None:
    say(f"{studies} {'study' if studies == 1 else 'studies'}. Press Ctrl+C to stop.")
    if not is_loopback(host):
        say(
            f"Warning: other machines can connect to {host}. The token is all that protects the "
            "studies, and it is sent unencrypted. An SSH tunnel is safer: "
            "ssh -L 8000:localhost:PORT this-machine."
        )
    if edits:
        say("Whoever has the token can change the studies (--allow-edit).")
