"""Who is told that a client has gone away."""

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import uvicorn
from uvicorn.server import ServerState

from app.api.connection import Connection
from app.settings import Settings
from tests.support.wait import until

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Waiting:
    """Reads each request, then waits until its client is gone."""

    def __init__(self) -> None:
        self.state = SimpleNamespace(parts=SimpleNamespace(settings=Settings()))
        self.received: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        for _ in range(2):
            self.received.append((await receive())["type"])


async def test_a_request_with_others_behind_it_is_told_that_its_client_is_gone() -> None:
    app = Waiting()
    connection = Connection(uvicorn.Config(app, log_config=None), ServerState(), {})
    transport = MagicMock(spec=asyncio.Transport)
    transport.is_closing.return_value = False
    transport.get_extra_info.return_value = None
    connection.connection_made(transport)
    connection.data_received(REQUEST * 2)
    await until(lambda: app.received)
    connection.connection_lost(None)
    await until(lambda: len(app.received) == 2, 10)
    assert app.received == ["http.request", "http.disconnect"]
