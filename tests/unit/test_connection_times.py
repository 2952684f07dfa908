"""How long a client may take for each of its requests, on a clock that the test moves."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from app.api.malformed import Malformed
from app.settings import Settings
from tests.support.wait import until
from tests.unit.test_connection_lost import connected

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\n"


class Reading:
    """Reads each request to its end, and answers it."""

    def __init__(self, settings: Settings) -> None:
        self.parts = SimpleNamespace(settings=settings, malformed=Malformed())
        self.received: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.received.append(b"")
        more = True
        while more:
            message = await receive()
            self.received[-1] += message.get("body", b"")
            more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


async def test_a_body_has_its_own_time_though_its_head_came_with_the_end_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings(body_seconds=1_000)
    loop = asyncio.get_running_loop()
    now, passed = loop.time, 0.0
    monkeypatch.setattr(loop, "time", lambda: now() + passed)
    app = Reading(settings)
    connection, transport = connected(app)
    connection.data_received(HEAD + b"one")
    passed += 0.9 * settings.body_seconds
    connection.data_received(b"one" + HEAD + b"two")
    await until(lambda: app.received == [b"oneone", b"two"])
    passed += 0.9 * settings.body_seconds
    await asyncio.sleep(0.01)
    connection.data_received(b"two")
    await until(lambda: app.received == [b"oneone", b"twotwo"])
    assert [written.args[0][:13] for written in transport.write.call_args_list] == [b"HTTP/1.1 200 "] * 2
