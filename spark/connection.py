"""Connections to the database: they end when the other side is gone, and tell no secret when they fail."""

import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import unquote

import psycopg
from psycopg.conninfo import conninfo_to_dict

CONNECT_SECONDS = 10

# A peer that vanished without a word is given up after half a minute; the system would wait for hours.
DEFAULTS: dict[str, str | int] = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
_SECRET = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
WITHHELD = (
    "the reason would show a part of the dsn's password; special characters there must be percent-encoded"
)


def parameters(dsn: str) -> dict[str, str | int]:
    """What to add to a dsn: only what it leaves open."""
    given = conninfo_to_dict(dsn)
    return {name: value for name, value in DEFAULTS.items() if name not in given}


@contextmanager
def answering_within(connection: psycopg.Connection, seconds: float) -> Iterator[None]:
    """Cuts the connection when time is up, so that whoever waits for it gets an OperationalError.

    The server's time limit does not reach a client that the network has cut off, and keepalives are
    answered by a proxy whose other side is gone.
    """
    try:
        descriptor = os.dup(connection.fileno())
    except psycopg.OperationalError:
        # Closed already, which is told to whoever uses it.
        yield
        return
    with socket.socket(fileno=descriptor) as held:
        timer = threading.Timer(seconds, _cut, [held])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            # Else a late cut could hit the transaction that comes next.
            timer.join()


def _cut(held: socket.socket) -> None:
    with suppress(OSError):
        held.shutdown(socket.SHUT_RDWR)


def told(error: psycopg.Error, dsn: str) -> str:
    """The first line of an error. An unescaped @ makes a part of the password one of the host."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return WITHHELD if any(secret in line for secret in _secrets(dsn)) else line


def _secrets(dsn: str) -> set[str]:
    given = conninfo_to_dict(dsn)
    found = {str(given[name]) for name in _SECRET if given.get(name)}
    address = dsn.partition("://")[2]
    user_info, at, _ = address.rpartition("@")
    user, _, password = user_info.partition(":")
    if at:
        found |= {password, *re.split(r"[@:/?#&=%\s]", password)}
    found |= {unquote(secret) for secret in found}
    return found - {"", user, unquote(user), given.get("user")}
