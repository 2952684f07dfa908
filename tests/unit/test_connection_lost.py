"""Who is told that a client has gone away, or was refused."""

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import uvicorn
from uvicorn.server import ServerState

from app.api.connection import Connection
from app.api.cycle import ACCEPTED
from app.api.malformed import Malformed
from app.settings import Settings
from tests.support.wait import until

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Waiting:
    """Reads each request, then waits until its client is gone."""

    def __init__(self) -> None:
        self.parts = SimpleNamespace(settings=Settings(), malformed=Malformed())
        self.received: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        for _ in range(2):
            self.received.append((await receive())["type"])


class Late:
    """Accepts each request when its client is gone."""

    def __init__(self) -> None:
        self.parts = SimpleNamespace(settings=Settings(), malformed=Malformed())
        self.accepted: bool | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.accepted = scope.setdefault(ACCEPTED, True)


def connected(app: Any) -> tuple[Connection, MagicMock]:
    connection = Connection(uvicorn.Config(app, log_config=None), ServerState(), {})
    transport = MagicMock(spec=asyncio.Transport)
    transport.is_closing.return_value = False
    transport.get_extra_info.return_value = None
    connection.connection_made(transport)
    return connection, transport


async def test_a_request_that_was_refused_is_not_accepted_any_more() -> None:
    app = Late()
    connection, transport = connected(app)
    connection.data_received(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n")
    await until(lambda: app.accepted is not None)
    assert not app.accepted
    assert transport.write.call_args.args[0].startswith(b"HTTP/1.1 400 ")


async def test_a_request_with_others_behind_it_is_told_that_its_client_is_gone() -> None:
    app = Waiting()
    connection, _ = connected(app)
    connection.data_received(REQUEST * 2)
    await until(lambda: app.received)
    connection.connection_lost(None)
    await until(lambda: len(app.received) == 2, 10)
    assert app.received == ["http.request", "http.disconnect"]
