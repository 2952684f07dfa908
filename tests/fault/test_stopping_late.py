"""Whoever connects in the moment in which the service stops holds it up no longer than those before."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator

import pytest
import uvicorn

from app.main import Server
from app.settings import Settings
from tests.support.databases import as_service
from tests.support.raw import connected, request
from tests.support.service import PATIENT, ThreadService
from tests.support.wait import PATIENCE_SECONDS

DRAIN_SECONDS = 50
TICK_SECONDS = 0.1
"""How often uvicorn looks whether it has to end."""


@pytest.fixture(params=["asyncio", "uvloop"])
async def service(request: pytest.FixtureRequest, dsn: str) -> AsyncIterator[ThreadService]:
    """On both loops; neither silent clients nor unfinished answers are given up soon."""
    patient = {"drain_seconds": DRAIN_SECONDS, "header_seconds": DRAIN_SECONDS}
    service = ThreadService(Settings(**{"database_url": as_service(dsn), **PATIENT, **patient}))
    service.server = Server(
        uvicorn.Config(
            service.app,
            host=service.settings.host,
            port=0,
            loop=request.param,
            lifespan="on",
            log_config=None,
            timeout_keep_alive=DRAIN_SECONDS,
        )
    )
    async with service:
        yield service


@pytest.mark.parametrize("said", [b"", request("/livez")], ids=["silent", "asking"])
async def test_a_connection_accepted_as_the_service_stops_is_closed_at_once(
    service: ThreadService, said: bytes
) -> None:
    """The loop stands still meanwhile, so it accepts and is told to stop in the same turn."""
    loop = service.server.loop
    assert loop is not None
    clients: list[socket.socket] = []
    staged = threading.Event()

    def connect_and_stop() -> None:
        clients.append(connected(service.port))
        if said:
            clients[0].send(said)
        service.begin_stop()
        time.sleep(2 * TICK_SECONDS)
        staged.set()

    began = time.monotonic()
    loop.call_soon_threadsafe(connect_and_stop)
    assert await asyncio.to_thread(staged.wait, PATIENCE_SECONDS)
    await service.stop()
    assert time.monotonic() - began < DRAIN_SECONDS / 2
    (client,) = clients
    with client:
        answer = await asyncio.wait_for(_until_closed(client), PATIENCE_SECONDS)
    assert answer.startswith(b"HTTP/1.1 200 " if said else b"")


async def _until_closed(client: socket.socket) -> bytes:
    received = b""
    while data := await asyncio.get_running_loop().sock_recv(client, 65536):
        received += data
    return received
